"""Problems that a user can fix: the diagnostic value, and the exceptions that carry one.

Work over many items collects diagnostics and goes on; work on one item raises. Bugs stay builtin exceptions.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

Severity = Literal["error", "warning", "note"]


class Edit(Struct, frozen=True, gc=False):
    """Replace the characters `start` to `end` of a text by `text`."""

    start: int
    end: int
    text: str


class Diagnostic(Struct, frozen=True, omit_defaults=True):
    """One thing worth saying about one place: a stable code, a reason, and what to do about it."""

    code: str
    severity: Severity
    message: str
    path: str = ""
    line: int = 0
    hint: str = ""
    fix: tuple[Edit, ...] = ()

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class ClawftError(Exception):
    """An error with a code, a place and a hint. `exit_code` is what the command line returns for it."""

    exit_code = 1

    def __init__(
        self, code: str, message: str, *, path: str = "", line: int = 0, hint: str = "", fix: tuple[Edit, ...] = ()
    ) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(code, "error", message, path, line, hint, fix)

    @property
    def code(self) -> str:
        return self.diagnostic.code

    @property
    def hint(self) -> str:
        return self.diagnostic.hint


class NotFound(ClawftError):
    """A name that nothing has; the hint holds the close match."""


class Refused(ClawftError):
    """A policy, or nobody to ask, kept something from being done."""

    exit_code = 3


class Unreadable(ClawftError):
    """A file that is not a readable, regular, bounded text file."""


class SkillLoadError(ClawftError):
    """A skill or agent file that cannot be used at all."""


class MissingFrontmatter(SkillLoadError):
    """There is no frontmatter, or it never ends."""


class YamlParse(SkillLoadError):
    """The frontmatter is not YAML, and neither name nor description could be recovered from it."""


def find_close(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most likely meant."""
    from difflib import get_close_matches  # only needed after a typo

    matches = get_close_matches(name, sorted(set(known)), n=1, cutoff=0.6)
    return matches[0] if matches else None
