"""The bench asks what it says: a long file, and a tree in which classes inherit two files apart."""

from __future__ import annotations

from tests.bench.locate import FILES, LINES, SUBCLASSES, long_file, long_ms, searched, tree, write


def test_the_long_file_is_long_and_gives_a_site():
    text = long_file(300)
    assert 300 <= text.count("\n") <= 340
    assert long_ms(text, repeats=1) > 0
    assert LINES == 2_000


def test_the_tree_has_as_many_files_as_asked_and_all_subclasses_are_governed(tmp_path):
    files = tree(40)
    write(tmp_path, files)
    low = sum("class TestLow" in text for text in files.values())
    mid = sum("class TestMid" in text for text in files.values())
    assert (len(files), low, mid) == (40, 20, 10)
    # Each class has the two tests of the kit that read the bound.
    assert searched(tmp_path)["governed"] == 2 * (1 + mid + low)


def test_the_full_tree_is_the_one_that_was_asked_for():
    files = tree()
    assert (len(files), sum("class TestLow" in text for text in files.values())) == (FILES, SUBCLASSES)
