"""Where file tools may go: inside the project, and nowhere that holds secrets or gives power.

A path is judged by what it says and by where its links lead. `beneath` then opens exactly that place.
"""

import os
from collections.abc import Callable, Iterable

from clawft.files import is_within, real_path
from clawft.sandbox.secret_files import holds_secret
from clawft.tools.tool import ToolContext, ToolError
from clawft.trust.places import is_power, is_private, own_folders, steers_home
from clawft.workspace import resolve_path

__all__ = ["base_folder", "reading_filter", "resolve_inside", "show_path"]

_MAX_PATH = 4096
_MAX_NAME = 255
_SYSTEM = ("/proc", "/sys", "/dev")


def resolve_inside(context: ToolContext, path: str, *, write: bool = False) -> str:
    """The real, absolute path that a tool may use, all links resolved; whether it exists is not looked at.

    Raises: ToolError.
    """
    written = _check_text(path)
    project = real_path(context.workspace.project)
    full = resolve_path(written, base_folder(context), context.workspace.home)
    real = real_path(full)
    if not real or not project:
        raise ToolError("PERMISSION_DENIED", f"The links of '{path}' lead nowhere")
    if not write and not (context.may_read(real) and context.may_read(full)):
        raise ToolError("PERMISSION_DENIED", f"A rule denies to read '{path}'", hint="See: weft permissions list")
    context.check_path(real)  # what was judged before may have become a link since
    if not write and any(is_within(real, root) for root in _reading_roots(context)):
        return real
    if not is_within(real, project):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' is outside the project",
            hint=f"Files may be {'written' if write else 'read'} inside {context.workspace.project} only",
        )
    relatives = [os.path.relpath(one, project) for one in {full, real} if is_within(one, project)]
    _check_rules(context, path, real)
    _check_private(path, real, relatives)
    if write:
        at_home = project == real_path(context.workspace.home)
        _check_power(path, relatives, at_home=at_home)
        _check_own(path, real, _program_folders(context) if at_home else ())
    return real


def base_folder(context: ToolContext) -> str:
    """The folder relative paths start at: the current one, if it is inside the project."""
    project, cwd = real_path(context.workspace.project), real_path(context.workspace.cwd)
    return cwd if is_within(cwd, project) else project


def reading_filter(context: ToolContext, root: str) -> Callable[[str], bool]:
    """Tells, for walks below a folder that may be read, which real paths are left out of them."""
    if any(is_within(root, one) for one in _reading_roots(context)):
        return context.may_read
    project = real_path(context.workspace.project)
    closed = {root for root, _ in _closed_roots(context)}

    def may_read(path: str) -> bool:
        is_open = path not in closed and not is_private(os.path.relpath(path, project))
        return is_open and context.may_read(path) and not holds_secret(path)

    return may_read


def show_path(context: ToolContext, real: str) -> str:
    """A path as a tool says it, so that a tool understands it again: relative to where relative paths start."""
    base = base_folder(context)
    return os.path.relpath(real, base) if is_within(real, base) else real


def _reading_roots(context: ToolContext) -> Iterable[str]:
    return (real_path(root) for root in (context.spill_dir, *context.read_roots))


def _check_text(path: str) -> str:
    if not path.strip():
        raise ToolError("INVALID_PARAM", "The path is empty")
    if "\0" in path:
        raise ToolError("INVALID_PARAM", "The path has a NUL character")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ToolError("INVALID_PARAM", "The path has characters that no file name can have") from error
    if len(encoded) > _MAX_PATH or any(len(name) > _MAX_NAME for name in encoded.split(b"/")):
        raise ToolError("INVALID_PARAM", f"The path is too long: {_MAX_PATH} bytes, {_MAX_NAME} for each name")
    return path


def _check_rules(context: ToolContext, path: str, real: str) -> None:
    """What is refused inside the project too, which may be the home folder or even `/`."""
    for root, reason in _closed_roots(context):
        if is_within(real, root):
            raise ToolError("PERMISSION_DENIED", f"'{path}' {reason}")


def _closed_roots(context: ToolContext) -> list[tuple[str, str]]:
    project, user_dir = real_path(context.workspace.project), real_path(context.workspace.user_dir)
    closed = [(root, "belongs to the system, not to the project") for root in _SYSTEM]
    closed.append((user_dir, "holds this program's own settings and records"))
    return [(root, reason) for root, reason in closed if not is_within(project, root)]


def _check_private(path: str, real: str, relatives: Iterable[str]) -> None:
    if any(is_private(relative) for relative in relatives) or holds_secret(real):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' is a place for keys and passwords, which file tools leave alone",
            hint="A person can do this by hand",
        )


def _check_power(path: str, relatives: Iterable[str], *, at_home: bool) -> None:
    if any(is_power(one) or (at_home and steers_home(one.partition("/")[0])) for one in relatives):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' steers programs or agents; tools do not write there",
            hint="Show the person the change, to be made by hand",
        )


def _program_folders(context: ToolContext) -> tuple[str, ...]:
    """Where the person's shell searches for programs."""
    return tuple(real_path(one) for one in context.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(one))


def _check_own(path: str, real: str, programs: Iterable[str]) -> None:
    if any(is_within(real, folder) for folder in programs):
        raise ToolError("PERMISSION_DENIED", f"'{path}' is where your shell finds programs; tools do not write there")
    if any(is_within(real, own) for own in own_folders()):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' is a part of this program itself, which tools do not change",
            hint="A person can do this by hand, or install weft elsewhere",
        )
