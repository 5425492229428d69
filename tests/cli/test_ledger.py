"""`kl-triage ledger` on real repositories."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from bot.cli.bumps import _ORIGIN
from bot.cli.git_history import _versions
from bot.store import Bump, Store, open_database
from bot.store.base import utcnow
from tests.cli.command import process, run

FILE = "test/test_a.py"
TEST = f"{FILE}::TestA.test_hit"


def text(bound: str, cls: str = "TestA") -> str:
    return f"class {cls}:\n    kl_threshold = {bound}\n\n    def test_hit(self):\n        pass\n"


class Repository:
    """A folder with a git repository; each commit is made on a day of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, day: str = "2026-01-01") -> str:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        for role in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{role}_NAME": "Ada Secret", f"GIT_{role}_EMAIL": "ada@example.invalid"}
            env[f"GIT_{role}_DATE"] = f"{day}T12:00:00Z"
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, day: str, message: str, **files: str) -> str:
        for path, content in {**files}.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, day=day)
        return self.git("rev-parse", "HEAD")

    def bound(self, day: str, value: str, message: str = "Move it") -> str:
        return self.commit(day, message, **{FILE: text(value)})

    def ledger(self, *arguments: str) -> dict:
        answer = run("ledger", "--repo", str(self.folder), "--json", *arguments)
        assert answer.returncode == 0, answer.stderr + answer.stdout
        return json.loads(answer.stdout)

    def moves(self, *arguments: str) -> list[tuple]:
        site = self.ledger("--test", TEST, *arguments)["sites"][0]
        return [(m["date"], m["old"], m["new"], m["factor"]) for m in site["moves"]]


@pytest.fixture
def repo(tmp_path) -> Repository:
    folder = tmp_path / "repo"
    folder.mkdir()
    return Repository(folder)


def test_every_move_of_one_test_with_the_commit_that_made_it(repo):
    repo.bound("2026-01-01", "0.002", "Add")
    moved = repo.bound("2026-02-01", "0.003", "Relax (#7)\n\nA body.")
    repo.bound("2026-03-01", "0.008")
    found = repo.ledger("--test", TEST)
    site = found["sites"][0]
    assert (site["first"], site["since"], site["value"], site["factor"]) == (0.002, "2026-01-01", 0.008, 4.0)
    assert site["moves"][0] == {
        "date": "2026-02-01",
        "old": 0.002,
        "new": 0.003,
        "factor": 1.5,
        "commit": moved,
        "subject": "Relax (#7)",
        "pull": None,
        "certain": True,
        "marks": [],
    }
    assert site["moves"][1]["marks"] == ["over the cap"]
    assert (site["complete"], found["complete"], found["refusals"]) == (True, True, [])


def test_who_made_a_commit_is_never_said(repo):
    repo.bound("2026-01-01", "0.002")
    repo.bound("2026-02-01", "0.003")
    for flags in ((), ("--json",)):
        told = run("ledger", "--repo", str(repo.folder), "--test", TEST, *flags)
        assert told.returncode == 0
        assert "Ada" not in told.stdout + told.stderr and "ada@" not in told.stdout + told.stderr


def test_the_text_is_a_table_with_a_bar(repo):
    repo.bound("2026-01-01", "0.002")
    sha = repo.bound("2026-02-01", "0.003", "Relax")
    told = process("ledger", "--repo", str(repo.folder), "--test", TEST)
    assert "0.003 today, first 0.002 on 2026-01-01" in told.stdout
    line = next(line for line in told.stdout.splitlines() if "2026-02-01" in line)
    assert line.split() == ["2026-02-01", "0.002", "->", "0.003", "1.5×", "####·····|", sha[:12], "Relax"]


def test_a_renamed_file_is_followed(repo):
    repo.commit("2026-01-01", "Add", **{"test/old.py": text("0.002")})
    repo.git("mv", "test/old.py", FILE)
    repo.commit("2026-02-01", "Rename")
    repo.bound("2026-03-01", "0.003")
    assert repo.moves() == [("2026-03-01", 0.002, 0.003, 1.5)]


def test_a_merge_counts_when_it_landed_and_only_then(repo):
    """A branch that still had the old value is no move back."""
    repo.bound("2026-01-01", "0.002")
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("2026-01-03", "On the branch", **{FILE: text("0.002") + "\n# a line\n" * 9})
    repo.git("checkout", "-q", "main")
    repo.bound("2026-01-02", "0.004")
    repo.git("merge", "-q", "-m", "Merge", "topic", day="2026-01-04")
    repo.bound("2026-01-05", "0.005")
    assert repo.moves() == [("2026-01-02", 0.002, 0.004, 2.0), ("2026-01-05", 0.004, 0.005, 2.5)]


def test_a_version_that_cannot_be_read_is_said(repo):
    repo.bound("2026-01-01", "0.002")
    broken = repo.commit("2026-02-01", "Break it", **{FILE: "class TestA(:\n"})
    repo.bound("2026-03-01", "0.003")
    site = repo.ledger("--test", TEST)["sites"][0]
    assert site["gaps"] == [{"commit": broken, "code": "does_not_parse"}]
    assert (site["complete"], site["moves"][0]["certain"]) == (False, False)
    told = run("ledger", "--repo", str(repo.folder), "--test", TEST).stdout
    assert f"Not read in 1 of 3 versions, the last {broken[:12]}" in told


def test_one_file_and_all_files_of_the_pack(repo):
    both = text("0.002") + "\n\n" + text("0.01", "TestB") + "\n\nclass Plain:\n    pass\n"
    repo.commit(
        "2026-01-01", "Add", **{FILE: both, "test/test_c.py": text("0.003", "TestC"), "x.py": text("1.0")}
    )
    names = [site["class"] for site in repo.ledger("--path", FILE)["sites"]]
    assert names == ["TestA", "TestB"]
    names = [site["class"] for site in repo.ledger("--rules", "generic")["sites"]]
    assert names == ["TestA", "TestB", "TestC"]


def test_the_repository_s_own_rules_say_where_its_tests_are(repo):
    own = 'extends: "generic"\nmode: "observe"\ntests:\n  - "kl/*.py"\n'
    files = {".github/kl-triage.yml": own, FILE: text("0.002"), "kl/a.py": text("0.003", "TestK")}
    repo.commit("2026-01-01", "Add", **files)
    assert [site["path"] for site in repo.ledger()["sites"]] == ["kl/a.py"]


def test_only_what_is_committed_counts(repo):
    repo.bound("2026-01-01", "0.002")
    (repo.folder / FILE).write_text(text("0.009"))
    assert repo.ledger("--test", TEST)["sites"][0]["value"] == 0.002


def test_a_folder_inside_and_a_bare_repository_are_the_same_repository(repo, tmp_path):
    repo.bound("2026-01-01", "0.002")
    repo.bound("2026-02-01", "0.003")
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    for folder in (repo.folder / "test", tmp_path / "bare.git"):
        told = json.loads(run("ledger", "--repo", str(folder), "--test", TEST, "--json").stdout)
        assert [move["new"] for move in told["sites"][0]["moves"]] == [0.003]


def test_a_shallow_clone_says_that_it_may_lack_the_first_bound(repo, tmp_path):
    repo.bound("2026-01-01", "0.002")
    repo.bound("2026-02-01", "0.003")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.folder}", str(tmp_path / "shallow"))
    told = run("ledger", "--repo", str(tmp_path / "shallow"), "--test", TEST).stdout
    assert "Older versions of the file are not in this history" in told


def test_of_a_renamed_class_only_a_first_known_bound_is_told(repo):
    repo.commit("2026-01-01", "Add", **{FILE: text("0.001", "TestBefore")})
    repo.bound("2026-02-01", "0.003")
    told = run("ledger", "--repo", str(repo.folder), "--test", TEST).stdout
    assert "0.003 today, first known 0.003 on 2026-02-01" in told
    assert repo.ledger("--test", TEST)["sites"][0]["first_known"] is False


def test_an_old_version_is_read_with_the_kit_of_its_commit(repo):
    kit = "class Kit:\n    kl_threshold = {}\n\n    def test_hit(self):\n        pass\n"
    inherits = "from test.kit import Kit\n\nclass TestA(Kit):\n    model = 1\n"
    own = inherits + "    kl_threshold = 0.006\n"
    repo.commit("2026-01-01", "Add", **{"test/kit.py": kit.format("0.003"), FILE: inherits})
    repo.commit("2026-02-01", "Own", **{FILE: own})
    repo.commit("2026-03-01", "Kit", **{"test/kit.py": kit.format("0.02")})
    assert repo.moves() == [("2026-02-01", 0.003, 0.006, 2.0)]


def test_moves_stand_in_the_order_of_the_commits(repo):
    repo.bound("2026-01-01", "0.002")
    repo.bound("2026-03-01", "0.003")
    repo.bound("2026-02-01", "0.004")
    assert [new for _, _, new, _ in repo.moves()] == [0.003, 0.004]


def test_a_subject_names_nobody(repo):
    repo.bound("2026-01-01", "0.002")
    repo.bound("2026-02-01", "0.003", "fix it\nCo-authored-by: Jane Doe <jane@x.example>")
    assert repo.ledger("--test", TEST)["sites"][0]["moves"][0]["subject"] == "fix it"


def test_a_date_out_of_range_is_one_clear_line(repo):
    repo.bound("2026-01-01", "0.002")
    raw = repo.git("cat-file", "commit", "HEAD").replace("1767268800", "99999999999999")
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        cwd=repo.folder,
        input=f"{raw}\n".encode(),
        check=True,
        capture_output=True,
    )
    repo.git("update-ref", "HEAD", made.stdout.decode().strip())
    answer = run("ledger", "--repo", str(repo.folder), "--test", TEST)
    assert answer.returncode == 1 and "date out of range" in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_a_path_is_spelled_as_git_spells_it(repo):
    repo.bound("2026-01-01", "0.002")
    for flag, value in (("--path", "./test//test_a.py"), ("--test", f"test/../{TEST}")):
        assert repo.ledger(flag, value)["sites"][0]["path"] == FILE


def test_an_expired_bump_is_marked_by_its_own_comment(repo):
    repo.bound("2026-01-01", "0.002")
    note = "    # 0.002 -> 0.003; look again after 2020-05-01 (kl-triage, #1)\n"
    repo.commit("2026-02-01", "Relax", **{FILE: text("0.003").replace("    kl_", f"{note}    kl_")})
    assert repo.ledger("--test", TEST)["sites"][0]["moves"][0]["marks"] == ["expired"]


def test_bumps_of_the_bot_s_database_stand_beside_the_moves(repo, tmp_path):
    repo.bound("2020-01-01", "0.002")
    repo.bound("2020-11-01", "0.003", "Relax (#12)")
    repo.git("remote", "add", "origin", "https://github.com/acme/engine.git")
    url = f"sqlite:///{tmp_path}/kl.sqlite"
    store = Store(open_database(url))
    days = {12: (0.002, 0.003, "merged"), 13: (0.003, 0.004, "closed"), 14: (0.003, 0.005, None)}
    for pull, (old, new, state) in days.items():
        for owner in ("acme/engine", "acme/other"):
            at = utcnow().replace(year=2020, month=10, day=pull)
            store.record_bump(
                Bump(
                    repo=owner,
                    site_key=f"{FILE}::TestA.kl_threshold",
                    investigation="kl-1",
                    old=old,
                    new=new,
                    pull=pull,
                    evidence="",
                    proposed_at=at,
                    expires_at=at - timedelta(days=1),
                )
            )
            if state:
                store.settle_bump(owner, pull, state, at)
    moves = repo.ledger("--test", TEST, "--database", url)["sites"][0]["moves"]
    assert [(m["pull"], m["new"], m["commit"] is not None, m["marks"]) for m in moves] == [
        (13, 0.004, False, ["declined"]),
        (14, 0.005, False, ["proposed"]),
        (12, 0.003, True, ["expired"]),
    ]


def test_nothing_that_a_repository_configures_is_run(repo, tmp_path):
    repo.bound("2026-01-01", "0.002")
    ran = tmp_path / "ran"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv", "gpg.program"):
        repo.git("config", name, str(hook))
    repo.git("config", "log.showSignature", "true")
    (repo.folder / ".gitattributes").write_text("*.py diff=x\n")
    assert repo.moves() == []
    assert not ran.exists()


@pytest.mark.parametrize("path", ["test/naïve tést.py", "test/:(glob)*.py", "test/a\nb.py", "-x.py"])
def test_odd_names_are_names(repo, path):
    repo.commit("2026-01-01", "Add", **{path: text("0.002")})
    repo.commit("2026-02-01", "Move", **{path: text("0.003"), FILE: text("0.1")})
    site = repo.ledger(f"--test={path}::TestA.test_hit")["sites"][0]
    assert [move["new"] for move in site["moves"]] == [0.003]


def test_a_file_without_a_bound_has_no_ledger_and_exits_2(repo):
    repo.commit("2026-01-01", "Add", **{FILE: "class Plain:\n    pass\n"})
    answer = run("ledger", "--repo", str(repo.folder), "--path", FILE)
    assert (answer.returncode, answer.stdout.strip()) == (2, "No bound was found there.")


def test_a_refusal_exits_2_with_its_sentence(repo):
    repo.bound("2026-01-01", "BASE * 2")
    answer = run("ledger", "--repo", str(repo.folder), "--test", TEST, "--json")
    assert answer.returncode == 2
    assert [r["code"] for r in json.loads(answer.stdout)["refusals"]] == ["computed"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--test", "TestA"),
        ("--test", TEST, "--path", FILE),
        ("--path", "absent.py"),
        ("--rules", "absent"),
        ("--test", TEST, "--database", "postgresql://x/y"),
        ("--test", TEST, "--database", "sqlite:///absent.sqlite"),
        (),
    ],
)
def test_a_usage_error_is_one_line_and_exits_1(repo, arguments):
    repo.bound("2026-01-01", "0.002")
    answer = run("ledger", "--repo", str(repo.folder), *arguments)
    told = (answer.stderr + answer.stdout).strip()
    assert answer.returncode == 1
    assert "Traceback" not in told and len(told.splitlines()) == 1


def test_what_is_no_repository_and_one_without_commits_is_an_error(tmp_path, repo):
    for folder in (tmp_path, repo.folder):
        answer = run("ledger", "--repo", str(folder), "--test", TEST)
        assert (answer.returncode, len(answer.stderr.splitlines())) == (1, 1)


def test_a_subject_that_looks_like_a_change_is_a_subject():
    sha, blob = "a" * 40, "b" * 40
    raw = f"\n:100644 100644 {'c' * 40} {blob} M"
    found = list(
        _versions([sha, "0", ":100644 x y z M", raw, "a.py", sha, "1", "", f"{raw[:-1]}R100", "a", "b", ""])
    )
    assert [(v.commit.subject, v.blob) for v in found] == [(":100644 x y z M", blob), ("", blob)]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://github.com/acme/engine.git", "acme/engine"),
        ("https://github.com/acme/engine", "acme/engine"),
        ("git@github.com:acme/engine.git", "acme/engine"),
        ("ssh://git@github.com/acme/engine/", "acme/engine"),
        ("", None),
    ],
)
def test_the_name_of_a_repository_by_its_remote(address, name):
    found = _ORIGIN.search(address)
    assert (found[1] if found else None) == name
