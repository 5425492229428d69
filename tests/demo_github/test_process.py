from __future__ import annotations

import io
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from flask import jsonify
from github import Auth, Github, GithubException, GithubIntegration

from bot.demo.github import DemoApp, DemoConfig, DemoUser, parse_config
from bot.demo.github.__main__ import main
from tests.demo_github.github_stage import FILE, RERUN, config, git, keys

MEASURE = RERUN.replace(
    "      - run: echo measured\n",
    """\
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683
      - run: grep kl_threshold test/test_kl.py | tee value.txt
      - uses: actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02
        with:
          name: kl-readings-${{ inputs.request_id }}
          path: value.txt
""",
)


@pytest.fixture(scope="module")
def pem():
    """Of the usual length: a process warns of short ones."""
    return keys(2048)


@pytest.fixture
def root(tmp_path, seeded, pem):
    shutil.copytree(seeded, tmp_path / "repo.git")
    users = {"dev-a": DemoUser(role="write", token="token-of-dev-a")}
    settings = DemoConfig(repo="tinyserve", users=users, app=DemoApp(public_key=pem[1]))
    (tmp_path / "config.json").write_text(settings.model_dump_json())
    return tmp_path


def start(root, *arguments, module="bot.demo.github"):
    command = [sys.executable, "-m", module, "--root", str(root), "--config", str(root / "config.json")]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def failure(root, capsys) -> tuple[int, str]:
    """Exit code and what is said of it, in this process."""
    code = main(["--root", str(root), "--config", str(root / "config.json")])
    out, err = capsys.readouterr()
    assert out == ""
    return code, err


def test_a_rerun_from_dispatch_to_artifact_in_a_process_of_its_own(root, pem):
    process = start(root, module="tests.openapi.github")
    try:
        url = json.loads(process.stdout.readline())["url"]
        options = {
            "base_url": url,
            "retry": None,
            "seconds_between_requests": None,
            "seconds_between_writes": None,
        }
        dev = Github(auth=Auth.Token("token-of-dev-a"), **options).get_repo("acme/tinyserve")
        old = dev.get_contents(".github/workflows/kl-rerun.yml")
        dev.update_file(old.path, "Measure", MEASURE, old.sha)
        app = GithubIntegration(auth=Auth.AppAuth(1, pem[0]), **options)
        repo = (
            app.get_repo_installation("acme", "tinyserve")
            .get_github_for_installation()
            .get_repo("acme/tinyserve")
        )
        run = repo.get_workflow("kl-rerun.yml").create_dispatch(
            "main", {"request_id": "r-1"}, throw=True, return_run_details=True
        )
        deadline = time.monotonic() + 30
        while (run := repo.get_workflow_run(run.id)).status != "completed":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        (job,) = run.jobs()
        log = requests.get(job.logs_url(), timeout=5).text
        assert run.conclusion == "success", log
        assert "kl_threshold = 0.003" in log
        (artifact,) = run.get_artifacts()
        headers, _ = repo.requester.requestBlobAndCheck("GET", artifact.archive_download_url)
        data = requests.get(headers["location"], timeout=5).content
        assert zipfile.ZipFile(io.BytesIO(data)).read("value.txt") == b"    kl_threshold = 0.003\n"
        assert requests.get(f"{url}/_demo/violations", timeout=5).json() == []
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_port_that_is_taken_is_one_line_and_exit_1(root):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = start(root, "--port", str(port))
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert err.startswith(f"error: port {port} on 127.0.0.1 cannot be used")
    assert err.count("\n") == 1


def test_a_root_without_a_repository_or_without_its_branch_is_refused(root, capsys):
    git(root / "repo.git", "update-ref", "-d", "refs/heads/main")
    assert failure(root, capsys) == (1, "error: the repository has no branch 'main'\n")
    shutil.rmtree(root / "repo.git")
    code, err = failure(root, capsys)
    assert (code, "is not a bare git repository" in err) == (1, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "config: Invalid JSON"),
        ('{"repo": "x"}', "app: Field required"),
        (
            '{"repo": "x", "users": {"a": {"role": "king", "token": "12345678"}}}',
            "role",
        ),
        ('{"repo": "x", "app": {"public_key": "k"}, "colour": 1}', "colour: Extra inputs"),
    ],
)
def test_a_configuration_that_is_wrong_is_named(root, capsys, text, problem):
    (root / "config.json").write_text(text)
    code, err = failure(root, capsys)
    assert code == 1
    assert problem in err
    assert err.count("\n") == 1


def test_the_configuration_survives_its_own_json(pem, receiver):
    settings = config(pem[1], receiver)
    assert parse_config(settings.model_dump_json()) == settings


def test_pages_for_people_show_everything_and_escape_it(stage):
    evil, shown = "<script>alert(1)</script> | `x`", "<script>alert(1)</script> | "
    pull = stage.open_pull()
    pull.edit(title=evil, body=evil)
    stage.repo().get_issue(1).create_comment(evil)
    check = stage.repo().create_check_run(
        "kl-triage", pull.head.sha, conclusion="neutral", output={"title": evil, "summary": evil}
    )
    spec = stage.hand.specs[0]
    stage.hand.events.on_log(spec.job_id, f"\ufeff{evil}\n".encode())
    base = f"{stage.url}/acme/tinyserve"
    pages = {
        "/": shown,
        "/pull/1": shown,
        "/pull/1/files": "fast = True",
        f"/runs/{check.id}": shown,
        f"/actions/runs/{spec.run_id}": shown,
        f"/actions/runs/{spec.run_id}/job/{spec.job_id}": shown,
        f"/blob/main/{FILE}": "kl_threshold = 0.003",
        f"/blob/{pull.head.sha}/engine.py": "fast = True",
    }
    for path, text in pages.items():
        answer = requests.get(base + path, timeout=5)
        assert answer.status_code == 200, path
        assert text.replace("<", "&lt;").replace(">", "&gt;") in answer.text, path
        assert "<script>" not in answer.text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    for path in ("/pull/9", "/pull/9/files", "/runs/9", "/actions/runs/9", "/blob/main/nope", "/blob/x"):
        assert requests.get(base + path, timeout=5).status_code == 404
    assert requests.get(f"{stage.url}/other/tinyserve/pull/1", timeout=5).status_code == 404


def test_a_test_can_make_the_server_misbehave_before_and_after_the_effect(stage):
    issue = stage.repo().get_issue(stage.open_pull().number)
    broken = []

    def lose_the_answer(response):
        if not broken:
            broken.append(response.status_code)
            response = jsonify(message="Bad gateway")
            response.status_code = 502
        return response

    stage.server.world.after.append(lose_the_answer)
    with pytest.raises(GithubException) as caught:
        issue.create_comment("written all the same")
    assert (caught.value.status, broken) == (502, [201])
    assert [comment.body for comment in issue.get_comments()] == ["written all the same"]
    stage.server.world.before.append(lambda: (jsonify(message="Unavailable"), 503))
    with pytest.raises(GithubException) as caught:
        issue.create_comment("never written")
    assert caught.value.status == 503
    stage.server.world.before.clear()
    assert issue.get_comments().totalCount == 1


def test_a_crash_is_a_500_for_the_caller_and_nothing_of_ours_leaks(stage):
    def crash():
        raise RuntimeError("a secret detail")

    stage.server.world.before.append(crash)
    answer = requests.get(f"{stage.url}/repos/acme/tinyserve", timeout=5)
    assert (answer.status_code, answer.json()["message"]) == (500, "Server Error")
    stage.server.world.before.clear()


def test_a_body_over_the_cap_is_413(stage):
    with socket.create_connection(("127.0.0.1", int(stage.url.rpartition(":")[2])), timeout=5) as connection:
        head = "POST /repos/acme/tinyserve/git/blobs HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(200)


def test_many_threads_at_once(stage):
    issue = stage.repo().get_issue(stage.open_pull().number)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: issue.create_comment(str(number)).id, range(24)))
    assert len(set(made)) == 24
    assert sorted(int(comment.body) for comment in issue.get_comments()) == list(range(24))
