"""The reference of settings, made from the `#:` comment above each field. Imported only by help and the docs."""

import inspect
import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from clawft.config.schema import walk_sections


def list_sections() -> dict[str, type[Struct]]:
    """The tables that hold settings themselves, by the head they have in a file without its brackets."""
    return {path: kind for path, kind in walk_sections() if any(settings_of(kind))}


def settings_of(kind: type[Struct]) -> Iterator[tuple[str, str, str]]:
    """The settings of a section, with their defaults as JSON or TOML has them and the `#:` comment above each."""
    rows = inspect.getsource(kind).split("\n")
    for field in msgspec.structs.fields(kind):
        row = next(number for number, line in enumerate(rows) if line.strip().startswith(f"{field.name}:"))
        comment: list[str] = []
        while line := re.match(r"\s*#: (.*)", rows[row - 1 - len(comment)]):
            comment.insert(0, line[1])
        if comment:
            yield field.name, _default_of(field), " ".join(comment)


def _default_of(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return " (required)"
    default = field.default_factory() if callable(field.default_factory) else field.default
    return "" if default is None else f" (default `{msgspec.json.encode(default).decode()}`)"


def explain_settings(path: str, kind: type[Struct], only: str = "") -> str:
    """The settings of a section, or the one of a name, as Markdown: its head, and a line for each."""
    head = f"[[{path[:-2]}]]" if path.endswith("[]") else f"[{path}]"
    shown = [setting for setting in settings_of(kind) if only in ("", setting[0])]
    return "\n".join([f"## {head}", "", *(f"- `{name}`{default}: {text}" for name, default, text in shown)])


def find_settings(key: str) -> str:
    """Return the documentation of a setting, a section or everything below it; '' for an unknown key."""
    parts = key.split(".")
    sections = list_sections()
    below = [explain_settings(path, kind) for path, kind in sections.items() if _starts(path, parts)]
    if below:
        return "\n\n".join(below)
    for path, kind in sections.items():
        if path.count(".") == len(parts) - 2 and _starts(path, parts[:-1]) and parts[-1] in kind.__struct_fields__:
            return explain_settings(path, kind, parts[-1])
    return ""


def _starts(path: str, parts: list[str]) -> bool:
    """Return whether a section's path starts with these parts; a placeholder for a user-chosen name matches any
    part."""
    known = path.replace("[]", "").split(".")
    return len(parts) <= len(known) and all(
        have in (want, "NAME", "MODEL") for want, have in zip(parts, known, strict=False)
    )
