"""What a launch ran on: host, GPUs, driver, clocks and error counters, as far as nvidia-smi tells them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SMI_TIMEOUT_S: Final = 30
_FIELDS: Final = {
    "name": "name",
    "driver": "driver_version",
    "sm_clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "power_limit_w": "power.limit",
    "temperature_c": "temperature.gpu",
    "ecc_uncorrected": "ecc.errors.uncorrected.volatile.total",
}
"""Our names → nvidia-smi's."""
_BASIC: Final = ("name", "driver")
_WORDS: Final = frozenset(_BASIC)
_CUDA: Final = re.compile(r"CUDA Version\s*:\s*(\d[\d.]{0,19})")

Gpu = Mapping[str, str | float]
"""Names of _FIELDS that nvidia-smi knew for this GPU → value."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of one moment. `runner` is the self-hosted runner's name, None elsewhere; no GPU: no `gpus`."""

    host: str
    runner: str | None = None
    gpus: tuple[Gpu, ...] = ()
    cuda: str | None = None
    source: str | None = None
    """The Actions run that it belongs to, if any."""

    @property
    def place(self) -> str:
        """A runner's own name stands for host and GPUs (`h100-a-gpu-0-3`), else the host name."""
        return self.runner or self.host

    @property
    def gpu(self) -> str | None:
        """The products, each once."""
        return " + ".join(sorted({str(gpu["name"]) for gpu in self.gpus if "name" in gpu})) or None

    @property
    def driver(self) -> str | None:
        return str(self.gpus[0]["driver"]) if self.gpus and "driver" in self.gpus[0] else None

    def as_record(self) -> dict[str, object]:
        return {
            "host": self.host,
            "runner": self.runner,
            "driver": self.driver,
            "cuda": self.cuda,
            "gpus": [{name: value for name, value in gpu.items() if name != "driver"} for gpu in self.gpus],
        }


def fingerprint() -> Fingerprint:
    """As things are at this moment. Never fails: what is not there is left out."""
    gpus = _gpus()
    header = _CUDA.search(_smi([]) or "") if gpus else None
    return Fingerprint(
        host=socket.gethostname(),
        runner=os.environ.get("RUNNER_NAME") or None,
        gpus=gpus,
        cuda=header[1] if header else None,
        source=_source(),
    )


def notes(before: Fingerprint, after: Fingerprint) -> list[str]:
    """What changed in a way that readings must not: sentences, none for a quiet machine."""
    found = []
    if len(before.gpus) != len(after.gpus):
        found.append(f"nvidia-smi shows {len(after.gpus)} GPUs, {len(before.gpus)} before the launch")
    for number, (old, new) in enumerate(zip(before.gpus, after.gpus, strict=False)):
        errors, earlier = new.get("ecc_uncorrected"), old.get("ecc_uncorrected")
        if isinstance(errors, float) and isinstance(earlier, float) and errors > earlier:
            found.append(f"GPU {number}: {errors - earlier:g} uncorrected ECC errors during the launch")
    return found


def compute_processes() -> frozenset[int]:
    """Process ids that hold GPU memory, as nvidia-smi sees them; empty without a GPU."""
    said = _smi(["--query-compute-apps=pid", "--format=csv,noheader"]) or ""
    return frozenset(int(line) for line in said.split() if line.isdecimal())


def _gpus() -> tuple[Gpu, ...]:
    """With all fields; where nvidia-smi does not know one of them it refuses all, so with the basic ones."""
    for names in (tuple(_FIELDS), _BASIC):
        query = ",".join(_FIELDS[name] for name in names)
        said = _smi([f"--query-gpu={query}", "--format=csv,noheader,nounits", *_visible()])
        if said is not None:
            rows = [line.split(", ") for line in said.splitlines()]
            return tuple(_gpu(names, row) for row in rows if len(row) == len(names))
    return ()


def _gpu(names: Sequence[str], row: Sequence[str]) -> Gpu:
    """A value in brackets ('[N/A]', '[Not Supported]') is none."""
    found: dict[str, str | float] = {}
    for name, text in zip(names, (text.strip()[:100] for text in row), strict=True):
        if name in _WORDS and not text.startswith("["):
            found[name] = text
        elif re.fullmatch(r"\d{1,12}(\.\d{1,6})?", text):
            found[name] = float(text)
    return found


def _visible() -> list[str]:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [f"--id={visible}"] if visible else []


def _smi(arguments: Sequence[str]) -> str | None:
    """What nvidia-smi says; None where it is not there or fails."""
    if shutil.which("nvidia-smi") is None:
        return None
    try:
        done = subprocess.run(
            ["nvidia-smi", *arguments], capture_output=True, timeout=SMI_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", errors="replace")[:1_000_000] if done.returncode == 0 else None


def _source() -> str | None:
    parts = [os.environ.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else None
