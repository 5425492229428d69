"""The reference KL test: a small target project, faults to put into it, and what it measures with and without them."""
