"""FP8 storage, rows and the prefix cache."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from tinyserve.cache import PrefixCache, RowPool, dequantize, quantize
from tinyserve.device import DEVICE
from tinyserve.engine import Engine
from tinyserve.kl_kit import fixed_prompts
from tinyserve.model import ModelConfig

CONFIG = ModelConfig()


def pool_with(tokens: int, rows: int = 2) -> RowPool:
    """Row 0 holds a state of ones and `tokens` keys and values."""
    pool = RowPool(CONFIG, rows, 64)
    pool.free.remove(0)
    kv = torch.randn(1, tokens, CONFIG.width, device=DEVICE)
    pool.write([0], torch.ones(1, CONFIG.width, CONFIG.state, device=DEVICE), kv, kv)
    return pool


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=32))
def test_fp8_is_off_by_at_most_half_a_step(numbers):
    x = torch.tensor(numbers, device=DEVICE)
    bits, scale = quantize(x)
    error = (dequantize(bits, scale) - x).abs()
    # e4m3: three bits after the leading one, and steps of 2**-9 at the bottom.
    assert bool((error <= torch.maximum(x.abs() / 16, scale * 2**-10) * 1.0001).all())


def test_a_row_is_handed_out_empty():
    pool = pool_with(tokens=5, rows=1)
    pool.release(0)
    row = pool.allocate()
    assert pool.lengths[row] == 0
    assert not pool.read([row]).state.any()


def test_a_hit_restores_state_and_kv_bit_for_bit():
    source, target = pool_with(tokens=3), RowPool(CONFIG, 1, 64)
    cache = PrefixCache(RowPool(CONFIG, 2, 64))
    cache.insert((1, 2, 3), source, 0)
    assert cache.restore((1, 2, 3, 4), target, 0) == 3
    before, after = source.read([0]), target.read([0])
    assert torch.equal(before.state, after.state)
    assert torch.equal(before.keys, after.keys)
    assert torch.equal(before.values, after.values)


def test_the_longest_whole_prefix_counts_and_the_last_token_is_always_run():
    source, cache = pool_with(tokens=2), PrefixCache(RowPool(CONFIG, 4, 64))
    for tokens in ((1,), (1, 2), (1, 2, 3)):
        cache.insert(tokens, source, 0)
    assert cache.restore((1, 2, 3), RowPool(CONFIG, 1, 64), 0) == 2
    assert cache.restore((2, 3), RowPool(CONFIG, 1, 64), 0) == 0


def test_the_least_recently_used_prefix_gives_way():
    source, cache = pool_with(tokens=1), PrefixCache(RowPool(CONFIG, 2, 64))
    cache.insert((1,), source, 0)
    cache.insert((2,), source, 0)
    cache.restore((1, 9), RowPool(CONFIG, 1, 64), 0)
    cache.insert((3,), source, 0)
    assert set(cache.rows) == {(1,), (3,)}


def test_offload_rounds_the_state_once_more():
    torch.manual_seed(0)
    source = RowPool(CONFIG, 1, 64)
    kv = torch.zeros(1, 1, CONFIG.width, device=DEVICE)
    source.write([0], torch.randn(1, CONFIG.width, CONFIG.state, device=DEVICE), kv, kv)
    cache = PrefixCache(RowPool(CONFIG, 1, 64), offload=True)
    cache.insert((1,), source, 0)
    before, after = source.read([0]).state, cache.pool.read([0]).state
    assert not torch.equal(before, after)
    assert torch.allclose(before, after, rtol=1 / 15, atol=0.01)


def test_more_prompts_than_rows_all_get_their_turn():
    prompts = fixed_prompts()
    engine = Engine(max_running=4)
    requests = engine.generate(prompts, max_new_tokens=3)
    assert [request.prompt for request in requests] == [tuple(prompt) for prompt in prompts]
    assert {len(request.output) for request in requests} == {3}
    assert sorted(engine.pool.free) == [0, 1, 2, 3]


def test_cached_and_fresh_agree_to_rounding_where_nothing_was_read_from_the_cache():
    prompt = fixed_prompts()[0][:8]
    engine = Engine()
    [request] = engine.generate([prompt], max_new_tokens=1)
    [[fresh]] = engine.score([prompt], [request.output])
    assert abs(fresh - request.logprobs[0]) < 1e-4
