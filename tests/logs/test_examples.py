"""The four example logs, answer by answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.logs import Failure, scan
from bot.verdict.reading import Arm, Reading, Status
from tests.logs.builders import forms

DATA = Path(__file__).parent / "data"
KL = "test/registered/radix_cache/unified_radix_tree/test_unified_radix_cache_kl_mamba.py"
INT8 = "test/registered/radix_cache/test_int8_mamba_checkpoint_e2e.py"
SWA = "registered/radix_cache/test_swa_radix_cache_kl.py"
DECODE = f"{KL}::TestUnifiedMambaRadixCache.test_multiturn_decode_cache_hit_branching"
MATCH = f"{KL}::TestUnifiedMambaRadixCache.test_multiturn_logprobs_match"
PREFILL = f"{KL}::TestUnifiedMambaRadixCache.test_multiturn_prefill_cache_hit_branching"
HI_DECODE = f"{KL}::TestUnifiedMambaHiCache.test_multiturn_decode_cache_hit_branching"
HI_MATCH = f"{KL}::TestUnifiedMambaHiCache.test_multiturn_logprobs_match"
HI_PREFILL = f"{KL}::TestUnifiedMambaHiCache.test_multiturn_prefill_cache_hit_branching"
SWA_DECODE = f"{SWA}::TestSWARadixCacheKL.test_input_output_logprobs_match_decode_cache_hit"
SWA_LABEL = "test_input_output_logprobs_match_decode_cache_hit_helper"
MODEL = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"

FULL_PER_PROMPT = {
    0.0034343395636198437: (
        0.0044997350246585525,
        0.002583811550224971,
        0.005038109716270788,
        0.005290348945674016,
        0.0013319378864571937,
        0.0012879887742424266,
        0.003153967481450451,
        0.004272656772116028,
        0.0034504999214841655,
    ),
    0.001747111960453452: (
        0.003916539834658581,
        0.0022816507901088257,
        1.7602658232691418e-05,
        0.0007726545588137086,
    ),
    0.0016797136113879173: (
        0.0011217270610358336,
        0.002278644998701389,
        0.0025329916922125014,
        0.0007854906936019458,
    ),
}

# test, attempt, value, prompts, first prompt, last prompt, bound, label, time of the print
READINGS = {
    "01_kl_failure_retry_fails.log": [
        (f"{INT8}::TestInt8MambaCheckpointE2E", 1, 0.021161343247513457, 16, 0.03600294505860986,
         0.02830897617761741, 0.06, None, "2026-05-29T02:18:45.2891179Z"),
        (f"{INT8}::TestInt8MambaCheckpointE2E", 1, 0.04016102542374377, 16, 0.07696651207133641,
         0.05289226267116351, 0.1, None, "2026-05-29T02:18:45.3002135Z"),
        (DECODE, 1, 0.001889993376470157, 9, 0.0017279028022336115,
         0.0022881301907921358, 0.003, "decode_cache_hit", "2026-05-29T02:23:19.4631445Z"),
        (MATCH, 1, 0.001747111960453452, 4, 0.003916539834658581,
         0.0007726545588137086, 0.003, "logprobs_match", "2026-05-29T02:24:34.4880462Z"),
        (PREFILL, 1, 0.0034343395636198437, 9, 0.0044997350246585525,
         0.0034504999214841655, 0.003, "prefill_cache_hit", "2026-05-29T02:27:04.8429864Z"),
        (PREFILL, 2, 0.003161878847624878, 9, 0.0029957067303614617,
         0.004313649416418716, 0.003, "prefill_cache_hit", "2026-05-29T02:27:04.8594040Z"),
    ],
    "02_kl_over_then_passes_on_retry.log": [
        (DECODE, 1, 0.0020139172817854835, 9, 0.00425878733621506,
         0.0010716935740296596, 0.003, "decode_cache_hit", "2026-05-30T18:48:13.2912193Z"),
        (MATCH, 1, 0.0016797136113879173, 4, 0.0011217270610358336,
         0.0007854906936019458, 0.003, "logprobs_match", "2026-05-30T18:49:28.3170074Z"),
        (PREFILL, 1, 0.0030711307030268998, 9, 0.004245488449134069,
         0.0031865543018455866, 0.003, "prefill_cache_hit", "2026-05-30T18:50:38.3381338Z"),
        (PREFILL, 2, 0.0023022850459031123, 9, 0.002806393633037167,
         0.0032914766213470656, 0.003, "prefill_cache_hit", "2026-05-30T18:51:49.4445181Z"),
        (HI_DECODE, 1, 0.0025277140562738943, 9, 0.0029900893438199374,
         0.006034201534952728, 0.005, "decode_cache_hit", "2026-05-30T19:00:09.5240163Z"),
        (HI_MATCH, 1, 0.0019013842206552294, 4, 0.0023960269448163466,
         0.0008757110276696362, 0.005, "logprobs_match", "2026-05-30T19:01:24.5518489Z"),
        (HI_PREFILL, 1, 0.0028150375425001995, 9, 1.3760933862999192e-05,
         0.00030051439363761896, 0.005, "prefill_cache_hit", "2026-05-30T19:02:39.5773332Z"),
    ],
    "03_server_oom_in_kl_file.log": [
        (DECODE, 1, 0.0021249804997097274, 9, 0.001935023496038296,
         0.0018200775593708004, 0.005, "decode_cache_hit", "2026-06-03T07:12:52.2956752Z"),
        (MATCH, 1, 0.0016857451501001595, 4, 0.0029750545674698,
         0.0008167249077551324, 0.005, "logprobs_match", "2026-06-03T07:14:07.3193511Z"),
        (PREFILL, 1, 0.002687122144336618, 9, 0.00428156800858718,
         0.00155993746658662, 0.005, "prefill_cache_hit", "2026-06-03T07:15:22.3472378Z"),
    ],
    "04_rerun_test_workflow_kl_failure.log": [
        (SWA_DECODE, 1, 0.01050847325562942, 32, 0.010920655849835668,
         0.011068385868025946, 0.002, SWA_LABEL, "2026-05-16T10:23:35.0574692Z"),
        (SWA_DECODE, 2, 0.008814769208110137, 32, 0.012551593226615646,
         0.005924150643229796, 0.002, SWA_LABEL, "2026-05-16T10:24:57.1478491Z"),
    ],
}  # fmt: skip

FAILURES = {
    "01_kl_failure_retry_fails.log": Failure(
        kind="bound",
        test=PREFILL,
        file=KL,
        label="prefill_cache_hit",
        value=0.003161878847624878,
        threshold=0.003,
        fails_when="above",
        attempts=2,
        recovered=False,
        message=f"avg_kl_div=0.003161878847624878 > threshold=0.003 for {MODEL} prefill_cache_hit",
        rule="kl_over",
    ),
    "02_kl_over_then_passes_on_retry.log": Failure(
        kind="bound",
        test=PREFILL,
        file=KL,
        label="prefill_cache_hit",
        value=0.0030711307030268998,
        threshold=0.003,
        fails_when="above",
        attempts=2,
        recovered=True,
        message=f"avg_kl_div=0.0030711307030268998 > threshold=0.003 for {MODEL} prefill_cache_hit",
        rule="kl_over",
    ),
    "03_server_oom_in_kl_file.log": Failure(
        kind="other",
        test=f"{KL}::TestUnifiedMambaHiCache.setUpClass",
        file=KL,
        message="Exception: Server process exited with code -9. Check server logs for errors.",
    ),
    "04_rerun_test_workflow_kl_failure.log": Failure(
        kind="bound",
        test=SWA_DECODE,
        file=SWA,
        label=SWA_LABEL,
        value=0.008814769208110137,
        threshold=0.002,
        fails_when="above",
        attempts=2,
        recovered=False,
        message=f"avg_kl_div=0.008814769208110137 > threshold=0.002 for openai/gpt-oss-20b {SWA_LABEL}",
        rule="kl_over",
    ),
}

JOBS = {
    "01_kl_failure_retry_fails.log": {
        "runner": "h100-example-host2-gpu-4-7",
        "machine": "h100-example-host2-gpu-4-7",
        "name": "call-pr-test-extra / extra-b-test-4-gpu-h100 (1)",
        "started": "2026-05-29T02:11:04.0032952Z",
        "finished": "2026-05-29T02:27:04.9839333Z",
        "exit_code": 255,
    },
    "02_kl_over_then_passes_on_retry.log": {
        "runner": "h100-example-host5-gpu-0-3",
        "machine": "h100-example-host5-gpu-0-3",
        "name": "call-pr-test-extra / extra-b-test-4-gpu-h100 (2)",
        "started": "2026-05-30T18:40:51.0032952Z",
        "finished": "2026-05-30T19:02:39.6933373Z",
    },
    "03_server_oom_in_kl_file.log": {
        "runner": "h100-example-host2-gpu-0-3",
        "machine": "h100-example-host2-gpu-0-3",
        "name": "call-pr-test-extra / extra-b-test-4-gpu-h100 (0)",
        "started": "2026-06-03T07:05:33.0032952Z",
        "finished": "2026-06-03T07:16:04.5800227Z",
        "exit_code": 255,
    },
    "04_rerun_test_workflow_kl_failure.log": {
        "name": "rerun-test-cuda",
        "started": "2026-05-16T10:20:00.0032952Z",
        "finished": "2026-05-16T10:24:57.2783060Z",
        "exit_code": 1,
    },
}


def _row(reading: Reading) -> tuple[object, ...]:
    prompts = reading.per_prompt
    value, bound, label = reading.value, reading.threshold, reading.label
    return (
        reading.test,
        reading.attempt,
        value,
        len(prompts),
        prompts[0],
        prompts[-1],
        bound,
        label,
        reading.at,
    )


@pytest.mark.parametrize("name", sorted(READINGS))
class TestExample:
    def test_readings_in_the_order_they_were_printed(self, name):
        result = scan((DATA / name).open("rb"), forms())
        assert [_row(reading) for reading in result.readings] == READINGS[name]
        for reading in result.readings:
            assert reading.status is Status.OK and reading.arm is Arm.TRIGGER
            assert reading.host == JOBS[name].get("runner")
            assert sum(reading.per_prompt) / len(reading.per_prompt) == pytest.approx(
                reading.value, rel=1e-12
            )
            if reading.value in FULL_PER_PROMPT:
                assert reading.per_prompt == FULL_PER_PROMPT[reading.value]

    def test_one_failure(self, name):
        assert scan((DATA / name).open("rb"), forms()).failures == (FAILURES[name],)

    def test_job_and_end(self, name):
        result = scan((DATA / name).open("rb"), forms())
        assert result.job == JOBS[name]
        assert result.complete

    @pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
    def test_the_size_of_chunks_does_not_matter(self, name, size):
        data = (DATA / name).read_bytes()
        chunks = [data[i : i + size] for i in range(0, len(data), size)]
        assert scan(chunks, forms()) == scan([data], forms())

    def test_line_ends_colours_and_a_bom_do_not_matter(self, name):
        data = (DATA / name).read_bytes()
        lines = data.split(b"\n")
        painted = [line.replace(b"Z ", b"Z \x1b[31m", 1) + b"\x1b[0m" for line in lines]
        dressed = b"\xef\xbb\xbf" + b"\r\n".join(painted)
        assert scan([dressed], forms()) == scan([data], forms())
