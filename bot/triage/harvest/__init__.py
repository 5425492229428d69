"""Past runs of the default branch, live and for the past."""
