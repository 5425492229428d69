from __future__ import annotations

import base64
import time
from datetime import UTC, datetime

import jwt
import pytest
import requests
from github import (
    Auth,
    Github,
    GithubException,
    GithubIntegration,
    InputGitTreeElement,
    UnknownObjectException,
)

from tests.demo_github.github_stage import FILE, TEXT, commit, git


def status_of(call, *arguments, **options) -> int:
    with pytest.raises(GithubException) as caught:
        call(*arguments, **options)
    return caught.value.status


def test_the_app_finds_its_installation_in_any_case_of_the_name(stage):
    assert stage.app.get_app().slug == "kl-triage"
    installation = stage.app.get_repo_installation("ACME", "TinyServe")
    assert installation.permissions["contents"] == "write"
    assert stage.app.get_app_installation(installation.id).id == installation.id
    assert [repo.full_name for repo in installation.get_repos()] == ["acme/tinyserve"]
    assert status_of(stage.app.get_repo_installation, "acme", "other") == 404


def test_an_app_token_must_be_signed_by_its_key_and_young(stage, pem):
    def answer(claims, key=stage.private_key, algorithm="RS256"):
        token = jwt.encode(claims, key, algorithm=algorithm)
        return requests.get(f"{stage.url}/app", headers={"Authorization": f"Bearer {token}"}, timeout=5)

    now = int(time.time())
    good = {"iat": now - 60, "exp": now + 500, "iss": "1"}
    assert answer(good).status_code == 200
    assert answer({**good, "iss": "2"}).json()["message"] == "Integration not found"
    assert answer({**good, "exp": now - 600}).status_code == 401
    assert answer({**good, "exp": now + 7200}).status_code == 401
    assert answer(good, key=b"x" * 64, algorithm="HS256").status_code == 401
    assert requests.get(f"{stage.url}/app", timeout=5).status_code == 401


def test_an_installation_token_has_no_more_than_was_asked_for(stage):
    found = stage.app.get_repo_installation("acme", "tinyserve")
    narrow = stage.app.get_access_token(found.id, permissions={"metadata": "read", "contents": "read"})
    repo = Github(auth=Auth.Token(narrow.token), **stage.options).get_repo("acme/tinyserve")
    assert repo.get_branch("main").name == "main"
    refused = stage_error(repo.create_file, "x.txt", "m", "x")
    assert (refused.status, refused.data["message"]) == (403, "Resource not accessible by integration")
    assert status_of(stage.app.get_access_token, found.id, permissions={"secrets": "read"}) == 422


def stage_error(call, *arguments, **options) -> GithubException:
    with pytest.raises(GithubException) as caught:
        call(*arguments, **options)
    return caught.value


def test_an_installation_token_expires(stage):
    stage.server.world.tokens._config = stage.server.world.config.model_copy(
        update={"installation_token_ttl_s": -1}
    )
    token, _ = stage.server.world.tokens.new_installation_token(None)
    answer = requests.get(
        f"{stage.url}/repos/acme/tinyserve", headers={"Authorization": f"token {token}"}, timeout=5
    )
    assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")


def test_a_wrong_token_is_refused_and_no_token_reads_what_is_public(stage):
    assert status_of(Github(auth=Auth.Token("nonsense"), **stage.options).get_user().get_emails) in (401, 404)
    anybody = Github(**stage.options).get_repo("acme/tinyserve")
    assert anybody.default_branch == "main"
    assert status_of(anybody.create_git_ref, "refs/heads/x", anybody.get_branch("main").commit.sha) == 401
    assert status_of(Github(auth=Auth.Token("nonsense"), **stage.options).get_repo, "acme/tinyserve") == 401


def test_a_private_repository_does_not_exist_for_strangers(stage):
    stage.server.world.config = stage.server.world.config.model_copy(update={"private": True})
    assert status_of(Github(**stage.options).get_repo, "acme/tinyserve") == 404
    assert status_of(stage.people["stranger-c"].get_repo, "acme/tinyserve") == 404
    assert stage.repo("dev-a").private
    assert stage.repo().private


def test_roles_are_told_by_the_collaborator_endpoint(stage):
    repo = stage.repo()
    people = ("dev-a", "maintainer-b", "stranger-c")
    assert [repo.get_collaborator_permission(login) for login in people] == ["write", "admin", "read"]
    assert repo.get_collaborator_role_name("dev-a") == "write"
    assert status_of(repo.get_collaborator_permission, "nobody-here") == 404
    assert status_of(stage.repo("stranger-c").get_collaborator_permission, "dev-a") == 403


def test_accounts(stage):
    assert stage.people["dev-a"].get_user().login == "dev-a"
    assert stage.bot.get_user("kl-triage[bot]").type == "Bot"
    assert stage.bot.get_user("acme").type == "Organization"
    assert status_of(stage.bot.get_user, "nobody-here") == 404
    assert stage.bot.get_rate_limit().rate.limit == 15_000
    assert stage.repo("dev-a").permissions.push
    assert not stage.repo("stranger-c").permissions.push


def test_branches(stage):
    repo = stage.repo()
    assert repo.get_branch("main").commit.sha == git(stage.git_dir, "rev-parse", "main")
    assert sorted(branch.name for branch in repo.get_branches()) == ["feature", "main"]
    assert status_of(repo.get_branch, "no/such") == 404


def test_a_file_is_read_at_a_branch_and_at_a_commit(stage):
    repo = stage.repo()
    assert repo.get_contents(FILE).decoded_content.decode() == TEXT
    assert repo.get_contents("README.md", ref="main").decoded_content == b"# tinyserve\n\nTiny.\n"
    first = git(stage.git_dir, "rev-parse", "main~1")
    assert repo.get_contents("README.md", ref=first).decoded_content == b"# tinyserve\n"
    assert repo.get_contents("päth/naïve.txt").decoded_content.decode() == "déjà vu\n"
    raw = requests.get(
        f"{stage.url}/repos/acme/tinyserve/contents/{FILE}",
        headers={"Accept": "application/vnd.github.raw+json"},
        timeout=5,
    )
    assert raw.text == TEXT


def test_a_folder_is_listed(stage):
    repo = stage.repo()
    listed = {item.path: item.type for item in repo.get_contents("")}
    assert listed == {".github": "dir", "README.md": "file", "päth": "dir", "test": "dir"}
    assert [item.path for item in repo.get_contents("test")] == [FILE]


@pytest.mark.parametrize("path", ["nope.txt", "test/nope.txt", "te*t", ":(top)README.md"])
def test_a_path_that_is_not_there_is_404(stage, path):
    assert status_of(stage.repo().get_contents, path) == 404


@pytest.mark.parametrize("ref", ["nope", "main~1", "main^{tree}", "HEAD:README.md", "--all", "@{1}"])
def test_a_ref_is_a_name_and_never_gits_own_syntax(stage, ref):
    assert status_of(stage.repo().get_contents, FILE, ref=ref) == 404


def test_a_large_file_comes_without_content(stage):
    stage.repo("dev-a").create_file("big.bin", "big", b"\0" * 1_200_000)
    big = stage.repo().get_contents("big.bin")
    assert (big.encoding, big.content, big.size) == ("none", "", 1_200_000)


def test_put_writes_one_commit_and_the_old_blob_is_the_lock(stage):
    repo = stage.repo()
    old = repo.get_contents(FILE)
    new = TEXT.replace("0.003", "0.005")
    written = repo.update_file(FILE, "Move the bound", new, old.sha, branch="main")
    assert git(stage.git_dir, "show", f"main:{FILE}") == new.strip()
    assert git(stage.git_dir, "show", "-s", "--format=%an %s", "main") == "kl-triage[bot] Move the bound"
    assert written["commit"].sha == git(stage.git_dir, "rev-parse", "main")
    assert repo.get_commit(written["commit"].sha).author.login == "kl-triage[bot]"
    assert status_of(repo.update_file, FILE, "again", TEXT, old.sha) == 409
    assert status_of(repo.create_file, FILE, "again", TEXT) == 422
    assert status_of(repo.create_file, "a.txt", "m", "x", branch="no-such") == 404
    assert status_of(repo.create_file, "a/.git/b.txt", "m", "x") == 422
    made = repo.create_file("a/b.txt", "m", "x", branch="feature")
    assert made["content"].path == "a/b.txt"
    assert stage.hooks().count("push") == 2


def test_the_app_may_not_write_workflows_without_the_permission(stage):
    assert status_of(stage.repo().create_file, ".github/workflows/x.yml", "m", "on: push") == 403
    assert stage.repo("dev-a").create_file(".github/workflows/x.yml", "m", "on: push")["commit"].sha


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"message": "m"}, 422),
        ({"content": "eA=="}, 422),
        ({"message": "m", "content": "not base64!"}, 422),
        ({"message": 5, "content": "eA=="}, 422),
        ({"message": "m", "content": "eA==", "author": {"name": "<>", "email": "x"}}, 422),
    ],
)
def test_put_refuses_a_body_that_is_not_right(stage, body, status):
    url = f"{stage.url}/repos/acme/tinyserve/contents/new.txt"
    answer = requests.put(url, json=body, headers={"Authorization": "token token-of-dev-a"}, timeout=5)
    assert answer.status_code == status


def test_a_body_that_is_not_json_is_400(stage):
    url = f"{stage.url}/repos/acme/tinyserve/git/refs"
    headers = {"Authorization": "token token-of-dev-a"}
    for data in (b"{", b"[]", b'"\xff"', b'{"ref": "\\ud800"}'):
        answer = requests.post(url, data=data, headers=headers, timeout=5)
        assert (answer.status_code, answer.json()["message"]) == (400, "Problems parsing JSON")


def test_refs_are_made_once_and_move_forward(stage):
    repo = stage.repo()
    main, feature = (git(stage.git_dir, "rev-parse", name) for name in ("main", "feature"))
    first = git(stage.git_dir, "rev-parse", "main~1")
    made = repo.create_git_ref("refs/heads/kl-triage/bump/x", first)
    again = stage_error(repo.create_git_ref, "refs/heads/kl-triage/bump/x", first)
    assert (again.status, again.data["message"]) == (422, "Reference already exists")
    assert repo.get_git_ref("heads/kl-triage/bump/x").object.sha == first
    assert [ref.ref for ref in repo.get_git_matching_refs("heads/kl-triage/")] == [
        "refs/heads/kl-triage/bump/x"
    ]
    made.edit(main)
    backwards = stage_error(made.edit, feature)
    assert (backwards.status, backwards.data["message"]) == (422, "Update is not a fast forward")
    made.edit(feature, force=True)
    assert git(stage.git_dir, "rev-parse", "kl-triage/bump/x") == feature
    made.delete()
    assert status_of(lambda: repo.get_git_ref("heads/kl-triage/bump/x").object) == 404
    assert status_of(repo.create_git_ref, "refs/heads/y", "0" * 39 + "1") == 422
    assert status_of(repo.create_git_ref, "refs/heads/a..b", main) == 422
    assert status_of(repo.create_git_ref, "refs/pull/1/head", main) == 422
    assert stage.hooks() == ["push"] * 4


def test_a_commit_of_several_files_by_the_git_data_api(stage):
    repo = stage.repo()
    parent = repo.get_git_commit(git(stage.git_dir, "rev-parse", "main"))
    chart = repo.create_git_blob(base64.b64encode(b"\x89PNG\0").decode(), "base64")
    tree = repo.create_git_tree(
        [
            InputGitTreeElement("deep/er/readings.jsonl", "100644", "blob", content='{"value": 0.002}\n'),
            InputGitTreeElement("chart.png", "100644", "blob", sha=chart.sha),
            InputGitTreeElement("README.md", "100644", "blob", sha=None),
        ],
        base_tree=parent.tree,
    )
    made = repo.create_git_commit("Evidence", tree, [parent])
    repo.get_git_ref("heads/main").edit(made.sha)
    paths = {item.path: item.type for item in repo.get_git_tree(made.sha, recursive=True).tree}
    assert paths["deep/er/readings.jsonl"] == "blob"
    assert paths["deep/er"] == "tree"
    assert "README.md" not in paths
    assert base64.b64decode(repo.get_git_blob(chart.sha).content) == b"\x89PNG\0"
    assert git(stage.git_dir, "rev-parse", "main~1") == parent.sha
    assert git(stage.git_dir, "fsck", "--strict") == ""


def test_an_orphan_branch_for_evidence(stage):
    repo = stage.repo()
    tree = repo.create_git_tree([InputGitTreeElement("README.md", "100644", "blob", content="Evidence.\n")])
    made = repo.create_git_commit("Start", tree, [])
    repo.create_git_ref("refs/heads/kl-triage/evidence", made.sha)
    assert git(stage.git_dir, "ls-tree", "--name-only", "kl-triage/evidence") == "README.md"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", ".git/config", "a//b", ""])
def test_a_tree_takes_no_path_that_leads_out(stage, path):
    element = InputGitTreeElement(path, "100644", "blob", content="x")
    assert status_of(stage.repo().create_git_tree, [element]) == 422


def test_missing_objects(stage):
    repo, nothing = stage.repo(), "0" * 39 + "1"
    for call in (repo.get_git_commit, repo.get_git_tree, repo.get_git_blob):
        assert status_of(call, nothing) == 404
    assert status_of(repo.get_commit, nothing) == 422


def test_commits_one_and_the_history_of_a_path(stage):
    repo = stage.repo()
    main = git(stage.git_dir, "rev-parse", "main")
    one = repo.get_commit("main")
    assert (one.sha, one.commit.message, one.stats.additions) == (main, "Say more", 2)
    assert [(file.filename, file.status) for file in one.files] == [("README.md", "modified")]
    assert [item.commit.message for item in repo.get_commits()] == ["Say more", "First"]
    assert [item.commit.message for item in repo.get_commits(path=FILE)] == ["First"]
    assert next(iter(repo.get_commits(sha=main[:10], path="README.md"))).sha == main
    assert status_of(lambda: list(repo.get_commits(sha="no-such"))) == 404


def test_compare_tells_the_merge_base_and_the_files(stage):
    repo = stage.repo()
    found = repo.compare("main", "feature")
    assert (found.status, found.ahead_by, found.behind_by) == ("diverged", 1, 1)
    assert found.merge_base_commit.sha == git(stage.git_dir, "merge-base", "main", "feature")
    (file,) = found.files
    assert (file.filename, file.status, file.patch) == ("engine.py", "added", "@@ -0,0 +1 @@\n+fast = True")
    assert repo.compare("main", "main").status == "identical"
    with pytest.raises(UnknownObjectException):
        repo.compare("main", "no-such")


def test_diffs_of_renames_binaries_and_odd_content(stage):
    repo = stage.repo()
    base = git(stage.git_dir, "rev-parse", "main")
    files = {
        "moved.md": "# tinyserve\n\nTiny.\n",
        "odd.txt": "diff --git a/x b/x\n@@ -1 +1 @@\n",
        "bin.dat": "\0\1\2",
        "tab\tname": "x\n",
    }
    commit(stage.git_dir, "odd", files, "Odd", base)
    found = {file.filename: file for file in repo.compare("main", "odd").files}
    assert (found["moved.md"].status, found["moved.md"].previous_filename) == ("renamed", "README.md")
    assert found["odd.txt"].patch == "@@ -0,0 +1,2 @@\n+diff --git a/x b/x\n+@@ -1 +1 @@"
    assert found["bin.dat"].patch is None
    assert found["tab\tname"].additions == 1
    assert found[FILE].status == "removed"


def test_lists_have_pages_with_links(stage):
    sha = git(stage.git_dir, "rev-parse", "main")
    for number in range(5):
        git(stage.git_dir, "update-ref", f"refs/heads/b{number}", sha)
    url = f"{stage.url}/repos/acme/tinyserve/branches"
    first = requests.get(url, params={"per_page": 3}, timeout=5)
    assert [branch["name"] for branch in first.json()] == ["b0", "b1", "b2"]
    assert set(first.links) == {"next", "last"}
    last = requests.get(first.links["last"]["url"], timeout=5)
    assert [branch["name"] for branch in last.json()] == ["main"]
    assert set(last.links) == {"prev", "first"}
    github = Github(auth=Auth.Token("token-of-dev-a"), per_page=3, **stage.options)
    assert len(list(github.get_repo("acme/tinyserve").get_branches())) == 7


def test_an_app_token_is_not_accepted_by_the_repository(stage):
    token = Auth.AppAuth(1, stage.private_key).token
    answer = requests.get(
        f"{stage.url}/repos/acme/tinyserve", headers={"Authorization": f"Bearer {token}"}, timeout=5
    )
    assert answer.status_code == 401


def test_another_app_is_not_known(stage):
    wrong = GithubIntegration(auth=Auth.AppAuth(2, stage.private_key), **stage.options)
    assert status_of(wrong.get_repo_installation, "acme", "tinyserve") == 401


def test_commits_of_a_file_since_a_day(stage, monkeypatch):
    main = git(stage.git_dir, "rev-parse", "main")
    for day in ("2026-01-01", "2026-03-01"):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day}T12:00:00Z")
        main = commit(stage.git_dir, "main", {FILE: f"# {day}\n"}, day, main)
    found = stage.repo().get_commits(sha=main, path=FILE, since=datetime(2026, 2, 1, tzinfo=UTC))
    messages = [item.commit.message for item in found]
    assert "2026-03-01" in messages and "2026-01-01" not in messages
