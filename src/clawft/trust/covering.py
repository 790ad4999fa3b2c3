"""Does one permission lie within another? Judged by what is written, for a grant that is narrower than what was asked.

Where links lead is not known here: whoever opens a path looks again (`plugins/job.py`).
"""

from collections.abc import Callable, Sequence

from clawft.contracts import Permissions
from clawft.errors import ClawftError

__all__ = ["COVERS", "covers_host", "covers_path", "find_held", "is_closed", "keep_met", "keep_uncovered"]

Covers = Callable[[str, str], bool]


def covers_host(wide: str, narrow: str) -> bool:
    """Whether every host and port that one grant means is meant by another. What is no grant covers only itself."""
    if wide == narrow:
        return True
    from clawft.trust.hosts import parse_grant  # most plugins are granted what they ask for

    try:
        return parse_grant(wide).includes(parse_grant(narrow))
    except ClawftError:
        return False


def covers_path(wide: str, narrow: str) -> bool:
    """Whether a path, with what may be done there, is a part of another one. `..` is never followed.

    What stays closed inside a folder unless it is named, such as `.env`, has to be asked for by name.
    """
    if wide == narrow:
        return True
    outer, inner = wide.removesuffix(":ro"), narrow.removesuffix(":ro")
    read_only = inner != narrow
    if outer != wide and not read_only:
        return False
    above, below = _split(outer), _split(inner)
    if not above or below[: len(above)] != above:
        return False
    rest = below[len(above) :]
    return not rest or not is_closed("/".join(rest), at_home=above == ["~"], read_only=read_only)


def is_closed(relative: str, *, at_home: bool, read_only: bool) -> bool:
    """Whether a path below a folder stays closed to who was granted the folder."""
    from clawft.trust.places import is_power, is_private, steers_home

    if is_private(relative):
        return True
    return not read_only and (is_power(relative) or (at_home and steers_home(relative.split("/")[0])))


def _split(path: str) -> list[str]:
    """What a path starts at, then its names; nothing for one that cannot be compared as it is written."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names or "\0" in path or path.startswith("//"):
        return []
    if path.startswith("/"):
        return ["/", *names]
    return names if names[:1] == ["~"] and not path.startswith("./") else [".", *names]


def _same(one: str, other: str) -> bool:
    return one == other


COVERS: dict[str, Covers] = {"filesystem": covers_path, "network": covers_host, "env_vars": _same, "shell": _same}


def keep_met(covers: Covers, asked: Sequence[str], granted: Sequence[str]) -> tuple[str, ...]:
    """What lies within something of both: of each that is asked for all of it, or the parts that were granted."""
    met: dict[str, None] = {}
    for one in asked:
        whole = one in granted or any(covers(other, one) for other in granted)  # most are granted as they are asked for
        met |= dict.fromkeys([one] if whole else [other for other in granted if covers(one, other)])
    return tuple(met)


def keep_uncovered(covers: Covers, before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """What of one lies within nothing of the other."""
    return tuple(one for one in after if one not in before and not any(covers(other, one) for other in before))


def find_held(kind: str, asked: str, granted: Permissions) -> tuple[str, ...]:
    """What of one thing that is asked for was granted: the thing itself, parts of it, or nothing."""
    if kind == "shell":
        return (asked,) if granted.shell else ()
    return keep_met(COVERS[kind], (asked,), getattr(granted, kind))
