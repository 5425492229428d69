"""The public ways in which bots like this one broke, each as a story against a GitHub that breaks just so."""
