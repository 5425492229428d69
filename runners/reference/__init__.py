"""The reference KL test: a small target project, faults to put into it, and their distributions."""
