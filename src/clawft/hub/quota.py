"""How much an owner may keep: checked before the work, and again by the one who writes."""

from collections.abc import Callable, Sequence
from typing import Any

from clawft.config.hub import QuotaSettings
from clawft.errors import Refused
from clawft.hub.database import Row
from clawft.hub.model import Draft, Usage

__all__ = ["check_quota", "check_sizes", "read_usage"]

Read = Callable[[str, Sequence[Any]], list[Row]]


def check_sizes(draft: Draft, quota: QuotaSettings) -> None:
    """Raises: Refused where one version is too large by itself."""
    if len(draft.files) > quota.version_files:
        raise _refuse("hub-too-large", f"It has {len(draft.files)} files; {quota.version_files} is the limit")
    for file in draft.files:
        if file.size > quota.file_mb << 20:
            raise _refuse("hub-too-large", f"'{file.path[:200]}' is larger than {quota.file_mb} MB")
    if sum(file.size for file in draft.files) > quota.version_mb << 20:
        raise _refuse("hub-too-large", f"It is larger than {quota.version_mb} MB")


def check_quota(read: Read, draft: Draft, quota: QuotaSettings) -> None:
    """Raises: Refused where an owner has no room for this version."""
    used = read_usage(read, draft.owner)
    counted = read(
        """SELECT s.id, (SELECT count(*) FROM hub_version v WHERE v.skill = s.id) FROM hub_skill s
        WHERE s.owner = ? AND s.slug = ?""",
        (draft.owner, draft.slug),
    )
    versions = int(counted[0][1]) if counted else 0
    skills = used.skills - bool(counted and not versions)  # one that is being made is counted already
    if not versions and skills >= quota.skills:
        raise _refuse("hub-quota", f"'{draft.owner}' has {skills} skills, and may have no more")
    if versions >= quota.versions:
        raise _refuse("hub-quota", f"The skill has {versions} versions, and may have no more")
    if used.bytes + sum(file.size for file in draft.files) > quota.owner_mb << 20:
        raise _refuse("hub-quota", f"'{draft.owner}' may keep {quota.owner_mb} MB, and this would be more")


def read_usage(read: Read, owner: str) -> Usage:
    """How much an owner keeps; deleted skills and yanked versions too."""
    ((skills,),) = read("SELECT count(*) FROM hub_skill WHERE owner = ?", (owner,))
    ((versions, size),) = read(
        """SELECT count(*), coalesce(sum(v.bytes), 0) FROM hub_version v JOIN hub_skill s ON s.id = v.skill
        WHERE s.owner = ?""",
        (owner,),
    )
    return Usage(int(skills), int(versions), int(size))


def _refuse(code: str, message: str) -> Refused:
    return Refused(code, message, hint="Nothing was kept. The limits are in [hub.quota]")
