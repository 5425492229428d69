"""The judge: readings in, verdict out. No I/O, no clock, no GitHub."""
