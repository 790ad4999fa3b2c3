"""A parser's complaint about a config file, in terms of the file: the line, the key, and what was meant."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from clawft.config.keys import Path, join_path
from clawft.config.load import SECTIONS, Layer, section_type
from clawft.config.locate import find_line, find_twice, locate_keys
from clawft.config.schema import Problem, find_meant, find_problem
from clawft.errors import ClawftError
from clawft.files import why_damaged

__all__ = ["explain_syntax", "explain_twice", "explain_value", "line_of"]


def explain_syntax(error: Exception, path: str, data: bytes) -> ClawftError:
    """A file that is not TOML or JSON, or no text at all."""
    text = str(error)
    if (why := why_damaged(data, error)) != text:
        hint = "Restore it from a backup; or move it away, and begin anew with the defaults"
        return ClawftError("config-invalid", f"{os.path.basename(path)} is damaged: {why}", path=path, hint=hint)
    line, byte = re.search(r"line (\d+)", text), re.search(r"\(byte (\d+)\)", text)
    if line:
        number = int(line[1])
    elif byte:
        number = data.count(b"\n", 0, int(byte[1])) + 1
    else:
        number = data.rstrip().count(b"\n") + 1
    return ClawftError("config-invalid", f"The config cannot be parsed: {text}", path=path, line=number)


def explain_twice(source: str, data: bytes, path: Path | None = None) -> ClawftError:
    """A key that stands in its table twice, perhaps in two spellings."""
    place = find_twice(locate_keys(data, toml=source.endswith(".toml")), path)
    key, line = place or (path or (), 0)
    return ClawftError("config-invalid", f"{join_path(key)} is set twice", path=source, line=line, hint="Keep one")


def explain_value(layer: Layer, convert: Callable[[Any, Any], Any]) -> ClawftError:
    """A value of the wrong type, or a key that does not exist."""
    problem = next(_find_problems(layer, convert))
    line = line_of(layer, problem.path)
    if problem.message:
        message = f"{join_path(problem.path)}: {problem.message}"
        return ClawftError("config-invalid", message, path=layer.source, line=line)
    kind = "section" if len(problem.path) == 1 else "setting"
    message = f"There is no {kind} '{join_path(problem.path)}'"
    return ClawftError("config-unknown-key", message, path=layer.source, line=line, hint=find_meant(problem.path))


def _find_problems(layer: Layer, convert: Callable[[Any, Any], Any]) -> Iterator[Problem]:
    for name, value in layer.values.items():
        if name in SECTIONS:
            problem = find_problem(value, section_type(name), convert, (name,))
            if problem:
                yield problem
        else:
            yield Problem((name,))


def line_of(layer: Layer, path: Path) -> int:
    """The line that sets something in a layer; 0 for a variable."""
    return find_line(path, locate_keys(layer.data, toml=layer.source.endswith(".toml"))) if layer.data else 0
