"""Looking whether everything is set up as it must be."""
