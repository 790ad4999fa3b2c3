"""Which version comes next, and where SKILL.md says it."""

import re
from typing import Literal

from clawft.errors import ClawftError, Refused
from clawft.hub.versions import is_version, version_order

__all__ = ["FIRST", "Part", "choose_version", "raise_version", "write_version"]

Part = Literal["patch", "minor", "major"]
FIRST = "1.0.0"


def raise_version(text: str, part: Part) -> str:
    """The version after this one; a pre-release is followed by what it is a pre-release of. Raises: ClawftError."""
    if not is_version(text):
        hint = "Pass --version X.Y.Z"
        raise ClawftError("version-format", f"{text[:60]!a} is no version to count up from", hint=hint)
    major, minor, patch, released, _ = version_order(text)
    if part == "major":
        return f"{major + (released or bool(minor or patch))}.0.0"
    if part == "minor":
        return f"{major}.{minor + (released or bool(patch))}.0"
    return f"{major}.{minor}.{patch + released}"


def choose_version(written: str, latest: str, asked: str = "", part: Part | None = None) -> str:
    """The version that changed content is published as.

    `written` is what SKILL.md says, `latest` the newest that is published; '' where there is none. What is wanted is
    `asked`, or the next `part`. Raises: ClawftError; Refused where SKILL.md says what is published already.
    """
    for text in (asked, written):
        if text and not is_version(text):
            hint = "Three numbers, as in 1.4.0"
            raise ClawftError("version-format", f"{text[:60]!a} is no semantic version", hint=hint)
    if asked:
        if written and asked != written:
            raise ClawftError("version-differs", f"SKILL.md says {written}, not {asked}", hint="Change it there")
        return asked
    newest = max(filter(None, (latest, written)), key=version_order, default="")
    if part is not None:
        return raise_version(newest, part) if newest else FIRST
    if not written:
        return raise_version(latest, "patch") if latest else FIRST
    if latest and version_order(written) <= version_order(latest):
        message = f"The content changed since {latest}, and SKILL.md still says {written}"
        raise Refused("version-taken", message, hint="Pass --bump patch, minor or major: SKILL.md is changed with it")
    return written


def write_version(text: str, old: str, new: str) -> str:
    """The text of a SKILL.md with another version in its frontmatter. Raises: ClawftError."""
    lines = text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    pattern = re.compile(rf"""(\s*["']?version["']?\s*:\s*["']?){re.escape(old)}(["']?\s*(?:#.*)?)\Z""")
    found = [at for at in range(1, end) if pattern.match(lines[at])]
    if len(found) != 1:
        raise ClawftError(
            "version-line", f"Where SKILL.md says {old} cannot be told", hint=f"Write {new} there yourself"
        )
    lines[found[0]] = pattern.sub(lambda match: f"{match[1]}{new}{match[2]}", lines[found[0]])
    return "\n".join(lines)
