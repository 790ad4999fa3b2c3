"""Apply the edits that diagnostics carry, until none is left: fixing twice changes nothing more."""

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.format.skill import parse_skill_md
from clawft.format.text import decode_text, encode_text

__all__ = ["Fixed", "fix_skill_md"]

_MAX_ROUNDS = 20
_FORM = frozenset({"yaml-unquoted", "yaml-stray-line", "duplicate-key"})  # mended first: only then is the rest certain


class Fixed(Struct, frozen=True):
    """The text before and after, the bytes to write, and what was mended."""

    before: str
    after: str
    data: bytes
    applied: tuple[Diagnostic, ...]


def fix_skill_md(data: bytes, dir_name: str, path: str = "SKILL.md") -> Fixed:
    """Mend what can be mended for certain. Raises: Unreadable when the file cannot be written back as it was."""
    decoded = decode_text(data, path)
    applied = [found for found in decoded.diagnostics if found.fix]
    text = decoded.text
    for _ in range(_MAX_ROUNDS):
        fixable = [found for found in _diagnose(text, dir_name, path) if found.fix]
        form = [found for found in fixable if found.code in _FORM]
        mended, done = _apply(text, form or fixable)
        if mended == text:
            break
        text = mended
        applied += done
    changed = text != decoded.text or bool(applied)
    recoded = any(found.fix for found in decoded.diagnostics)
    if changed and not recoded and encode_text(decoded.text, crlf=decoded.crlf) != data:
        message = "The file holds bytes that are not UTF-8, or mixed line ends: mending would change more than is shown"
        raise Unreadable("not-mendable", message, path=path, hint="Save it as UTF-8 with one kind of line end first")
    return Fixed(decoded.text, text, encode_text(text, crlf=decoded.crlf) if changed else data, tuple(applied))


def _diagnose(text: str, dir_name: str, path: str) -> tuple[Diagnostic, ...]:
    try:
        return parse_skill_md(text, dir_name, path=path).diagnostics
    except ClawftError as error:
        return (error.diagnostic,)


def _apply(text: str, fixable: list[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """The text with all edits that do not touch one another; the others wait for the next round."""
    done: list[Diagnostic] = []
    parts: list[str] = []
    position, last = 0, -1
    for found in sorted(fixable, key=lambda one: one.fix[0].start):
        if found.fix[0].start <= last:
            continue
        done.append(found)
        for edit in found.fix:
            parts += (text[position : edit.start], edit.text)
            position = last = edit.end
    return "".join((*parts, text[position:])), done
