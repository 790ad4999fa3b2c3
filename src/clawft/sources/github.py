"""A skill that ClawHub knows and GitHub holds: the archive of one commit, and the hash of the files in it."""

import os
import re
from urllib.parse import parse_qs, urlencode, urlsplit

import anyio.to_thread
from msgspec import structs

from clawft.errors import Refused
from clawft.packing.hashes import github_content_hash
from clawft.packing.place import remove_tree
from clawft.sources.address import read_path
from clawft.sources.arriving import arrive, hash_files, source_changed
from clawft.sources.clawhub_wire import GitHubHandoff
from clawft.sources.fetching import Fetching
from clawft.sources.model import Resolved

__all__ = ["fetch_handoff", "handoff_path", "handoff_url"]

_ARCHIVES = "https://codeload.github.com"
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def handoff_url(said: GitHubHandoff) -> str:
    """Where the commit is; what of it is meant and its hash stand behind the `#`, which nobody is sent.

    Raises: Refused for what names no commit, or has no hash.
    """
    content = _HASH.fullmatch(said.content_hash)
    if not _REPO.fullmatch(said.repo) or not _COMMIT.fullmatch(said.commit) or content is None:
        raise Refused("source-answer", "The registry names no commit of a repository with the hash of its files")
    fragment = urlencode({"path": handoff_path(said), "content": content[1]})
    return f"{_ARCHIVES}/{said.repo}/zip/{said.commit}#{fragment}"


def handoff_path(said: GitHubHandoff) -> str:
    """The folder in the repository, '' for the whole. Raises: Refused."""
    return read_path("" if said.path in ("", ".", "./") else said.path.removeprefix("./"))


async def fetch_handoff(fetching: Fetching, resolved: Resolved, folder: str) -> Resolved:
    """Only the files that are meant, with the hash that the registry gave. Raises: ClawftError; Refused."""
    asked = parse_qs(urlsplit(resolved.url).fragment)
    path, content = asked.get("path", [""])[0], asked["content"][0]
    came = await arrive(fetching, resolved, folder)
    await anyio.to_thread.run_sync(_keep_below, folder, path, resolved.name)
    files = hash_files(folder)
    if github_content_hash((one.path, one.size, one.sha256) for one in files.values()) != content:
        raise source_changed(resolved.name, "The files are not those whose hash the registry gave")
    return structs.replace(came, archive="")  # GitHub promises no bytes of an archive, only those of files


def _keep_below(folder: str, path: str, name: str) -> None:
    """Make a folder of the repository the whole. Raises: Refused, OSError."""
    tops = os.listdir(folder)
    lifted = any(one.lower() == "skill.md" for one in tops)
    top = folder if lifted or len(tops) != 1 else os.path.join(folder, tops[0])
    wanted = os.path.join(top, *path.split("/")) if path else top
    if not os.path.isdir(wanted) or os.path.islink(wanted):
        raise source_changed(name, f"The repository has no folder '{path[:80]}'")
    if wanted == folder:
        return
    kept, rest = (os.path.join(folder, f".{what}-{os.urandom(8).hex()}") for what in ("kept", "rest"))
    os.rename(wanted, kept)
    os.mkdir(rest, 0o700)
    for one in os.listdir(folder):
        if os.path.join(folder, one) not in (kept, rest):
            os.rename(os.path.join(folder, one), os.path.join(rest, one))
    remove_tree(rest)
    for one in os.listdir(kept):
        os.rename(os.path.join(kept, one), os.path.join(folder, one))
    os.rmdir(kept)
