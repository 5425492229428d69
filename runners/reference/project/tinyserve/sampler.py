"""Sampling at temperature 1."""

from __future__ import annotations

import torch
from torch import Tensor


def sample(logits: Tensor) -> tuple[list[int], list[float]]:
    """One token for each row of logits [B, vocab], and its log-probability."""
    logprobs = torch.log_softmax(logits, dim=-1)
    tokens = torch.multinomial(logprobs.exp(), num_samples=1)
    chosen = logprobs.gather(-1, tokens).squeeze(-1)
    return tokens.squeeze(-1).tolist(), chosen.tolist()
