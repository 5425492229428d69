"""Bounds in shell and YAML files: which line is meant, what the edit may touch, where a comment may stand."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.source import EditError
from bot.source.lines import LineEdit, LineSite, Span, bump_line, locate_line, prove_line
from bot.verdict.answer import Refusal
from rules import load_named


@dataclass(frozen=True)
class Found:
    start: int
    end: int
    line: int
    column: int
    spelling: str
    value: float


def bounds(text: str) -> list[Found]:
    """Every `--max_kl_div=NUMBER` and `gen_kl_error"]) < NUMBER`, as a pack finds them."""
    found = []
    for match in re.finditer(r'(?:--max_kl_div=|gen_kl_error"\]\) < )(\d+\.?\d*(?:e-\d+)?|\.\d+)', text):
        start, end = match.span(1)
        line = text.count("\n", 0, start)
        column = start - (text.rfind("\n", 0, start) + 1) + 1
        found.append(Found(start, end, line + 1, column, match[1], float(match[1])))
    return found


def located(text: str, path: str = "t.sh", line: int | None = None) -> LineSite:
    site = locate_line(path, text.encode(), bounds, line)
    assert isinstance(site, LineSite), site
    return site


def bumped(text: str, path: str = "t.sh", line: int | None = None, new: float = 0.005) -> tuple[str, bool]:
    edit = bump_line(text.encode(), located(text, path, line), new, "noise", bounds)
    assert isinstance(edit, LineEdit), edit
    return edit.data.decode(), edit.commented


def test_the_site_of_a_line():
    site = located("#!/bin/bash\n  größe --max_kl_div=2e-3 --x=2e-3\n")
    assert (site.line, site.column, site.spelling, site.value) == (2, 22, "2e-3", 0.002)
    assert "#!/bin/bash\n  größe --max_kl_div=2e-3 --x=2e-3\n".encode()[site.start : site.end] == b"2e-3"
    assert site.as_dict()["scope"] == "line"


COMMAND = """\
run() {
    python check.py \\
        --max_kl_div=2e-3 \\
        --steps=2
}
"""
DOCUMENT = "cat <<-'EOF' > x\n\ta --max_kl_div=2e-3\n\tEOF\n"
QUOTE = 'check "\n--max_kl_div=2e-3"\n'
STEP = "jobs:\n  - run: |\n      a\n      b --max_kl_div=2e-3\n    env: 2e-3\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "commented"),
    [
        ("t.sh", "\ta --max_kl_div=2e-3\n", "\t# noise\n\ta --max_kl_div=5e-3\n", True),
        ("t.sh", "x=1\r\na --max_kl_div=.002", "x=1\r\n# noise\r\na --max_kl_div=.005", True),
        ("t.sh", "# it's\\\na --max_kl_div=2e-3\n", "# it's\\\n# noise\na --max_kl_div=5e-3\n", True),
        ("t.sh", "a=(\n  --max_kl_div=2e-3\n)\n", "a=(\n  # noise\n  --max_kl_div=5e-3\n)\n", True),
        ("t.sh", "b <<< 'x'\na --max_kl_div=2e-3\n", "b <<< 'x'\n# noise\na --max_kl_div=5e-3\n", True),
        (
            "t.sh",
            "cat <<A <<B\n'\nA\nb\nB\na --max_kl_div=2e-3\n",
            "cat <<A <<B\n'\nA\nb\nB\n# noise\na --max_kl_div=5e-3\n",
            True,
        ),
        (
            "t.sh",
            """check 'max(d["train/gen_kl_error"]) < 0.003' 'x < 0.003'\n""",
            """# noise\ncheck 'max(d["train/gen_kl_error"]) < 0.005' 'x < 0.003'\n""",
            True,
        ),
        ("t.sh", COMMAND, COMMAND.replace("2e-3", "5e-3"), False),
        ("t.sh", COMMAND.replace("\n", "\r\n"), COMMAND.replace("\n", "\r\n").replace("2e-3", "5e-3"), False),
        ("t.sh", DOCUMENT, DOCUMENT.replace("2e-3", "5e-3"), False),
        ("t.sh", QUOTE, QUOTE.replace("2e-3", "5e-3"), False),
        ("t.sh", "x='\na --max_kl_div=2e-3\n", "x='\na --max_kl_div=5e-3\n", False),
        ("t.sh", "cat <<A\na --max_kl_div=2e-3\n", "cat <<A\na --max_kl_div=5e-3\n", False),
        ("t.yml", STEP, STEP.replace("--max_kl_div=2e-3", "--max_kl_div=5e-3"), False),
        (
            "t.yaml",
            "a:\n  args: x --max_kl_div=2e-3\n  b: 2e-3\n",
            "a:\n  # noise\n  args: x --max_kl_div=5e-3\n  b: 2e-3\n",
            True,
        ),
        (
            "t.yaml",
            """a:\n- 'max(d["train/gen_kl_error"]) < 0.003'\n""",
            """a:\n# noise\n- 'max(d["train/gen_kl_error"]) < 0.005'\n""",
            True,
        ),
        ("t.yaml", "a: |\n  b\nc: --max_kl_div=2e-3\n", "a: |\n  b\n# noise\nc: --max_kl_div=5e-3\n", True),
        ("t.yaml", "a: 'b\n  --max_kl_div=2e-3'\n", "a: 'b\n  --max_kl_div=5e-3'\n", False),
        ("t.yaml", "a: b\n  --max_kl_div=2e-3\n", "a: b\n  --max_kl_div=5e-3\n", False),
        ("t.yaml", "a: {{ x\n: --max_kl_div=2e-3\n", "a: {{ x\n: --max_kl_div=5e-3\n", False),
        ("t.json", "--max_kl_div=2e-3", "--max_kl_div=5e-3", False),
    ],
)
def test_one_number_and_a_comment_where_the_file_takes_one(path, old, new, commented):
    assert bumped(old, path) == (new, commented)


def test_bounds_in_comments_are_none():
    text = "# a --max_kl_div=1e-3\na --max_kl_div=2e-3  # was --max_kl_div=1e-3\n"
    assert located(text).line == 2
    assert located(text, "t.yaml").line == 2
    assert bumped(text)[0] == text.replace("\na ", "\n# noise\na ").replace("2e-3", "5e-3")


TWO = "a --max_kl_div=2e-3\nb\nc --max_kl_div=3e-3\n"


def test_of_several_bounds_the_caller_names_the_line():
    assert bumped(TWO, line=3)[0] == "a --max_kl_div=2e-3\nb\n# noise\nc --max_kl_div=5e-3\n"


@pytest.mark.parametrize(
    ("text", "line", "code", "word"),
    [
        (TWO, None, "ambiguous", "1 and 3"),
        (TWO, 2, "bound_not_found", "1 and 3"),
        ("a --max_kl_div=2e-3 --max_kl_div=3e-3\n", 1, "ambiguous", "2 bounds"),
        ("a\n", None, "bound_not_found", "rule pack"),
        (b"\xff --max_kl_div=2e-3\n", None, "does_not_parse", "UTF-8"),
    ],
)
def test_no_one_line(text, line, code, word):
    data = text if isinstance(text, bytes) else text.encode()
    refusal = locate_line("t.sh", data, bounds, line)
    assert isinstance(refusal, Refusal) and refusal.code == code
    assert word in refusal.sentence and refusal.sentence.endswith(".")


@pytest.mark.parametrize(
    ("new", "comment", "code"),
    [
        (float("nan"), "x", "not_finite"),
        (0.002, "x", "equal"),
        (0.001, "x", "not_looser"),
        (0.005, "#", "no_comment"),
    ],
)
def test_values_and_comments_that_are_refused(new, comment, code):
    text = "a --max_kl_div=2e-3\n"
    refusal = bump_line(text.encode(), located(text), new, comment, bounds)
    assert isinstance(refusal, Refusal) and refusal.code == code


def test_a_site_of_another_version_of_the_file_is_refused():
    refusal = bump_line(b"b\na --max_kl_div=2e-3\n", located("a --max_kl_div=2e-3\n"), 0.005, "x", bounds)
    assert isinstance(refusal, Refusal) and refusal.code == "stale_site"


def test_a_comment_that_reads_as_a_bound_is_none():
    text = "a --max_kl_div=2e-3\n"
    edit = bump_line(text.encode(), located(text), 0.005, "was --max_kl_div=2e-3", bounds)
    assert isinstance(edit, LineEdit)
    assert edit.data == b"# was --max_kl_div=2e-3\na --max_kl_div=5e-3\n"


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        ("a --max_kl_div=0\n", "t.sh", "exact_gate"),
        ("a --max_kl_div=1e-9\n", "t.sh", "exact_gate"),
        ("a: x --max_kl_div=1e-6\n", "t.yaml", "exact_gate"),
        ("a: &x\n  b: c --max_kl_div=2e-3\nd: *x\n", "t.yaml", "shared"),
        ("a: &x y --max_kl_div=2e-3\nd: *x\n", "t.yaml", "shared"),
        ("a: 'b # --max_kl_div=2e-3'\n", "t.yaml", "bound_not_found"),
        ("a '# --max_kl_div=2e-3'\n", "t.sh", "bound_not_found"),
    ],
)
def test_bounds_that_are_not_to_be_moved(text, path, code):
    refusal = locate_line(path, text.encode(), bounds)
    assert isinstance(refusal, Refusal) and refusal.code == code


def test_the_gate_of_the_pack_counts_for_site_and_edit():
    text = "a --max_kl_div=2e-3\n"
    for refusal in (
        locate_line("t.sh", text.encode(), bounds, exact_gate=0.002),
        bump_line(text.encode(), located(text), 0.005, "noise", bounds, exact_gate=0.002),
    ):
        assert isinstance(refusal, Refusal) and refusal.code == "exact_gate"


# --- the proof --------------------

GOOD = "a --max_kl_div=2e-3\nb\n# noise\nc --max_kl_div=5e-3\n"


@pytest.mark.parametrize(
    "edited",
    [
        TWO,
        GOOD.replace("# noise\n", ""),
        GOOD.replace("# noise", "noise"),
        GOOD.replace("5e-3", "6e-3"),
        GOOD.replace("5e-3", "5E-3"),
        GOOD.replace("# noise\n", "# noise\r\n"),
        GOOD.replace("# noise\n", " # noise\n"),
        "# noise\n" + GOOD.replace("# noise\n", ""),
        GOOD.replace("2e-3", "2e-4"),
        GOOD + "\n",
    ],
)
def test_any_other_edit_fails_the_proof(edited):
    with pytest.raises(EditError):
        prove_line(TWO.encode(), edited.encode(), located(TWO, line=3), 0.005, bounds, commented=True)


def test_the_proof_asks_the_pack_again():
    site = located(TWO, line=3)
    for forgetful in (lambda text: bounds(text)[:1], lambda text: bounds(text.replace("5e-3", "5"))):
        with pytest.raises(EditError, match="pack"):
            prove_line(TWO.encode(), GOOD.encode(), site, 0.005, forgetful, commented=True)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("t.sh", COMMAND, COMMAND.replace("        --max", "        # noise\n        --max")),
        ("t.sh", QUOTE, QUOTE.replace("--max", "# noise\n--max")),
        ("t.sh", DOCUMENT, DOCUMENT.replace("\ta", "\t# noise\n\ta")),
        ("t.yml", STEP, STEP.replace("      b", "      # noise\n      b")),
    ],
)
def test_a_comment_where_none_may_stand_fails_the_proof(path, old, new):
    edited = new.replace("--max_kl_div=2e-3", "--max_kl_div=5e-3").encode()
    with pytest.raises(EditError, match="no comment"):
        prove_line(old.encode(), edited, located(old, path), 0.005, bounds, commented=True)


def test_without_a_comment_only_the_number_may_differ():
    site = located(COMMAND)
    old, new = COMMAND.encode(), COMMAND.replace("2e-3", "5e-3").encode()
    prove_line(old, new, site, 0.005, bounds, commented=False)
    with pytest.raises(EditError):
        prove_line(old, new.replace(b"steps=2", b"steps=3"), site, 0.005, bounds, commented=False)


BOUND = "--max_kl_div=2e-3"
SHELL = ("a", "'", '"', "\\\n", "\n", "# ", " ", "`", "<<E\n", "E\n", "$'", "\\'", BOUND, "(", ")")
YAML = ("a: ", "- ", "|\n", "\n", "  ", "'", '"', " #", "[", "]", BOUND, ">-\n", ",", "\t", "? ")


def texts(path: str, pieces: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.just(path), st.lists(st.sampled_from(pieces), max_size=30).map("".join))


@settings(max_examples=600, deadline=None)
@given(texts("t.sh", SHELL) | texts("t.yaml", YAML), st.booleans())
def test_any_text_is_edited_in_one_number_or_refused(case, crlf):
    path, text = case
    text = text.replace("\n", "\r\n") if crlf else text
    data = text.encode()
    for line in range(1, text.count("\n") + 2):
        site = locate_line(path, data, bounds, line)
        if isinstance(site, Refusal):
            continue
        edit = bump_line(data, site, 0.005, "noise", bounds)
        assert isinstance(edit, LineEdit)
        rows = edit.data.decode().split("\n")
        if edit.commented:
            assert rows.pop(line - 1).strip() == "# noise"
        assert "\n".join(rows).encode() == data[: site.start] + b"5e-3" + data[site.end :]


COMMANDS = (
    f"a {BOUND}\n",
    f"a \\\n  {BOUND}\n",
    f"a 'x\n' {BOUND}\n",
    f"a \"x\n$(b '\n')\n {BOUND}\"\n",
    f"a=(\n  {BOUND}\n)\n",
    f"cat <<E\n{BOUND}\n'\nE\n",
    f"cat <<-'E F' <<G\n'\n\tE F\n{BOUND}\nG\n",
    f"if [[ $x =~ a ]]; then\n  a {BOUND}\nfi\n",
    f"x=$(\n  a {BOUND}\n)\n",
    f"x=`\n  a {BOUND}\n`\n",
    f"case $x in\n  y)\n    a {BOUND} ;;\nesac\n",
    f"a $'it\\'s\n{BOUND}'\n",
    "# it's\n",
    "x=${x#\\'}; y=$#; z=a#b\n",
    "x=$((1 << 2))\n",
    'a <<< "it\'s"\n',
    "echo it\\'s # it's\n",
    "x='#'; y=\"#\"\n",
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=5).map("".join))
def test_bash_sees_no_comment_that_was_put(text):
    """Bash prints a function without its comments."""
    for line in range(1, text.count("\n") + 1):
        site = locate_line("t.sh", text.encode(), bounds, line)
        if isinstance(site, LineSite):
            edit = bump_line(text.encode(), site, 0.005, "it's noise", bounds)
            assert isinstance(edit, LineEdit)
            plain = text.encode()[: site.start] + b"5e-3" + text.encode()[site.end :]
            assert function(edit.data) == function(plain)


def function(body: bytes) -> bytes:
    script = b"f() {\n" + body + b"\n}\ndeclare -f f\n"
    return subprocess.run(["bash"], input=script, capture_output=True, check=True).stdout


# --- the packs of the house --------------------


@pytest.mark.parametrize(
    ("pack", "path", "line", "spelling"),
    [
        ("maxtext", "tests/end_to_end/x.sh", "python check.py --max_kl_div=2e-3 --x=1", "2e-3"),
        ("nemo-rl", "tests/functional/x.sh", """check 'max(data["train/gen_kl_error"]) < 0.03'""", "0.03"),
        ("nemo-rl", "tests/functional/x.yaml", """- 'max(data["train/gen_kl_error"]) < 0.03'""", "0.03"),
    ],
)
def test_bounds_that_packs_name(pack, path, line, spelling):
    rules, data = load_named(pack), f"{line}\n".encode()

    def find(text: str) -> Sequence[Span]:
        return rules.bound_sites(path, text)

    site = locate_line(path, data, find)
    assert isinstance(site, LineSite) and site.spelling == spelling
    edit = bump_line(data, site, 0.05, "noise", find)
    assert isinstance(edit, LineEdit) and edit.commented
    again = locate_line(path, edit.data, find)
    assert isinstance(again, LineSite)
    assert (again.line, again.column, again.value) == (2, site.column, 0.05)


@pytest.mark.parametrize(
    ("pack", "path", "text", "spelling"),
    [
        ("nemo-rl", "tests/a.sh", """x 'max(data["train/gen_kl_error"]) < .04'\n""", ".04"),
        ("nemo-rl", "tests/a.yaml", """- "max(data[\\"train/gen_kl_error\\"]) < 0.03"\n""", "0.03"),
        ("nemo-rl", "tests/a.sh", """x 'max(data["train/gen_kl_error"]) < 0.03 * 2'\n""", None),
        ("maxtext", "a.sh", "a --max_kl_div=3e-3x\n", None),
        ("maxtext", "a.sh", "a --max_kl_div=0.003$SUFFIX\n", None),
        ("maxtext", "a.sh", "a --max_kl_div=0.0040-5\n", None),
        ("automodel", "tests/a.yaml", "a:\n  kl_threshold: &k 2e-3\n", "2e-3"),
        ("automodel", "tests/a.yaml", 'hf_kl_threshold: "1e-2"\n', "1e-2"),
        ("automodel", "tests/a.yaml", "a: {x: 1, source_load_kl_threshold: 5}\n", "5"),
        ("automodel", "tests/a.yaml", "- kl_threshold: 0.01\n", "0.01"),
        ("automodel", "tests/a.yaml", 'six: "a # kl_threshold: 9"\n', None),
        ("automodel", "tests/a.yaml", "run: |\n  foo kl_threshold: 8\n", None),
        ("automodel", "tests/a.yaml", "xkl_threshold: 8\n", None),
    ],
)
def test_what_packs_take_for_a_bound(pack, path, text, spelling):
    rules = load_named(pack)
    site = locate_line(path, text.encode(), lambda found: rules.bound_sites(path, found))
    assert (site.spelling if isinstance(site, LineSite) else None) == spelling
