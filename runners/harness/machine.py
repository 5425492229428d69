"""Which machine this is: host, GPU product and driver, as every reading carries them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """`gpu` and `driver` are None on a machine without one."""

    host: str
    gpu: str | None = None
    driver: str | None = None
    source: str | None = None


def this_machine() -> Machine:
    """A self-hosted runner's own name stands for host and GPUs (`h100-a-gpu-0-3`), else the host name."""
    gpu, driver = _nvidia()
    return Machine(os.environ.get("RUNNER_NAME") or socket.gethostname(), gpu, driver, _source())


def _source() -> str | None:
    """The Actions run these readings come from, if any."""
    parts = [os.environ.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else None


def _nvidia() -> tuple[str | None, str | None]:
    if shutil.which("nvidia-smi") is None:
        return None, None
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        command.append(f"--id={visible}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None, None
    rows = [line.rpartition(",") for line in done.stdout.splitlines() if "," in line]
    if done.returncode != 0 or not rows:
        return None, None
    products = sorted({name.strip() for name, _, _ in rows})
    return " + ".join(products), rows[0][2].strip()
