"""Estimators against values worked out by hand, closed forms and simulation."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from runners import kl
from runners.kl import exact, k1, k2, k3

HALF = math.log(0.5)


def test_one_token_by_hand():
    # The prefill finds the token half as likely: r = log 0.5.
    prefill, cached = [[2 * HALF]], [[HALF]]
    assert k1(prefill, cached).mean == pytest.approx(0.693147)
    assert k2(prefill, cached).mean == pytest.approx(0.693147**2 / 2)
    assert k3(prefill, cached).mean == pytest.approx(0.5 - 1 + 0.693147)


def test_the_mean_is_over_prompts_not_over_tokens():
    prefill, cached = [[0.0, -1.0], [-4.0]], [[0.0, 0.0], [0.0]]
    assert k1(prefill, cached).per_prompt == (0.5, 4.0)
    assert k1(prefill, cached).mean == 2.25


def test_small_ratios_keep_their_digits():
    # r = 1e-9: exp(r) - 1 - r is r^2 / 2 = 5e-19, nothing of which is left of exp(r) - 1 in float32.
    assert k3([[-1.0 + 1e-9]], [[-1.0]]).mean == pytest.approx(5e-19, rel=1e-6)


def test_two_outcomes_exactly():
    cached = torch.tensor([[0.5, 0.5]]).log()
    prefill = torch.tensor([[0.25, 0.75]]).log()
    by_hand = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert exact([prefill], [cached]).mean == pytest.approx(by_hand, rel=1e-7)
    assert exact([cached], [cached]).mean == 0


def test_exact_is_the_closed_form_of_two_gaussians():
    """Quadrature: the vocabulary is a fine grid. KL = log(s2/s1) + (s1^2 + (m1 - m2)^2) / (2 s2^2) - 1/2."""
    grid = torch.linspace(-12, 12, 20_001, dtype=torch.float64)

    def log_probs(mean: float, sd: float) -> torch.Tensor:
        return torch.log_softmax(-((grid - mean) ** 2) / (2 * sd * sd), dim=0)[None]

    closed = math.log(1.5 / 1.0) + (1.0 + 0.3**2) / (2 * 1.5**2) - 0.5
    assert exact([log_probs(0.3, 1.5)], [log_probs(0.0, 1.0)]).mean == pytest.approx(closed, rel=1e-9)


def test_estimators_are_unbiased_for_the_exact_kl_where_they_should_be():
    """400,000 tokens of a fixed categorical pair; each mean within 4 standard errors."""
    generator = torch.Generator().manual_seed(11)
    logits = torch.randn(50, generator=generator, dtype=torch.float64)
    cached = torch.log_softmax(logits, dim=0)
    prefill = torch.log_softmax(logits + 0.3 * torch.randn(50, generator=generator, dtype=torch.float64), 0)
    truth = exact([prefill[None]], [cached[None]]).mean
    tokens = torch.multinomial(cached.exp(), 400_000, replacement=True, generator=generator)
    q, p = prefill[tokens], cached[tokens]
    r = (q - p).numpy()
    for estimate, terms in ((k1, -r), (k3, np.expm1(r) - r)):
        error = terms.std() / math.sqrt(len(r))
        assert abs(estimate([q], [p]).mean - truth) < 4 * error
    # k2 is biased by E[r^2]/2 - KL, which is known here.
    ratio = prefill - cached
    biased = float((cached.exp() * ratio**2 / 2).sum())
    assert k2([q], [p]).mean == pytest.approx(biased, abs=4 * (r**2 / 2).std() / math.sqrt(len(r)))
    # On average k3 is as right as k1 with a fraction of its spread.
    assert (np.expm1(r) - r).std() < 0.5 * r.std()


@given(st.lists(st.floats(-20, 0), min_size=1, max_size=20), st.data())
def test_k3_is_never_negative_and_zero_for_equal_paths(cached, data):
    prefill = data.draw(st.lists(st.floats(-20, 0), min_size=len(cached), max_size=len(cached)))
    assert k3([prefill], [cached]).mean >= 0
    assert k3([cached], [cached]).mean == 0


def test_chunks_change_nothing(monkeypatch):
    generator = torch.Generator().manual_seed(3)
    prefill, cached = (torch.log_softmax(torch.randn(37, 11, generator=generator), dim=1) for _ in range(2))
    whole = exact([prefill], [cached]).mean
    monkeypatch.setattr(kl, "CHUNK", 25)  # two rows at a time
    assert exact([prefill], [cached]).mean == pytest.approx(whole, rel=1e-12)
    monkeypatch.setattr(kl, "CHUNK", 1)  # a row never fits
    assert exact([prefill], [cached]).mean == pytest.approx(whole, rel=1e-12)


def test_what_cannot_happen_adds_nothing_and_what_prefill_rules_out_is_infinite():
    never = torch.tensor([[0.0, 1.0]]).log()
    even = torch.tensor([[0.5, 0.5]]).log()
    assert exact([even], [never]).mean == pytest.approx(math.log(2))
    assert exact([never], [never]).mean == 0
    assert exact([never], [even]).mean == math.inf


@pytest.mark.parametrize("estimate", [k1, k2, k3])
def test_nan_and_inf_are_kept(estimate):
    assert math.isnan(estimate([[math.nan, -1.0]], [[-1.0, -1.0]]).mean)
    assert estimate([[-math.inf, -1.0]], [[-1.0, -1.0]]).mean == math.inf
    assert math.isnan(exact([torch.tensor([[math.nan, HALF]])], [torch.tensor([[HALF, HALF]])]).mean)


def test_what_does_not_fit_is_a_sentence():
    with pytest.raises(ValueError, match=r"prompt 2: \[T\] twice is needed, not \[1\] and \[2\]"):
        k3([[0.0], [0.0]], [[0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="prompt 2: the cached path has no log-probs of it"):
        k3([[0.0], [0.0]], [[0.0]])
    with pytest.raises(ValueError, match="prompt 1: the prefill path has no log-probs of it"):
        k3([None], [[0.0]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"prompt 1: \[T\] twice is needed, not \[\] and \[\]"):
        k3([0.0], [0.0])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="not a single number"):
        k3(0.0, 0.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no prompt at all"):
        k3([], [])
    with pytest.raises(ValueError, match="do not sum to 1; take log_softmax"):
        exact([torch.zeros(1, 2)], [torch.full((1, 2), HALF)])
    with pytest.raises(ValueError, match=r"prompt 1: \[T, vocab\] twice"):
        exact([torch.zeros(2)], [torch.zeros(2)])


@pytest.mark.parametrize("odd", [[None, -1.0], ["a"], "ab", [[0.0], [0.0, 1.0]], [10**400], {"a": 1}])
def test_what_is_no_list_of_numbers_is_a_sentence(odd):
    for estimate in (k1, k2, k3):
        with pytest.raises(ValueError, match="prompt 2: "):
            estimate([[-1.0], odd], [[-1.0], [-1.0, -1.0]])


def test_an_inf_that_is_no_log_probability_is_refused():
    with pytest.raises(ValueError, match="do not sum to 1"):
        exact([torch.tensor([[HALF, HALF]])], [torch.tensor([[math.inf, HALF]])])


@pytest.mark.parametrize(
    ("prefill", "says"),
    [
        ([[None]], "prompt 1: its log-probs must be one list of numbers"),
        ([[-1.0], [-2.0]], "prompt 2: the cached path has no log-probs of it"),
        ([-1.0], r"prompt 1: [T] twice is needed"),
        (-1.0, "not a single number"),
        ([], "prompt 1: the prefill path has no log-probs of it"),
    ],
)
def test_odd_log_probs_of_a_rerun_are_one_line(tmp_path, capsys, prefill, says):
    file = tmp_path / "launch-1-head.jsonl"
    sides = {"prefill_logprobs": prefill, "cached_logprobs": [[HALF]]}
    file.write_text(json.dumps({"repeat": 3, "label": "hit", "arguments": sides}) + "\n")
    assert kl.main([str(file)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"{file}: repeat 3: ") and says in told and len(told.splitlines()) == 1


def test_what_a_rerun_kept_is_read(tmp_path, capsys):
    file = tmp_path / "launch-1-head.jsonl"
    sides = {"input_logprobs": [[2 * HALF]], "output_logprobs": [[HALF]]}
    file.write_text(json.dumps({"repeat": 3, "label": "hit", "arguments": sides}) + "\n")
    assert kl.main([str(file), "--prefill", "input_logprobs", "--cached", "output_logprobs"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["3", "0.693147", "0.240227", "0.193147", "hit"]
    assert kl.main([str(file)]) == 1
    assert "the arguments are input_logprobs, output_logprobs; name --prefill" in capsys.readouterr().err
    file.write_text("[]\n")
    assert kl.main([str(file)]) == 1
    assert f"{file}:1: no log-probs that a rerun kept" in capsys.readouterr().err
