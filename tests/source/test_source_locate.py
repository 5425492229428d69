"""Which literal governs a test: each idiom covered, and each refusal with its sentence."""

from __future__ import annotations

import pytest

from bot.source import Override, Sibling, Site, locate
from bot.verdict.answer import Refusal
from tests.source.builders import PATH, find, refusal_of, site_of

PLAIN = """\
import unittest

KL = 0.003


# class TestA(unittest.TestCase):
#     kl_threshold = 0.002
class TestA(unittest.TestCase):
    \"\"\"kl_threshold = 0.003\"\"\"

    gsm8k_threshold = 0.003
    # 0.003 is tight
    kl_threshold = 0.003  # was 0.002
    est_time = 0.003

    def test_x(self):
        kl_threshold = 0.003
        self.assertLess(run(threshold="kl_threshold = 0.003"), self.kl_threshold)

    def test_y(self):
        pass

    def helper(self):
        pass


class TestB(unittest.TestCase):
    kl_threshold = 0.005
"""


def test_a_class_attribute():
    site = site_of(PLAIN)
    assert (site.line, site.column, site.spelling, site.value) == (13, 20, "0.003", 0.003)
    assert PLAIN.encode()[site.start : site.end] == b"0.003"
    assert (site.scope, site.attribute, site.key) == ("class", "kl_threshold", f"{PATH}::TestA.kl_threshold")
    assert site.governs == (f"{PATH}::TestA.test_x", f"{PATH}::TestA.test_y")
    assert site.siblings == (Sibling(PATH, "TestB", 0.005),)


@pytest.mark.parametrize(
    "test", ["TestA.test_x", f"{PATH}::TestA.test_x", "TestA", "test_a.py::TestA::test_x"]
)
def test_ways_to_name_a_test(test):
    assert site_of(PLAIN, test).line == 13


@pytest.mark.parametrize(
    ("statement", "spelling", "column"),
    [
        ("kl_threshold: float = 4e-3", "4e-3", 27),
        ("kl_threshold=.002", ".002", 18),
        ("kl_div_thres = 0.0035  # was 0.003", "0.0035", 20),
        ("kl_threshold = 5E-04", "5E-04", 20),
        ("kl_threshold = \\\n        0.003", "0.003", 9),
        ("kl_threshold = (0.003)", "0.003", 21),
        ("kl_threshold = (  # was 0.002\n        0.003\n    )", "0.003", 9),
    ],
)
def test_spellings(statement, spelling, column):
    site = site_of(f"class TestA:\n    {statement}\n    def test_x(self): pass\n")
    assert (site.spelling, site.value, site.column) == (spelling, float(spelling), column)


def test_columns_count_characters_and_bytes_count_bytes():
    text = "class TestA:\n    größe = 'ä'; kl_threshold = 0.003\n"
    site = site_of(text)
    assert site.column == text.splitlines()[1].index("0.003") + 1
    assert text.encode()[site.start : site.end] == b"0.003"


def test_methods_of_mixins_and_of_the_failing_test():
    text = """\
from kit import Kit
class Mixin:
    def test_m(self): ...
class TestA(Mixin, Kit):
    kl_threshold = 0.003
    @skip
    def test_own(self): ...
class TestSub(TestA):
    other = 1
class TestOwn(TestA):
    kl_threshold = 0.005
"""
    site = site_of(text, "TestA.test_from_kit")
    assert [test.removeprefix(f"{PATH}::") for test in site.governs] == [
        "TestA.test_own",
        "TestA.test_m",
        "TestA.test_from_kit",
        "TestSub.test_own",
        "TestSub.test_m",
        "TestSub.test_from_kit",
    ]
    assert site.siblings == (Sibling(PATH, "TestOwn", 0.005),)


def test_methods_of_a_kit_in_another_file():
    text = "import unittest\nfrom pkg.kit import Kit\n"
    text += "class TestA(Kit, unittest.TestCase):\n    kl_threshold = 0.003\n"
    tree = {
        PATH: text.encode(),
        "pkg/kit.py": b"class Kit:\n    def test_p(self): ...\n    def test_q(self): ...\n",
    }
    asked = []

    def read_file(path):
        asked.append(path)
        return tree.get(path)

    site = locate(PATH, "TestA.test_q", read_file)
    assert site.governs == (f"{PATH}::TestA.test_p", f"{PATH}::TestA.test_q")
    assert (asked[0], asked[-1]) == (PATH, "pkg/kit.py")


def test_a_kit_that_sets_the_bound_again():
    kit = "class Kit:\n    def setUp(self):\n        self.kl_threshold = 1\n"
    text = "from pkg.kit import Kit\nclass TestA(Kit):\n    kl_threshold = 0.003\n"
    assert refusal_of(text, pkg__kit=kit) == (
        "ambiguous",
        "self.kl_threshold is set again in line 3 of pkg/kit.py; only one statement may set the bound.",
    )


def test_bases_that_import_each_other_end():
    text = "from a import A\nclass TestA(A):\n    kl_threshold = 0.003\n"
    assert site_of(text).line == 3
    loop = {"a": "from b import B\nclass A(B): ...\n", "b": "from a import A\nclass B(A): ...\n"}
    assert not isinstance(find(text, **loop), Refusal)


def test_a_class_under_a_condition_is_found():
    assert site_of("if True:\n    class TestA:\n        kl_threshold = 0.003\n").line == 3


def test_new_syntax_is_read_on_any_interpreter():
    text = 'type X[T] = list[T]\nclass TestA[T]:\n    kl_threshold = 0.003\n    name = f"{"a"}"\n'
    assert site_of(text).line == 3


REFUSED = {
    "class_not_found": "class TestB:\n    kl_threshold = 0.003\n",
    "does_not_parse": "class TestA:\n    kl_threshold = = 0.003\n",
    "bound_not_found": "class TestA:\n    gsm8k_threshold = 0.9\n    # kl_threshold = 0.003\n",
    "exact_gate": "class TestA:\n    kl_threshold = 1e-9\n",
    "vacuous": "class TestA:\n    kl_threshold = 0.003\n    other_args = ['--disable-radix-cache']\n",
    "shared": "class TestA:\n    kl_threshold = 0.003\nclass TestB:\n    kl_threshold = TestA.kl_threshold\n",
}
AMBIGUOUS = {
    "assigned twice": "class TestA:\n    kl_threshold = 0.003\n    kl_threshold = 0.004\n",
    "both names": "class TestA:\n    kl_threshold = 0.003\n    kl_div_thres = 0.004\n",
    "class twice": "class TestA:\n    kl_threshold = 0.003\nclass TestA:\n    kl_threshold = 0.003\n",
    "in a branch too": "class TestA:\n    kl_threshold = 0.003\n    if AMD:\n        kl_threshold = 0.01\n",
    "in setUpClass": "class TestA:\n    kl_threshold = 0.003\n    def setUpClass(cls):\n"
    "        cls.kl_threshold = 0.01\n",
    "from outside": "class TestA:\n    kl_threshold = 0.003\nTestA.kl_threshold = 0.01\n",
    "in a subclass": "class TestA:\n    kl_threshold = 0.003\nclass TestB(TestA):\n    def setUp(self):\n"
    "        self.x, self.kl_threshold = 1, 2\n",
}
COMPUTED = [
    "LIMIT",
    "0.001 * 3",
    "float('0.003')",
    "0.003 if CUDA else 0.01",
    "-0.003",
    "0x1",
    "1_0.0",
    "3j",
    "'0.003'",
    "+0.003",
    "other = 0.003",
]


@pytest.mark.parametrize("code", sorted(REFUSED))
def test_refusals(code):
    found, sentence = refusal_of(REFUSED[code])
    assert found == code
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 200


@pytest.mark.parametrize("text", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_ambiguous(text):
    assert refusal_of(text)[0] == "ambiguous"


@pytest.mark.parametrize("right", COMPUTED)
def test_computed(right):
    code, sentence = refusal_of(f"class TestA:\n    kl_threshold = {right}\n")
    assert code == "computed"
    assert "TestA.kl_threshold in line 2" in sentence


@pytest.mark.parametrize("body", ["if AMD:\n        kl_threshold = 0.003", "kl_threshold, x = 0.003, 1"])
def test_a_bound_under_a_condition_or_in_a_tuple_is_computed(body):
    assert refusal_of(f"class TestA:\n    {body}\n")[0] == "computed"


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("test_prefill_hit", "kl_div_thres_prefill"),
        ("test_decode_hit", "kl_div_thres_decode"),
        ("test_logprobs_match", "kl_div_thres"),
    ],
)
def test_directional_bounds_by_the_name_of_a_method_that_is_not_in_the_tree(method, name):
    text = "from kit import Kit\nclass TestA(Kit):\n    kl_div_thres = 0.003\n"
    text += "    kl_div_thres_prefill = 0.01\n    kl_div_thres_decode = 0.02\n"
    site = site_of(text, f"TestA.{method}")
    assert site.attribute == name
    assert site.governs == (f"{PATH}::TestA.{method}",)


def test_a_class_alone_does_not_tell_the_direction():
    text = (
        "class TestA:\n    kl_div_thres = 0.003\n    kl_div_thres_prefill = 0.01\n"
        "    kl_div_thres_decode = 0.02\n"
    )
    assert refusal_of(text, "TestA")[0] == "ambiguous"


def test_inherited_in_the_file():
    text = "class Base:\n    kl_threshold = 0.003\nclass Mid(Base): ...\nclass TestA(Mid):\n    x = 1\n"
    assert refusal_of(text) == (
        "inherited",
        "TestA takes kl_threshold from Base (line 2), and changing it there would move other tests; "
        "give TestA a bound of its own: kl_threshold = ….",
    )
    found = find(text)
    assert isinstance(found, Site)
    assert (found.scope, found.line) == ("inherited in file", 2)
    assert found.override == Override(PATH, "TestA", "kl_threshold", 4, text.index("    x = 1"), "    ", "\n")
    assert found.key == f"{PATH}::TestA.kl_threshold"


@pytest.mark.parametrize(
    ("imports", "base", "place"),
    [
        ("from pkg.kit import Kit", "Kit", "pkg__kit"),
        ("from pkg.kit import Other, Kit as K", "K", "python__pkg__kit"),
        ("from .kit import Kit", "Kit", "test__kl__kit"),
        ("from ..kit import Kit", "Kit", "test__kit"),
        ("from . import kit", "kit.Kit", "test__kl__kit"),
        ("import pkg.kit as kit", "kit.Kit", "pkg__kit"),
        ("from pkg import kit", "kit.Kit", "pkg__kit"),
        ("from kit import Kit", "Kit", "test__kl__kit"),
    ],
)
def test_inherited_from_another_file(imports, base, place):
    kit = "class Root:\n    kl_threshold: float = 0.003\nclass Kit(Root):\n    y = 1\n"
    code, sentence = refusal_of(f"{imports}\nclass TestA({base}):\n    x = 1\n", **{place: kit})
    assert code == "kit_default"
    assert f"from Root (line 2 of {place.replace('__', '/')}.py)" in sentence


def test_a_base_that_is_not_in_the_tree_is_named():
    code, sentence = refusal_of("from pkg.kit import Kit\nclass TestA(Kit):\n    x = 1\n")
    assert (code, "its base Kit was not found in this tree" in sentence) == ("bound_not_found", True)


def test_a_docstring_about_the_cache_switch_does_not_make_a_bound_vacuous():
    text = 'class TestA:\n    """Not with --disable-radix-cache."""\n    kl_threshold = 0.003\n'
    assert site_of(text).line == 3


def test_no_file_no_test_no_text():
    assert locate("a.py", "TestA.x", {}.get) == Refusal(
        "file_not_found", "There is no file 'a.py' in this tree; check the path."
    )
    assert refusal_of(PLAIN, "not a test!")[0] == "bad_test"
    assert refusal_of(b"class TestA:\n    kl_threshold = 0.003 # \xe9\n")[0] == "does_not_parse"
    assert refusal_of("")[0] == "class_not_found"
