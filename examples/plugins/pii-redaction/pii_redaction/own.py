"""Patterns of the user's own, which every text is searched for: one that could take for ever is not taken.

A regular expression takes for ever when it can try to match the same text in many ways. Here every repetition has a
bound, and the number of ways that a pattern can try at one place is worked out before it is used.
"""

import re
from importlib import import_module
from typing import Any

from clawft.contracts import PluginError

from .kinds import Detector

__all__ = ["make_detector"]

_constants, _parser = import_module("re._constants"), import_module("re._parser")
MAX_WAYS = 2_000
MAX_REPEATS = 1_000
_SIMPLE = ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT", "RANGE", "CATEGORY", "NEGATE")


def make_detector(kind: str, pattern: str) -> Detector:
    """What finds a pattern of the user's own. Raises: PluginError for one that is none, or that could take for ever."""
    try:
        compiled = re.compile(pattern)
        parsed = _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise PluginError(f"The pattern of {kind} is none: {error}") from error
    ways = _count_ways(kind, parsed)
    if ways > MAX_WAYS:
        hint = "Use fewer repetitions, or shorter ones"
        raise PluginError(f"The pattern of {kind} can match in {ways} ways; {MAX_WAYS} is the limit", hint=hint)
    if compiled.match(""):
        raise PluginError(f"The pattern of {kind} matches nothing at all, and so everywhere")
    return Detector(kind, compiled, lambda match: (match[0], match.end()))


def _count_ways(kind: str, parsed: Any) -> int:
    """In how many ways a pattern can try to match at one place. Raises: PluginError."""
    ways = 1
    for what, given in parsed:
        ways *= _count_one(kind, str(what), given)
        if ways > 10**9:
            break
    return ways


def _count_one(kind: str, what: str, given: Any) -> int:
    if what in _SIMPLE:
        return 1
    if what == "SUBPATTERN":
        return _count_ways(kind, given[-1])
    if what == "BRANCH":
        return sum(_count_ways(kind, one) for one in given[1])
    if what in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = given
        if most == _constants.MAXREPEAT or most > MAX_REPEATS:
            hint = r"Say how often at most: \d{1,20} for \d+"
            raise PluginError(f"The pattern of {kind} repeats something without an end", hint=hint)
        below = _count_ways(kind, inner)
        if below > 1 and most > 1:
            raise PluginError(f"The pattern of {kind} repeats something that varies itself", hint="Write it out")
        return (int(most) - int(least) + 1) * below
    message = f"The pattern of {kind} uses {what.lower().replace('_', ' ')}, which is not looked for here"
    raise PluginError(message, hint="Use characters, classes, groups, alternatives and bounded repetitions")
