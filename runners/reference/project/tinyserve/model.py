"""A tiny hybrid language model: a selective-state (Mamba-style) layer, then an attention layer.

Weights come from a fixed seed: the model says nothing sensible, but it always says it in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from tinyserve.device import DEVICE


@dataclass(frozen=True)
class ModelConfig:
    """Sizes, and the constants that set the noise: logits are `logit_scale` wide, and the channels of the
    state keep 1 - `slowest_step` to 1 - `fastest_step` of what they hold at a typical token.

    Slow channels are where FP8 hurts: what a token adds can be smaller than half a step of the format.
    """

    name: str = "tiny-hybrid-fp8"
    vocab: int = 128
    width: int = 64
    state: int = 8
    heads: int = 4
    seed: int = 20260
    logit_scale: float = 1.65
    gate_eps: float = 0.01  # keeps the norm from blowing up a state that says little yet, and its rounding
    slowest_step: float = 0.003
    fastest_step: float = 0.008
    eos: int = 0
    eos_bias: float = -1.95  # in about four runs in ten an answer ends early and its row is handed on


@dataclass
class Context:
    """What a sequence has seen: SSM state [B, width, state] and past keys and values [B, L, width].

    Row b has `lengths[b]` valid positions; what lies beyond is padding and is masked.
    """

    state: Tensor
    keys: Tensor
    values: Tensor
    lengths: Tensor


class HybridModel:
    def __init__(self, config: ModelConfig) -> None:
        self.config = config
        generator = torch.Generator().manual_seed(config.seed)
        width, state = config.width, config.state

        def weight(rows: int, columns: int) -> Tensor:
            return (torch.randn(rows, columns, generator=generator) / math.sqrt(rows)).to(DEVICE)

        self.embedding = weight(config.vocab, width) * math.sqrt(config.vocab)
        self.ssm_in = weight(width, 3 * width + 2 * state)
        self.ssm_out = weight(width, width)
        self.attention_in = weight(width, 3 * width)
        self.attention_out = weight(width, width)
        self.head = weight(width, config.vocab) * config.logit_scale
        steps = torch.logspace(math.log10(config.slowest_step), math.log10(config.fastest_step), width)
        self.step_bias = torch.log(torch.expm1(steps)).to(DEVICE)
        self.head_bias = torch.zeros(config.vocab, device=DEVICE)
        self.head_bias[config.eos] = config.eos_bias

    def empty_context(self, batch: int) -> Context:
        config = self.config
        nothing = torch.zeros(batch, 0, config.width, device=DEVICE)
        state = torch.zeros(batch, config.width, config.state, device=DEVICE)
        return Context(state, nothing, nothing, torch.zeros(batch, dtype=torch.long, device=DEVICE))

    def forward(self, tokens: Tensor, past: Context) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Runs tokens [B, T] after `past`; T = 1 is a decode step, T > 1 a prefill.

        Returns logits [B, T, vocab], the new state, and the keys and values [B, T, width] of these tokens.
        """
        hidden = self.embedding[tokens]
        mixed, state = self._ssm(hidden, past.state)
        hidden = hidden + mixed
        attended, keys, values = self._attention(hidden, past)
        hidden = hidden + attended
        return _norm(hidden) @ self.head + self.head_bias, state, keys, values

    def _ssm(self, hidden: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """h_t = exp(-step_t)·h_(t-1) + step_t·B_t·x_t, y_t = C_t·h_t: step, B and C depend on the token."""
        width, n = self.config.width, self.config.state
        x, gate, step, write, read = (_norm(hidden) @ self.ssm_in).split([width, width, width, n, n], dim=-1)
        x = F.silu(x)
        step = F.softplus(step + self.step_bias)
        kept = torch.exp(-step).unsqueeze(-1)
        written = (step * x).unsqueeze(-1) * write.unsqueeze(-2)
        outputs = []
        for t in range(hidden.shape[1]):
            state = kept[:, t] * state + written[:, t]
            outputs.append((state @ read[:, t].unsqueeze(-1)).squeeze(-1))
        mixed = torch.stack(outputs, dim=1) * F.silu(gate)
        return _norm(mixed, self.config.gate_eps) @ self.ssm_out, state

    def _attention(self, hidden: Tensor, past: Context) -> tuple[Tensor, Tensor, Tensor]:
        batch, length, width = hidden.shape
        queries, keys, values = (_norm(hidden) @ self.attention_in).split(width, dim=-1)
        all_keys = torch.cat([past.keys, keys], dim=1)
        all_values = torch.cat([past.values, values], dim=1)
        before = past.keys.shape[1]
        position = torch.arange(before, device=hidden.device)
        seen = (position < past.lengths.unsqueeze(-1)).unsqueeze(1).expand(batch, length, before)
        causal = torch.ones(length, length, dtype=torch.bool, device=hidden.device).tril()
        mask = torch.cat([seen, causal.expand(batch, length, length)], dim=-1).unsqueeze(1)
        attended = F.scaled_dot_product_attention(
            self._split(queries), self._split(all_keys), self._split(all_values), attn_mask=mask
        )
        return attended.transpose(1, 2).reshape(batch, length, width) @ self.attention_out, keys, values

    def _split(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        return x.view(batch, length, self.config.heads, width // self.config.heads).transpose(1, 2)


def _norm(x: Tensor, eps: float = 1e-6) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], eps=eps)
