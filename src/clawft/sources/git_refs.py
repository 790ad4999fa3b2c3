"""Which commit a branch, a tag or nothing at all means, told by the server; ambiguous names are an error."""

from collections.abc import Sequence

from msgspec import Struct

from clawft.errors import ClawftError, NotFound
from clawft.sources.address import is_commit
from clawft.sources.git_objects import Objects

__all__ = ["Found", "find_ref"]


class Found(Struct, frozen=True):
    """A commit, what was asked for, and the ref of the server that points to it; '' where a commit was asked for."""

    asked: str
    commit: str
    ref: str = ""


async def find_ref(objects: Objects, asked: Sequence[str]) -> Found:
    """The one of the names that there is; '' is the default branch. Raises: NotFound, ClawftError."""
    if asked[0] == "":
        return await _find_default(objects)
    if is_commit(asked[0]):
        return Found(asked[0], asked[0])
    named = {
        one: (f"refs/heads/{one}", f"refs/tags/{one}", *((one,) if one.startswith("refs/") else ())) for one in asked
    }
    patterns = [ref for refs in named.values() for ref in refs]
    # A tag with a text of its own is an object; what it is about stands behind `^{}`.
    there = dict(await objects.list_refs([*patterns, *(f"{ref}^{{}}" for ref in patterns)]))
    found = [
        Found(one, there.get(f"{ref}^{{}}", there[ref]), ref)
        for one, refs in named.items()
        for ref in refs
        if ref in there
    ]
    if not found:
        hint = "Check its spelling; a commit is written with all of its 40 digits"
        raise NotFound("git-ref", f"There is no branch or tag '{asked[0]}'", path=objects.url, hint=hint)
    if len({(one.commit, one.asked) for one in found}) > 1:
        hint = f"Say which: {', '.join(one.ref for one in found)}"
        raise ClawftError("git-ambiguous", f"'{asked[0]}' is a branch and a tag", path=objects.url, hint=hint)
    return _check(found[0], objects.url)


async def _find_default(objects: Objects) -> Found:
    there = await objects.list_refs(["HEAD"])
    target = next(
        (value.removeprefix("ref: ") for name, value in there if name == "HEAD" and value.startswith("ref: ")), ""
    )
    commit = next((value for name, value in there if name == "HEAD" and not value.startswith("ref: ")), "")
    if not commit:
        raise NotFound("git-ref", "The repository has no default branch, or nothing in it", path=objects.url)
    return _check(Found("", commit, target or "HEAD"), objects.url)


def _check(found: Found, url: str) -> Found:
    """What a server says is a commit only if it looks like one. Raises: ClawftError."""
    if not is_commit(found.commit) or (found.ref != "HEAD" and not found.ref.startswith("refs/")):
        raise ClawftError("git-failed", "The server's list of branches cannot be read", path=url)
    return found
