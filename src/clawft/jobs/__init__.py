"""Runs that survive: in the background, across crashes and machines. Loaded only by what needs them."""

import os
from importlib.util import find_spec

from clawft.config.jobs import RunsSettings
from clawft.errors import ClawftError
from clawft.files import is_there

__all__ = ["file_path", "is_installed", "is_used", "missing"]


def is_installed() -> bool:
    """Return whether the extra is there."""
    return all(find_spec(name) is not None for name in ("dbos", "sqlalchemy"))


def file_path(user_dir: str) -> str:
    """The database of runs, where no server is named."""
    return os.path.join(user_dir, "runs", "runs.sqlite")


def is_used(settings: RunsSettings, user_dir: str) -> bool:
    """Return whether there may be runs, even if they cannot be read, so that a user without any does not load the
    engine."""
    return bool(settings.database) or is_there(file_path(user_dir))


def missing() -> ClawftError:
    message = "Runs in the background need a part that is not installed"
    return ClawftError("durable-missing", message, hint="Install clawft[durable]")
