"""What the daemon answers over HTTP: JSON; and what went wrong, said as everywhere, with the status that fits it."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused
from clawft.protocol.base import Refusal, to_problem
from clawft.protocol.encoding import encode
from clawft.web.errors import WebError

__all__ = ["BUG", "answer_json", "make_refusal", "refuse", "to_web"]

BUG = Diagnostic("bug", "error", "Internal error", hint="The daemon's log says more")
# What is no mistake in the request itself, by the code of the error.
_STATUS = {
    "approval-changed": 409,
    "approval-needless": 409,
    "install-changed": 409,
    "question-grave": 409,
    "questions-full": 503,
    "run-answered": 409,
    "run-status": 409,
    "serve-busy": 503,
    "serve-stopping": 503,
}
# The code of what only has a status.
_CODES = {
    401: "token-missing",
    404: "not-found",
    405: "method-wrong",
    408: "too-slow",
    413: "request-too-large",
    415: "not-json",
    429: "too-many-requests",
    503: "serve-busy",
}


def answer_json(document: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encode(document), status, headers, "application/json")


def make_refusal(status: int, why: Diagnostic, headers: Mapping[str, str] | None = None) -> WebError:
    """An answer that says what is wrong."""
    document = msgspec.to_builtins(Refusal(error=to_problem(why)))
    return WebError(status, why.message, headers=headers, document=document)


def to_web(error: ClawftError) -> WebError:
    """An error as an answer: what happened, and what to do about it."""
    by_kind = 404 if isinstance(error, NotFound) else 403 if isinstance(error, Refused) else 400
    status = _STATUS.get(error.code, by_kind)
    return make_refusal(status, error.diagnostic, {"Retry-After": "2"} if status == 503 else None)


def refuse(error: WebError) -> Response:
    """The answer itself; where only a text is known, its code follows from the status."""
    if error.document is None:
        code = _CODES.get(error.status, "request-invalid")
        error = make_refusal(error.status, Diagnostic(code, "error", error.text), error.headers)
    return answer_json(error.document, error.status, error.headers)
