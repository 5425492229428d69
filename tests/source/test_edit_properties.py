"""The edits on generated files: the right bytes and no other, back and forth; the proof sees any slip."""

from __future__ import annotations

import ast
import subprocess

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.source import EditError, Site, bump, comment_line, diff, locate, spell
from bot.source.proof import prove, prove_override
from bot.source.relocate import relocation
from tests.source.worlds import PATH, World, inheriting, inheritors, site_at, worlds

FACTORS = st.floats(1.01, 40)
WORDS = st.text(min_size=1, max_size=60).map(lambda words: f"noise {words}")
BYTES = st.sampled_from([bytes([code]) for code in range(128)] + [b"\xc3", b"\xff"])


def loosened(world: World, factor: float) -> float:
    return float(f"{world.site.value * factor:.3g}")


def edited(world: World, new: float, comment: str = "noise") -> bytes:
    result = bump(world.data, world.site, new, comment)
    assert isinstance(result, bytes), result
    return result


def expected(world: World, new: float, comment: str) -> bytes:
    """The comment line above, indented and ended as the line below it; the number in place."""
    data, above, site = world.data, world.above, world.site
    stop = data.find(b"\n", above)
    line = data[above:] if stop < 0 else data[above : stop + 1]
    blanks = line[: len(line) - len(line.lstrip(b" \t"))]
    crlf = line.endswith(b"\r\n") if stop >= 0 else data[:above].endswith(b"\r\n")
    added = blanks + str(comment_line(comment)).encode() + (b"\r\n" if crlf else b"\n")
    return (
        data[:above]
        + added
        + data[above : site.start]
        + spell(new, site.spelling).encode()
        + data[site.end :]
    )


@settings(max_examples=300, deadline=None)
@given(worlds(modern=True), FACTORS, WORDS)
def test_the_right_number_moves_and_the_comment_stands_above_its_statement(world, factor, words):
    new = loosened(world, factor)
    assert edited(world, new, words) == expected(world, new, words)


@settings(max_examples=100, deadline=None)
@given(worlds(), FACTORS)
def test_python_reads_one_other_number(world, factor):
    new = loosened(world, factor)
    before = [node.value for node in ast.walk(ast.parse(world.data)) if isinstance(node, ast.Constant)]
    after = [node.value for node in ast.walk(ast.parse(edited(world, new))) if isinstance(node, ast.Constant)]
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == [
        (world.site.value, new)
    ]


@settings(max_examples=100, deadline=None)
@given(worlds(modern=True), FACTORS)
def test_taken_back_the_bytes_are_the_same(world, factor):
    text, site = edited(world, loosened(world, factor)), world.site
    stop = text.index(b"\n", world.above) + 1
    without = text[: world.above] + text[stop:]
    grown = len(without) - len(world.data)
    assert without[: site.start] + site.spelling.encode() + without[site.end + grown :] == world.data


@settings(max_examples=150, deadline=None)
@given(inheritors(), FACTORS, WORDS)
def test_an_override_is_a_statement_of_the_class_and_removed_gives_the_same_bytes(case, factor, words):
    data, site = case
    new = float(f"{site.value * factor:.3g}")
    text = bump(data, site, new, words)
    assert isinstance(text, bytes), text
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    own = next(node for node in classes if node.name == "TestA")
    setting = [
        node
        for node in own.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and ast.unparse(node).startswith("kl_threshold")
    ]
    assert [ast.literal_eval(node.value) for node in setting if node.value] == [new]
    methods = [node.lineno for node in own.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert all(setting[0].lineno < line for line in methods)
    lines, rows = text.splitlines(keepends=True), {setting[0].lineno - 2, setting[0].lineno - 1}
    left = b"".join(line for row, line in enumerate(lines) if row not in rows)
    assert left.split() == data.split()
    assert 0 <= left.count(b"\n") - data.count(b"\n") <= (1 if data.endswith(b"\n") else 2)


@settings(max_examples=100, deadline=None)
@given(worlds(modern=True, attribute=True), FACTORS)
def test_locate_finds_the_bound_before_and_the_new_one_after(world, factor):
    site = locate(PATH, "TestA.test_x", {PATH: world.data}.get)
    assert isinstance(site, Site), site
    assert (site.start, site.spelling) == (world.site.start, world.site.spelling)
    new = loosened(world, factor)
    relocate = relocation(PATH, "TestA.test_x", {}.get, PATH)
    text = bump(world.data, site, new, "kl_threshold = 0.003", relocate)
    assert isinstance(text, bytes) and relocate(text) == new


KIT = b"class Kit:\n    kl_threshold: float = 0.003\n\n    def test_x(self): pass\n"


@settings(max_examples=60, deadline=None)
@given(inheritors(), FACTORS)
def test_locate_finds_the_override_of_a_kit(case, factor):
    data = b"from kit import Kit\n" + case[0].removeprefix(b"\xef\xbb\xbf")
    tree = {PATH: data, "test/kl/kit.py": KIT}
    site = locate(PATH, "TestA.test_x", tree.get)
    assert isinstance(site, Site) and site.override is not None, site
    new = float(f"{site.value * factor:.3g}")
    text = bump(data, site, new, "noise", relocation(PATH, "TestA.test_x", tree.get, PATH))
    assert isinstance(text, bytes), text
    own = locate(PATH, "TestA.test_x", (tree | {PATH: text}).get)
    assert isinstance(own, Site)
    assert (own.scope, own.cls, own.value, own.refusal) == ("class", "TestA", new, None)


@settings(max_examples=40, deadline=None)
@given(worlds(modern=True), FACTORS)
def test_git_applies_the_diff(repository, world, factor):
    check_git(repository, world.data, edited(world, loosened(world, factor)))


@settings(max_examples=30, deadline=None)
@given(inheritors(), FACTORS)
def test_git_applies_the_diff_of_an_override(repository, case, factor):
    data, site = case
    text = bump(data, site, float(f"{site.value * factor:.3g}"), "noise")
    assert isinstance(text, bytes)
    check_git(repository, data, text)


@pytest.mark.parametrize(
    "path", ["test/a b.py", 'test/a"b.py', "test/größe.py", "test/a\tb.py", "test/a\\b.py"]
)
def test_git_applies_the_diff_to_files_of_odd_names(repository, path):
    check_git(repository, b"a = 1\n", b"# x\na = 2\n", path)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def check_git(repository, old: bytes, new: bytes, path: str = PATH) -> None:
    file = repository / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(old)
    patch = diff(old, new, path).encode()
    subprocess.run(["git", "apply", "-"], input=patch, cwd=repository, check=True)
    assert file.read_bytes() == new


# --- the proof sees any slip --------------------


@st.composite
def mutations(draw: st.DrawFn, text: bytes) -> bytes:
    """The text with one byte replaced, put in or taken out, more often near the edit than not."""
    place = draw(st.integers(0, len(text)))
    kind = draw(st.sampled_from(["replace", "insert", "delete"]))
    byte = b"" if kind == "delete" else draw(BYTES)
    return text[:place] + byte + text[place + (kind != "insert") :]


def is_in_comment(text: bytes, mutated: bytes, start: int) -> bool:
    """Whether the mutation is another text of the comment in the line at `start`."""
    sign = text.index(b"#", start)
    stop = text.index(b"\n", sign)
    stop -= text[stop - 1 : stop] == b"\r"
    tail = text[stop:]
    inner = mutated[sign + 2 : len(mutated) - len(tail)]
    return (
        mutated.startswith(text[: sign + 2])
        and mutated.endswith(tail)
        and inner.isascii()
        and inner.decode().isprintable()
    )


@settings(max_examples=400, deadline=None)
@given(st.data(), worlds(), FACTORS)
def test_any_other_byte_fails_the_proof(data, world, factor):
    new = loosened(world, factor)
    text = edited(world, new)
    mutated = data.draw(mutations(text))
    assume(mutated != text and not is_in_comment(text, mutated, world.above))
    with pytest.raises(EditError):
        prove(world.data, mutated, world.site, new)


@settings(max_examples=300, deadline=None)
@given(st.data(), inheritors(), FACTORS)
def test_any_other_byte_fails_the_proof_of_an_override(data, case, factor):
    old, site = case
    new = float(f"{site.value * factor:.3g}")
    text = bump(old, site, new, "noise 7")
    assert isinstance(text, bytes)
    mutated = data.draw(mutations(text))
    assume(mutated != text and not is_in_comment(text, mutated, text.index(b"# noise 7")))
    assert site.override is not None
    with pytest.raises(EditError):
        prove_override(old, mutated, site.override, spell(new, site.spelling), new)


SLIPS = [b"", *(bytes([code]) for code in b" \t\n\r\x0c#0159_.eE'\\x:;,=()")]
CRLF = b"import x\r\n\r\nclass TestA(Kit):\r\n\tmodel = 1\r\n\r\n\tdef f(self): pass\r\n"


def slips(text: bytes) -> list[bytes]:
    """The text with any one byte left out, replaced by or followed by each of SLIPS."""
    found = {text[:place] + byte + text[place + 1 :] for place in range(len(text)) for byte in SLIPS}
    found |= {text[:place] + byte + text[place:] for place in range(len(text) + 1) for byte in SLIPS}
    return sorted(found - {text})


def test_every_slip_near_a_bump_fails_the_proof():
    old = b"D = {\n    M: {'kl_div': 4e-3, 'x': 4e-3},\n}\n"
    site = site_at(old, old.index(b"4e-3"), "4e-3", None)
    text = bump(old, site, 0.005, "n")
    assert text == b"D = {\n    # n\n    M: {'kl_div': 5e-3, 'x': 4e-3},\n}\n"
    passed = [slip for slip in slips(text) if passes(lambda slip=slip: prove(old, slip, site, 0.005))]
    assert all(is_in_comment(text, slip, 6) for slip in passed)


def test_every_slip_near_an_override_fails_the_proof():
    site = inheriting(CRLF, "4e-3")
    text = bump(CRLF, site, 0.005, "n")
    assert isinstance(text, bytes) and site.override is not None
    assert text == CRLF.replace(b"1\r\n", b"1\r\n\t# n\r\n\tkl_threshold = 5e-3\r\n")
    override = site.override
    passed = [s for s in slips(text) if passes(lambda s=s: prove_override(CRLF, s, override, "5e-3", 0.005))]
    assert all(is_in_comment(text, slip, text.index(b"# n")) for slip in passed)


def passes(proof) -> bool:
    try:
        proof()
    except EditError:
        return False
    return True
