"""GitHub's error answers."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response, jsonify

DOCS = "https://docs.github.com/rest"


class ApiError(Exception):
    """`errors`: GitHub's list of what is wrong with which field (422)."""

    def __init__(self, status: int, message: str, errors: Sequence[dict[str, str]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = list(errors)

    def response(self) -> Response:
        body: dict[str, object] = {"message": self.message, "documentation_url": DOCS}
        if self.errors:
            body["errors"] = self.errors
        elif self.status != 422:
            body["status"] = str(self.status)
        answer = jsonify(body)
        answer.status_code = self.status
        return answer


def not_found() -> ApiError:
    return ApiError(404, "Not Found")


def invalid(resource: str, field: str, message: str | None = None, code: str = "invalid") -> ApiError:
    """422 Validation Failed about one field; a message makes it a 'custom' error."""
    error = {"resource": resource, "field": field, "code": "custom" if message else code}
    if message:
        error["message"] = message
    return ApiError(422, "Validation Failed", [error])
