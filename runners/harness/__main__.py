"""python -m runners.harness --plan plan.json --repo DIR --out DIR [--python INTERPRETER]"""

from __future__ import annotations

import sys

from runners.harness.cli import main

sys.exit(main())
