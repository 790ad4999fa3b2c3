"""All files of a place, such as a plugin: a folder of a repository, or an archive by its address. No skill is meant."""

import os
from contextlib import suppress

import anyio.to_thread
from msgspec import Struct, structs

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError
from clawft.packing.unpack import Limits, unpack
from clawft.programs import Launcher
from clawft.sources.fetching import Fetching
from clawft.sources.git import GitRepository
from clawft.sources.model import Reference

__all__ = ["Fetched", "fetch_whole"]


class Fetched(Struct, frozen=True):
    """What came: the commit it is of, or the sha256 of the archive it was in."""

    url: str
    commit: str = ""
    archive: str = ""


async def fetch_whole(
    reference: Reference, folder: str, limits: Limits, settings: WebSettings, launcher: Launcher
) -> Fetched:
    """Put all files of a repository or an archive that a person named into an empty folder.

    Raises: ClawftError; Refused for what is unsafe.
    """
    if reference.kind == "git":
        repository = GitRepository(reference.url, settings, launcher, typed=True, limits=limits)
        try:
            return Fetched(reference.url, commit=await repository.take(reference, folder))
        finally:
            await repository.aclose()
    if reference.kind == "archive":
        return await _fetch_archive(reference.url, folder, limits, settings)
    raise ClawftError("source-kind", f"{reference.text[:80]!a} is no repository and no archive")


async def _fetch_archive(url: str, folder: str, limits: Limits, settings: WebSettings) -> Fetched:
    fetching = Fetching(url, settings)
    archive = os.path.join(folder, f".archive-{os.urandom(8).hex()}")
    try:
        came = await fetching.download(url, archive, max_bytes=limits.max_bytes)
        await anyio.to_thread.run_sync(unpack, archive, folder, limits)
    except ClawftError as error:
        if error.diagnostic.path == archive:
            error.diagnostic = structs.replace(error.diagnostic, path=url)  # what the user knows
        raise
    finally:
        await fetching.aclose()
        with suppress(FileNotFoundError):
            os.unlink(archive)
    return Fetched(url, archive=came.sha256)
