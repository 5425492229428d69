"""What a literal governs, and when it is not the failing class's alone to change."""

from __future__ import annotations

import pytest

from bot.source import Sibling, Site
from bot.source.site import Override
from bot.verdict.answer import Refusal
from tests.source.builders import PATH, find_in, refusal_of, site_of

KIT = "class Kit:\n    kl_threshold = 0.003\n    def test_p(self):\n        check(self.kl_threshold)\n"
HEAD = "import unittest\nfrom kits.kit import Kit\n"


def located(tree: dict[str, str], test: str, path: str = "test/test_a.py") -> Site:
    found = find_in(tree, path, test)
    assert isinstance(found, Site), found
    return found


def code_of(site: Site) -> str | None:
    return None if site.refusal is None else site.refusal.code


# --- governs --------------------


def test_a_kit_default_governs_all_who_do_not_set_their_own():
    tree = {
        "kits/kit.py": KIT,
        "kits/__init__.py": "from .kit import Kit as SharedKit\n",
        "test/test_a.py": HEAD + "class TestA(Kit, unittest.TestCase): ...\n",
        "test/test_b.py": "import kits.kit as k\nclass TestB(k.Kit, unittest.TestCase): ...\n",
        "test/test_c.py": HEAD + "class TestC(Kit, unittest.TestCase):\n    kl_threshold = 0.01\n",
        "test/test_d.py": "from test_b import TestB as Above\nclass TestD(Above): ...\n",
        "test/test_e.py": "from kits import SharedKit\nclass TestE(SharedKit, unittest.TestCase): ...\n",
        "test/test_f.py": "# class TestF(Kit): Kit\nclass Kit: ...\nclass TestF(Kit): ...\n",
    }
    site = located(tree, "TestA.test_p")
    assert sorted(site.governs) == [
        "test/test_a.py::TestA.test_p",
        "test/test_b.py::TestB.test_p",
        "test/test_d.py::TestD.test_p",
        "test/test_e.py::TestE.test_p",
    ]
    assert (site.scope, site.complete) == ("kit default", True)
    assert site.siblings == (Sibling("test/test_c.py", "TestC", 0.01),)


def test_without_a_list_of_files_only_what_was_read_is_searched():
    tree = {
        "kits/kit.py": KIT,
        PATH: HEAD + "class TestA(Kit, unittest.TestCase):\n    kl_threshold = 0.01\n",
    }
    site = site_of(tree[PATH], "TestA.test_p", kits__kit=KIT)
    assert (site.governs, site.complete) == ((f"{PATH}::TestA.test_p",), False)


def test_methods_that_read_another_bound_are_not_governed():
    text = """\
class TestA:
    kl_div_thres = 0.003
    kl_div_thres_prefill = 0.01

    def test_gsm8k(self):
        assert few_shot() > self.gsm8k

    def test_prefill(self):
        check(self.kl_div_thres_prefill or self.kl_div_thres)

    def test_decode(self):
        check(self.kl_div_thres)

    def test_both(self):
        self._both()

    def _both(self):
        check(self.kl_div_thres)
"""
    assert site_of(text, "TestA.test_decode").governs == (
        f"{PATH}::TestA.test_decode",
        f"{PATH}::TestA.test_both",
    )
    assert site_of(text, "TestA.test_prefill").governs == (f"{PATH}::TestA.test_prefill",)


def test_the_general_bound_governs_both_directions():
    text = """\
class TestA:
    kl_div_thres = 0.003
    kl_div_thres_prefill: float | None = None

    def test_prefill(self):
        check(getattr(self, "kl_div_thres_prefill", None) or self.kl_div_thres)

    def test_decode(self):
        check(getattr(self, "kl_div_thres_decode", None) or self.kl_div_thres)
"""
    site = site_of(text, "TestA.test_prefill")
    assert site.governs == (f"{PATH}::TestA.test_prefill", f"{PATH}::TestA.test_decode")
    assert site.line == 2


def test_siblings_are_found_in_test_files_of_the_same_folder_only():
    bound = "class TestX:\n    kl_threshold = 0.004\n"
    tree = {
        "test/test_a.py": "class TestA:\n    kl_threshold = 0.003\n",
        "test/test_b.py": bound,
        "test/kit.py": bound,
        "test/sub/test_c.py": bound,
        "test/test_d.py": "class TestD:\n    kl_threshold = 2 * 0.1\n# kl_threshold = 0.1\n",
    }
    assert located(tree, "TestA.test_p").siblings == (Sibling("test/test_b.py", "TestX", 0.004),)


def test_the_other_entries_of_a_dictionary_are_siblings():
    text = 'T = {"a": {"kl_div": 0.1, "acc": 0.9}, "b": {"kl_div": 0.2}}\nclass TestA:\n    model = "b"\n'
    text += "    def test_x(self):\n        check(T, self.model)\n"
    site = site_of(text)
    assert (site.attribute, site.spelling) == ("\"b\"['kl_div']", "0.2")
    assert site.siblings == (Sibling(PATH, '"a"["kl_div"]', 0.1),)


def test_a_number_in_a_helper_of_the_file_governs_all_who_call_it():
    text = "def compare(kl):\n    assert kl < 0.003\n"
    for name in ("TestA", "TestB"):
        text += f"class {name}:\n    def test_x(self):\n        compare(measure())\n"
    text += "class TestC:\n    def test_x(self):\n        measure()\n"
    site = located({PATH: text}, "TestA.test_x", PATH)
    assert (site.scope, code_of(site)) == ("method", "shared")
    assert site.governs == (f"{PATH}::TestA.test_x", f"{PATH}::TestB.test_x")


def test_a_number_in_a_method_of_a_base_is_inherited():
    text = "class Base:\n    def test_x(self):\n        assert kl < 0.003\nclass TestA(Base): ...\n"
    site = located({PATH: text}, "TestA.test_x", PATH)
    assert (site.scope, code_of(site), site.override) == ("inherited in file", "inherited", None)


def test_an_attribute_that_no_pack_names_is_known_by_what_it_is_compared_with():
    text = (
        "class Base:\n    MAX_KL = 0.003\n    def test_x(self):\n        self.assertLess(f(), self.MAX_KL)\n"
    )
    text += "class TestA(Base):\n    x = 1\n"
    site = located({PATH: text}, "TestA.test_x", PATH)
    assert (site.name, code_of(site)) == ("Base.MAX_KL", "inherited")
    assert site.override is not None and site.override.attribute == "MAX_KL"


@pytest.mark.parametrize("name", ["test_utils", "kl_test_utils", "test_kits"])
def test_what_tests_share_is_a_kit_whatever_its_name(name):
    tree = {f"lib/{name}.py": KIT, PATH: f"from lib.{name} import Kit\nclass TestA(Kit):\n    x = 1\n"}
    assert located(tree, "TestA.test_p", PATH).scope == "kit default"


# --- order of inheritance --------------------


def test_a_diamond_is_resolved_as_python_does():
    text = """\
class Root:
    kl_threshold = 0.001
class Left(Root): ...
class Right(Root):
    kl_threshold = 0.002
class TestA(Left, Right): ...
"""
    with_mid = text.replace("class TestA", "class Mid(Left): ...\nclass TestA").replace("(Left, R", "(Mid, R")
    for written, line in ((text, 5), (with_mid, 5)):
        scope = {}
        exec(written, scope)  # noqa: S102
        assert scope["TestA"].kl_threshold == 0.002
        found = refusal_of(written)
        assert found[0] == "inherited" and f"line {line}" in found[1]


def test_a_class_of_the_same_name_may_be_the_base():
    text = "from kits.kit import TestA\nclass TestA(TestA):\n    x = 1\n"
    kit = "class TestA:\n    kl_threshold = 0.003\n"
    assert refusal_of(text, kits__kit=kit)[0] == "kit_default"


# --- shared --------------------

ONE = "KL_BOUND = 0.003\n\n\nclass TestA:\n    kl_threshold = KL_BOUND\n"


def test_a_constant_of_one_class_may_be_changed():
    site = site_of(ONE)
    assert (site.scope, site.cls, site.attribute, site.key) == (
        "module constant",
        None,
        "KL_BOUND",
        f"{PATH}::KL_BOUND",
    )


SHARED = {
    "another class": (ONE + "class TestB:\n    kl_threshold = KL_BOUND\n", "TestB"),
    "another statement": (ONE + "OTHER = KL_BOUND * 2\n", "line 6"),
    "a class that compares": (
        ONE + "class TestB:\n    def test_b(self):\n        assert f() < KL_BOUND\n",
        "TestB",
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_constant_that_others_read_is_shared(name):
    text, who = SHARED[name]
    code, sentence = refusal_of(text)
    assert (code, who in sentence) == ("shared", True)
    assert sentence.endswith("edit it by hand, for all of them.")


def test_a_constant_that_another_file_imports_is_shared():
    tree = {
        "test/test_a.py": ONE,
        "test/test_b.py": "from test_a import KL_BOUND as B\nclass TestB:\n"
        "    kl_threshold = B\n    def test_b(self): ...\n",
    }
    site = located(tree, "TestA.test_x")
    assert (code_of(site), site.override) == ("shared", None)
    assert site.governs == ("test/test_a.py::TestA.test_x", "test/test_b.py::TestB.test_b")
    assert "TestB in test/test_b.py" in (site.refusal or Refusal("", "")).sentence


def test_a_bound_that_another_class_reads_by_name_is_shared():
    tree = {
        "test/test_a.py": "class TestA:\n    kl_threshold = 0.003\n",
        "test/test_b.py": "from test_a import TestA as A\nclass TestB:\n    kl_threshold = A.kl_threshold\n",
    }
    site = located(tree, "TestA.test_x")
    assert (site.scope, code_of(site)) == ("class", "shared")
    assert site.governs == ("test/test_a.py::TestA.test_x", "test/test_b.py::TestB")


def test_a_shared_constant_reached_through_a_base_leaves_room_for_an_override():
    text = (
        "KL_BOUND = 0.003\nclass Base:\n    kl_threshold = KL_BOUND\nclass TestB(Base): ...\n"
        "class TestA(Base):\n    x = 1\n"
    )
    site = located({"test/test_a.py": text}, "TestA.test_x")
    assert (site.scope, code_of(site)) == ("module constant", "shared")
    assert site.override is not None and site.override.attribute == "kl_threshold"


def test_an_imported_constant_belongs_to_its_file():
    tree = {
        "lib/consts.py": "KL = 0.003\n",
        "test/test_a.py": "from lib.consts import KL\nclass TestA:\n    kl_threshold = KL\n",
    }
    site = located(tree, "TestA.test_x")
    assert (site.path, site.scope, code_of(site), site.override) == (
        "lib/consts.py",
        "kit default",
        "kit_default",
        None,
    )


def test_an_entry_that_two_classes_read_is_shared():
    text = 'M = "m"\nT = {M: {"kl_div": 0.002}}\n'
    for name in ("TestA", "TestB"):
        text += f"class {name}:\n    model = M\n    def test_x(self):\n        check(T, self.model)\n"
    code, sentence = refusal_of(text)
    assert (code, "TestB" in sentence) == ("shared", True)


def test_entries_of_two_models_belong_to_two_classes():
    text = (
        'A, B = "a", "b"\nfrom m import C\nT = {\n    "a": {"kl_div": 0.002},\n    C: {"kl_div": 0.003},\n}\n'
    )
    for name, model in (("TestA", "C"), ("TestB", '"a"')):
        text += f"class {name}:\n    @classmethod\n    def setUpClass(cls):\n        cls.model = {model}\n"
        text += "    def test_x(self):\n        check(T, self.model)\n"
    assert site_of(text).spelling == "0.003"
    assert site_of(text, "TestB.test_x").spelling == "0.002"


# --- override --------------------


@pytest.mark.parametrize(
    ("body", "start", "indent"),
    [
        ("    x = 1\n", "    x = 1", "    "),
        ('\t"""Doc."""\n\n\tx = 1\n', "\tx = 1", "\t"),
        ('  """Doc."""\n', '  """Doc', "  "),
        ("    @skip\n    def test_x(self): ...\n", "    @skip", "    "),
    ],
)
def test_where_an_override_goes(body, start, indent):
    text = f"{HEAD}class TestA(Kit):\n{body}"
    site = located({"kits/kit.py": KIT, "test/test_a.py": text}, "TestA.test_p")
    assert site.override == Override(
        "test/test_a.py", "TestA", "kl_threshold", 3, text.index(start), indent, "\n"
    )


def test_a_body_on_the_header_line_has_no_room():
    site = located({"kits/kit.py": KIT, "test/test_a.py": f"{HEAD}class TestA(Kit): x = 1\n"}, "TestA.test_p")
    assert (code_of(site), site.override) == ("kit_default", None)


def test_stored_and_read_again_it_is_the_same():
    import json
    from dataclasses import asdict

    site = located(
        {"kits/kit.py": KIT, "test/test_a.py": f"{HEAD}class TestA(Kit):\n    x = 1\n"}, "TestA.test_p"
    )
    assert site.refusal is not None and site.override is not None
    assert Site.from_stored(json.loads(json.dumps(asdict(site)))) == site


# --- exact gates and tests that compare nothing --------------------


@pytest.mark.parametrize("value", ["1e-9", "0", "0.0", "1e-6"])
def test_an_inherited_exact_gate_has_no_override(value):
    text = f"class Base:\n    kl_threshold = {value}\nclass TestA(Base):\n    x = 1\n"
    site = located({"test/test_a.py": text}, "TestA.test_x")
    assert (code_of(site), site.override) == ("exact_gate", None)


FLAG = '"--disable-radix-cache"'
VACUOUS = {
    "of the base, added to": f"class B:\n    args = [{FLAG}]\nclass TestA(B):\n    kl_threshold = 0.003\n"
    "    args = B.args + ['x']\n",
    "by super": f"class B:\n    def setUpClass(cls):\n        launch({FLAG})\nclass TestA(B):\n"
    "    kl_threshold = 0.003\n    def setUpClass(cls):\n        super().setUpClass()\n",
    "attribute": f"class TestA:\n    kl_threshold = 0.003\n    args = ['--tp', '4', {FLAG}]\n",
    "constant": f"ARGS = [{FLAG}]\nclass TestA:\n    kl_threshold = 0.003\n    args = ARGS\n",
    "splat": f"ARGS = ['--tp', {FLAG}]\nclass TestA:\n    kl_threshold = 0.003\n    args = [*ARGS, '--ep']\n",
    "two constants": f"A = [{FLAG}]\nB = A + ['x']\nclass TestA:\n    kl_threshold = 0.003\n    args = B\n",
    "setUpClass": f"class TestA:\n    kl_threshold = 0.003\n    def setUpClass(cls):\n"
    f"        launch(other=[{FLAG}])\n",
    "inherited": f"class Base:\n    args = [{FLAG}]\nclass TestA(Base):\n    kl_threshold = 0.003\n",
    "function": f"def args():\n    return [{FLAG}]\nclass TestA:\n    kl_threshold = 0.003\n"
    f"    def setUp(self):\n        launch(args())\n",
    "in one string": "class TestA:\n    kl_threshold = 0.003\n"
    "    args = '--tp 4 --disable-radix-cache --ep 2'.split()\n",
}
NOT_VACUOUS = {
    "overridden": f"class Base:\n    args = [{FLAG}]\nclass TestA(Base):\n"
    f"    kl_threshold = 0.003\n    args = []\n",
    "another class": f"class Other:\n    args = [{FLAG}]\nclass TestA:\n    kl_threshold = 0.003\n",
    "another test": f"class TestA:\n    kl_threshold = 0.003\n    def test_x(self): ...\n"
    f"    def test_cold(self):\n        launch({FLAG})\n",
    "comment": f"class TestA:\n    kl_threshold = 0.003\n    args = []  # {FLAG}\n",
    "longer": "class TestA:\n    kl_threshold = 0.003\n    args = ['--disable-radix-cache-stats']\n",
}


@pytest.mark.parametrize("name", VACUOUS)
def test_a_server_without_the_cache_compares_nothing(name):
    assert refusal_of(VACUOUS[name])[0] == "vacuous"


@pytest.mark.parametrize("name", NOT_VACUOUS)
def test_the_flag_elsewhere_does_not_matter(name):
    assert site_of(NOT_VACUOUS[name]).value == 0.003


# --- set by other means --------------------

BOUND = "    kl_threshold = 0.003\n"
AGAIN = {
    "setattr in a method": f"class TestA:\n{BOUND}    def setUp(self):\n"
    f"        setattr(self, 'kl_threshold', 1)\n",
    "setattr outside": f"class TestA:\n{BOUND}setattr(TestA, 'kl_threshold', 1)\n",
    "rows": f"@parameterized_class(('kl_threshold',), [(0.1,), (0.2,)])\nclass TestA:\n{BOUND}",
    "row dictionaries": f"@parameterized_class([{{'kl_threshold': 0.1}}])\nclass TestA:\n{BOUND}",
    "decorator argument": f"@bounded(kl_threshold=0.1)\nclass TestA:\n{BOUND}",
    "decorator of the file": f"def loose(cls):\n    cls.kl_threshold = 1\n    return cls\n"
    f"@loose\nclass TestA:\n{BOUND}",
    "__init_subclass__": f"class Base:\n    def __init_subclass__(cls, **k):\n"
    f"        cls.kl_threshold = 1\nclass TestA(Base):\n{BOUND}",
    "class keyword": f"class TestA(Base, kl_threshold=0.1):\n{BOUND}",
    "metaclass": f"class Meta(type):\n    def __new__(m, n, b, d):\n"
    f"        d['kl_threshold'] = 1\nclass TestA(metaclass=Meta):\n{BOUND}",
    "patched": f"class TestA:\n{BOUND}    @patch.object(Other, 'kl_threshold', 1)\n"
    f"    def test_x(self): ...\n",
    "another constant": "KL_A = 0.1\nKL_BOUND = 0.2\nclass TestA:\n    def test_x(self):\n"
    "        check_kl(KL_BOUND, KL_MAX)\n"
    "        assert kl < KL_BOUND\n        assert kl < KL_LIMIT\nKL_LIMIT = 3.0\nKL_MAX = 4.0\n",
    "constant twice": "KL_BOUND = 0.1\nif AMD:\n    KL_BOUND = 0.2\n"
    + "class TestA:\n    kl_threshold = KL_BOUND\n",
    "global": "KL_BOUND = 0.1\ndef f():\n    global KL_BOUND\n    KL_BOUND = 2\nclass TestA:\n"
    "    kl_threshold = KL_BOUND\n",
    "entry changed": 'T = {"m": {"kl_div": 0.1}}\nT["m"]["kl_div"] = 2\nclass TestA:\n'
    "    def test_x(self):\n        check(T)\n",
    "dictionary updated": 'T = {"m": {"kl_div": 0.1}}\nT["m"].update(x=2)\nclass TestA:\n'
    "    def test_x(self):\n        check(T)\n",
    "two models": 'T = {"a": {"kl_div": 0.1}, "b": {"kl_div": 0.2}}\nclass TestA:\n'
    "    def test_x(self):\n        check(T, m)\n",
    "two numbers": "class TestA:\n    def test_x(self):\n        assert kl < 0.1\n"
    "        assert kl_2 < 0.2\n",
}
DERIVED = {
    "only in setUp": "class TestA:\n    def setUp(self):\n        self.kl_threshold = 0.003\n",
    "only rows": "@parameterized_class(('kl_threshold',), [(0.1,)])\nclass TestA: ...\n",
    "product": "BASE = 0.001\nclass TestA:\n    kl_threshold = BASE * 2\n",
    "environment": "class TestA:\n    kl_threshold = float(os.environ['KL'])\n",
    "condition": "class TestA:\n    kl_threshold = 0.1 if AMD else 0.2\n",
    "unknown import": "from nowhere import KL\nclass TestA:\n    kl_threshold = KL\n",
    "itself": "KL_A = KL_B\nKL_B = KL_A\nclass TestA:\n    kl_threshold = KL_A\n",
    "underscores": "class TestA:\n    kl_threshold = 1_0.0\n",
    "dict call": "T = dict(kl_div=0.1)\nclass TestA:\n    def test_x(self):\n        check(T['kl_div'])\n",
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_bound_that_has_several_sources_is_ambiguous(name):
    code, sentence = refusal_of(AGAIN[name])
    assert code == "ambiguous" and "line" in sentence, sentence


@pytest.mark.parametrize("name", DERIVED)
def test_a_bound_that_is_no_number_in_the_text_is_computed(name):
    code, sentence = refusal_of(DERIVED[name])
    assert code == "computed" and "line" in sentence, sentence
