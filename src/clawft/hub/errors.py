"""What a client of the hub did wrong, as ClawHub says it: a status, and a line of plain text."""

import logging
from collections.abc import Mapping
from typing import Any

from clawft.errors import ClawftError, NotFound

__all__ = ["HubError", "from_error"]

# What the store and the intake refuse, by the code of their error; what is not named here is the client's mistake.
_STATUS = {
    "hub-deleted": 410,
    "hub-version-exists": 409,
    "hub-malicious": 422,
    "hub-suspicious": 422,
    "hub-scan": 422,
    "hub-quota": 403,
    "hub-too-large": 413,
    "hub-busy": 503,
    "hub-database": 500,
    "hub-blobs": 500,
}


class HubError(Exception):
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


def from_error(error: ClawftError) -> HubError:
    """The same as an answer: what happened, and what to do about it."""
    status = _STATUS.get(error.code, 404 if isinstance(error, NotFound) else 400)
    if status >= 500:  # what is wrong with the hub is for whoever runs it
        logging.getLogger("clawft.hub").error("%s", error)
        return HubError(status, "The hub cannot do that just now", headers={"Retry-After": "2"})
    return HubError(status, f"{error} ({error.hint})" if error.hint else str(error))
