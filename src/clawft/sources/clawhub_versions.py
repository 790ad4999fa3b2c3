"""The versions that a registry has of one skill: all of them, what is new in one, and that it was taken back."""

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from clawft.errors import ClawftError, Diagnostic
from clawft.sources.clawhub_wire import Verified, VersionAnswer, Versions, yank_reason
from clawft.sources.fetching import Fetching
from clawft.sources.model import Release, Resolved
from clawft.sources.plain import plain_line

__all__ = ["MAX_CHANGELOG", "fetch_changelog", "fetch_releases", "tell_yanked"]

MAX_PAGES = 10
MAX_CHANGELOG = 2_000
_PAGE = "100"
_LATEST = 1 << 52  # a moment

Address = Callable[[str, dict[str, str]], Awaitable[str]]


async def fetch_releases(fetching: Fetching, address: Address, owner: str, slug: str) -> list[Release]:
    """Newest first, as far as the registry lists them; without verdicts. Raises: ClawftError."""
    found: list[Release] = []
    cursor = ""
    for _ in range(MAX_PAGES):
        asked = {"ownerHandle": owner, "limit": _PAGE, "cursor": cursor}
        answer = await fetching.ask(await address(f"skills/{quote(slug)}/versions", asked), Versions)
        found += [
            Release(
                plain_line(one.version, 40),
                int(min(max(one.created_at or 0, 0), _LATEST)),
                plain_line(one.changelog or "", MAX_CHANGELOG),
                yanked=plain_line(one.yanked or "", 200),
            )
            for one in answer.items
            if one.version
        ]
        cursor = answer.next_cursor or ""
        if not cursor or not answer.items:
            break
    return found


async def fetch_changelog(fetching: Fetching, address: Address, found: Resolved) -> str:
    """What is new in a version; '' where that cannot be told, which keeps nobody from having it."""
    path = f"skills/{quote(found.origin.slug)}/versions/{quote(found.version)}"
    try:
        answer = await fetching.ask(await address(path, {"ownerHandle": found.origin.owner}), VersionAnswer)
    except ClawftError:
        return ""
    return plain_line(answer.version.changelog or "", MAX_CHANGELOG)


def tell_yanked(found: Verified) -> tuple[Diagnostic, ...]:
    """What was taken back is given to those who name it, and they are told."""
    if not found.yanked:
        return ()
    why = yank_reason(found)
    message = f"{found.slug} {found.version} was taken back by who published it{f': {why}' if why else ''}"
    return (Diagnostic("source-yanked", "warning", message, hint="Use another version"),)
