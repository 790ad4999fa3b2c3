"""Runs that survive: in the background, across crashes and machines. Loaded only by what needs them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clawft.config.runs import RunsSettings
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from clawft.run.durable.runs import Runs

__all__ = ["is_installed", "missing", "open_runs"]


def is_installed() -> bool:
    """Whether the extra is there."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("dbos", "sqlalchemy"))


def missing() -> ClawftError:
    message = "Runs in the background need a part that is not installed"
    return ClawftError("durable-missing", message, hint="Install clawft[durable]")


def open_runs(settings: RunsSettings, user_dir: str, environ: Mapping[str, str]) -> "Runs":
    """The runs of the user's database. Raises: ClawftError, `durable-missing` without the extra."""
    if not is_installed():
        raise missing()
    from clawft.run.durable.runs import Runs

    return Runs(settings, user_dir, environ)
