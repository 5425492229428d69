"""Telling: the sticky comment, the check, the evidence."""
