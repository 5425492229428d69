"""What is wrong between the parts of a file: entries that are there twice, labels that no runner has.

The document is looked at as it is written, so that these errors come together with those of single values;
what rests on a value that is wrong by itself is passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rules.document import Document, Location, Problem
from rules.entries import BoundRule, FormRule, PrintRule, RegistrationRule, key_of
from rules.pack import Pack
from rules.repository import LISTS

Kind = type[FormRule] | type[PrintRule] | type[RegistrationRule] | type[BoundRule]
Labels = tuple[str, ...]

_KINDS: Final[Mapping[str, tuple[Kind, tuple[str, ...]]]] = {
    "forms": (FormRule, ("name",)),
    "prints": (PrintRule, ("name",)),
    "registrations": (RegistrationRule, ("call", "argument")),
    "bounds": (BoundRule, ("files", "pattern")),
}
"""Of a list: what its entries are, and what tells one from another; errors point at the last of these."""


@dataclass(frozen=True, slots=True)
class Written:
    """A document, and the places of the values in it that are wrong by themselves."""

    document: Document
    wrong: Collection[Location]

    def in_pack(self) -> list[Problem]:
        """Of a pack's own file."""
        labels = self._labels(None)
        return [problem for key in LISTS for problem in self._in_list((key,), set(), labels)]

    def in_repository_file(self, base: Pack | None) -> list[Problem]:
        """Of a repository's file; None where the pack that it extends is not known."""
        labels = self._labels(base)
        problems: list[Problem] = []
        for key in LISTS:
            own = self._keys((key,)) if self.document.at((key,)) is not None else None
            inherited = {key_of(entry) for entry in getattr(base, key, ())}
            problems += self._in_list((key,), set(), labels)
            problems += self._in_list(("also", key), inherited if own is None else {*own.values()}, labels)
        return [*problems, *self._unknown(("runner",), labels)]

    def _in_list(self, place: Location, before: set[str], labels: Labels) -> Iterator[Problem]:
        """Entries that are there already, and registrations for runners that are not there."""
        seen = set(before)
        for at, key in self._keys(place).items():
            if key in seen:
                yield Problem(self.document.position(at), f"{key} is there twice")
            seen.add(key)
        if place[-1] == "registrations":
            for index in range(len(self._entries(place))):
                asked = self.document.at((*place, index, "labels"))
                for value in asked if isinstance(asked, dict) else ():
                    yield from self._unknown((*place, index, "labels", value), labels)

    def _keys(self, place: Location) -> dict[Location, str]:
        """What may stand in this list only once, by its place."""
        kind, parts = _KINDS.get(str(place[-1]), (None, ()))
        found: dict[Location, str] = {}
        for index in range(len(self._entries(place))):
            own = (*place, index)
            texts = {part: self.text((*own, part)) for part in parts}
            if kind is None and (text := self.text(own)) is not None:
                found[own] = key_of(text)
            elif kind is not None and None not in texts.values():
                found[(*own, parts[-1])] = key_of(kind.model_construct(None, **texts))
        return found

    def _unknown(self, at: Location, labels: Labels) -> Iterator[Problem]:
        """The text there, if it is to be a label and is none; without labels nothing is known of it."""
        text = self.text(at)
        if text is not None and labels and text not in labels:
            told = f"{text!r} is none of the labels in 'runners': {', '.join(dict.fromkeys(labels))}"
            yield Problem(self.document.position(at), f"{'.'.join(map(str, at))}: {told}")

    def _labels(self, base: Pack | None) -> Labels:
        """Every label of 'runners', the added ones too; empty where that cannot be told."""
        if any(at[:1] == ("runners",) or at[:2] in (("also",), ("also", "runners")) for at in self.wrong):
            return ()
        own, added = self._texts(("runners",)), self._texts(("also", "runners"))
        own = own or (base.runners if base else ())
        return (*own, *added) if own else ()

    def _entries(self, place: Location) -> list[object]:
        found = self.document.at(place)
        return found if isinstance(found, list) else []

    def _texts(self, place: Location) -> Labels:
        return tuple(entry for entry in self._entries(place) if isinstance(entry, str))

    def text(self, at: Location) -> str | None:
        """The text there, if it is one and right by itself."""
        found = self.document.at(at)
        return found if isinstance(found, str) and at not in self.wrong else None
