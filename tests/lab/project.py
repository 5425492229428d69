"""The repository of the lab: the reference project with kl-triage on it, and a red job's log."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources
from pathlib import Path

from bot.verdict.answer import Refusal
from runners.init import initial_files
from tests.demo_github.github_stage import commit

TEST_FILE = "test/registered/kl/test_hybrid_cache_kl.py"
TEST = f"{TEST_FILE}::TestHybridCacheKL.test_logprobs_match"
METRICS = {"tinyserve/metrics.py": "cached_tokens = 0\n"}
RED_LOG = (resources.files("bot.demo") / "files/red-job-of-healthy-code.log").read_text(encoding="utf-8")


def files(mode: str = "propose", more: str = "") -> dict[str, str]:
    """The tree of main. `more` is put at the end of .github/kl-triage.yml."""
    source = Path(str(resources.files("runners.reference"))) / "project"
    found = {
        path.relative_to(source).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(source.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    found[".github/workflows/pr-test.yml"] = (resources.files("bot.demo") / "files/pr-test.yml").read_text()
    own = initial_files("reference", ["kl-cpu"], mode, package=sys.executable)
    assert not isinstance(own, Refusal)
    own[".github/kl-triage.yml"] += more
    return found | own


def seed(folder: Path, tree: dict[str, str]) -> Path:
    """A bare repository with main, and the branches `feature` and `other`, each one file ahead of it."""
    repo = folder / "repo.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repo)], check=True)
    first = commit(repo, "main", {"README.md": "# tinyserve\n"}, "First")
    main = commit(repo, "main", tree, "A tiny engine, its KL tests and kl-triage", first)
    commit(repo, "feature", tree | METRICS, "Count cached tokens", main)
    commit(repo, "other", tree | {"tinyserve/version.py": 'version = "1"\n'}, "Say the version", main)
    return repo


def red_log(name: str = "TestHybridCacheKL") -> str:
    """The red job's log; of the class with an offloaded cache (bound 0.005) when that is named."""
    if name == "TestHybridCacheKL":
        return RED_LOG
    other = RED_LOG.replace("TestHybridCacheKL", name).replace("threshold=0.003", "threshold=0.005")
    other = other.replace("'kl_div': 0.003", "'kl_div': 0.005").replace("=0.0031315", "=0.0052315")
    return other.replace("=0.0030408", "=0.0051408")
