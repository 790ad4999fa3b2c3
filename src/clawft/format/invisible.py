"""Characters that a reader does not see, or that show a text in another order: found, and made visible."""

import re

__all__ = ["HIDDEN", "escape_invisible", "find_hidden"]

# Zero-width and direction characters, fillers, tags, runs of variation selectors. A joiner counts beside plain ASCII
# only, since emoji and several scripts need it. The console has the same list in `dom.js`.
_INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]|(?<=[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f])"
    "|[\ufe00-\ufe0f]{2,}"
)
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
HIDDEN = re.compile(f"{_CONTROL}|{_INVISIBLE}")
_RUN = re.compile(f"(?:{_INVISIBLE})+")


def escape_invisible(text: str) -> str:
    """A text in which each run of invisible characters is named: `<U+200B>`, `<U+E0041 and 12 more>`."""
    return text if text.isascii() else _RUN.sub(_name_run, text)


def find_hidden(text: str) -> str:
    """The name of the first control or invisible character of a text, `U+202E`; '' if there is none.

    Tabs and line ends are neither.
    """
    found = HIDDEN.search(text)
    return f"U+{ord(found[0][0]):04X}" if found else ""


def _name_run(run: re.Match[str]) -> str:
    more = f" and {len(run[0]) - 1} more" if len(run[0]) > 1 else ""
    return f"<U+{ord(run[0][0]):04X}{more}>"
