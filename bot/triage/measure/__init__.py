"""Measuring a site: what is wanted, what it may cost, what ends it, what bars a bump."""
