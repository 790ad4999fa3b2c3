"""What commands of the hub share: the store, and which skill and version a name means."""

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

import click
from msgspec import structs

from clawft.app import App
from clawft.config.hub import HubSettings, own_hub
from clawft.errors import ClawftError, NotFound
from clawft.hub.model import HubRelease, HubSkill
from clawft.hub.opening import has_store, store_folder
from clawft.hub.opening import open_store as open_configured
from clawft.hub.store import HubStore

__all__ = [
    "check_installed",
    "count",
    "find_skill",
    "find_version",
    "folder_option",
    "hub_command",
    "need_store",
    "open_hub",
    "open_store",
    "settings_here",
    "split_name",
]

_NAME = re.compile(r"(?:@(?P<owner>[a-z0-9._-]+)/)?(?P<slug>[a-z0-9-]+)(?:@(?P<version>[0-9A-Za-z.+-]+))?")
_LISTED = 20  # versions that an error names
F = TypeVar("F", bound=Callable[..., Any])


def folder_option(function: F) -> F:
    text = "Use the hub that is kept there; else the one of hub.folder."
    return click.option("--folder", metavar="DIR", type=click.Path(file_okay=False), help=text)(function)


def hub_command(words: str, folder: str | None) -> str:
    """A command to type, for the same hub."""
    return f"weft hub {words}" + (f" --folder {shlex.quote(folder)}" if folder else "")


def check_installed() -> None:
    """Raises: ClawftError where what serves a hub is not there."""
    missing = [name for name in ("starlette", "uvicorn", "mcp", "python_multipart") if find_spec(name) is None]
    if missing:
        message = f"A hub cannot be served: {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed"
        raise ClawftError("hub-not-installed", message, hint="Run: pip install 'clawft[hub]'")


def settings_here(app: App, folder: str | None = None) -> HubSettings:
    """What the user says of their hub, with the folder that it really uses; `folder` is another one."""
    settings = own_hub(app.config, app.workspace.user_dir, app.environ)
    if folder:
        return structs.replace(settings, folder=os.path.abspath(folder), database=None)
    return structs.replace(settings, folder=store_folder(settings, app.workspace.user_dir))


def open_store(app: App, settings: HubSettings) -> HubStore:
    """The store that the settings mean, made if it is not there. Raises: ClawftError."""
    return open_configured(settings, app.workspace.user_dir, app.environ)


@contextmanager
def open_hub(app: App, folder: str | None = None) -> Iterator[HubStore]:
    """The store of the user's hub, or of the one in a folder, made if it is not there. Raises: ClawftError."""
    store = open_store(app, settings_here(app, folder))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def need_store(app: App, folder: str | None = None) -> Iterator[HubStore]:
    """The same, where there is one. Raises: NotFound."""
    if not has_store(settings_here(app, folder), app.workspace.user_dir):
        hint = f"Start one: {hub_command('serve', folder)}"
        raise NotFound("hub-none", "There is no hub here yet", path=folder or "", hint=hint)
    with open_hub(app, folder) as store:
        yield store


def split_name(text: str, *, version: bool) -> tuple[str, str, str]:
    """Owner, name and version of `@owner/slug@1.2.3`. Raises: UsageError."""
    found = _NAME.fullmatch(text)
    wanted = "@OWNER/NAME@VERSION" if version else "@OWNER/NAME"
    if found is None or bool(found["version"]) != version:
        raise click.UsageError(f"Name it as {wanted}, not {text[:100]!r}. The owner may be left out if it is clear")
    return found["owner"] or "", found["slug"], found["version"] or ""


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def find_skill(store: HubStore, slug: str, owner: str, folder: str | None = None) -> HubSkill:
    """The one skill that is meant; nothing is guessed. `folder` is where the hub is. Raises: ClawftError."""
    found = store.find(slug, owner)
    if len(found) > 1:
        owners = ", ".join(f"@{one.owner}/{one.slug}" for one in found)
        raise ClawftError("hub-ambiguous", f"Several owners have '{slug}': {owners}", hint="Name the owner")
    if not found:
        name = f"@{owner}/{slug}" if owner else slug
        raise NotFound("hub-not-found", f"The hub has no skill '{name}'", hint=f"Run: {hub_command('status', folder)}")
    return found[0]


def find_version(store: HubStore, skill: HubSkill, version: str) -> HubRelease:
    """One version, yanked or not; else what there is. Raises: NotFound."""
    known = store.versions(skill.id)
    found = next((one for one in known if one.version == version), None)
    if found is None:
        listed = ", ".join(f"{one.version}{' (yanked)' * bool(one.yanked)}" for one in known[:_LISTED])
        more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
        message = f"@{skill.owner}/{skill.slug} has no version {version}"
        raise NotFound("hub-not-found", message, hint=f"It has: {listed}{more}")
    return found
