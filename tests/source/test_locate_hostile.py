"""Files nobody wrote in good faith: they end, stay small, and are refused in one printable line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.source import Site, locate
from bot.source.lineage import MAX_CLASSES, MAX_FILES, MAX_MISSES
from bot.verdict.answer import Refusal
from tests.source.builders import PATH, find, find_in, refusal_of, site_of

BOUND = "    kl_threshold = 0.003\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"print 'old'\nclass TestA:\n{BOUND}", 1),
        (f"x = 1\n<<<<<<< HEAD\nclass TestA:\n{BOUND}=======\nclass TestA:\n{BOUND}>>>>>>> other\n", 2),
        (f"class TestA:\n{BOUND}    x = (\n", 1),
    ],
)
def test_what_does_not_parse_is_refused_with_a_line(text, line):
    code, sentence = refusal_of(text)
    assert (code, "near line" in sentence) == ("does_not_parse", True)
    assert int(sentence.split("near line ")[1].split(";")[0]) >= line


@pytest.mark.parametrize(
    "line",
    [
        "type Pair[T] = tuple[T, T]",
        "def f[T: int](x: T) -> T: return x",
        "class Box[T](Base): ...",
        "name = f'{'nested'} {x!r:>{width}} {'\\n'.join(a)}'",
        "try: ...\nexcept* ValueError: ...",
    ],
)
def test_newer_syntax_is_read(line):
    assert site_of(f"{line}\nclass TestA[T](Base[T]):\n{BOUND}").value == 0.003


@pytest.mark.parametrize(
    "text", ["t = t'{name} {x:>{n}}'\n", "try: ...\nexcept ValueError, TypeError: ...\n"]
)
def test_syntax_newer_than_the_grammar_never_gives_a_wrong_site(text):
    found = find(f"{text}class TestA:\n{BOUND}")
    assert found.line == text.count("\n") + 2 if isinstance(found, Site) else found.code == "does_not_parse"


def test_byte_order_mark_line_ends_form_feeds_and_tabs():
    text = "\ufeffimport a\r\n\x0c\r\nclass TestA(a.B):\r\n\tx = 'ü'\r\n\tkl_threshold = 0.003\r\n"
    site = site_of(text.encode())
    assert (site.line, site.column) == (5, 17)
    assert text.encode()[site.start : site.end] == b"0.003"


def test_a_number_after_a_byte_order_mark():
    text = "\ufeffKL_BOUND = 0.003\nclass TestA:\n    kl_threshold = KL_BOUND\n"
    assert (site_of(text.encode()).line, site_of(text.encode()).column) == (1, 12)


def test_a_cycle_of_bases_and_of_imports_ends():
    tree = {
        PATH: "from b import B\nclass TestA(B): ...\nclass C(C): ...\n",
        "test/kl/b.py": "from test_a import TestA\nfrom c import X\nclass B(TestA, X): ...\n",
        "test/kl/c.py": "from d import X\n",
        "test/kl/d.py": "from c import X\nfrom c import *\n",
    }
    found = find_in(tree, PATH, "TestA.test_x")
    assert isinstance(found, Refusal) and found.code == "bound_not_found"


def test_an_order_python_would_refuse_ends_too():
    text = "class A: ...\nclass B(A): ...\nclass TestA(A, B):\n    kl_threshold = 0.003\n"
    assert site_of(text).line == 4


def test_ten_thousand_classes_in_a_row():
    text = "class C0:\n    kl_threshold = 0.003\n    def test_x(self): ...\n"
    text += "".join(f"class C{i + 1}(C{i}): ...\n" for i in range(3_000))
    text += "class TestA(C3000):\n    kl_threshold = 0.004\n"
    assert site_of(text).value == 0.004
    near = site_of(text, "C0.test_x")
    assert 1 <= len(near.governs) <= MAX_CLASSES


def test_deep_nesting_does_not_exhaust_the_stack():
    deep = 3_000
    text = f"x = {'(' * deep}1{')' * deep}\nclass TestA:\n    y = {'[' * deep}{']' * deep}\n{BOUND}"
    assert site_of(text).value == 0.003
    chained = "".join(f"a{i} = " for i in range(deep))
    assert site_of(f"class TestA:\n    {chained}1\n{BOUND}").value == 0.003
    dotted = ".".join(["a"] * deep)
    assert refusal_of(f"class TestA:\n    kl_threshold = {dotted}\n")[0] == "computed"
    ors = " or ".join(["None"] * deep)
    assert refusal_of(f"class TestA:\n    kl_threshold = {ors} or 0.1\n")[0] == "computed"


def test_names_are_shown_printable_and_short():
    long, path = "T" * 5_000, "test/\x1b[31m\nred.py"
    found = locate(path, f"{long}.x", {path: b"x = 1\n"}.get)
    assert isinstance(found, Refusal) and found.sentence.isprintable() and len(found.sentence) < 500
    text = f"class {long}:\n    kl_threshold = f()\nclass TestA({long}): ...\n"
    code, sentence = refusal_of(text)
    assert code == "computed" and sentence.isprintable() and len(sentence) < 700


def test_a_huge_file_is_not_read():
    assert refusal_of(b"#" * (5 << 20))[0] == "does_not_parse"


def test_reading_stops_at_a_limit():
    asked = []

    def read(path):
        asked.append(path)
        n = path.removesuffix(".py").rpartition("m")[2]
        return f"from m{int(n) + 1} import B\nclass B(B): ...\n".encode() if n.isdigit() else None

    locate("m0.py", "B.test_x", read)
    assert len([path for path in asked if path.count("/") == 0]) <= MAX_FILES + 1


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "class TestA(Kit, B):",
                "    kl_threshold = 0.003",
                "    kl_div_thres_prefill = None",
                "    def test_x(self):",
                "        check_kl(self.kl_threshold, KL_BOUND, T, self.model)",
                "        assert kl < 0.1",
                'T = {M: {"kl_div": KL_BOUND, **X}, "m": {"kl_div": 0.2}}',
                "KL_BOUND = 0.004",
                "@p(('kl_threshold',))",
                "class Kit(B):",
                "from a.b import *",
                "import a.b as B, c",
                "    model = M",
                "if x:",
                "    (",
                "\x0c\t'''",
                "class TestA: kl_threshold = KL_BOUND = (1)",
            ]
        ),
        max_size=12,
    ),
    st.binary(max_size=5),
)
def test_whatever_the_file_says_the_answer_is_a_number_in_it_or_one_sentence(lines, noise):
    data = "\n".join(lines).encode() + noise
    found = locate(PATH, "TestA.test_x", {PATH: data}.get)
    if isinstance(found, Site):
        assert float(data[found.start : found.end]) == found.value
        assert f"{PATH}::TestA.test_x" in found.governs
    else:
        assert found.sentence.isprintable() and found.sentence.endswith(".")


def test_asking_in_vain_stops_too():
    asked = []

    def read(path):
        asked.append(path)
        return text if path == PATH else None

    names = [f"Base{i}" for i in range(500)]
    imports = "".join(f"from pkg{i}.mod import {name}\n" for i, name in enumerate(names))
    text = f"{imports}class TestA({', '.join(names)}):\n    x = 1\n".encode()
    found = locate(PATH, "TestA.test_x", read)
    assert isinstance(found, Refusal) and found.code == "bound_not_found"
    assert len(asked) <= MAX_MISSES + 1


def test_imported_names_that_are_no_bounds_are_not_looked_up():
    asked = []
    text = b"from pkg.utils import URL, launch\nclass TestA:\n    def test_x(self):\n"
    text += b"        assert launch(URL) < 0.5\n        assert kl < 0.003\n"
    locate(PATH, "TestA.test_x", lambda path: asked.append(path) or (text if path == PATH else None))
    assert asked == [PATH]
