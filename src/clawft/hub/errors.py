"""What a client of the hub did wrong, as ClawHub says it: a status, and a line of plain text."""

import logging

from clawft.errors import ClawftError, NotFound
from clawft.web.errors import WebError

__all__ = ["from_error"]

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


def from_error(error: ClawftError) -> WebError:
    """The same as an answer: what happened, and what to do about it."""
    status = _STATUS.get(error.code, 404 if isinstance(error, NotFound) else 400)
    if status >= 500:  # what is wrong with the hub is for whoever runs it
        logging.getLogger("clawft.hub").error("%s", error)
        return WebError(status, "The hub cannot do that just now", headers={"Retry-After": "2"})
    return WebError(status, f"{error} ({error.hint})" if error.hint else str(error))
