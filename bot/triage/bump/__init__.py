"""The draft pull request that moves a bound."""
