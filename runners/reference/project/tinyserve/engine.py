"""The engine: continuous batching over a small row pool, sampling, and scoring by a fresh prefill."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tinyserve.cache import PrefixCache, RowPool
from tinyserve.device import DEVICE
from tinyserve.model import HybridModel, ModelConfig
from tinyserve.sampler import sample


@dataclass(eq=False)
class Request:
    """One prompt and what became of it; `logprobs` are those of the sampled tokens, from the cached path."""

    prompt: tuple[int, ...]
    row: int = -1
    cached_tokens: int = 0
    output: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class Engine:
    """`max_running` requests decode together, the others wait for a row; prompts enter in chunks."""

    def __init__(
        self,
        config: ModelConfig | None = None,
        *,
        max_running: int = 8,
        max_length: int = 256,
        chunk: int = 16,
        cached_rows: int = 32,
        offload: bool = False,
    ) -> None:
        self.config = config or ModelConfig()
        self.chunk = chunk
        self.model = HybridModel(self.config)
        self.pool = RowPool(self.config, max_running, max_length)
        self.cache = PrefixCache(RowPool(self.config, cached_rows, max_length), offload=offload)

    @torch.inference_mode()
    def generate(
        self, prompts: Sequence[Sequence[int]], max_new_tokens: int, min_new_tokens: int = 64
    ) -> list[Request]:
        """Samples at temperature 1 until `max_new_tokens` or, from `min_new_tokens` on, the end token."""
        requests = [Request(tuple(prompt)) for prompt in prompts]
        waiting, running = deque(requests), list[Request]()
        logits = torch.empty(0, self.config.vocab, device=DEVICE)
        while waiting or running:
            if admitted := self._admit(waiting):
                running += admitted
                logits = torch.cat([logits, self._prefill(admitted)])
            for request, token, logprob in zip(running, *sample(logits), strict=True):
                request.output.append(token)
                request.logprobs.append(logprob)
            running = [
                request for request in running if not self._finish(request, min_new_tokens, max_new_tokens)
            ]
            logits = self._decode(running) if running else logits[:0]
        return requests

    @torch.inference_mode()
    def score(self, prompts: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> list[list[float]]:
        """Log-probabilities of `outputs` from one fresh prefill that reads and writes no cache."""
        texts = [[*prompt, *output] for prompt, output in zip(prompts, outputs, strict=True)]
        longest = max(map(len, texts))
        tokens = torch.tensor([text + [0] * (longest - len(text)) for text in texts], device=DEVICE)
        logits = self.model.forward(tokens, self.model.empty_context(len(texts)))[0]
        logprobs = torch.log_softmax(logits[:, :-1], dim=-1)
        scored = logprobs.gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1).tolist()
        return [
            row[len(prompt) - 1 : len(text) - 1]
            for prompt, text, row in zip(prompts, texts, scored, strict=True)
        ]

    def flush_cache(self) -> None:
        self.cache.flush()

    def _admit(self, waiting: deque[Request]) -> list[Request]:
        admitted = []
        while waiting and self.pool.free:
            request = waiting.popleft()
            request.row = self.pool.allocate()
            request.cached_tokens = self.cache.restore(request.prompt, self.pool, request.row)
            admitted.append(request)
        return admitted

    def _prefill(self, requests: list[Request]) -> Tensor:
        """Next-token logits [B, vocab]; requests of one shape share a batch."""
        shapes: dict[tuple[int, int], list[int]] = {}
        for place, request in enumerate(requests):
            shapes.setdefault((request.cached_tokens, len(request.prompt)), []).append(place)
        logits = torch.empty(len(requests), self.config.vocab, device=DEVICE)
        for (start, end), places in shapes.items():
            logits[places] = self._prefill_chunks([requests[place] for place in places], start, end)
        return logits

    def _prefill_chunks(self, group: list[Request], start: int, end: int) -> Tensor:
        rows = [request.row for request in group]
        prompts = torch.tensor([request.prompt for request in group], device=DEVICE)
        for begin in range(start, end, self.chunk):
            chunk = prompts[:, begin : min(begin + self.chunk, end)]
            logits, state, keys, values = self.model.forward(chunk, self.pool.read(rows))
            self.pool.write(rows, state, keys, values)
        return logits[:, -1]

    def _decode(self, running: list[Request]) -> Tensor:
        rows = [request.row for request in running]
        last = torch.tensor([[request.output[-1]] for request in running], device=DEVICE)
        logits, state, keys, values = self.model.forward(last, self.pool.read(rows))
        self.pool.write(rows, state, keys, values)
        return logits[:, -1]

    def _finish(self, request: Request, min_new_tokens: int, max_new_tokens: int) -> bool:
        """Caches and frees the row of a request that is done."""
        new = len(request.output)
        ended = request.output[-1] == self.config.eos and new >= min_new_tokens
        if not ended and new < max_new_tokens:
            return False
        self.cache.insert((*request.prompt, *request.output[:-1]), self.pool, request.row)
        self.pool.release(request.row)
        return True
