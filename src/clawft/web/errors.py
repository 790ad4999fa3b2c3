"""What a client did wrong, as an answer: a status, and a line of text or a document."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response

__all__ = ["WebError", "answer_error"]


class WebError(Exception):
    """An answer that is no success. `document` is sent as JSON in place of the text, where a client reads one."""

    def __init__(
        self,
        status: int,
        text: str,
        *,
        headers: Mapping[str, str] | None = None,
        document: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = dict(headers or {})
        self.document = document


def answer_error(error: WebError) -> Response:
    """A line of text, or the document that stands for it."""
    if error.document is not None:
        return JSONResponse(error.document, error.status, headers=error.headers)
    return PlainTextResponse(error.text, error.status, headers=error.headers)
