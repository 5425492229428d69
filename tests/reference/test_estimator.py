"""The k3 estimator and what the comparison prints and raises."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tinyserve.kl_utils import compare_kl_divergence, k3_divergence

LOGPROBS = st.lists(st.floats(-20, 0), min_size=1, max_size=30)


def test_equal_logprobs_have_no_divergence():
    assert k3_divergence([-1.5, -0.25], [-1.5, -0.25]) == 0


def test_one_token_is_exp_r_minus_1_minus_r():
    assert k3_divergence([math.log(0.5)], [math.log(0.25)]) == pytest.approx(2 - 1 - math.log(2))


def test_a_prompt_is_the_mean_of_its_tokens():
    assert k3_divergence([-1.0, -1.0], [-1.1, -1.0]) == pytest.approx((math.exp(0.1) - 1.1) / 2)


def test_small_differences_keep_their_digits():
    assert k3_divergence([-1.0 + 1e-6], [-1.0]) == pytest.approx(5e-13, rel=1e-3)


@given(LOGPROBS, st.floats(-2, 2))
def test_never_negative(cached, shift):
    assert k3_divergence([value + shift for value in cached], cached) >= 0


def test_it_estimates_the_divergence_it_names():
    """Exact over all outcomes of a three-sided die, weighted as the cached path would sample them."""
    cached, prefill = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    k3 = sum(c * k3_divergence([np.log(p)], [np.log(c)]) for c, p in zip(cached, prefill, strict=True))
    assert k3 == pytest.approx(float((cached * np.log(cached / prefill)).sum()))


def test_prints_values_mean_and_bound_and_passes_at_the_bound(capsys):
    compare_kl_divergence([[-1.0], [-2.0]], [[-1.0], [-2.0]], {"kl_div": 0.0}, "tiny", "hit")
    assert capsys.readouterr().out.splitlines() == [
        "kl_divs=[np.float64(0.0), np.float64(0.0)]",
        "avg_kl_div=0.0",
        "ACC_THRESHOLDS={'kl_div': 0.0}",
    ]


def test_raises_over_the_bound_with_value_bound_model_and_label(capsys):
    with pytest.raises(AssertionError) as raised:
        compare_kl_divergence([[-1.0]], [[-2.0]], {"kl_div": 0.003}, "tiny", "hit")
    said = re.fullmatch(r"avg_kl_div=(\S+) > threshold=0\.003 for tiny hit", str(raised.value))
    assert said
    assert float(said[1]) == pytest.approx(math.e - 2)
    assert f"avg_kl_div={said[1]}\n" in capsys.readouterr().out


def test_nan_is_over_every_bound():
    with pytest.raises(AssertionError, match="avg_kl_div=nan > threshold=1"):
        compare_kl_divergence([[math.nan]], [[-2.0]], {"kl_div": 1.0}, "tiny", "hit")
