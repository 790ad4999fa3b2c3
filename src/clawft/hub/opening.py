"""Which store the settings mean."""

import os
from collections.abc import Mapping

from clawft.config.hub import HubSettings
from clawft.errors import ClawftError
from clawft.files import is_there
from clawft.hub.store import DATABASE, HubStore

__all__ = ["describe_place", "has_store", "open_store", "store_folder"]


def store_folder(settings: HubSettings, user_dir: str) -> str:
    """Where the hub keeps its files, unless a server has all of it."""
    return os.path.expanduser(settings.folder) if settings.folder else os.path.join(user_dir, "hub")


def describe_place(settings: HubSettings, user_dir: str) -> str:
    """Where the hub keeps everything, for people to read: no address, for it holds a password."""
    return f"PostgreSQL ({settings.database})" if settings.database else store_folder(settings, user_dir)


def has_store(settings: HubSettings, user_dir: str) -> bool:
    """Whether there is one already; a server is taken to have one."""
    return settings.database is not None or is_there(os.path.join(store_folder(settings, user_dir), DATABASE))


def open_store(settings: HubSettings, user_dir: str, environ: Mapping[str, str]) -> HubStore:
    """The hub's store, made if it is not there. Raises: ClawftError."""
    if settings.database is None:
        return HubStore.open_folder(store_folder(settings, user_dir))
    address = settings.database.resolve(environ)
    if not address:
        message = f"The address of the hub's database is not set: {settings.database}"
        raise ClawftError("hub-database", message, hint="Set what hub.database refers to")
    return HubStore.open_shared(address)
