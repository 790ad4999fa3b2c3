"""Apply the edits that diagnostics carry, until none is left: fixing twice changes nothing more."""

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, Edit
from clawft.format.skill import parse_skill_md
from clawft.format.text import REENCODE, decode_text, encode_text

__all__ = ["Fixed", "fix_skill_md"]

_MAX_ROUNDS = 20


class Fixed(Struct, frozen=True):
    """The text before and after, the bytes to write, and what was mended."""

    before: str
    after: str
    data: bytes
    applied: tuple[Diagnostic, ...]


def fix_skill_md(data: bytes, dir_name: str, path: str = "SKILL.md") -> Fixed:
    """Mend what can be mended for certain. Raises: Unreadable when the file is not text."""
    decoded = decode_text(data, path)
    applied = [found for found in decoded.diagnostics if found.fix]
    text = decoded.text
    for _ in range(_MAX_ROUNDS):
        fixable = [found for found in _diagnose(text, dir_name, path) if found.fix]
        text, done = _apply(text, fixable)
        applied += done
        if not done:
            break
    changed = text != decoded.text or bool(applied)
    return Fixed(decoded.text, text, encode_text(text, crlf=decoded.crlf) if changed else data, tuple(applied))


def _diagnose(text: str, dir_name: str, path: str) -> tuple[Diagnostic, ...]:
    try:
        return parse_skill_md(text, dir_name, path=path).diagnostics
    except ClawftError as error:
        return (error.diagnostic,)


def _apply(text: str, fixable: list[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """The text with all edits that do not touch one another; the others wait for the next round."""
    done: list[Diagnostic] = []
    edits: list[Edit] = []
    for found in fixable:
        if found.fix != REENCODE and not any(_touch(new, old) for new in found.fix for old in edits):
            done.append(found)
            edits += found.fix
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text, done


def _touch(left: Edit, right: Edit) -> bool:
    return left.start <= right.end and right.start <= left.end
