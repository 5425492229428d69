"""The expression language: values checked by eye, and nothing but its own error for anything else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.demo.actions.expressions import ExpressionError, Status, check, condition, evaluate, interpolate

CONTEXTS = {
    "inputs": {"request_id": "kl-7f3a", "loud": True, "count": 3.0},
    "github": {
        "sha": "f" * 40,
        "event_name": "pull_request",
        "event": {"pull_request": {"head": {"sha": "a" * 40}, "number": 7, "labels": ["kl", "gpu"]}},
    },
    "env": {"MODE": "observe"},
    "runner": {"name": "cpu-local-0"},
    "steps": {"run-it": {"outputs": {"value": "0.0031"}}},
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("inputs.request_id", "kl-7f3a"),
        ("inputs['request_id']", "kl-7f3a"),
        ("GITHUB.Event.pull_request.head.sha", "a" * 40),
        ("github.event.pull_request.labels[1]", "gpu"),
        ("github.event.issue.number", None),
        ("github.sha.nothing", None),
        ("steps.run-it.outputs.value", "0.0031"),
        ("'it''s'", "it's"),
        ("0x1F", 31.0),
        ("-1.5e2", -150.0),
        ("true && 'yes' || 'no'", "yes"),
        ("false && 'yes' || 'no'", "no"),
        ("'' || inputs.loud", True),
        ("!inputs.loud", False),
        ("!!inputs.count", True),
        ("!!!inputs.count", False),
        ("env.MODE == 'OBSERVE'", True),
        ("env.MODE != 'propose' && github.event_name == 'pull_request'", True),
        ("inputs.count == '3'", True),
        ("inputs.loud == 1", True),
        ("null == ''", True),
        ("null == 0", True),
        ("'abc' == 0", False),
        ("'abc' != 0", True),
        ("github.event == github.event", True),
        ("true == false == false", True),
        ("1 == 1 || inputs.x == 2 && false", True),
        ("(1 == 1 || true) && false", False),
        ("format('{0}-{1}-{0} {{x}}', 'a', 2)", "a-2-a {x}"),
        ("contains('KL_Threshold', 'threshold')", True),
        ("contains(github.event.pull_request.labels, 'GPU')", True),
        ("contains(github.event.pull_request.labels, 'gp')", False),
    ],
)
def test_values(expression: str, value: object) -> None:
    assert evaluate(expression, CONTEXTS) == value


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("secrets.TOKEN", "context 'secrets' is not supported"),
        ("toJSON(github)", "function 'toJSON' is not supported"),
        ("inputs.*", "'*' is not understood"),
        ("1 < 2", "'<' is not understood"),
        ("", "it is empty"),
        ("inputs.", "a name is missing after '.'"),
        ("'open", "''' is not understood"),
        ("(1", "')' is missing"),
        ("1 2", "'2' is not expected here"),
        ("1 ==", "it ends too early"),
        ("format('{0}')", "format() has no argument for '{0}'"),
        ("format('{', 1)", "format() has no argument for '{'"),
        ("contains('a')", "contains() does not take 1 arguments"),
        ("always()", "function always() is not available here"),
        ("job.status", "context 'job' is not available here"),
        ("(" * 60 + "1" + ")" * 60, "nested deeper than 32"),
        ("1" * 30_000, "longer than 21000 characters"),
        ("__import__('os')", "function '__import__' is not supported"),
    ],
)
def test_everything_else_is_an_error_that_names_the_expression(expression: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(expression, CONTEXTS)
    assert problem in str(caught.value)
    assert f"expression '{expression[:100]}" in str(caught.value)


def test_interpolation_puts_values_into_text() -> None:
    assert interpolate("KL rerun ${{ inputs.request_id }}", CONTEXTS) == "KL rerun kl-7f3a"
    assert interpolate("${{ inputs.loud }}${{inputs.count}}${{ null }}$ {{ }}", CONTEXTS) == "true3$ {{ }}"
    assert interpolate("${{ '}}' }}", CONTEXTS) == "}}"
    assert interpolate("${{ github.event }}", CONTEXTS) == "Object"
    with pytest.raises(ExpressionError, match="is not closed"):
        interpolate("a ${{ 'b }}", CONTEXTS)


def test_a_value_is_not_evaluated_again() -> None:
    contexts = {"inputs": {"word": "${{ env.MODE }}"}, "env": {"MODE": "x"}}
    assert interpolate("${{ inputs.word }}", contexts) == "${{ env.MODE }}"


S, F, C = Status.SUCCESS, Status.FAILURE, Status.CANCELLED


@pytest.mark.parametrize(
    ("text", "runs_when"),
    [
        (None, {S}),
        ("", {S}),
        ("true", {S}),
        ("inputs.loud", {S}),
        ("!inputs.loud", set()),
        ("always()", {S, F, C}),
        ("${{ always() }}", {S, F, C}),
        ("failure()", {F}),
        ("cancelled()", {C}),
        ("!cancelled()", {S, F}),
        ("success() || failure()", {S, F}),
        ("always() && inputs.loud == false", set()),
        ("inputs.request_id == 'always()'", set()),
    ],
)
def test_conditions(text: str | None, runs_when: set[Status]) -> None:
    assert {status for status in Status if condition(text, CONTEXTS, status)} == runs_when


@pytest.mark.parametrize("text", ["${{ true }} && false", "a ${{ true }}", "${{ true }}${{ true }}"])
def test_a_condition_with_text_around_its_expression_is_refused(text: str) -> None:
    """GitHub takes such a text for true, whatever stands in it."""
    with pytest.raises(ExpressionError, match="must be one expression"):
        condition(text, CONTEXTS, S)


def test_texts_that_would_grow_without_bound_are_refused() -> None:
    doubling = "format('" + "{0}" * 50 + "', "
    with pytest.raises(ExpressionError, match="longer than"):
        evaluate(doubling * 8 + "'0123456789'" + ")" * 8, CONTEXTS)
    with pytest.raises(ExpressionError, match="becomes longer"):
        interpolate("${{ env.LONG }}" * 3, {"env": {"LONG": "x" * 400_000}})


WORDS = [
    "inputs",
    "github",
    "env",
    ".sha",
    "['x']",
    "[0]",
    "always()",
    "format(",
    "contains(",
    "'{0}'",
    "'a'",
]
WORDS += [
    "(",
    ")",
    ",",
    "!",
    "==",
    "!=",
    "&&",
    "||",
    " ",
    "1",
    "-2e3",
    "0xff",
    "true",
    "null",
    "secrets",
    "'",
    "{",
    "}}",
]


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=40).map("".join)))
def test_no_text_raises_anything_but_an_expression_error(text: str) -> None:
    for ask in (
        lambda: evaluate(text, CONTEXTS, Status.FAILURE),
        lambda: interpolate("${{" + text + "}}", CONTEXTS),
        lambda: condition(text, CONTEXTS, Status.SUCCESS),
        lambda: check(text),
    ):
        try:
            ask()
        except ExpressionError as error:
            assert str(error)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_operators_take_any_values(left: object, right: object) -> None:
    contexts = {"inputs": {"a": left, "b": right}}
    same = evaluate("inputs.a == inputs.b", contexts)
    assert evaluate("inputs.a != inputs.b", contexts) is not same
    assert evaluate("inputs.b == inputs.a", contexts) is same
    assert evaluate("!(inputs.a && inputs.b)", contexts) is evaluate("!inputs.a || !inputs.b", contexts)
    assert isinstance(evaluate("contains(inputs.a, inputs.b)", contexts), bool)
    assert isinstance(interpolate("${{ inputs.a }}", contexts), str)
