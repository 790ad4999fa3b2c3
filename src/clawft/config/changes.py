"""Changes of settings as values: what shall change, and what a file had before."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

from msgspec import UNSET, Struct

ConfigScope = Literal["user", "project"]


class SettingChange(Struct, frozen=True):
    """Give the setting at a path a value; UNSET takes it out. A setting that is new in a TOML file gets the comment."""

    path: tuple[str, ...]
    value: Any = UNSET
    comment: str = ""


class EditedConfig(Struct, frozen=True):
    """The file that was meant, what each setting had in it before (UNSET for nothing), and whether it was written."""

    file: str
    before: tuple[Any, ...]
    changed: bool


# The settings that are about to get another value, each with what it had, to an open record and its last step.
Record = Callable[[Sequence[tuple[SettingChange, Any]]], AbstractContextManager[Callable[[], object]]]
# What to change; or what makes that from the values of the file, read while no other writer can change it.
Changes = Sequence[SettingChange] | Callable[[dict[str, Any]], Sequence[SettingChange]]
