"""The twenty ways a bound is written: for each a small tree, a test of it, and what must be answered."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bot.source import Site
from tests.source.builders import find_in

KIT_PATH = "python/engine/test/kits/kl_kit.py"
KIT = """\
from engine.test.kl_utils import check_decode, check_logprobs, check_prefill


class RadixKit:
    kl_threshold: float = 0.003
    gsm8k_threshold: float = 0.93

    def test_gsm8k(self):
        self.assertGreater(few_shot(self.base_url), self.gsm8k_threshold)

    def test_logprobs_match(self):
        check_logprobs(self.base_url, self.model, self.kl_threshold)

    def test_prefill_hit(self):
        check_prefill(self.base_url, self.model, self.kl_threshold)
"""
BOTH_PATH = "python/engine/test/kits/both_kit.py"
BOTH = """\
from engine.test.kl_utils import check_decode, check_prefill


class BothWays:
    kl_div_thres: float
    kl_div_thres_prefill: float | None = None
    kl_div_thres_decode: float | None = None

    @classmethod
    def limits(cls, bound):
        return {cls.model: {"kl_div": bound}}

    def test_prefill_hit(self):
        check_prefill(self.base_url, self.limits(self.kl_div_thres_prefill or self.kl_div_thres), self.model)

    def test_decode_hit(self):
        check_decode(self.base_url, self.limits(self.kl_div_thres_decode or self.kl_div_thres), self.model)
"""
BASE = (
    "import unittest\nfrom engine.test.kits.kl_kit import RadixKit\n"
    "from engine.test.kits.both_kit import BothWays\n"
)
OTHER_PATH, PATH = "test/registered/test_other.py", "test/registered/test_it.py"
OTHER = f"""\
{BASE}

class TestOther(RadixKit, unittest.TestCase):
    kl_threshold = 0.006
"""
TABLE = """\
    @classmethod
    def setUpClass(cls):
        cls.model = MODEL

    def test_gsm8k(self):
        self.assertGreater(few_shot(), LIMITS[self.model]["gsm8k"])

    def test_prefill_hit(self):
        check_prefill(self.base_url, LIMITS, self.model, max_samples=32)
"""


@dataclass(frozen=True)
class Case:
    text: str
    test: str
    answer: str
    """'line spelling scope' of the literal, the line with its file where that is another one."""
    refusal: str | None = None
    override: str | None = None


CASES = {
    "1 class attribute under a comment": Case(
        "class TestIt(RadixKit, unittest.TestCase):\n    # 0.003 was under the noise\n"
        "    kl_threshold = 0.005\n",
        "TestIt.test_prefill_hit",
        "6 0.005 class",
    ),
    "2 default of a shared kit": Case(
        "class TestIt(RadixKit, unittest.TestCase):\n    model = 'm'\n",
        "TestIt.test_prefill_hit",
        f"{KIT_PATH}:5 0.003 kit default",
        "kit_default",
        "TestIt.kl_threshold",
    ),
    "3 the mixin copied, beside a class that is commented out": Case(
        """\
class KitCopy:
    kl_threshold: float = 0.003

    def test_prefill_hit(self):
        check_prefill(self.base_url, self.kl_threshold)


# class TestIt(KitCopy, unittest.TestCase):
#     kl_threshold = 0.009


class TestIt(KitCopy, unittest.TestCase):
    kl_threshold = 0.0025
""",
        "TestIt.test_prefill_hit",
        "16 0.0025 class",
    ),
    "4 inherited by a class that sets other attributes": Case(
        "class TestBase(RadixKit, unittest.TestCase):\n    kl_threshold = 0.005\n\n\n"
        "class TestIt(TestBase):\n    layout = 'page_first'\n",
        "TestIt.test_prefill_hit",
        "5 0.005 inherited in file",
        "inherited",
        "TestIt.kl_threshold",
    ),
    "5 inherited from another test file": Case(
        "from test_other import TestOther as Above\n\n\nclass TestIt(Above):\n    pp = 4\n",
        "TestIt.test_prefill_hit",
        f"{OTHER_PATH}:7 0.006 inherited from another test file",
        "inherited",
        "TestIt.kl_threshold",
    ),
    "6 kl_div_thres": Case(
        "class TestIt(BothWays, unittest.TestCase):\n    gsm8k_accuracy_thres = 0.0035\n"
        "    kl_div_thres = 0.0035\n",
        "TestIt.test_decode_hit",
        "6 0.0035 class",
    ),
    "7 the old value in a trailing comment": Case(
        "class TestIt(RadixKit, unittest.TestCase):\n"
        "    kl_threshold = 0.005  # kl_threshold = 0.003 before\n",
        "TestIt.test_logprobs_match",
        "5 0.005 class",
    ),
    "8 the bound of a direction": Case(
        "class TestIt(BothWays, unittest.TestCase):\n    kl_div_thres = 0.002\n"
        "    kl_div_thres_prefill = 0.02\n",
        "TestIt.test_prefill_hit",
        "6 0.02 class",
    ),
    "8 the general bound of the other direction": Case(
        "class TestIt(BothWays, unittest.TestCase):\n    kl_div_thres = 0.002\n"
        "    kl_div_thres_prefill = 0.02\n",
        "TestIt.test_decode_hit",
        "5 0.002 class",
    ),
    "8 zero falls through": Case(
        "class TestIt(BothWays, unittest.TestCase):\n    kl_div_thres = 0.002\n"
        "    kl_div_thres_prefill = 0\n",
        "TestIt.test_prefill_hit",
        "5 0.002 class",
    ),
    "9 entry keyed by a constant": Case(
        'MODEL = "org/big"\nSMALL = "org/small"\nLIMITS = {\n    SMALL: {"kl_div": 0.004, "gsm8k": 0.0025},\n'
        '    "org/big": {"gsm8k": 0.0025, "kl_div": 0.0025},\n}\n\n\nclass TestIt(unittest.TestCase):\n'
        + TABLE,
        "TestIt.test_prefill_hit",
        "8 0.0025 dict entry",
    ),
    "10 one key": Case(
        'from engine.models import MODEL\n\nLIMITS = {MODEL: {"kl_div": 0.002}}\n\n\n'
        "class TestIt(unittest.TestCase):\n" + TABLE,
        "TestIt.test_prefill_hit",
        "6 0.002 dict entry",
    ),
    "11 constant in an inline dictionary": Case(
        "KL_BOUND = 0.002\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n"
        '        check(self.base_url, {self.model: {"kl_div": KL_BOUND, "gsm8k": 0.9}}, self.model)\n',
        "TestIt.test_it",
        "4 0.002 module constant",
    ),
    "12 constant bound to the attribute": Case(
        "MAX_KL = 4e-3\n\n\nclass TestIt(RadixKit, unittest.TestCase):\n    kl_threshold = MAX_KL\n",
        "TestIt.test_prefill_hit",
        "4 4e-3 module constant",
    ),
    "13 constant passed by position": Case(
        "KL_BOUND = 0.002\nSAMPLES = 32\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n"
        "        check_kl(self.base_url, self.model, KL_BOUND, SAMPLES)\n",
        "TestIt.test_it",
        "4 0.002 module constant",
    ),
    "13 constant passed by keyword": Case(
        "LIMIT = 0.002\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n"
        "        run_check(self.base_url, kl_threshold=LIMIT, accuracy=0.9)\n",
        "TestIt.test_it",
        "4 0.002 module constant",
    ),
    "14 attribute fed into a dictionary at the call": Case(
        "class TestIt(unittest.TestCase):\n    kl_threshold = 0.01\n\n    def test_it(self):\n"
        '        check(self.base_url, {self.model: {"kl_div": self.kl_threshold}}, self.model)\n',
        "TestIt.test_it",
        "5 0.01 class",
    ),
    "15 KL_THRESHOLD with assertLess": Case(
        "KL_THRESHOLD = 5e-3\nTOLERANCE = 0.1\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n"
        "        kl = measure(self)\n        self.assertGreater(kl, -1.0)\n"
        '        self.assertLessEqual(kl, KL_THRESHOLD, f"{kl} over {KL_THRESHOLD}")\n',
        "TestIt.test_it",
        "4 5e-3 module constant",
    ),
    "15 KL_THRESHOLD in a helper of the file": Case(
        "KL_THRESHOLD = 5e-3\n\n\ndef compare(kl, name):\n    print(f'{name}: {kl} of {KL_THRESHOLD}')\n"
        "    assert kl <= KL_THRESHOLD\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n"
        "        compare(measure(self), 'it')\n",
        "TestIt.test_it",
        "4 5e-3 module constant",
    ),
    "16 half a mean squared difference": Case(
        "KL_THRESHOLD = 5e-3\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n"
        "        kl = 0.5 * ((a() - b()) ** 2).mean()\n        self.assertLess(kl, KL_THRESHOLD)\n",
        "TestIt.test_it",
        "4 5e-3 module constant",
    ),
    "17 another mixin's name": Case(
        "from engine.test.kits.kl_kit import RadixKit as CacheChecks\n\n\n"
        "class TestIt(CacheChecks, unittest.TestCase):\n    kl_threshold = 0.005\n",
        "TestIt.test_prefill_hit",
        "8 0.005 class",
    ),
    "18 one kit under several mixins": Case(
        "class Paged(RadixKit):\n    page = 64\n\n\nclass Tiered(RadixKit):\n    kl_threshold = 0.006\n\n\n"
        "class TestIt(Paged, Tiered, unittest.TestCase):\n    model = 'm'\n",
        "TestIt.test_prefill_hit",
        "9 0.006 inherited in file",
        "inherited",
        "TestIt.kl_threshold",
    ),
    "19 the old value left as a comment": Case(
        "class TestIt(RadixKit, unittest.TestCase):\n    # kl_threshold = 0.003\n    kl_threshold = 0.005\n"
        "    # kl_threshold = 0.008\n",
        "TestIt.test_prefill_hit",
        "6 0.005 class",
    ),
    "20 several classes, one skipped": Case(
        "class TestA(RadixKit, unittest.TestCase):\n    kl_threshold = 0.003\n\n\n@unittest.skip('slow')\n"
        "class TestIt(RadixKit, unittest.TestCase):\n    kl_threshold = 0.005\n\n\n"
        "class TestC(RadixKit, unittest.TestCase):\n    kl_threshold = 0.03\n",
        "TestIt.test_prefill_hit",
        "10 0.005 class",
    ),
    "a number in the method": Case(
        "class TestIt(unittest.TestCase):\n    def test_it(self):\n        kl = measure(32, 0.5)\n"
        "        self.assertLess(kl, 0.003)\n",
        "TestIt.test_it",
        "7 0.003 method",
    ),
    "a number in an inline dictionary": Case(
        "class TestIt(unittest.TestCase):\n    def test_it(self):\n"
        '        check(self.base_url, {self.model: {"kl_div": 1e-2, "gsm8k": 0.9}}, temperature=0.7)\n',
        "TestIt.test_it",
        "6 1e-2 method",
    ),
}


def answered(case: Case) -> str:
    tree = {PATH: BASE + case.text, KIT_PATH: KIT, BOTH_PATH: BOTH, OTHER_PATH: OTHER}
    found = find_in(tree, PATH, case.test)
    if not isinstance(found, Site):
        return found.code
    text = tree[found.path].encode()
    assert text[found.start : found.end].decode() == found.spelling
    assert text[: found.start].count(b"\n") + 1 == found.line
    assert found.complete
    own = found.override
    assert (found.refusal.code if found.refusal else None) == case.refusal
    assert (f"{own.cls}.{own.attribute}" if own else None) == case.override
    where = f"{found.line}" if found.path == PATH else f"{found.path}:{found.line}"
    return f"{where} {found.spelling} {found.scope}"


@pytest.mark.parametrize("name", CASES)
def test_every_idiom(name):
    assert answered(CASES[name]) == CASES[name].answer
