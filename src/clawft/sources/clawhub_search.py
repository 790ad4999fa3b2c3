"""What ClawHub finds, as hits that can be installed."""

import re

import msgspec

from clawft.sources.clawhub_wire import Found, Results
from clawft.sources.model import Hit
from clawft.sources.plain import plain_line

__all__ = ["read_hits"]

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")
_REFERENCE = re.compile(r"skills-sh:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")


def read_hits(answer: Results, registry: str, *, default: bool = False) -> list[Hit]:
    """Every result that could be typed; what is no name is no result."""
    hits = []
    for one in answer.results:
        try:
            found = msgspec.convert(one, Found)
        except msgspec.ValidationError:
            continue
        owner = found.owner_handle or (found.owner.handle if found.owner else None) or ""
        reference = _reference(found, owner, "" if default else f"{registry}:")
        if reference:
            hits.append(
                Hit(
                    registry,
                    (found.slug or reference.rpartition("/")[2]),
                    reference,
                    owner=owner,
                    summary=plain_line(found.summary or found.display_name or ""),
                    version=plain_line(found.version or "", 40),
                    score=found.score or 0,
                    downloads=int(found.downloads or 0),
                )
            )
    return hits


def _reference(found: Found, owner: str, prefix: str) -> str:
    """What to type; '' for what must not be typed."""
    named = (found.install or {}).get("reference")
    if isinstance(named, str) and _REFERENCE.fullmatch(named):
        return named
    if not found.slug or not _NAME.fullmatch(found.slug) or (owner and not _NAME.fullmatch(owner)):
        return ""
    return f"{prefix}@{owner}/{found.slug}" if owner else f"{prefix}{found.slug}"
