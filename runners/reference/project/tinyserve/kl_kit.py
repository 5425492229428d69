"""The three KL tests of a cache. A test class mixes them in, sets its bounds and picks its engine.

Each one samples through the cache, scores the same tokens by a fresh prefill and compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch

from tinyserve.device import DEVICE
from tinyserve.engine import Engine, Request
from tinyserve.kl_utils import compare_kl_divergence
from tinyserve.model import ModelConfig

PROMPTS, PROMPT_TOKENS, PREFIX_TOKENS = 9, 40, 32
OPENING_TOKENS, ANSWER_TOKENS, FOLLOW_UP_TOKENS = 16, 16, 12


def fixed_prompts() -> list[list[int]]:
    """The same token ids in every run; what is sampled after them is not."""
    generator = torch.Generator().manual_seed(7)
    tokens = torch.randint(1, ModelConfig.vocab, (PROMPTS, PROMPT_TOKENS), generator=generator)
    return [[int(token) for token in prompt] for prompt in tokens]


class KLMixin:
    """One row fewer than prompts: the last prompt waits until a request ends, then takes over its row."""

    kl_threshold: float
    cache_hit_threshold: float
    max_new_tokens = 96
    offload = False
    engine: ClassVar[Engine]

    @classmethod
    def setUpClass(cls) -> None:
        cls.engine = Engine(max_running=PROMPTS - 1, offload=cls.offload)
        print(f"engine ready: model={cls.engine.config.name} device={DEVICE} offload={cls.offload}")

    @classmethod
    def tearDownClass(cls) -> None:
        del cls.engine

    def test_prefill_cache_hit(self) -> None:
        """All prompts but the last find their first 32 tokens in the cache."""
        prompts = self._start("prefill_cache_hit")
        self.engine.generate([prompt[:PREFIX_TOKENS] for prompt in prompts[:-1]], max_new_tokens=1)
        requests = self.engine.generate(prompts, self.max_new_tokens)
        self._check_hits(requests[:-1])
        self._compare("prefill_cache_hit", requests)

    def test_decode_cache_hit(self) -> None:
        """Second turn of a conversation: opening and answer of the first are in the cache."""
        prompts = self._start("decode_cache_hit")
        openings = [prompt[:OPENING_TOKENS] for prompt in prompts]
        first = self.engine.generate(openings, ANSWER_TOKENS)
        turns = [[*turn.prompt, *turn.output, *turn.prompt[:FOLLOW_UP_TOKENS]] for turn in first]
        requests = self.engine.generate(turns, self.max_new_tokens // 2)
        self._check_hits(requests)
        self._compare("decode_cache_hit", requests)

    def test_logprobs_match(self) -> None:
        """Nothing cached before: chunked prefill and decode against one prefill."""
        requests = self.engine.generate(self._start("logprobs_match"), self.max_new_tokens)
        self._compare("logprobs_match", requests)

    def _start(self, label: str) -> list[list[int]]:
        print(f"[{label}] {PROMPTS} samples")
        self.engine.flush_cache()
        return fixed_prompts()

    def _check_hits(self, requests: Sequence[Request]) -> None:
        for request in requests:
            share = request.cached_tokens / len(request.prompt)
            if share < self.cache_hit_threshold:
                raise AssertionError(f"too few cached tokens: {share:.2f} < {self.cache_hit_threshold}")

    def _compare(self, label: str, requests: Sequence[Request]) -> None:
        prompts, outputs = [r.prompt for r in requests], [r.output for r in requests]
        fresh = self.engine.score(prompts, outputs)
        cached = [r.logprobs for r in requests]
        thresholds = {"kl_div": self.kl_threshold}
        compare_kl_divergence(fresh, cached, thresholds, self.engine.config.name, label)
