"""What a bound was through the versions of its file; every history below can be read by eye."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.source.history import BoundHistory, Commit, history, subject_line
from bot.verdict.answer import Refusal

PATH = "test/test_a.py"
TEST = f"{PATH}::TestA.test_hit"
UNREAD = Refusal("too_many_versions", "Not read.")


def commit(number: int) -> Commit:
    return Commit(f"{number:040x}", datetime(2026, number, 1, tzinfo=UTC), f"change {number}")


def text(value: str, cls: str = "TestA") -> bytes:
    return f"class {cls}:\n    kl_threshold = {value}\n\n    def test_hit(self):\n        pass\n".encode()


def told(*versions: bytes | Refusal | None, read=lambda _: None, test: str = TEST) -> BoundHistory:
    return history([(commit(n), data) for n, data in enumerate(versions, 1)], PATH, test, read)


def moves(found: BoundHistory) -> list[tuple[int, float, float, float | None, bool]]:
    return [(c.commit.at.month, c.old, c.new, c.factor, c.certain) for c in found.changes]


def test_each_move_has_its_commit_and_its_factor_over_the_first_bound():
    found = told(text("0.002"), text("0.003"), text("3e-3"), text("0.008"), text("0.004"))
    assert (found.first, found.since, found.last, found.versions) == (0.002, commit(1), 0.004, 5)
    assert moves(found) == [
        (2, 0.002, 0.003, 1.5, True),
        (4, 0.003, 0.008, 4.0, True),
        (5, 0.008, 0.004, 2.0, True),
    ]
    assert found.gaps == ()


def test_a_bound_that_never_moved_has_no_change():
    found = told(text("0.002"), b"# a comment\n" + text("0.002"))
    assert (found.first, found.changes, found.last) == (0.002, (), 0.002)


@pytest.mark.parametrize(
    ("unread", "code"),
    [
        (None, "file_not_found"),
        (b"class TestA(:\n", "does_not_parse"),
        (text("0.005", "TestOther"), "class_not_found"),
        (text("BASE * 2"), "computed"),
        (UNREAD, "too_many_versions"),
    ],
)
def test_a_version_that_cannot_be_read_is_a_gap_and_the_next_move_is_uncertain(unread, code):
    found = told(text("0.002"), unread, text("0.003"), text("0.004"))
    assert [(gap.commit, gap.why.code) for gap in found.gaps] == [(commit(2), code)]
    assert moves(found) == [(3, 0.002, 0.003, 1.5, False), (4, 0.003, 0.004, 2.0, True)]


def test_what_no_version_shows_is_not_known():
    found = told(None, UNREAD)
    assert (found.first, found.since, found.last, len(found.gaps)) == (None, None, None, 2)
    assert told() == BoundHistory()


def test_the_first_bound_is_that_of_the_oldest_version_that_can_be_read():
    found = told(text("BASE"), text("0.003"), text("0.004"))
    assert (found.first, found.since) == (0.003, commit(2))


def test_a_first_bound_of_zero_has_no_factor():
    assert [c.factor for c in told(text("0.0"), text("0.003")).changes] == [None]


def test_of_an_inherited_bound_the_file_of_the_literal_is_followed():
    own = b"from kit import Base\n\nclass TestA(Base):\n    def test_hit(self):\n        pass\n"
    kits = [b"class Base:\n    kl_threshold = 0.003\n", b"class Base:\n    kl_threshold = 0.006\n"]
    versions = [(commit(n), data) for n, data in enumerate(kits, 1)]
    found = history(versions, "test/kit.py", TEST, {PATH: own}.get)
    assert moves(found) == [(2, 0.003, 0.006, 2.0, True)]


def test_another_class_of_the_file_does_not_count():
    both = [text("0.002") + b"\n" + text(other, "TestB") for other in ("0.01", "0.02", "0.03")]
    assert told(*both).changes == ()


@given(st.lists(st.sampled_from(["0.002", "0.003", "0.005", "0.007"]), min_size=1, max_size=12))
def test_the_moves_lead_from_the_first_bound_to_the_last(values):
    found = told(*(text(value) for value in values))
    chain = [found.first, *(change.new for change in found.changes)]
    kept = [float(v) for n, v in enumerate(values) if n == 0 or values[n - 1] != v]
    assert chain == kept
    assert [change.old for change in found.changes] == chain[:-1]


KIT = "test/kit.py"
INHERITS = b"from kit import Base\n\nclass TestA(Base):\n    def test_hit(self):\n        pass\n"
OWN = INHERITS.replace(b"    def", b"    kl_threshold = 0.005\n\n    def", 1)


def kit(value: str) -> bytes:
    return f"class Base:\n    kl_threshold = {value}\n".encode()


def test_an_old_version_is_read_with_the_files_of_its_own_commit():
    then = {commit(1).sha: kit("0.003")}
    found = history(
        [(commit(1), INHERITS), (commit(2), OWN)],
        PATH,
        TEST,
        {KIT: kit("0.02")}.get,
        read_at=lambda at, path: then.get(at.sha, kit("0.02")) if path == KIT else None,
    )
    assert (found.first, found.reaches_back) == (0.003, True)
    assert [(c.old, c.new) for c in found.changes] == [(0.003, 0.005)]


def test_where_those_files_are_not_read_a_bound_that_stood_in_one_is_a_gap():
    """Never the kit of today."""
    found = told(INHERITS, OWN, read={KIT: kit("0.02")}.get)
    assert [gap.why.code for gap in found.gaps] == ["other_file"]
    assert (found.first, found.changes, found.reaches_back) == (0.005, (), False)


@pytest.mark.parametrize(
    ("oldest", "known"),
    [
        (text("0.001"), True),
        (text("0.001", "TestBefore"), False),
        (text("BASE"), False),
        (b"class TestA(:\n    kl_threshold = 1\n", False),
        (UNREAD, False),
        (None, False),
        (b"class TestPlain:\n    pass\n", True),
    ],
)
def test_whether_the_first_bound_is_known(oldest, known):
    """A renamed class had another one; a file without any KL had none yet."""
    assert told(oldest, text("0.003")).reaches_back is known


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        ("Relax (#7)\n\nA body.", "Relax (#7)"),
        ("fix it\nCo-authored-by: Jane Doe <jane@x.org>", "fix it"),
        ("fix it Co-authored-by: Jane Doe <jane@x.org>", "fix it"),
        ("fix it Signed-off-by: Jane Doe", "fix it"),
        ("by <jane@x.org> and joe@y.example fix", "by and fix"),
        ("Merge pull request #7 from janedoe/feat", "Merge pull request #7"),
    ],
)
def test_a_subject_names_nobody(message, subject):
    assert subject_line(message) == subject
