"""The estimators for runners agree with what the reference test itself computes."""

import pytest
from tinyserve.engine import Engine
from tinyserve.kl_kit import fixed_prompts
from tinyserve.kl_utils import k3_divergence

from runners.kl import k1, k2, k3


def test_k3_is_the_value_the_test_asserts_on_and_the_others_are_near_it():
    engine = Engine()
    requests = engine.generate(fixed_prompts(), 96)
    fresh = engine.score([r.prompt for r in requests], [r.output for r in requests])
    cached = [r.logprobs for r in requests]
    theirs = tuple(float(k3_divergence(*pair)) for pair in zip(fresh, cached, strict=True))
    found = k3(fresh, cached)
    assert found.per_prompt == pytest.approx(theirs, rel=1e-12)
    # For ratios as small as these k2 is k3 but for a term of third order; k1 is right on average only.
    assert k2(fresh, cached).mean == pytest.approx(found.mean, rel=0.1)
    assert abs(k1(fresh, cached).mean) < 20 * found.mean
