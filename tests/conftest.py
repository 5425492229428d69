"""Tests run at the same time, and so do the harnesses that they start."""

from __future__ import annotations

import os
import signal

os.environ.setdefault("KL_TRIAGE_PARALLEL", "1")

# A shell lets what it starts in the background ignore Ctrl-C, and so would the processes of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)
