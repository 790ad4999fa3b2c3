"""A plugin's folder: install it from an archive or a folder, or write a new one from a template. Runs no plugin
code."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal, get_args

from msgspec import Struct, structs

from clawft import __version__
from clawft.errors import ClawftError, Refused
from clawft.files import NEW, REMOVED, exchange_folders, is_within, real_path, remove_tree, sync_folder
from clawft.install.archive.target import PLUGIN
from clawft.install.archive.unpack import unpack
from clawft.skills.discovery.plugins import DiscoveredPlugin, load_plugin
from clawft.skills.parse.plugin import MANIFESTS
from clawft.trust.plugin_review import make_broken_error

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LEFT_S = 86_400


class StagedPlugin(Struct, frozen=True):
    """A plugin that is unpacked and read, and where it is to go; `old` is the one that stands there now."""

    found: DiscoveredPlugin
    target: str
    old: DiscoveredPlugin | None = None


@contextmanager
def stage_plugin(
    source: str, base: str, known: tuple[DiscoveredPlugin, ...], fetch: Callable[[str], None] | None = None
) -> Iterator[StagedPlugin]:
    """A plugin in a hidden folder of `base`, whose plugins are `known`; gone on leaving, unless it was placed.

    `fetch` puts the files of a source that is not on this machine into a folder.

    Raises: ClawftError; Refused for an archive that is unsafe; OSError.
    """
    os.makedirs(base, mode=0o700, exist_ok=True)
    if fetch is None and os.path.isdir(source):
        _check_folder(source, base)
    _sweep(base)
    place = os.path.join(base, f"{NEW}{os.urandom(8).hex()}")
    os.mkdir(place, 0o700)
    try:
        if fetch is not None:
            fetch(place)
        else:
            unpack(source, place, PLUGIN)
        found = load_plugin("user", _find_root(place))
        if found.manifest is None:
            original = structs.replace(found, folder=source, file=source)
            raise make_broken_error(original)
        yield _aim(found, base, known)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _check_folder(source: str, base: str) -> None:
    """Raises: ClawftError for a folder that nobody needs to copy to know that it is no plugin."""
    found = load_plugin("user", source)
    if found.manifest is None:
        raise make_broken_error(found)
    if is_within(real_path(base), real_path(source)):
        raise Refused("plugin-source", "The folder holds that of all plugins", path=source)


def _sweep(base: str) -> None:
    """Remove what processes left behind that were killed."""
    with os.scandir(base) as entries:
        for entry in entries:
            if (
                entry.name.startswith((NEW, REMOVED))
                and time.time() - entry.stat(follow_symlinks=False).st_mtime > _LEFT_S
            ):
                with suppress(OSError):
                    remove_tree(entry.path)


def _find_root(place: str) -> str:
    """Find the folder of the manifest: the top, or the only folder there, as in the archives of releases."""
    names = os.listdir(place)
    inner = os.path.join(place, names[0]) if len(names) == 1 else ""
    at_top = any(os.path.lexists(os.path.join(place, name)) for name in MANIFESTS)
    return inner if inner and not at_top and os.path.isdir(inner) else place


def _aim(found: DiscoveredPlugin, base: str, known: tuple[DiscoveredPlugin, ...]) -> StagedPlugin:
    """Choose the target folder of a plugin: that of the installed plugin with its id, or a new one. Raises:
    ClawftError."""
    if not _ID.fullmatch(found.id):
        raise ClawftError("plugin-manifest", f"'{found.id[:80]}' is no id that a folder could have", path=found.file)
    old = next(
        (plugin for plugin in known if plugin.scope == "user" and plugin.manifest and plugin.id == found.id), None
    )
    target = old.folder if old else os.path.join(base, found.id)
    if os.path.islink(target):
        hint = f"It leads to {os.path.realpath(target)}; remove the link first"
        raise Refused("plugin-exists", f"The plugin '{found.id}' is a link", path=target, hint=hint)
    if old is None and os.path.lexists(target):
        raise Refused("plugin-exists", "There is another folder of this name", path=target, hint="Remove it first")
    return StagedPlugin(found, target, old)


def place_plugin(staged: StagedPlugin) -> None:
    """Put a plugin into its place at once; the one that was there stays until then. Raises: OSError."""
    base = os.path.dirname(staged.target)
    if staged.old is None:
        os.rename(staged.found.folder, staged.target)
    else:
        exchange_folders(staged.found.folder, staged.target)  # what was there goes with the hidden folder
    sync_folder(base)


TemplateKind = Literal["tool", "channel", "stage", "memory", "wasm"]
KINDS: tuple[TemplateKind, ...] = get_args(TemplateKind)
_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
_NAME = re.compile(r"[a-z](-?[a-z0-9]){0,31}")
_MARK = re.compile(r"\{\{([a-z]+)\}\}")
_SUFFIX = ".in"  # of files that no tool of ours is to take for code


def make_plugin(name: str, kind: TemplateKind, plugin_id: str, folder: str) -> list[str]:
    """Write a new plugin into a folder that is not there yet; its files. Raises: ClawftError, OSError."""
    if not _NAME.fullmatch(name):
        hint = "Such as word-count: small letters and digits, with single dashes between them"
        raise ClawftError("plugin-name", f"'{name[:60]}' is no name for a plugin", hint=hint)
    values = {
        "id": plugin_id,
        "name": name,
        "word": name.replace("-", "_"),
        "title": name.replace("-", " ").capitalize(),
        "clawft": __version__,
    }
    try:
        os.makedirs(folder)
    except FileExistsError as error:
        raise Refused("plugin-exists", "There is a folder already", path=folder, hint="Choose another name") from error
    written = []
    for relative, path in sorted((*_list(os.path.join(_TEMPLATES, "all")), *_list(os.path.join(_TEMPLATES, kind)))):
        place = os.path.join(folder, relative.removesuffix(_SUFFIX))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(place, "x", encoding="utf-8") as file:
            file.write(_MARK.sub(lambda mark: values[mark[1]], text))
        written.append(place)
    return written


def _list(folder: str) -> Iterator[tuple[str, str]]:
    """The files of a template, by their path below it."""
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            yield os.path.relpath(path, folder), path
