"""The FP8 cache: rows of recurrent state and KV, handed out to requests, and a prefix cache over them."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor

from tinyserve.device import DEVICE
from tinyserve.model import Context, ModelConfig

FP8 = torch.float8_e4m3fn
FP8_MAX = 448.0


def quantize(x: Tensor) -> tuple[Tensor, Tensor]:
    """FP8 values and one scale for each vector along the last dimension."""
    scale = x.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / FP8_MAX
    return (x / scale).to(FP8), scale


class RowPool:
    """`rows` rows, each the cache of one sequence: SSM state and KV in FP8 with their scales."""

    def __init__(self, config: ModelConfig, rows: int, max_length: int) -> None:
        def fp8(*shape: int) -> Tensor:
            return torch.zeros(rows, *shape, device=DEVICE).to(FP8)

        self.state = fp8(config.width, config.state)
        self.state_scale = torch.ones(rows, config.width, 1, device=DEVICE)
        self.keys, self.values = fp8(max_length, config.width), fp8(max_length, config.width)
        self.key_scale = torch.ones(rows, max_length, 1, device=DEVICE)
        self.value_scale = torch.ones(rows, max_length, 1, device=DEVICE)
        self.lengths = [0] * rows
        self.free = list(reversed(range(rows)))

    def allocate(self) -> int:
        row = self.free.pop()
        self.reset(row)
        return row

    def reset(self, row: int) -> None:
        self.state[row] = torch.zeros_like(self.state[row])
        self.lengths[row] = 0

    def release(self, row: int) -> None:
        self.free.append(row)

    def read(self, rows: list[int]) -> Context:
        index = torch.tensor(rows, device=DEVICE)
        lengths = [self.lengths[row] for row in rows]
        longest = max(lengths)
        return Context(
            state=self.state[index].float() * self.state_scale[index],
            keys=self.keys[index, :longest].float() * self.key_scale[index, :longest],
            values=self.values[index, :longest].float() * self.value_scale[index, :longest],
            lengths=torch.tensor(lengths, device=DEVICE),
        )

    def write(self, rows: list[int], state: Tensor, keys: Tensor, values: Tensor) -> None:
        """Replaces the state of `rows` and appends keys and values [B, T, width]."""
        index = torch.tensor(rows, device=DEVICE)
        self.state[index], self.state_scale[index] = quantize(state)
        start = torch.tensor([self.lengths[row] for row in rows], device=DEVICE)
        new = keys.shape[1]
        position = start.unsqueeze(-1) + torch.arange(new, device=DEVICE)
        at = (index.unsqueeze(-1), position)
        self.keys[at], self.key_scale[at] = quantize(keys)
        self.values[at], self.value_scale[at] = quantize(values)
        for row in rows:
            self.lengths[row] += new

    def copy_row(self, row: int, target: RowPool, target_row: int) -> None:
        for name in ("state", "state_scale", "keys", "key_scale", "values", "value_scale"):
            getattr(target, name)[target_row] = getattr(self, name)[row]
        target.lengths[target_row] = self.lengths[row]


class PrefixCache:
    """Finished prefixes by their tokens; the least recently used one gives way."""

    def __init__(self, pool: RowPool) -> None:
        self.pool = pool
        self.rows: OrderedDict[tuple[int, ...], int] = OrderedDict()

    def insert(self, tokens: tuple[int, ...], source: RowPool, row: int) -> None:
        if tokens in self.rows:
            return
        if not self.pool.free:
            self.pool.release(self.rows.popitem(last=False)[1])
        kept = self.pool.allocate()
        source.copy_row(row, self.pool, kept)
        self.rows[tokens] = kept

    def restore(self, tokens: tuple[int, ...], target: RowPool, row: int) -> int:
        """Copies the longest cached prefix of `tokens` into `row`; its length, 0 for a miss.

        A state stands for exactly the tokens it has seen, so a prefix counts only as a whole.
        """
        hits = [prefix for prefix in self.rows if tokens[: len(prefix)] == prefix and len(prefix) < len(tokens)]
        if not hits:
            return 0
        best = max(hits, key=len)
        self.rows.move_to_end(best)
        self.pool.copy_row(self.rows[best], target, row)
        return len(best)

    def flush(self) -> None:
        for row in self.rows.values():
            self.pool.release(row)
        self.rows.clear()
