"""The FP8 cache: rows of recurrent state and KV handed out to requests, and a prefix cache of such rows."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor

from tinyserve.device import DEVICE
from tinyserve.model import Context, ModelConfig

FP8 = torch.float8_e4m3fn
FP8_MAX = 448.0


def quantize(x: Tensor, dims: tuple[int, ...] = (-1,)) -> tuple[Tensor, Tensor]:
    """FP8 bits (as uint8) of `x` and its scale, one for each slice over `dims`.

    Bits, because not every device can index an FP8 tensor.
    """
    scale = x.abs().amax(dim=dims, keepdim=True).clamp(min=1e-12) / FP8_MAX
    return (x / scale).to(FP8).view(torch.uint8), scale


def dequantize(bits: Tensor, scale: Tensor) -> Tensor:
    return bits.view(FP8).float() * scale


class RowPool:
    """`rows` rows, each the cache of one sequence: SSM state and KV in FP8 with their scales."""

    def __init__(self, config: ModelConfig, rows: int, max_length: int) -> None:
        def bits(*shape: int) -> Tensor:
            return torch.zeros(rows, *shape, dtype=torch.uint8, device=DEVICE)

        def scales(*shape: int) -> Tensor:
            return torch.ones(rows, *shape, device=DEVICE)

        self.state, self.state_scale = bits(config.width, config.state), scales(config.width, 1)
        self.keys, self.key_scale = bits(max_length, config.width), scales(max_length, 1)
        self.values, self.value_scale = bits(max_length, config.width), scales(max_length, 1)
        self.lengths = [0] * rows
        self.free = list(range(rows))

    def allocate(self) -> int:
        """Hands out an empty row. IndexError when none is free."""
        row = self.free.pop()
        self.reset(row)
        return row

    def reset(self, row: int) -> None:
        self.state[row] = 0
        self.lengths[row] = 0

    def release(self, row: int) -> None:
        self.free.append(row)

    def read(self, rows: list[int]) -> Context:
        index = torch.tensor(rows, device=DEVICE)
        lengths = [self.lengths[row] for row in rows]
        longest = max(lengths)
        return Context(
            state=dequantize(self.state[index], self.state_scale[index]),
            keys=dequantize(self.keys[index, :longest], self.key_scale[index, :longest]),
            values=dequantize(self.values[index, :longest], self.value_scale[index, :longest]),
            lengths=torch.tensor(lengths, device=DEVICE),
        )

    def write(self, rows: list[int], state: Tensor, keys: Tensor, values: Tensor) -> None:
        """Replaces the state of `rows` and appends keys and values [B, T, width]."""
        index = torch.tensor(rows, device=DEVICE)
        self.state[index], self.state_scale[index] = quantize(state)
        start = torch.tensor([self.lengths[row] for row in rows], device=DEVICE)
        new = keys.shape[1]
        at = index.unsqueeze(-1), start.unsqueeze(-1) + torch.arange(new, device=DEVICE)
        self.keys[at], self.key_scale[at] = quantize(keys)
        self.values[at], self.value_scale[at] = quantize(values)
        for row in rows:
            self.lengths[row] += new

    def copy_row(self, row: int, target: RowPool, target_row: int) -> None:
        for name in ("state", "state_scale", "keys", "key_scale", "values", "value_scale"):
            getattr(target, name)[target_row] = getattr(self, name)[row]
        target.lengths[target_row] = self.lengths[row]

    def share_state_scale(self, row: int) -> None:
        """Quantizes the state of a row once more, with one scale for all its channels."""
        state = dequantize(self.state[row], self.state_scale[row])
        self.state[row], self.state_scale[row] = quantize(state, dims=(-2, -1))


class PrefixCache:
    """Finished prefixes by their tokens; the least recently used one gives way.

    With `offload` the cached state is kept as a host copy would be: one scale for each row.
    """

    def __init__(self, pool: RowPool, *, offload: bool = False) -> None:
        self.pool = pool
        self.offload = offload
        self.rows: OrderedDict[tuple[int, ...], int] = OrderedDict()

    def insert(self, tokens: tuple[int, ...], source: RowPool, row: int) -> None:
        if tokens in self.rows:
            return
        if not self.pool.free:
            self.pool.release(self.rows.popitem(last=False)[1])
        kept = self.pool.allocate()
        source.copy_row(row, self.pool, kept)
        if self.offload:
            self.pool.share_state_scale(kept)
        self.rows[tokens] = kept

    def restore(self, tokens: tuple[int, ...], target: RowPool, row: int) -> int:
        """Copies the longest cached prefix of `tokens` into `row`; its length, 0 for a miss.

        A state stands for exactly the tokens it has seen, so a prefix counts only as a whole.
        """
        hits = [
            prefix for prefix in self.rows if len(prefix) < len(tokens) and tokens[: len(prefix)] == prefix
        ]
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
