"""A skill that ClawHub knows and GitHub holds: one commit of a repository, and the hash of the files that are meant."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urldefrag, urlencode

from msgspec import structs

from clawft.errors import Refused
from clawft.locks.model import Origin
from clawft.packing.hashes import github_content_hash
from clawft.sources.address import read_path
from clawft.sources.arriving import clear_folder, hash_files, source_changed
from clawft.sources.clawhub_wire import GitHubHandoff
from clawft.sources.git import GitRepository
from clawft.sources.model import Resolved

__all__ = ["Repositories", "fetch_handoff", "handoff_path", "handoff_url"]

Repositories = Callable[[str], GitRepository]  # by address
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def handoff_url(said: GitHubHandoff) -> str:
    """Where the repository is; what of it is meant and its hash stand behind the `#`, which nobody is sent.

    Raises: Refused for what names no commit, or has no hash.
    """
    content = _HASH.fullmatch(said.content_hash)
    if not _REPO.fullmatch(said.repo) or not _COMMIT.fullmatch(said.commit) or content is None:
        raise Refused("source-answer", "The registry names no commit of a repository with the hash of its files")
    fragment = urlencode({"path": handoff_path(said), "content": content[1]})
    return f"https://github.com/{said.repo.removesuffix('.git')}.git#{fragment}"


def handoff_path(said: GitHubHandoff) -> str:
    """The folder in the repository, '' for the whole. Raises: Refused."""
    return read_path("" if said.path in ("", ".", "./") else said.path.removeprefix("./"))


async def fetch_handoff(repositories: Repositories, resolved: Resolved, folder: str) -> Resolved:
    """Only the files that are meant, with the hash that the registry gave. Raises: ClawftError; Refused."""
    url, fragment = urldefrag(resolved.url)
    asked = parse_qs(fragment)
    origin = Origin("git", url, path=asked.get("path", [""])[0])
    repository = repositories(url)
    try:
        came = await repository.download(structs.replace(resolved, origin=origin), folder)
    finally:
        await repository.aclose()
    files = hash_files(folder).values()
    if github_content_hash((one.path, one.size, one.sha256) for one in files) != asked["content"][0]:
        clear_folder(folder)
        raise source_changed(resolved.name, "The files are not those whose hash the registry gave")
    return structs.replace(came, origin=resolved.origin)
