"""Who else reads a bound, where it comes from, and what else may set it: one reading, or a refusal."""

from __future__ import annotations

import pytest

from bot.source import Site
from bot.source.lineage import SourceTree
from tests.source.builders import find_in

TEST = "t/test_a.py"
METHOD = "\n    def test_a(self): self.assertLess(measure_kl(), self.kl_threshold)\n"
CLASS = "class TestA(unittest.TestCase):\n    kl_threshold = 0.003\n" + METHOD
BOUND = "KL_BOUND = 0.003\n"
USER = BOUND + "class TestA(unittest.TestCase):\n    kl_threshold = KL_BOUND\n" + METHOD
TABLE = "M = 'm'\nN = 'n'\nLIMITS = {M: {'kl_div': 0.003, 'gsm8k': 0.9}, N: {'kl_div': 0.004}}\n"
ASKS = "class TestA(unittest.TestCase):\n    def test_a(self): check_kl(M, LIMITS)\n"
KIT = "class Kit:\n    kl_threshold = 0.003\n"
CHILD = "class TestA(Kit, unittest.TestCase):\n    x = 1\n" + METHOD


def code(source: str, test: str = "TestA.test_a", **files: str) -> str | None:
    """The refusal's code; None where the literal may be edited."""
    found = find_in(_tree(source, files), TEST, test)
    refusal = found.refusal if isinstance(found, Site) else found
    return refusal.code if refusal is not None else None


def site(source: str, **files: str) -> Site:
    found = find_in(_tree(source, files), TEST, "TestA.test_a")
    assert isinstance(found, Site), found
    return found


def _tree(source: str, files: dict[str, str]) -> dict[str, str]:
    tree = {TEST: f"import unittest\n{source}"}
    paths = {name: name if "/" in name else name.replace("__", "/") for name in files}
    return tree | {f"{paths[name]}.py": content for name, content in files.items()}


SHARED: dict[str, tuple[str, dict[str, str]]] = {
    "constant scaled elsewhere": (
        USER,
        {"t__test_b": "from t.test_a import KL_BOUND\nclass TestB:\n    kl_threshold = KL_BOUND * 2\n"},
    ),
    "constant of a module": (
        USER,
        {"t__kit": "import t.test_a as a\nTWICE = a.KL_BOUND\n"},
    ),
    "constant in a pytest function": (USER + "def test_free():\n    assert kl() < KL_BOUND\n", {}),
    "constant in another file's function": (
        USER,
        {"t__test_b": "from t.test_a import KL_BOUND\ndef test_free():\n    assert kl() < KL_BOUND\n"},
    ),
    "constant through a function": (
        BOUND
        + "def check(kl): assert kl < KL_BOUND\n"
        + "class TestA(unittest.TestCase):\n    def test_a(self): check(measure_kl())\n",
        {"t__test_b": "from t.test_a import check\nclass TestB:\n    def test_b(self): check(kl())\n"},
    ),
    "another measure of the class": (
        USER.replace(METHOD, "    gsm8k_threshold = KL_BOUND\n" + METHOD),
        {},
    ),
    "helper class": (USER + "class Limits:\n    tight = KL_BOUND\n", {}),
    "module statement": (USER + "print(KL_BOUND)\n", {}),
    "attribute by the class": (
        CLASS,
        {"t__test_b": "import t.test_a\nBOUND = t.test_a.TestA.kl_threshold * 2\n"},
    ),
    "attribute by an alias": (
        CLASS,
        {"t__test_b": "from t.test_a import TestA as Z\nBOUND = Z.kl_threshold\n"},
    ),
    "import in a function": (
        USER,
        {"t__test_b": "def test_b():\n    from t.test_a import KL_BOUND\n    check(KL_BOUND * 2)\n"},
    ),
    "constant patched": (
        USER,
        {"t__test_b": "mock.patch('t.test_a.KL_BOUND', 0.1).start()\n"},
    ),
    "attribute patched": (
        CLASS,
        {"t__test_b": "from t.test_a import TestA\nmock.patch.object(TestA, 'kl_threshold', 0.1).start()\n"},
    ),
    "default of a parameter": (USER + "def check(kl, bound=KL_BOUND): ...\nclass B:\n    check(1)\n", {}),
    "attribute by getattr": (CLASS + "BOUND = getattr(TestA, 'kl_threshold')\n", {}),
    "entry by the same key": (
        TABLE + ASKS,
        {
            "t__test_b": "from t.test_a import LIMITS\n"
            "class TestB:\n    def test_b(self): check_kl('m', LIMITS)\n"
        },
    ),
    "entry by get": (
        TABLE + ASKS + "class TestB:\n    def test_b(self): check(LIMITS.get(M)['kl_div'])\n",
        {},
    ),
    "entry through a function": (
        TABLE
        + "def bound_for(m): return LIMITS[m]['kl_div']\n"
        + ASKS
        + "class TestB(unittest.TestCase):\n    def test_b(self): self.assertLess(kl(), bound_for(M))\n",
        {},
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_an_unexplained_mention_is_another_user(name):
    source, files = SHARED[name]
    assert code(source, **files) == "shared"


OWN: dict[str, tuple[str, dict[str, str]]] = {
    "the constant alone": (USER, {}),
    "imported and not used": (USER, {"t__test_b": "from t.test_a import KL_BOUND\n"}),
    "another constant of that name": (USER, {"t__test_b": "KL_BOUND = 0.1\nprint(KL_BOUND)\n"}),
    "another file's constant of that name": (
        USER,
        {"t__lim": "KL_BOUND = 0.1\n", "t__test_b": "from t.lim import KL_BOUND\nprint(KL_BOUND)\n"},
    ),
    "a test of another entry": (
        TABLE + ASKS + "class TestB(unittest.TestCase):\n    def test_b(self): check_kl(N, LIMITS)\n",
        {},
    ),
    "another measure of the entry": (TABLE + ASKS + "assert LIMITS[M]['gsm8k'] > 0.5\n", {}),
    "another class's attribute": (CLASS + "class Other:\n    kl_threshold = 0.1\nOther.kl_threshold\n", {}),
}


@pytest.mark.parametrize("name", OWN)
def test_a_mention_that_is_explained_does_not_matter(name):
    source, files = OWN[name]
    assert code(source, **files) is None


def test_a_subclass_elsewhere_that_follows_the_class_is_listed():
    found = site(CLASS, t__test_b="from t.test_a import TestA as Base\nclass TestB(Base):\n    y = 1\n")
    assert found.refusal is None
    assert found.governs == (f"{TEST}::TestA.test_a", "t/test_b.py::TestB.test_a")


# --- where a base comes from --------------------

TIGHT, LOOSE = KIT, KIT.replace("0.003", "0.9")
BASES: dict[str, tuple[str, dict[str, str], tuple[str, float]]] = {
    "own folder before root": (
        "from kit import Kit\n" + CHILD,
        {"kit": LOOSE, "t__kit": TIGHT},
        ("t/kit.py", 0.003),
    ),
    "package before module": (
        "from kx import Kit\n" + CHILD,
        {"kx": LOOSE, "kx/__init__": TIGHT},
        ("kx/__init__.py", 0.003),
    ),
    "last import": (
        "from k1 import Kit\nfrom k2 import Kit\n" + CHILD,
        {"k1": LOOSE, "k2": TIGHT},
        ("k2.py", 0.003),
    ),
    "alias at that point": (
        "class C:\n    kl_threshold = 0.003\nclass D:\n    kl_threshold = 0.9\nKit = C\n"
        + CHILD
        + "Kit = D\n",
        {},
        (TEST, 0.003),
    ),
}


@pytest.mark.parametrize("name", BASES)
def test_the_base_that_python_would_take(name):
    source, files, wanted = BASES[name]
    found = site(source, **files)
    assert (found.path, found.value) == wanted


UNCLEAR: dict[str, tuple[str, dict[str, str]]] = {
    "import under if": (
        "if AMD:\n    from k1 import Kit\nelse:\n    from k2 import Kit\n" + CHILD,
        {"k1": LOOSE, "k2": TIGHT},
    ),
    "class under try": (
        "try:\n    from k1 import Kit\nexcept ImportError:\n    class Kit:\n        kl_threshold = 0.003\n"
        + CHILD,
        {"k1": LOOSE},
    ),
    "a call before it": (KIT + CHILD.replace("(Kit", "(made(0.1), Kit"), {}),
    "an unread base before it": (KIT + CHILD.replace("(Kit", "(Unknown, Kit"), {}),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_a_base_that_cannot_be_read_may_set_the_bound(name):
    source, files = UNCLEAR[name]
    assert code(source, **files) == "computed"


def test_an_unread_base_does_not_matter_behind_the_bound():
    assert code(KIT + CHILD.replace("(Kit", "(Kit, Unknown")) == "inherited"
    assert code(CLASS.replace("(unittest", "(Unknown, unittest")) is None


# --- what else may set it --------------------

BODY: dict[str, str] = {
    "property": "    @property\n    def kl_threshold(self): return 0.1\n",
    "class": "    class kl_threshold: ...\n",
    "for": "    for kl_threshold in (0.1,): pass\n",
    "walrus": "    y = (kl_threshold := 0.1)\n",
    "with": "    with limit() as kl_threshold: pass\n",
    "import": "    from t.limits import kl_threshold\n",
    "del": "    del kl_threshold\n",
}


@pytest.mark.parametrize("name", BODY)
def test_a_class_body_that_binds_the_attribute_otherwise(name):
    assert code(CLASS + BODY[name]) == "computed"
    assert code(KIT + CHILD + BODY[name]) == "computed"


SETTERS: dict[str, str] = {
    "alias": CLASS + "X = TestA\nX.kl_threshold = 0.1\n",
    "loop": CLASS + "for c in (TestA,):\n    c.kl_threshold = 0.1\n",
    "helper": "def prepare(t): t.kl_threshold = 0.1\n" + CLASS,
    "dict": CLASS + "    def setUp(self): self.__dict__['kl_threshold'] = 0.1\n",
    "object": CLASS + "    def setUp(self): object.__setattr__(self, 'kl_threshold', 0.1)\n",
    "name in a constant": "NAME = 'kl_threshold'\n"
    + CLASS
    + "    def setUp(self): setattr(self, NAME, 0.1)\n",
    "patch": CLASS + "    def setUp(self): mock.patch.multiple(TestA, kl_threshold=0.1).start()\n",
    "getattribute": CLASS + "    def __getattribute__(self, name): return 0.1\n",
    "class again": CLASS + "TestA = type('TestA', (TestA,), {})\n",
}


@pytest.mark.parametrize("name", SETTERS)
def test_a_write_in_any_form_is_ambiguous(name):
    assert code(SETTERS[name]) == "ambiguous"


UNKNOWN: dict[str, str] = {
    "imported decorator": "from t.deco import with_bound\n@with_bound(0.1)\n" + CLASS,
    "rows": "@parameterized_class(ROWS)\n" + CLASS,
    "metaclass": "from t.m import Meta\n" + CLASS.replace("TestCase)", "TestCase, metaclass=Meta)"),
    "keyword": CLASS.replace("TestCase)", "TestCase, bound=0.1)"),
    "method": CLASS.replace("    def test_a", "    @at(0.1)\n    def test_a"),
    "setter": "def at(c):\n    for k in ROWS: setattr(c, k, 1)\n    return c\n@at\n" + CLASS,
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_decorator_or_metaclass_that_is_not_known(name):
    assert code(UNKNOWN[name]) in ("computed", "ambiguous")


KNOWN: dict[str, str] = {
    "skip": "@unittest.skip('later')\n" + CLASS,
    "mark": "import pytest\n@pytest.mark.slow\n" + CLASS,
    "own": "def named(c):\n    print(c)\n    return c\n@named\n" + CLASS,
    "abc": CLASS.replace("TestCase)", "TestCase, metaclass=ABCMeta)"),
    "classmethod": CLASS + "    @classmethod\n    def setUpClass(cls): launch()\n",
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_decorators_are_harmless(name):
    assert code(KNOWN[name]) is None


# --- nothing is compared --------------------

FLAGS = "FLAGS = ['--disable-radix-cache']\n"
SET_UP = "    @classmethod\n    def setUpClass(cls): launch({})\n"
OFF: dict[str, str] = {
    "keyword": CLASS + SET_UP.format("disable_radix_cache=True"),
    "concatenated": CLASS + SET_UP.format("['--disable-' 'radix-cache']"),
    "added": CLASS + SET_UP.format("['--disable-' + 'radix-cache']"),
    "imported": "from t.k import FLAGS\n" + CLASS + SET_UP.format("FLAGS"),
    "of a module": "import t.k as k\n" + CLASS + SET_UP.format("k.FLAGS"),
    "helper": "from t.k import go\n" + CLASS + SET_UP.format("go()"),
    "appended": "ARGS = []\nARGS.append('--disable-radix-cache')\n" + CLASS + SET_UP.format("ARGS"),
    "module": "def setUpModule(): launch('--disable-radix-cache')\n" + CLASS,
    "decorator": "def server(*a): return lambda c: c\n@server('--disable-radix-cache')\n" + CLASS,
}


@pytest.mark.parametrize("name", OFF)
def test_the_cache_switched_off_from_elsewhere(name):
    assert code(OFF[name], t__k=FLAGS + "def go(): launch(FLAGS)\n") == "vacuous"


def test_a_switch_that_is_off_compares():
    assert code(CLASS + SET_UP.format("disable_radix_cache=False")) is None


# --- the test's name --------------------


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ("test_a.py::TestA.test_a", None),
        ("t/test_a.py::TestA::test_a", None),
        ("TestA::test_a", None),
        ("TestA.test_a[tp2-fp8]", None),
        ("TestA", None),
        ("other.py::TestA.test_a", "bad_test"),
        ("u/test_a.py::TestA.test_a", "bad_test"),
        ("TestA.test_b", "bad_test"),
        ("TestA.test_a.x", "bad_test"),
        ("", "bad_test"),
    ],
)
def test_names_of_tests(test, wanted):
    assert code(CLASS, test) == wanted


def test_a_method_of_an_unread_base_is_accepted():
    assert code(CLASS.replace("(unittest", "(Unknown, unittest"), "TestA.test_b") is None


def test_a_type_without_a_value_is_no_bound():
    source = CLASS.replace(" = 0.003", ": float")
    found = find_in(_tree(source, {}), TEST, "TestA.test_a")
    assert not isinstance(found, Site)
    assert found.code == "bound_not_found"
    assert "has a type but no value (line 3)" in found.sentence


# --- limits --------------------


def test_a_listed_file_that_is_too_large_or_missing_leaves_the_search_incomplete():
    big = b"#" * (4 << 20) + b"#"
    for data in (big, None):
        tree = SourceTree({"a.py": b"", "b.py": data}.get, lambda: ["a.py", "b.py"])
        assert tree.complete
        tree.data("a.py")
        assert tree.complete
        tree.data("b.py")
        assert not tree.complete
