"""A new plugin from a template: a manifest, code that works, and tests that pass."""

import os
import re
from collections.abc import Iterator
from typing import Literal, get_args

from clawft import __version__
from clawft.errors import ClawftError, Refused

__all__ = ["KINDS", "Kind", "make_plugin"]

Kind = Literal["tool", "channel", "stage", "memory", "wasm"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
_NAME = re.compile(r"[a-z](-?[a-z0-9]){0,31}")
_MARK = re.compile(r"\{\{([a-z]+)\}\}")
_SUFFIX = ".in"  # of files that no tool of ours is to take for code


def make_plugin(name: str, kind: Kind, plugin_id: str, folder: str) -> list[str]:
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
