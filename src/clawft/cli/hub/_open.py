"""What commands of the hub share: the store, and which skill and version a name means."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import click
from msgspec import structs

from clawft.app import App
from clawft.config.hub import HubSettings, own_hub
from clawft.errors import ClawftError, NotFound
from clawft.hub.model import HubSkill
from clawft.hub.opening import has_store, store_folder
from clawft.hub.opening import open_store as open_configured
from clawft.hub.store import HubStore

__all__ = [
    "check_installed",
    "count",
    "find_skill",
    "need_store",
    "open_hub",
    "open_store",
    "settings_here",
    "split_name",
]

_NAME = re.compile(r"(?:@(?P<owner>[a-z0-9._-]+)/)?(?P<slug>[a-z0-9-]+)(?:@(?P<version>[0-9A-Za-z.+-]+))?")


def check_installed() -> None:
    """Raises: ClawftError where what serves a hub is not there."""
    missing = [name for name in ("starlette", "uvicorn", "mcp", "python_multipart") if find_spec(name) is None]
    if missing:
        message = f"A hub cannot be served: {', '.join(missing)} is not installed"
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
def open_hub(app: App) -> Iterator[HubStore]:
    """The store of the user's hub, made if it is not there. Raises: ClawftError."""
    store = open_store(app, settings_here(app))
    try:
        yield store
    finally:
        store.close()


@contextmanager
def need_store(app: App) -> Iterator[HubStore]:
    """The same, where there is one. Raises: NotFound."""
    if not has_store(settings_here(app), app.workspace.user_dir):
        raise NotFound("hub-none", "There is no hub here yet", hint="Start one: weft hub serve")
    with open_hub(app) as store:
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


def find_skill(store: HubStore, slug: str, owner: str) -> HubSkill:
    """The one skill that is meant; nothing is guessed. Raises: ClawftError."""
    found = store.find(slug, owner)
    if len(found) > 1:
        owners = ", ".join(f"@{one.owner}/{one.slug}" for one in found)
        raise ClawftError("hub-ambiguous", f"Several owners have '{slug}': {owners}", hint="Name the owner")
    if not found:
        name = f"@{owner}/{slug}" if owner else slug
        raise NotFound("hub-not-found", f"The hub has no skill '{name}'", hint="Run: weft hub status")
    return found[0]
