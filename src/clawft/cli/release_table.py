"""The table of the published versions of a skill, for `weft hub show` and `weft skills show`."""

from collections.abc import Sequence
from datetime import UTC, datetime

from clawft.cli.output import print_table
from clawft.install.sources.model import SkillRelease

_HEADS = ("VERSION", "PUBLISHED", "VERDICT", "CHANGELOG")


def print_versions(versions: Sequence[SkillRelease]) -> None:
    """In the order they are given, with why some were taken back."""
    rows = [(version.version, _day(version.created), version.verdict, version.changelog) for version in versions]
    if rows:
        print_table(_HEADS, rows, wide=3, after=[_tell_yanked(version) for version in versions])


def _tell_yanked(release: SkillRelease) -> str:
    why = f": {release.yanked}" if release.yanked != "yanked" else ""
    return f"yanked{why}" if release.yanked else ""


def _day(moment: int) -> str:
    """Render the date of a time in milliseconds; '' for 0 and for dates out of range."""
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%d") if moment else ""
    except (OverflowError, ValueError, OSError):
        return ""
