"""The executor with real bash, real git and real processes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.demo.actions import Limits, LocalExecutor
from bot.demo.executor import JobStep, Runner

from .conftest import Record, World

CHECKOUT = "- uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683\n"
UPLOAD = "- uses: actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02\n"


def alive(pid: int) -> bool:
    """A zombie that nobody reaps is not alive."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] not in ("", "Z")


def test_a_step_sees_inputs_variables_and_a_clean_environment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KL_TRIAGE_WEBHOOK_SECRET", "do-not-leak")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    result = world.run(
        """
- name: Say ${{ inputs.word }}
  env: {WORD: "${{ inputs.word }}", THIRD: "${{ env.FIRST }}+${{ env.SECOND }}"}
  run: |
    echo "$WORD $THIRD $CI $GITHUB_SHA $GITHUB_REPOSITORY $GITHUB_REF_NAME $RUNNER_NAME"
    echo "omp=${OMP_NUM_THREADS-unset} python=$(command -v python)"
    env | grep -c SECRET || true
- if: inputs.loud
  run: echo LOUD
""",
        top="env: {FIRST: 1}",
        job="env: {SECOND: 2}",
        inputs={"word": "hush", "loud": "false"},
    )
    lines = world.record.lines(1)
    assert result.conclusion == "success"
    assert f"hush 1+2 true {world.tip} acme/engine main cpu-local-0" in lines
    assert f"omp=unset python={Path(sys.executable).parent / 'python'}" in lines
    assert "0" in lines
    assert world.record.conclusions(1) == {
        "Set up job": "success",
        "Say hush": "success",
        "Run echo LOUD": "skipped",
        "Complete job": "success",
    }


def test_hostile_input_stays_text_when_it_goes_through_the_environment(world: World) -> None:
    hostile = "'; touch owned; $(touch owned) `touch owned` ${{ github.sha }}"
    world.run(
        """
- env: {WORD: "${{ inputs.word }}"}
  run: |
    printf '%s' "$WORD" > word.txt
    ls
- uses: actions/upload-artifact@v4
  with: {name: word, path: word.txt}
""",
        inputs={"word": hostile},
    )
    assert world.record.unpacked("word") == {"word.txt": hostile}
    assert "owned" not in world.record.lines(1)


def test_steps_speak_to_later_steps_through_their_files(world: World) -> None:
    world.run(
        r"""
- id: first
  run: |
    echo "value=0.0031" >> "$GITHUB_OUTPUT"
    printf 'TEXT<<END\na\nb=c\nEND\n' >> "$GITHUB_ENV"
    mkdir tools; printf '#!/bin/sh\necho from tool\n' > tools/mine; chmod +x tools/mine
    echo "$PWD/tools" >> "$GITHUB_PATH"
    echo "# summary" >> "$GITHUB_STEP_SUMMARY"
- run: |
    echo "got ${{ steps.first.outputs.value }} ${{ steps.first.outcome }} [${{ env.TEXT }}]"
    mine
- id: sly
  continue-on-error: true
  run: echo "GITHUB_SHA=0" >> "$GITHUB_ENV"
- run: echo "sha=$GITHUB_SHA ${{ steps.sly.outcome }} ${{ steps.sly.conclusion }}"
"""
    )
    lines = world.record.lines(1)
    assert "got 0.0031 success [a" in lines
    assert "b=c]" in lines
    assert "from tool" in lines
    assert "##[error]variable 'GITHUB_SHA' cannot be set" in lines
    assert f"sha={world.tip} failure success" in lines


def test_after_a_failed_step_only_always_and_failure_run_and_the_upload_still_happens(world: World) -> None:
    result = world.run(
        f"""
{CHECKOUT}
- run: |
    mkdir -p out/deep
    echo 1 > out/a.jsonl; echo 2 > out/deep/b.jsonl; echo no > out/c.txt; echo no > out/.hidden.jsonl
    false
    echo never
- run: echo not me
- if: failure()
  run: echo told
- if: ${{{{ always() }}}}
  uses: actions/upload-artifact@v4
  with:
    name: readings
    path: |
      out/**/*.jsonl
      out/missing.txt
"""
    )
    assert result.conclusion == "failure"
    assert world.record.unpacked("readings") == {"a.jsonl": "1\n", "deep/b.jsonl": "2\n"}
    lines = world.record.lines(1)
    assert "##[error]Process completed with exit code 1." in lines
    assert "told" in lines
    assert not {"never", "not me"} & set(lines)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("", "two main 1"),
        ("with: {fetch-depth: 0}", "two main 2"),
        ("with: {ref: topic}", "one topic 1"),
        ("with: {ref: v1}", "one HEAD 1"),
        ("with: {ref: FIRST, fetch-depth: 0, persist-credentials: false}", "one HEAD 1"),
    ],
)
def test_checkout_takes_the_commit_asked_for(world: World, options: str, found: str) -> None:
    steps = f"""
- uses: actions/checkout@v4
  id: tree
  {options.replace("FIRST", world.first)}
- run: echo "$(cat value.txt) $(git rev-parse --abbrev-ref HEAD) $(git rev-list --count HEAD)"
- run: test "$(git rev-parse HEAD)" = "${{{{ steps.tree.outputs.commit }}}}"
"""
    assert world.run(steps).conclusion == "success"
    assert found in world.record.lines(1)


def test_checkout_of_an_older_event_commit_when_the_branch_has_moved(world: World) -> None:
    world.run(
        "- uses: actions/checkout@v4\n  with: {fetch-depth: 0}\n"
        "- run: cat value.txt && git worktree add -q ../w topic",
        sha=world.first,
    )
    assert world.record.lines(1).count("one") == 1
    assert world.result().conclusion == "success"


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("- uses: actions/cache@v4", "action 'actions/cache@v4' is not on this runner"),
        ("- uses: actions/checkout", "action 'actions/checkout' is not on this runner"),
        (
            "- uses: actions/checkout@v4\n  with: {token: x}",
            "input 'token' of actions/checkout is not supported",
        ),
        (
            "- uses: actions/checkout@v4\n  with: {ref: --upload-pack=x}",
            "ref '--upload-pack=x' is not a name",
        ),
        (
            "- uses: actions/checkout@v4\n  with: {ref: nowhere}",
            "The process 'git' failed with exit code 128",
        ),
        ("- uses: actions/checkout@v4\n  with: {path: ../..}", "path '../..' is not inside the workspace"),
        (
            "- uses: actions/checkout@v4\n  with: {repository: acme/other}",
            "repository 'acme/other' is not here",
        ),
        (
            "- uses: actions/upload-artifact@v4\n  with: {path: /etc/hostname}",
            "is outside the folders of this job",
        ),
        ("- uses: actions/upload-artifact@v4\n  with: {path: x, name: a/b}", "artifact name 'a/b' is empty"),
        (
            "- uses: actions/upload-artifact@v4\n  with: {path: none, if-no-files-found: error}",
            "No files were found at 'none'",
        ),
        ("- run: exit 3", "Process completed with exit code 3."),
        ("- run: kill -9 $$", "Process completed with exit code 137."),
        ("- run: x\n  working-directory: nowhere", "working-directory 'nowhere' does not exist"),
        ("- run: echo ${{ steps.none.outputs.x }}; exit 4", "Process completed with exit code 4."),
        ("- run: echo ${{ format('{1}', 'a') }}", "format() has no argument for '{1}'"),
    ],
)
def test_a_step_that_cannot_be_done_fails_and_says_why(world: World, step: str, error: str) -> None:
    assert world.run(step).conclusion == "failure"
    errors = [line for line in world.record.lines(1) if line.startswith("##[error]")]
    assert len(errors) == 1
    assert error in errors[0]


def test_an_upload_follows_no_link_out_of_the_job(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    step = f"- run: ln -s {tmp_path}/secret.txt readings.txt\n{UPLOAD}  with: {{path: '*.txt'}}"
    assert world.run(step).conclusion == "failure"
    assert world.record.artifacts == {}


def test_a_second_upload_of_a_name_needs_overwrite(world: World) -> None:
    upload = "- uses: actions/upload-artifact@v4\n  with: {path: a, name: n, overwrite: OVER}\n"
    steps = "- run: echo 1 > a\n" + upload.replace("OVER", "false") + "- run: echo 2 > a\n"
    world.submit(steps + upload.replace("OVER", "true"), id=1)
    world.submit(steps + upload.replace("OVER", "false"), id=2)
    assert (world.result(1).conclusion, world.result(2).conclusion) == ("success", "failure")
    assert world.record.unpacked("n") == {"a": "2\n"}


def test_the_log_has_the_shape_of_a_runners_log(world: World) -> None:
    world.run(
        "- run: |\n    echo plain\n    echo '::group::more'\n"
        "    echo '::add-mask::tok3n'\n    printf 'tok3n é'"
    )
    raw = world.record.logs[1]
    assert raw.startswith(b"\xef\xbb\xbf20")
    assert raw.count(b"\xef\xbb\xbf") == 1
    stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z ")
    lines = raw.decode("utf-8-sig").splitlines()
    assert all(stamp.match(line) for line in lines)
    assert [line[:28] for line in lines] == sorted(line[:28] for line in lines)
    shown = world.record.lines(1)
    assert shown[1] == "Runner name: 'cpu-local-0'"
    start = shown.index("##[group]Run echo plain")
    assert shown[start + 1] == "\x1b[36;1mecho plain\x1b[0m"
    assert shown[start + 5 : start + 7] == [f"shell: {world_bash()} -e {{0}}", "##[endgroup]"]
    assert shown[start + 7 :] == [
        "plain",
        "##[group]more",
        "*** é",
        "Post job cleanup.",
        "Cleaning up orphan processes",
    ]


def world_bash() -> str:
    return subprocess.run(["which", "bash"], capture_output=True, text=True, check=True).stdout.strip()


def test_the_log_is_capped_with_a_marker(repository: tuple[Path, str, str], tmp_path: Path) -> None:
    executor, record = LocalExecutor(tmp_path / "w", limits=Limits(log_bytes=10_000)), Record()
    executor.start(record)
    world = World(*repository, tmp_path / "w", record, executor)
    world.run("- run: yes 0123456789 | head -n 100000; exit 5")
    executor.close()
    assert len(record.logs[1]) < 50_000
    assert sum("the rest of the output is cut" in line for line in record.lines(1)) == 1
    assert "##[error]Process completed with exit code 5." in record.lines(1)


def test_cancel_ends_a_sleeping_step_and_always_steps_still_run(world: World) -> None:
    world.submit(
        """
- run: |
    trap 'echo got TERM; exit 2' TERM
    echo started; echo partial > r.txt
    sleep 60 & wait
- run: echo not me
- if: success() || failure()
  run: echo nor me
- if: always()
  uses: actions/upload-artifact@v4
  with: {name: partial, path: r.txt}
- if: cancelled()
  run: sleep 0.3; echo status ${{ job.status }}
"""
    )
    world.wait_for_line("started")
    began = time.monotonic()
    world.executor.cancel(1)
    assert world.result().conclusion == "cancelled"
    assert time.monotonic() - began < 5
    lines = world.record.lines(1)
    assert {"got TERM", "##[error]The operation was canceled.", "status cancelled"} <= set(lines)
    assert not {"not me", "nor me"} & set(lines)
    assert world.record.unpacked("partial") == {"r.txt": "partial\n"}
    assert list(world.record.conclusions(1).values())[1:4] == ["cancelled", "skipped", "skipped"]


def test_a_cancel_just_when_a_step_begins_ends_that_step(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel_at_begin(job_id: int, steps: Sequence[JobStep]) -> None:
        world.record.steps[job_id] = steps
        if steps[1].status == "in_progress":
            world.executor.cancel(job_id)

    monkeypatch.setattr(world.record, "on_steps", cancel_at_begin)
    assert world.run("- run: sleep 60\n- run: echo not me").conclusion == "cancelled"
    assert "not me" not in world.record.lines(1)


def test_a_step_that_replaces_its_files_by_pipes_does_not_stop_the_runner(world: World) -> None:
    steps = (
        '- run: rm "$GITHUB_OUTPUT" "$GITHUB_ENV"; mkfifo "$GITHUB_OUTPUT" "$GITHUB_ENV"\n- run: echo next'
    )
    assert world.run(steps).conclusion == "success"


def test_a_step_that_ignores_sigterm_is_killed_with_its_children(world: World) -> None:
    world.submit("- run: |\n    trap '' TERM\n    echo started\n    while true; do sleep 60; done")
    world.wait_for_line("started")
    began = time.monotonic()
    world.executor.cancel(1)
    assert world.result().conclusion == "cancelled"
    assert 1.5 < time.monotonic() - began < 6


def test_a_step_over_its_time_fails_and_a_job_over_its_time_is_cancelled(world: World) -> None:
    world.submit("- run: sleep 60\n  timeout-minutes: 0.005\n- if: failure()\n  run: echo told", id=1)
    world.submit("- run: sleep 60\n- if: always()\n  run: echo told", job="timeout-minutes: 0.005", id=2)
    assert (world.result(1).conclusion, world.result(2).conclusion) == ("failure", "cancelled")
    assert "##[error]The action 'Run sleep 60' has timed out after 0.005 minutes." in world.record.lines(1)
    assert any("exceeded the maximum execution time" in line for line in world.record.lines(2))
    assert "told" in world.record.lines(1)
    assert "told" in world.record.lines(2)


def test_a_background_child_lives_until_the_job_ends_and_no_longer(world: World) -> None:
    result = world.run(
        """
- run: |
    sleep 61 &
    echo $! > child
    setsid sleep 62 > /dev/null 2>&1 &
    echo $! > apart
    env -i /bin/sleep 63 &
    echo $! > bare
- run: |
    kill -0 $(cat child apart bare) && echo still there
    echo "pids $(cat child apart bare | tr '\\n' ' ')"
"""
    )
    assert result.conclusion == "success"
    lines = world.record.lines(1)
    assert "still there" in lines
    pids = next(line for line in lines if re.match(r"pids \d", line)).split()[1:]
    assert len(pids) == 3
    assert not any(alive(int(pid)) for pid in pids)
    ended = [line for line in lines if line.startswith("Terminate orphan process")]
    assert [f"pid {pid} (sleep)" in "".join(ended) for pid in pids] == [True, True, True]


def test_a_job_waits_for_a_runner_with_its_labels(world: World) -> None:
    text = "on: workflow_dispatch\njobs: {kl: {runs-on: LABELS, steps: [{run: echo hello}]}}"
    world.submit_text(text.replace("LABELS", "[self-hosted, 8-gpu-h200]"), id=1)
    world.submit_text(text.replace("LABELS", "[self-hosted, KL-CPU]"), id=2)
    assert world.result(2).conclusion == "success"
    time.sleep(0.2)
    assert world.record.started == [(2, "cpu-local-0")]
    world.executor.cancel(1)
    assert world.result(1).conclusion == "cancelled"
    assert [job for job, _ in world.record.started] == [2]


def test_jobs_run_one_after_the_other_in_the_order_they_came(world: World) -> None:
    world.submit("- run: sleep 0.3", id=1)
    world.submit("- run: echo second", id=2)
    world.submit("- run: echo third", id=3)
    world.result(3)
    assert [job for job, _ in world.record.finished] == [1, 2, 3]
    ends = {job: result.steps[-1].completed_at for job, result in world.record.finished}
    starts = {job: result.steps[0].started_at for job, result in world.record.finished}
    assert ends[1] <= starts[2] <= ends[2] <= starts[3]


def test_two_runners_work_side_by_side(repository: tuple[Path, str, str], tmp_path: Path) -> None:
    runners = [Runner(n, f"cpu-local-{n}", ("kl-cpu",)) for n in (1, 2)]
    executor, record = LocalExecutor(tmp_path / "w", runners), Record()
    executor.start(record)
    world = World(*repository, tmp_path / "w", record, executor)
    meet = f"- run: |\n    touch {tmp_path}/ME\n    until [ -e {tmp_path}/OTHER ]; do sleep 0.02; done"
    world.submit(meet.replace("ME", "a").replace("OTHER", "b"), id=1)
    world.submit(meet.replace("ME", "b").replace("OTHER", "a"), id=2)
    assert world.result(1).conclusion == world.result(2).conclusion == "success"
    executor.close()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "on: push\njobs: {a: {runs-on: kl-cpu, steps: [{run: a}], needs: b}}",
            "'needs' of job 'a' is not supported",
        ),
        (
            "on: push\njobs: {a: {runs-on: '${{ secrets.x }}', steps: [{run: a}]}}",
            "context 'secrets' is not supported",
        ),
        ("[", "line 1, column 2"),
    ],
)
def test_a_workflow_that_cannot_run_fails_with_the_reason_in_its_log(
    world: World, text: str, error: str
) -> None:
    world.submit_text(text)
    assert world.result().conclusion == "failure"
    assert len(world.record.lines(1)) == 1
    assert error in world.record.lines(1)[0]


def test_closing_ends_running_and_waiting_jobs_without_further_steps(
    repository: tuple[Path, str, str], tmp_path: Path
) -> None:
    executor, record = LocalExecutor(tmp_path / "w", limits=Limits(grace_s=2)), Record()
    executor.start(record)
    world = World(*repository, tmp_path / "w", record, executor)
    world.submit("- run: echo $$ > ../pid; echo started; sleep 60\n- if: always()\n  run: echo more", id=1)
    world.submit("- run: echo never", id=2)
    world.wait_for_line("started")
    began = time.monotonic()
    executor.close()
    assert time.monotonic() - began < 5
    assert {job: result.conclusion for job, result in record.finished} == {1: "cancelled", 2: "cancelled"}
    assert "more" not in record.lines(1)
    assert list((tmp_path / "w").iterdir()) == []
    executor.close()


def test_a_program_that_prints_much_is_read_to_its_end(world: World) -> None:
    world.run("- shell: python\n  run: |\n    for n in range(300_000): print(n)")
    lines = world.record.lines(1)
    assert lines[lines.index("0") :][:300_000] == [str(n) for n in range(300_000)]


def test_the_event_and_the_pull_request_are_there_for_steps(world: World) -> None:
    event = {"pull_request": {"head": {"sha": "f" * 40, "ref": "topic"}, "base": {"ref": "main"}}}
    world.run(
        "- run: |\n    echo ${{ github.event.pull_request.head.sha }} $GITHUB_HEAD_REF $GITHUB_BASE_REF\n"
        "    python -c 'import json, os; print(len(json.load(open(os.environ[\"GITHUB_EVENT_PATH\"]))))'",
        event=event,
        event_name="pull_request",
        ref="refs/pull/7/merge",
    )
    assert f"{'f' * 40} topic main" in world.record.lines(1)
    assert "1" in world.record.lines(1)
