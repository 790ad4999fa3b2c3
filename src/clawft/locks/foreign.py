"""Locks of other installers: JSON of theirs, of which whatever we do not know is kept as it is."""

import re
from typing import Any

import msgspec

from clawft.errors import ClawftError
from clawft.files import read_optional
from clawft.locks.names import MAX_LOCK_BYTES

__all__ = ["load_document", "parse_document", "render_document", "skills_of"]

_MARKER = re.compile(rb"^(?:<{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)


def load_document(path: str) -> dict[str, Any] | None:
    """A lock of theirs; None where there is none. Raises: Unreadable, ClawftError `other-lock-invalid`."""
    data = read_optional(path, MAX_LOCK_BYTES)
    return None if data is None else parse_document(data, path)


def parse_document(data: bytes, path: str) -> dict[str, Any]:
    """The same from its bytes. What its own tool would take for empty, and write over, is an error here."""
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        why = "git left two versions in it" if _MARKER.search(data) else f"it is not JSON ({error})"
        raise _invalid(path, why) from error
    if not isinstance(document, dict) or not isinstance(document.get("skills"), dict):
        raise _invalid(path, "it does not list skills")
    return document


def skills_of(document: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """What a document says of each skill; what is no table says nothing."""
    listed = (document or {}).get("skills", {})
    return {str(name): entry if isinstance(entry, dict) else {} for name, entry in listed.items()}


def render_document(document: dict[str, Any]) -> str:
    """As JavaScript writes it with an indent of two."""
    import json

    return json.dumps(document, indent=2, ensure_ascii=False)


def _invalid(path: str, why: str) -> ClawftError:
    message = f"The lock of another installer cannot be used: {why}"
    return ClawftError("other-lock-invalid", message, path=path, hint="Mend or remove it; it is left as it is")
