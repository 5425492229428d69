"""The probe: one stdlib-only file that the measured project's own interpreter runs as a script."""

from __future__ import annotations

from pathlib import Path
from typing import Final

PROBE: Final = Path(__file__).with_name("kl_probe.py")

__all__ = ["PROBE"]
