from __future__ import annotations

import json

import pytest

from tests.openapi import slice as slicer
from tests.openapi.validate import RAW, SLICE, check, check_hook

REF = "/repos/acme/tinyserve/git/ref/heads/kl-triage/bump/x"
SHA = "5d41402abc4b2a76b9719d911017c592aabbccdd"


def ref(**changes) -> dict:
    answer = {
        "ref": "refs/heads/kl-triage/bump/x",
        "node_id": "UmVm",
        "url": "http://127.0.0.1/repos/acme/tinyserve/git/refs/heads/x",
        "object": {"sha": SHA, "type": "commit", "url": "http://127.0.0.1/x"},
    }
    return {**answer, **changes}


def test_an_exchange_as_documented_has_no_violation():
    assert check("GET", REF, {}, None, 200, ref()) == []


@pytest.mark.parametrize(
    ("change", "violation"),
    [
        ({"path": "/repos/acme/tinyserve/git/references/x"}, "undocumented path"),
        ({"method": "PUT"}, "undocumented path"),
        ({"query": {"ref": "main"}}, "query parameter 'ref' is undocumented"),
        ({"request_body": {"ref": "x"}}, "a request body where none is documented"),
        ({"status": 201}, "status 201 is undocumented"),
        ({"status": 410}, "status 410 is undocumented"),
        ({"response_body": ref(ref=5)}, 'response.ref: 5 is not of type "string"'),
        ({"response_body": ref(url="not a uri")}, 'response.url: "not a uri" is not a "uri"'),
        ({"response_body": ref(branch="x")}, "response.branch is undocumented"),
        (
            {"response_body": ref(object={**ref()["object"], "size": 1})},
            "response.object.size is undocumented",
        ),
        ({"response_body": {}}, 'response: "ref" is a required property'),
        ({"response_body": None}, 'response: null is not of type "object"'),
    ],
)
def test_each_departure_is_a_violation(change, violation):
    exchange = {
        "method": "GET",
        "path": REF,
        "query": {},
        "request_body": None,
        "status": 200,
        "response_body": ref(),
    }
    assert violation in "\n".join(check(**{**exchange, **change}))


def test_request_fields_are_checked_unless_the_request_was_refused():
    path, body = "/repos/acme/tinyserve/git/refs", {"ref": "refs/heads/x", "sha": SHA, "force": True}
    assert check("POST", path, {}, body, 201, ref()) == [
        "POST /repos/{owner}/{repo}/git/refs: request.force is undocumented"
    ]
    error = {"message": "Invalid request.", "documentation_url": "https://docs.github.com/rest"}
    assert check("POST", path, {}, body, 422, error) == []
    assert check("POST", path, {}, None, 201, ref()) == [
        "POST /repos/{owner}/{repo}/git/refs: no request body where one is required"
    ]


def test_query_values_are_checked_by_type():
    path = "/repos/acme/tinyserve/branches"
    assert check("GET", path, {"per_page": "100", "protected": "true"}, None, 200, []) == []
    assert "per_page='many'" in check("GET", path, {"per_page": "many"}, None, 200, [])[0]


def test_general_errors_need_githubs_error_shape():
    assert check("GET", REF, {}, None, 502, {"message": "Bad gateway"}) == []
    assert check("GET", REF, {}, None, 403, {"error": "no"}) != []


def test_the_longest_literal_path_wins():
    path = "/repos/acme/tinyserve/commits/feature/x/check-runs"
    assert check("GET", path, {}, None, 200, {"total_count": 0, "check_runs": []}) == []


def test_a_raw_answer_is_taken_as_it_is():
    assert check("GET", "/repos/acme/tinyserve/contents/a/b.py", {"ref": "main"}, None, 200, RAW) == []


def test_a_204_has_no_body():
    path = "/repos/acme/tinyserve/git/refs/heads/x"
    assert check("DELETE", path, {}, None, 204, None) == []
    assert check("DELETE", path, {}, None, 204, {"ok": True}) != []


def test_a_webhook_of_an_unknown_kind_or_shape_is_a_violation():
    assert check_hook("issue_comment", {"action": "exploded"}) == [
        "webhook issue-comment-exploded: not in the slice"
    ]
    assert check_hook("issue_comment", {"action": "deleted"}) != []


def test_the_slice_is_what_the_list_of_operations_says():
    document = json.loads(SLICE.read_text())
    wanted = (slicer.HERE / "operations.txt").read_text().split("\n")[:-1]
    names = list(document["operations"]) + [f"HOOK {name}" for name in document["hooks"]]
    assert sorted(names) == sorted(wanted)
    assert '"nullable":' not in SLICE.read_text()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"anyOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"anyOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        (
            {"type": "object", "properties": {"description": {"type": "string", "description": "prose"}}},
            {"type": "object", "properties": {"description": {"type": "string"}}},
        ),
    ],
)
def test_schemas_become_json_schema(given, expected):
    assert slicer.Slicer({}).schema(given) == expected
