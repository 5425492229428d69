"""Tests run at the same time, and so do the harnesses that they start."""

from __future__ import annotations

import os

os.environ.setdefault("KL_TRIAGE_PARALLEL", "1")
