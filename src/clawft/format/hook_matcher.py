"""Which tools a hook of Claude Code's means: a name, several with `|` between them, or a regular expression.

Nothing, or `*`, means all. A name must be the whole name; an expression may be found anywhere in it, as theirs may. It
is run by RE2, so that no expression can take long.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

__all__ = ["MAX_MATCHER", "check_matcher", "find_match"]

MAX_MATCHER = 1_000
_MEMORY = 1 << 20
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|")


def check_matcher(text: str) -> str:
    """Why a matcher cannot be used, or nothing."""
    if len(text) > MAX_MATCHER:
        return f"it is longer than {MAX_MATCHER} characters"
    if _is_plain(text):
        return ""
    problem = _compile(text)
    return problem if isinstance(problem, str) else ""


def find_match(text: str, names: Iterable[str]) -> bool:
    """Whether a matcher means one of the names. One that cannot be used means none."""
    if text in ("", "*"):
        return True
    if _is_plain(text):
        listed = text.split("|")
        return any(name in listed for name in names)
    regex = _compile(text) if len(text) <= MAX_MATCHER else ""
    return not isinstance(regex, str) and any(regex.search(name) is not None for name in names)


def _is_plain(text: str) -> bool:
    return text in ("", "*") or set(text) <= _PLAIN


@lru_cache(maxsize=256)
def _compile(text: str) -> Any:
    """The expression, or what is wrong with it."""
    import re2  # type: ignore[import-untyped]  # most skills have no hooks

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(text, options)
    except (re2.error, UnicodeError) as error:
        said = error.args[0] if error.args else error
        return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
