"""python -m runners.harness --plan plan.json --repo DIR --out DIR [--python INTERPRETER]"""

from __future__ import annotations

import sys

from runners.harness.cli import main
from runners.harness.environment import start_scrubbed

start_scrubbed()
sys.exit(main())
