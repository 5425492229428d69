"""GitHub's published webhook examples: all are read, and those of our events are kept for the tests.

    npm pack @octokit/webhooks-examples@7.6.1 && tar xzf octokit-webhooks-examples-7.6.1.tgz
    python -m tests.github.examples package/api.github.com/index.json       # reads all, says what they are
    python -m tests.github.examples package/api.github.com/index.json --cut # writes data/webhooks.json

Kept is one example of each name and action that is parsed, without its addresses.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bot.github.events import parse
from bot.github.events.parsers import PARSERS

KEPT = Path(__file__).parent / "data" / "webhooks.json"
Json = dict[str, Any]


def main(path: Path, *, cut: bool) -> None:
    published = json.loads(path.read_text())
    every = [(kind["name"], example) for kind in published for example in kind["examples"]]
    kinds = Counter(type(parse(name, example)).__name__ for name, example in every)
    print(f"{len(every)} examples:", ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    if cut:
        kept = {}
        for name, example in every:
            if (name, example.get("action", "")) in PARSERS:
                kept[f"{name} {example.get('action', '')}".strip()] = without_addresses(example)
        KEPT.write_text(json.dumps(kept, separators=(",", ":"), ensure_ascii=False) + "\n")


def without_addresses(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in ("_links", "url") and not k.endswith("_url")}
        return {name: without_addresses(inner) for name, inner in kept.items()}
    return [without_addresses(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]), cut="--cut" in sys.argv[2:])
