"""The versions of a published skill in a table: what `weft hub show` and `weft skills show @owner/name` share."""

from collections.abc import Sequence
from datetime import UTC, datetime

from clawft.cli.output import print_table
from clawft.sources.model import Release

__all__ = ["print_versions"]

_HEADS = ("VERSION", "PUBLISHED", "VERDICT", "CHANGELOG")


def print_versions(versions: Sequence[Release]) -> None:
    """In the order they are given, with why some were taken back."""
    rows = [(one.version, _day(one.created), one.verdict, one.changelog) for one in versions]
    if rows:
        print_table(_HEADS, rows, wide=3, after=[_tell_yanked(one) for one in versions])


def _tell_yanked(release: Release) -> str:
    why = f": {release.yanked}" if release.yanked != "yanked" else ""
    return f"yanked{why}" if release.yanked else ""


def _day(moment: int) -> str:
    """Of a moment in milliseconds; nothing for what no calendar has."""
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d") if moment else ""
    except (OverflowError, ValueError, OSError):
        return ""
