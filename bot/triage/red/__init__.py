"""A red job: what went red, whose it is, and which investigation answers it."""
