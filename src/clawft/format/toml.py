"""TOML that may be a stranger's, read in a time that goes with its length."""

import re
from typing import Any

__all__ = ["read_toml"]

MAX_PARTS = 16
# The square of the parts of a key is what the standard library takes for it: hours, for one that fills a file.
_LONG_KEY = re.compile(
    r"""(?<![\w"'-])(?:(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*\.[ \t]*){%d}""" % MAX_PARTS  # noqa: UP031
)


def read_toml(text: str) -> dict[str, Any]:
    """The table of a text. Raises: ValueError, RecursionError."""
    import tomllib  # seldom needed

    if _LONG_KEY.search(text):
        raise ValueError(f"A key of more than {MAX_PARTS} parts is not read")
    return tomllib.loads(text)
