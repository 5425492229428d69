"""KL of the cached path from the prefill path out of captured log-probabilities, in nats.

    python -m runners.kl OUT/logprobs/launch-1-head.jsonl --prefill input_logprobs --cached output_logprobs

r = logp_prefill − logp_cached of each token, the tokens sampled from the cached path: every function here
tells of KL(cached || prefill). k1 is unbiased and may be negative; k2 has little variance and a bias of third
order in r; k3 is unbiased and never negative (J. Schulman, "Approximating KL divergence", 2020).

Sums are float64, on the GPU where there is one. A nan in the input is one in the result. An inf is inf or nan
in k1, k2 and k3; `exact` takes −inf as a token that cannot happen.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeVar

import torch
from torch import Tensor

CHUNK: Final = 1 << 22
"""Probabilities looked at in one step: 32 MiB of float64, a few such tensors at a time."""
UNNORMALISED: Final = 0.05
"""How far the probabilities of one token may sum from 1; bfloat16 stays within a few thousandths."""

Logprobs = Sequence[float] | Tensor
_Side = TypeVar("_Side")


@dataclass(frozen=True, slots=True)
class Kl:
    """One estimate for each prompt, and their plain mean, which is what KL tests assert on."""

    per_prompt: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.per_prompt) / len(self.per_prompt)


def k1(prefill: Iterable[Logprobs], cached: Iterable[Logprobs]) -> Kl:
    """Mean of −r over the tokens of each prompt [T]. ValueError for lists of unlike length or none, and for
    what is no list of numbers."""
    return _estimate(prefill, cached, lambda r: -r)


def k2(prefill: Iterable[Logprobs], cached: Iterable[Logprobs]) -> Kl:
    """Mean of r² / 2. ValueError as for `k1`."""
    return _estimate(prefill, cached, lambda r: r * r / 2)


def k3(prefill: Iterable[Logprobs], cached: Iterable[Logprobs]) -> Kl:
    """Mean of exp(r) − 1 − r. ValueError as for `k1`."""
    return _estimate(prefill, cached, lambda r: torch.expm1(r) - r)


def exact(prefill: Iterable[Tensor], cached: Iterable[Tensor]) -> Kl:
    """KL of the whole distributions, log-probabilities [T, vocab] of each prompt, mean over its tokens.

    −inf of the cached path adds nothing; of the prefill path alone it makes the result inf.
    Prompts are taken one at a time, so generators keep memory small. ValueError for shapes that do not fit
    and for numbers that are no log-probabilities, as logits are not.
    """
    device = _device()
    found = []
    for number, (q, p) in _pairs(prefill, cached):
        if q.shape != p.shape or q.dim() != 2 or not q.numel():
            raise ValueError(f"prompt {number}: [T, vocab] twice is needed, not {_shape(q)} and {_shape(p)}")
        rows = max(CHUNK // q.shape[1], 1)
        total = torch.zeros((), dtype=torch.float64, device=device)
        for log_q, log_p in zip(torch.split(q, rows), torch.split(p, rows), strict=True):
            total += _exact_rows(log_q.to(device), log_p.to(device), number).sum()
        found.append(total.item() / len(q))
    return _kl(found)


def _exact_rows(log_q: Tensor, log_p: Tensor, number: int) -> Tensor:
    """KL of each row of [T, vocab]."""
    log_q, log_p = log_q.double(), log_p.double()
    p = log_p.exp()
    for sums in (p.sum(dim=1), log_q.exp().sum(dim=1)):
        if bool(((sums - 1).abs() > UNNORMALISED).any()):  # nan is not greater: it stays in the result
            raise ValueError(
                f"prompt {number}: the probabilities of a token do not sum to 1; take log_softmax"
            )
    # What cannot happen adds nothing, also where log_p − log_q is −inf or nan.
    terms = torch.where(torch.isneginf(log_p) & ~log_q.isnan(), 0.0, p * (log_p - log_q))
    return terms.sum(dim=1)


def _estimate(
    prefill: Iterable[Logprobs], cached: Iterable[Logprobs], of_token: Callable[[Tensor], Tensor]
) -> Kl:
    device = _device()
    found = []
    for number, pair in _pairs(prefill, cached):
        try:
            q, p = (torch.as_tensor(side, dtype=torch.float64, device=device) for side in pair)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            raise ValueError(
                f"prompt {number}: its log-probs must be one list of numbers a path, without null"
            ) from None
        if q.shape != p.shape or q.dim() != 1 or not q.numel():
            raise ValueError(f"prompt {number}: [T] twice is needed, not {_shape(q)} and {_shape(p)}")
        found.append(of_token(q - p).mean().item())
    return _kl(found)


def _pairs(prefill: Iterable[_Side], cached: Iterable[_Side]) -> Iterator[tuple[int, tuple[_Side, _Side]]]:
    """Both paths of each prompt, from 1 on."""
    if not isinstance(prefill, Iterable) or not isinstance(cached, Iterable):
        raise ValueError("one list of log-probs for each prompt is needed, not a single number")
    for number, (q, p) in enumerate(zip_longest(prefill, cached), 1):
        if q is None or p is None:
            path = "prefill" if q is None else "cached"
            raise ValueError(f"prompt {number}: the {path} path has no log-probs of it")
        yield number, (q, p)


def _kl(found: list[float]) -> Kl:
    if not found:
        raise ValueError("there is no prompt at all")
    return Kl(tuple(found))


def _shape(tensor: Tensor) -> list[int]:
    return list(tensor.shape)


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def captured(path: Path) -> Iterator[tuple[int, str, dict[str, list[list[float]]]]]:
    """Repeat, label and log-probs by argument name of each comparison that a rerun with save_logprobs kept.

    ValueError for a file that holds anything else.
    """
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record: Any = json.loads(line)
                yield int(record["repeat"]), str(record["label"] or ""), dict(record["arguments"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise ValueError(f"{path}:{number}: no log-probs that a rerun kept") from None


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="k1, k2 and k3 of the log-probs that a rerun kept.")
    parser.add_argument("files", nargs="+", type=Path)
    for side in ("prefill", "cached"):
        parser.add_argument(
            f"--{side}",
            default=f"{side}_logprobs",
            help="the compare function's argument of that path; default: %(default)s",
        )
    options = parser.parse_args(arguments)
    print(f"{'repeat':>6}  {'k1':>11}  {'k2':>11}  {'k3':>11}  check")
    try:
        for file in options.files:
            for repeat, label, sides in captured(file):
                if not {options.prefill, options.cached} <= set(sides):
                    raise ValueError(
                        f"{file}: the arguments are {', '.join(sides)}; name --prefill and --cached"
                    )
                pair = sides[options.prefill], sides[options.cached]
                try:
                    means = "  ".join(f"{estimate(*pair).mean:11.6g}" for estimate in (k1, k2, k3))
                except ValueError as error:
                    raise ValueError(f"{file}: repeat {repeat}: {error}") from None
                print(f"{repeat:>6}  {means}  {label}")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
