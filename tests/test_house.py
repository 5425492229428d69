"""The house stands as CONTRIBUTING.md says: imports point down, pure packages stay pure."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PURE_IO = {
    "os",
    "subprocess",
    "socket",
    "requests",
    "github",
    "flask",
    "sqlalchemy",
    "dbos",
    "time",
    "pathlib",
}
MAY_IMPORT = {
    "bot.verdict": set(),
    "bot.logs": {"bot.verdict"},
    "bot.source": {"bot.verdict"},
    "bot.report": {"bot.verdict", "bot.logs", "bot.source"},
    "rules": {"bot.logs", "bot.verdict"},
    "bot.store": {"bot.verdict"},
    "bot.github": {"bot.verdict", "bot.source", "runners"},
    "bot.triage": {
        *(
            "bot.verdict",
            "bot.logs",
            "bot.source",
            "bot.report",
            "bot.github",
            "bot.store",
            "rules",
            "runners",
        ),
    },
    "runners": {"bot.verdict"},
}


def imports(package: str) -> dict[str, set[str]]:
    """Module path → names it imports, of every module of a package (the reference project is not ours)."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / package.replace(".", "/")).rglob("*.py"):
        if "reference/project" in path.as_posix():
            continue
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
        found[str(path.relative_to(ROOT))] = names
    return found


def ours(name: str) -> bool:
    return name.split(".")[0] in ("bot", "rules", "runners") and name not in ("bot.__version__", "bot")


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_down(package):
    allowed = (*MAY_IMPORT[package], package)
    for path, names in imports(package).items():
        up = {name for name in names if ours(name) and not name.startswith(allowed)}
        assert up == set(), f"{path} imports {sorted(up)}"


@pytest.mark.parametrize("package", ["bot.verdict", "bot.logs", "bot.source", "bot.report"])
def test_pure_packages_do_no_io(package):
    for path, names in imports(package).items():
        io = {name for name in names if name.split(".")[0] in PURE_IO and "PurePosixPath" not in name}
        assert io == set(), f"{path} imports {sorted(io)}"


def test_the_server_needs_no_torch():
    for package in ("bot", "rules"):
        for path, names in imports(package).items():
            assert not any(name.split(".")[0] == "torch" for name in names), path


def test_the_probe_is_standard_library_only():
    probe = imports("runners.probe")["runners/probe/kl_probe.py"]
    foreign = {name.split(".")[0] for name in probe} - set(sys.stdlib_module_names)
    assert foreign == set()
