"""Reruns and verdicts on this machine, without GitHub: for the person at a GPU box."""
