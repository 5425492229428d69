"""The two files that put kl-triage on a repository (`kl-triage init`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bot.verdict.answer import Refusal
from runners.workflow import PACKAGE, PYTHON, is_interpreter, is_pinned, is_runner_label, kl_rerun_yml

MODES: Final = ("off", "observe", "comment", "propose")
_PACK: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def initial_files(
    pack_name: str,
    runner_labels: Sequence[str],
    mode: str = "observe",
    *,
    package: str = PACKAGE,
    python: str = PYTHON,
) -> dict[str, str] | Refusal:
    """Path in the repository → text. One label alone is the runner that all reruns ask for.

    `package` is what the rerun job measures with, `python` what it runs the project's tests with.
    """
    if _PACK.fullmatch(pack_name) is None:
        return Refusal("bad_pack", "The rule pack's name must be lower-case letters, digits, '-' and '_'.")
    if mode not in MODES:
        return Refusal("bad_mode", f"The mode must be one of {', '.join(MODES)}.")
    if not runner_labels or not all(map(is_runner_label, runner_labels)):
        return Refusal("bad_runner", "Name at least one runner label of letters, digits, '.', '-' and '_'.")
    if not is_pinned(package):
        return Refusal(
            "bad_package",
            f"'{package[:100]}' does not pin kl-triage: give {PACKAGE}, git+https://…@ with the full commit, "
            "the path of a wheel, or the path of an interpreter on the runners that has kl-triage.",
        )
    if not is_interpreter(python):
        return Refusal(
            "bad_python", f"'{python[:100]}' is no interpreter; give a name or path such as python3."
        )
    return {
        ".github/kl-triage.yml": _CONFIG.format(
            pack=pack_name,
            mode=mode,
            runners=", ".join(f'"{label}"' for label in runner_labels),
            runner=f'runner: "{runner_labels[0]}"\n' if len(runner_labels) == 1 else "",
        ),
        ".github/workflows/kl-rerun.yml": kl_rerun_yml(runner_labels, package, python),
    }


_CONFIG: Final = """\
# kl-triage: what the bot may do in this repository.

# The rule pack: what a KL test looks like here and where its bound lives.
extends: "{pack}"

# "off"; "observe": read red jobs, run and write nothing; "comment": one comment and one check on a red pull
# request; "propose": also a draft pull request that moves a bound, only where noise is shown.
mode: "{mode}"

# Labels of the runners that reruns may ask for (kl-rerun.yml lists the same). Without 'runner' they
# ask for the one that the test file registers for, else for the first.
runners: [{runners}]
{runner}"""
