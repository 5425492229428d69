"""The App is removed while a rerun is out."""

from flask import g, jsonify, request

from tests.lab.conftest import lab, lab_database, lab_repository, pem, soon  # noqa: F401
from tests.lab.runner import Answer


def test_what_is_measured_where_the_app_was_removed_ends_without_a_word(lab):  # noqa: F811
    bench = lab(Answer(ends=False))
    bench.red(bench.open_pull())
    bench.until(bench.requests)
    written: list[str] = []

    def gone():
        if request.blueprint == "control_people" or g.caller.app:
            return None
        if request.method != "GET":
            written.append(request.path)
        return jsonify(message="Bad credentials"), 401

    bench.world.before.append(gone)
    bench.people.control("installation", action="deleted")
    bench.wait()
    (investigation,) = bench.investigations()
    assert investigation.state == "done"
    assert investigation.verdict["reason"] == "uninstalled"
    assert bench.store.active_repositories() == []
    assert written == []
