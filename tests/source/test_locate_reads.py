"""What a test reads as its bound. «» marks the literal; where there is none, the answer is a refusal."""

from __future__ import annotations

import pytest

from bot.source import Site
from bot.verdict.answer import Refusal
from tests.source.builders import find_in

CLASS = "class TestA(unittest.TestCase):\n"
OWN = CLASS + "    kl_threshold = 0.003\n"
BOUND = "KL_BOUND = 0.003\n" + CLASS


def method(*lines: str, head: str = "def test_x(self):") -> str:
    return f"    {head}\n" + "".join(f"        {line}\n" for line in lines)


READ = {
    "compared": CLASS + "    kl_threshold = «0.003»\n" + method("assert kl < self.kl_threshold"),
    "printed beside": CLASS
    + "    kl_threshold = «0.003»\n"
    + method(
        "print(self.kl_threshold * 100)", "self.assertLess(kl, self.kl_threshold, f'{self.kl_threshold}')"
    ),
    "asked whether set": CLASS
    + "    kl_threshold = «0.003»\n"
    + method("if self.kl_threshold is not None:", "    check_kl(m, self.kl_threshold)"),
    "local": CLASS + "    kl_threshold = «0.003»\n" + method("t = self.kl_threshold", "assert kl < t"),
    "handed to a helper": CLASS
    + "    kl_threshold = «0.003»\n"
    + method("self.assertLess(kl, bound)", head="def check(self, kl, bound):")
    + method("self.check(kl, self.kl_threshold)"),
    "returned by a helper": CLASS
    + "    kl_threshold = «0.003»\n"
    + method("return self.kl_threshold", head="def bound(self):")
    + method("assert kl < self.bound()"),
    "only printed, another compared": OWN + method("print(self.kl_threshold)", "check_kl(m, «0.01»)"),
    "number handed to a check": OWN + method("check_kl(m, thr=«0.01»)"),
    "text before name": CLASS
    + "    kl_div_thres_decode = 0.004\n    kl_div_thres_prefill = «0.005»\n"
    + method("w = self.kl_div_thres_decode", "check_kl(m, self.kl_div_thres_prefill)"),
    "or, zero falls through": CLASS
    + "    kl_div_thres = «0.003»\n    kl_div_thres_prefill = 0\n"
    + method("check_kl(m, self.kl_div_thres_prefill or self.kl_div_thres)"),
    "if, zero falls through": CLASS
    + "    kl_div_thres = «0.003»\n    kl_div_thres_prefill = 0\n"
    + method("p = self.kl_div_thres_prefill", "check_kl(m, p if p else self.kl_div_thres)"),
    "is not None, unset": CLASS
    + "    kl_div_thres = «0.003»\n    kl_div_thres_prefill = None\n"
    + method("p = self.kl_div_thres_prefill", "check_kl(m, p if p is not None else self.kl_div_thres)"),
    "default of getattr": CLASS + method("check_kl(m, getattr(self, 'kl_threshold', «0.005»))"),
    "number after or": CLASS
    + "    kl_threshold = None\n"
    + method("assert kl < (self.kl_threshold or «0.005»)"),
    "spread before the entry": "B = {'gsm8k': 1}\nKL_LIMITS = {**B, 'kl_div': «0.003»}\n"
    + CLASS
    + method("check_kl(m, KL_LIMITS)"),
}

EXACT = {
    "is not None": "self.kl_div_thres_prefill if self.kl_div_thres_prefill is not None else 0.5",
    "is None": "self.kl_div_thres if self.kl_div_thres_prefill is None else self.kl_div_thres_prefill",
}

REFUSED = {
    "scaled": OWN + method("assert kl < self.kl_threshold * 2"),
    "divided": OWN + method("self.assertLess(kl, self.kl_threshold / 1000)"),
    "percent": OWN + method("check_kl(m, self.kl_threshold % 1)"),
    "measured scaled": OWN + method("assert kl / self.kl_threshold < 1"),
    "max": OWN + method("self.assertLess(kl, max(self.kl_threshold, 0.01))"),
    "max of a constant": "KL_BOUND = 0.1\n" + OWN + method("self.assertLess(kl, max(KL_BOUND, 0.01))"),
    "constant scaled": "KL_BOUND = 0.1\n" + OWN + method("self.assertLess(kl, KL_BOUND * 2)"),
    "by class, scaled": OWN + method("assert kl < TestA.kl_threshold * 2"),
    "unknown function": OWN + method("assert kl < looser(self.kl_threshold)"),
    "scaled argument": OWN + method("check_kl(m, self.kl_threshold * 2)"),
    "scaled local": OWN + method("bound = self.kl_threshold * 3", "assert kl < bound"),
    "local scaled later": OWN + method("bound = self.kl_threshold", "assert kl < bound * 3"),
    "local augmented": OWN + method("t = self.kl_threshold", "t *= 2", "assert kl < t"),
    "local set again": OWN + method("t = self.kl_threshold", "t = 0.01", "assert kl < t"),
    "local by condition": OWN + method("t = 0.01 if self.id() else self.kl_threshold", "assert kl < t"),
    "scaled entry": OWN + method("check_kl(m, {m: {'kl_div': self.kl_threshold * 2}})"),
    "after or": CLASS
    + "    kl_threshold = 0.003\n    kl_threshold_decode = None\n"
    + method("assert kl < (self.kl_threshold_decode or 0.5 * self.kl_threshold)"),
    "environment": OWN + method("assert kl < float(os.environ.get('KL') or self.kl_threshold)"),
    "scaled in a helper": OWN
    + method("self.assertLess(kl, bound * 2)", head="def check(self, kl, bound):")
    + method("self.check(kl, self.kl_threshold)"),
    "scaled by its caller": OWN
    + method("return self.kl_threshold", head="def bound(self):")
    + method("assert kl < self.bound() * 2"),
    "number handed on": OWN
    + method("self.assertLess(kl, thres or self.kl_threshold)", head="def check(self, kl, thres=None):")
    + method("self.check(kl, 0.01)"),
    "number handed on by name": OWN
    + method("self.assertLess(kl, bound or self.kl_threshold)", head="def check(self, kl, bound=None):")
    + method("self.check(kl, bound=0.01)"),
    "default of a helper": "def check_it(kl, bound=0.003): assert kl < bound\n"
    + OWN
    + method("check_it(run())"),
    "expanded parameter": OWN + method("self.assertLess(run(), thres)", head="def test_x(self, thres):"),
    "assigned method": OWN + method("assert kl < 0.5", head="def _impl(self):") + "    test_x = _impl\n",
    "dictionary changed": CLASS
    + method("lim = {'kl_div': 0.003}", "lim['kl_div'] = 0.01", "check_kl(m, lim)"),
    "dictionary updated": CLASS
    + method("lim = {'kl_div': 0.003}", "lim.update(kl_div=1)", "check_kl(m, lim)"),
    "dictionary of the class set in setUp": CLASS
    + "    lim = {'kl_div': 0.003}\n"
    + method("self.lim = {'kl_div': 0.01}", head="def setUp(self):")
    + method("check_kl(m, self.lim)"),
    "dictionary of the class changed": CLASS
    + "    lim = {'kl_div': 0.003}\n"
    + method("self.lim['kl_div'] = 0.01", head="def setUp(self):")
    + method("check_kl(m, self.lim)"),
    "dictionary merged": "L = {'kl_div': 0.003}\nL |= {'kl_div': 1}\n" + CLASS + method("check_kl(m, L)"),
    "dictionary aliased": "L = {'kl_div': 0.003}\nM = L\nM['kl_div'] = 1\n"
    + CLASS
    + method("check_kl(m, L)"),
    "entry deleted": "L = {'kl_div': 0.003}\ndel L['kl_div']\n" + CLASS + method("check_kl(m, L)"),
    "item set": "L = {'kl_div': 0.003}\nL.__setitem__('kl_div', 1)\n" + CLASS + method("check_kl(m, L)"),
    "spread": "O = {'kl_div': 1}\nL = {'kl_div': 0.003, **O}\n" + CLASS + method("check_kl(m, L)"),
    "spread inside": "O = {'kl_div': 1}\nL = {'m': {'kl_div': 0.003, **O}}\n"
    + CLASS
    + method("check_kl('m', L)"),
    "import in the function": BOUND + method("from t.lim import KL_BOUND", "check_kl(m, KL_BOUND)"),
    "loop": BOUND + method("for KL_BOUND in (0.01, 0.02):", "    assert kl < KL_BOUND"),
    "with": BOUND + method("with f(0.01) as KL_BOUND:", "    assert kl < KL_BOUND"),
    "walrus": BOUND + method("if (KL_BOUND := 0.01):", "    assert kl < KL_BOUND"),
    "lambda": BOUND + method("f = lambda kl, KL_BOUND=0.01: self.assertLess(kl, KL_BOUND)", "f(kl)"),
    "inner function": BOUND + method("def f(kl, KL_BOUND=0.01): self.assertLess(kl, KL_BOUND)", "f(kl)"),
    "imported over it": "KL_BOUND = 0.003\nfrom t.lim import KL_BOUND\n"
    + CLASS
    + method("check_kl(m, KL_BOUND)"),
    "star over it": "KL_BOUND = 0.003\nfrom t.lim import *\n" + CLASS + method("check_kl(m, KL_BOUND)"),
    "globals": "KL_BOUND = 0.003\nglobals()['KL_BOUND'] = 1\n" + CLASS + method("check_kl(m, KL_BOUND)"),
    "module loop": "KL_BOUND = 0.003\nfor KL_BOUND in (1,): pass\n" + CLASS + method("check_kl(m, KL_BOUND)"),
}


def answer(source: str) -> tuple[Site | Refusal, int, int]:
    """The answer, and the marked bytes."""
    start, end = source.find("«"), source.find("»") - 1
    tree = {"t/test_a.py": source.replace("«", "").replace("»", ""), "t/lim.py": "KL_BOUND = 0.01\n"}
    return find_in(tree, "t/test_a.py", "TestA.test_x"), start, end


@pytest.mark.parametrize("name", READ)
def test_the_literal_that_is_read(name):
    found, start, end = answer(READ[name])
    assert isinstance(found, Site) and found.refusal is None, found
    assert (found.start, found.end) == (start, end), found


@pytest.mark.parametrize("name", REFUSED)
def test_a_bound_that_does_not_arrive_as_it_stands_is_refused(name):
    found, _, _ = answer(REFUSED[name])
    assert isinstance(found, Refusal) and found.code in ("computed", "ambiguous"), found
    assert found.sentence.endswith(".")


@pytest.mark.parametrize("name", EXACT)
def test_zero_counts_where_only_none_falls_through(name):
    body = "    kl_div_thres = 0.003\n    kl_div_thres_prefill = «0»\n"
    found, start, end = answer(CLASS + body + method(f"check_kl(m, {EXACT[name]})"))
    assert isinstance(found, Site) and found.refusal is not None, found
    assert found.refusal.code == "exact_gate" and (found.start, found.end) == (start, end)


def test_super_reads_the_class_above():
    above = (
        "class K:\n    kl_threshold = «0.003»\nclass TestA(K, unittest.TestCase):\n    kl_threshold = 0.5\n"
    )
    found, start, end = answer(above + method("assert kl < super().kl_threshold"))
    assert isinstance(found, Site) and (found.start, found.end) == (start, end), found
    assert found.refusal is not None and found.refusal.code == "inherited"
