"""`make fuzz-packs`: any text as a rule pack and as a repository's kl-triage.yml."""

from __future__ import annotations

from importlib.resources import files

import atheris

with atheris.instrument_imports(include=["rules", "yaml"]):
    import rules

from rules.pack import Pack
from tests.fuzz.engine import fuzz
from tests.fuzz.properties import check_pack

SEEDS = (
    *((files("rules") / f"{name}.yaml").read_bytes() for name in rules.pack_names()),
    b"extends: sglang\nmode: propose\nrunner: 4-gpu-h100\nbudget_minutes: 60\n",
    b"extends: generic\nalso:\n  tests: ['test/**/test_*_kl.py']\n  jobs: ['*kl*']\n",
)
WORDS = (
    *(name.encode() + b":" for name in Pack.model_fields),
    *(
        b"pattern: ",
        b"fails_when: above",
        b"(?P<value>\\S+)",
        b"(?P<threshold>\\S+)",
        b"(a+)+",
        b"[^]",
        b"\\Q",
        b"{1000}",
    ),
    *(
        b"extends: ",
        b"also: ",
        b"lines: 2",
        b"*",
        b"&a",
        b"*a",
        b"<<: ",
        b"!!python/object",
        b"- ",
        b"\n  ",
        b"off",
        b"1_000",
    ),
)

if __name__ == "__main__":
    fuzz("packs", check_pack, SEEDS, WORDS, 8_000)
