"""Generated test files of which the generator knows where the bound stands and where a comment goes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle

from hypothesis import strategies as st

from bot.source.site import Override, Site

PATH = "test/kl/test_a.py"
BOM = b"\xef\xbb\xbf"

HERE = "\ue000"
"""Stands in a template for the number that is the bound."""
ABOVE = "\ue001"
"""Stands at the start of the line that the comment goes above; of no width."""

NUMBERS = ("0.003", "3e-3", ".003", "0.0030", "0.0005", "5E-4", "0.02", "1e-03")

NEIGHBOURS = (
    "gsm8k_threshold = {n}",
    "# kl_threshold = {n}",
    "# kl_threshold = {n} \\",
    "note = 'kl_threshold = {n}'",
    'doc = """\n  kl_threshold = {n}\n    kl_threshold = {n}  # x\n"""',
    "est_time = {n}  # kl_threshold = {n}",
    "pair = ({n}, {n}); kl_thresholds = [{n}]",
    "largs = dict(kl_threshold={n}, other={n})",
    "wrapped = \\\n        {n}",
    "größe = 'ü'",
    'rows = {\n    "kl_div": 1, "gsm8k": {n},\n    "x": [\n        {n},\n    ],\n}',
    "def nested(kl_threshold={n}):\n    def inner():\n        kl_threshold = {n}\n    return inner",
    "class Inner:\n    kl_threshold = {n}",
    "@staticmethod\ndef plain():\n    return {n}",
    "",
)
MODERN = (
    "type Pair[T] = tuple[T, T]",
    "def first[T](x: T, kl_threshold={n}) -> T: return x",
    'note = f"{rows["kl_threshold = {n}"]:{width}}"',
    "note = t'kl_threshold = {x} < {n}'",
    "try:\n    x = {n}\nexcept ValueError, TypeError:\n    x = {n}",
)
"""Syntax of Python 3.12 to 3.14."""

ATTRIBUTE = (
    "^kl_threshold = @",
    "^kl_threshold: float=@",
    "^kl_threshold  =  @  # was {n}",
    "^kl_threshold = (\n    @\n)",
    "^kl_threshold = \\\n        @",
    "^kl_threshold = @; est_time = {n}",
)
IN_CLASS = (
    *ATTRIBUTE,
    "^bounds = {'kl_div': @, 'gsm8k': {n}}",
    "^@retry({n})\ndef test_z(self, kl_threshold=@):\n    pass",
    "def test_z(self):\n    ^self.assertLess(self.kl(), @)",
    "def test_z(self):\n    x = {n}\n    ^self.check(\n        {n},\n        kl_threshold=@,\n    )",
    "def test_z(self):\n    ^if self.kl() > @:\n        raise ValueError({n})",
    "def test_z(self):\n    def inner():\n        ^return self.kl() < @\n    return inner()",
)
AT_TOP = (
    "^KL_BOUND = @",
    "^ACC_THRESHOLDS = {MODEL: {'kl_div': @, 'gsm8k': {n}}}",
    "ACC_THRESHOLDS = {\n    OTHER: {'kl_div': {n}},\n    ^MODEL: {'kl_div': @, 'gsm8k': {n}},\n}",
    "ACC_THRESHOLDS = {\n    MODEL: {\n        'gsm8k': {n},\n        ^'kl_div': @,\n    },\n}",
    "ACC_THRESHOLDS = {\n    # kl_div: {n}\n    ^MODEL:\n        {'kl_div': @},\n}",
    '^ACC_THRESHOLDS = {"""\n""": {n}, MODEL: {"kl_div": @}}',
    "^ACC_THRESHOLDS = {\\\n    'kl_div': @}",
)


@dataclass(frozen=True)
class World:
    """`above`: offset of the line that the comment goes above."""

    data: bytes
    site: Site
    above: int


def indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.split("\n"))


def marked(template: str) -> str:
    return (
        template.replace("^@", ABOVE + "\ue002")
        .replace("^", ABOVE)
        .replace("@retry", "\ue002retry")
        .replace("@static", "\ue002static")
        .replace("@", HERE)
        .replace("\ue002", "@")
    )


@st.composite
def bodies(draw: st.DrawFn, neighbours: tuple[str, ...]) -> str:
    return "".join(indented(item) for item in draw(st.lists(st.sampled_from(neighbours), max_size=4)))


@st.composite
def dressed(draw: st.DrawFn, text: str) -> bytes:
    """The text with some indentation, line ends, byte order mark, end of file."""
    if draw(st.booleans()):
        text = text.replace("    ", "\t")
    if draw(st.booleans()):
        text = text.rstrip("\n")
    ends = cycle(draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"], ["\r\n", "\n", "\n"]])))
    pieces = text.split("\n")
    text = "".join(piece + next(ends) for piece in pieces[:-1]) + pieces[-1]
    return (BOM if draw(st.booleans()) else b"") + text.encode()


@st.composite
def worlds(draw: st.DrawFn, *, modern: bool = False, attribute: bool = False) -> World:
    """A file with one bound in any of the idioms, or as an attribute, among numbers of the same digits."""
    neighbours = NEIGHBOURS + MODERN if modern else NEIGHBOURS
    number = draw(st.sampled_from(NUMBERS))
    in_class = attribute or draw(st.booleans())
    idiom = marked(draw(st.sampled_from(ATTRIBUTE if attribute else IN_CLASS if in_class else AT_TOP)))
    top = "" if in_class else idiom + "\n"
    statement = indented(idiom) if in_class else ""
    text = draw(st.sampled_from(["", "#!/usr/bin/env python\n", "import unittest\nX = {n}\n\n\n"])) + top
    text += draw(st.sampled_from(["", "\x0c\n"]))
    text += "class TestA(Base):\n" + draw(bodies(neighbours)) + statement + draw(bodies(neighbours))
    text += "    kl_div = {n}\n\n\nclass TestB(Base):\n    kl_threshold = {n}\n"
    raw = draw(dressed(text.replace("{n}", number)))
    return _world(raw, number, "TestA" if in_class else None)


def _world(raw: bytes, number: str, cls: str | None) -> World:
    here, above = HERE.encode(), ABOVE.encode()
    mark = raw.index(above)
    data = raw.replace(above, b"")
    start = data.index(here)
    data = data.replace(here, number.encode())
    line = data.rfind(b"\n", 0, mark) + 1
    if line == 0 and data.startswith(BOM):
        line = len(BOM)
    return World(data, site_at(data, start, number, cls), line)


def site_at(data: bytes, start: int, spelling: str, cls: str | None = "TestA") -> Site:
    line_start = data.rfind(b"\n", 0, start) + 1
    return Site(
        path=PATH,
        cls=cls,
        attribute="kl_threshold" if cls else "KL_BOUND",
        line=data.count(b"\n", 0, start) + 1,
        column=len(data[line_start:start].decode()) + 1,
        start=start,
        end=start + len(spelling),
        spelling=spelling,
        value=float(spelling),
        scope="class" if cls else "module constant",
        governs=(f"{PATH}::TestA.test_x",),
        siblings=(),
    )


def inheriting(data: bytes, spelling: str = "0.003", cls: str = "TestA") -> Site:
    """The site of a kit's bound, with an override for the class `cls` in `data`."""
    start = data.index(b"class " + cls.encode())
    override = Override(PATH, cls, "kl_threshold", data.count(b"\n", 0, start) + 1, 0, "", "")
    kit = b"class Kit:\n    kl_threshold = " + spelling.encode()
    site = site_at(kit, kit.index(spelling.encode()), spelling, "Kit")
    return Site(**{name: getattr(site, name) for name in site.__dataclass_fields__} | {"override": override})


HEADS = ("class TestA(Kit):", "class TestA(Kit):  # kl_threshold = {n}", "class TestA(\n    Kit,\n):")
DOCSTRINGS = ("", '"""kl_threshold = {n}"""', '"""One.\n\n    kl_threshold = {n}\n"""', "'a' 'b'")
ATTRIBUTES = (
    "model = MODEL",
    "est_time: float = {n}",
    "gsm8k_threshold = {n}  # kl_threshold = {n}",
    "rows = [\n    {n},\n]",
    "a = {n}; b = {n}",
    "pass",
    "...",
    "# kl_threshold = {n}",
)
RESTS = (
    "",
    "def test_x(self):\n    kl_threshold = {n}",
    "\n@unittest.skip\ndef test_x(self): pass",
    "\n# about test_x\ndef test_x(self): pass",
    "\n\nclass Inner:\n    kl_threshold = {n}",
    "if X:\n    est_time = {n}",
)


@st.composite
def inheritors(draw: st.DrawFn) -> tuple[bytes, Site]:
    """A file whose class TestA inherits its bound, and the site with its override."""
    number = draw(st.sampled_from(NUMBERS))
    body = [draw(st.sampled_from(DOCSTRINGS)), draw(st.sampled_from(["", "\n"])).rstrip("\n")]
    body += draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=3))
    body.append(draw(st.sampled_from(RESTS)))
    inner = "".join(indented(part) for part in body if part)
    if all(not part or part.startswith("#") for part in body):
        inner += "    pass\n"
    text = (
        "import unittest\n\n\n" + draw(st.sampled_from(["", "@skip\n"])) + draw(st.sampled_from(HEADS)) + "\n"
    )
    text += draw(st.sampled_from(["", "\n"])) + inner
    text += draw(st.sampled_from(["", "\n\nclass TestB(Kit):\n    kl_threshold = {n}\n"]))
    data = draw(dressed(text.replace("{n}", number)))
    return data, inheriting(data, number)
