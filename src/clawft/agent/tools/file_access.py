"""File access of tools: which paths they may use, opening a file without following new links, and its text encoding."""

import codecs
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct

from clawft.agent.tools.tool import ToolContext, ToolError
from clawft.errors import Unreadable
from clawft.files import is_within, is_within_any, read_regular, real_path, real_paths
from clawft.git import REPOSITORY_PARTS, has_repository
from clawft.sandbox.secret_files import holds_secret
from clawft.sandbox.session_tmp import TMP, make_session_tmp
from clawft.trust.protected_paths import is_private, is_protected, own_folders, steers_in_home
from clawft.workspace import resolve_path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A folder on the way needs the right to pass only, not to list.
_PASS = _FOLDER | getattr(os, "O_PATH", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_folder(real: str, *, create: bool = False) -> Iterator[int]:
    """A descriptor of a folder whose path has no links; missing folders are made on `create`.

    Raises: OSError, ToolError.
    """
    parts = [part for part in real.split("/") if part]
    descriptor = os.open("/", _FOLDER if not parts else _PASS)
    try:
        for index, part in enumerate(parts):
            flags = _FOLDER if index == len(parts) - 1 else _PASS
            inner = _open_part(descriptor, part, flags, create=create)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open_part(folder: int, name: str, flags: int, *, create: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not create:
            raise
        with suppress(FileExistsError):  # another process created it
            os.mkdir(name, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder)
    except NotADirectoryError as error:
        raise ToolError("NOT_FOUND", f"'{name}' is no folder, or became a link just now") from error


def read_file_at(real: str, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """The bytes and status of a regular file.

    Raises: OSError, ToolError.
    """
    name = os.path.basename(real)
    with open_folder(os.path.dirname(real)) as folder:
        try:
            return read_regular(name, max_bytes, folder=folder)
        except Unreadable as error:
            raise _translate(error, name) from error


def _translate(error: Unreadable, name: str) -> ToolError:
    if error.code == "not-a-file":
        return ToolError("INVALID_PARAM", f"'{name}' is not a regular file", hint="list_directory shows folders")
    if error.code == "file-too-large":
        return ToolError("INVALID_PARAM", f"'{name}': {error}", hint="Look into it with grep")
    if error.code == "is-a-link":
        return ToolError("PERMISSION_DENIED", f"'{name}' became a link just now")
    denied = isinstance(error.__cause__, PermissionError)
    return ToolError("PERMISSION_DENIED" if denied else "EXECUTION_ERROR", f"'{name}': {error}")


def read_status_at(folder: int, name: str) -> os.stat_result | None:
    """The status of what stands under a name; of a link itself."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def write_file_at(real: str, content: bytes, before: os.stat_result | None, mode: int = 0) -> None:
    """Put a whole new content in place at once, or leave all as it was. `before` is what is being replaced; a file
    that is made gets the rights `mode`, 0 for the usual ones.

    Raises: OSError, ToolError.
    """
    name = os.path.basename(real)
    with open_folder(os.path.dirname(real), create=before is None) as folder:
        temporary = f".{secrets.token_hex(8)}.tmp"
        try:
            _write_new(folder, temporary, content, stat.S_IMODE(before.st_mode) if before else mode)
            if not _same(read_status_at(folder, name), before):
                raise ToolError("CONFLICT", f"'{name}' was changed meanwhile by somebody else", hint="Read it again")
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _remove(folder, temporary)
            raise
        os.fsync(folder)


def remove_file_at(real: str, before: os.stat_result) -> None:
    """Remove a file, if it is still the one that was looked at.

    Raises: OSError, ToolError.
    """
    name = os.path.basename(real)
    with open_folder(os.path.dirname(real)) as folder:
        if not _same(read_status_at(folder, name), before):
            raise ToolError("CONFLICT", f"'{name}' was changed meanwhile by somebody else")
        os.unlink(name, dir_fd=folder)


def _write_new(folder: int, name: str, content: bytes, mode: int) -> None:
    descriptor = os.open(name, _NEW, 0o600 if mode else 0o666, dir_fd=folder)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if mode:
            os.fchmod(descriptor, mode & 0o777)
        os.fsync(descriptor)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _same(now: os.stat_result | None, before: os.stat_result | None) -> bool:
    if now is None or before is None:
        return now is before
    return (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) == (
        before.st_dev,
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
    )


_LOOK_AT = 8192
# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class DecodedFile(Struct, frozen=True):
    """A text, and what is needed to write it back: its encoding and the mark at its start."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """The line ending that most lines have."""
        return "\r\n" if 2 * self.text.count("\r\n") > self.text.count("\n") else "\n"


def decode(raw: bytes) -> DecodedFile | None:
    """The text of a file; None if it is none. What is neither marked nor UTF-8 is taken as Latin-1."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _try(raw[len(mark) :], encoding, mark)
    if b"\0" in raw[:_LOOK_AT]:
        return None
    return _try(raw, "utf-8", b"") or DecodedFile(raw.decode("latin-1"), "latin-1")


def encode(text: str, like: DecodedFile) -> bytes:
    """A text in the encoding of the file it goes to.

    Raises: ToolError.
    """
    try:
        return like.mark + text.encode(like.encoding)
    except UnicodeEncodeError as error:
        raise ToolError("INVALID_PARAM", f"The text has characters that {like.encoding} cannot hold") from error


def _try(raw: bytes, encoding: str, mark: bytes) -> DecodedFile | None:
    try:
        return DecodedFile(raw.decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        return None


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
    # Only by that name: a relative path means what lies around the project, also where that lies in /tmp.
    real = (_find_in_tmp(context, full) if written.startswith(TMP) else "") or real_path(full)
    if not real or not project:
        raise ToolError("PERMISSION_DENIED", f"The links of '{path}' lead nowhere")
    if not write and not (context.permission.may_read(real) and context.permission.may_read(full)):
        raise ToolError("PERMISSION_DENIED", f"A rule denies to read '{path}'", hint="See: weft permissions list")
    context.permission.check_path(real)  # what was judged before may have become a link since
    if not write and is_within_any(real, _reading_roots(context)):
        return real
    if context.commands and is_within(real, context.commands.tmp):
        return real
    if not is_within(real, project):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' is outside the project",
            hint=f"Files may be {'written' if write else 'read'} inside {context.workspace.project} only",
        )
    relatives = [os.path.relpath(candidate, project) for candidate in {full, real} if is_within(candidate, project)]
    _check_rules(context, path, real)
    _check_private(path, real, relatives)
    if write:
        home = real_path(context.workspace.home)
        at_home = project == home
        steers = any(steers_in_home(candidate, home) for candidate in (full, real)) or _is_in_repository(real, project)
        _check_steering(path, relatives, steers=steers)
        _check_own(path, real, _program_folders(context) if at_home else ())
    return real


def _find_in_tmp(context: ToolContext, full: str) -> str:
    """Find what commands see as a path below `/tmp`; '' for any other, and where they see this machine's.

    Raises: ToolError for a link, which may lead commands to another place than file tools.
    """
    commands = context.commands
    if commands is None or not is_within(full, TMP):
        return ""
    places = context.workspace
    apart = [*real_paths((places.project, places.home, places.user_dir)), *_reading_roots(context)]
    if is_within_any(full, apart) or is_within_any(real_path(full), apart):
        return ""
    if context.sandbox.status().kind not in ("bubblewrap", "landlock"):
        return ""
    make_session_tmp(commands.tmp)
    folder = real_path(commands.tmp)
    found = os.path.normpath(os.path.join(folder, os.path.relpath(full, TMP)))
    if real_path(found) != found:
        raise ToolError("PERMISSION_DENIED", f"'{full}' leads through a link in /tmp, which file tools do not follow")
    return found


def base_folder(context: ToolContext) -> str:
    """The folder relative paths start at: the current one, if it is inside the project."""
    project, cwd = real_paths((context.workspace.project, context.workspace.cwd))
    return cwd if is_within(cwd, project) else project


def reading_filter(context: ToolContext, root: str) -> Callable[[str], bool]:
    """Tells, for walks below a folder that may be read, which real paths are left out of them."""
    roots = (*_reading_roots(context), *((context.commands.tmp,) if context.commands else ()))
    if is_within_any(root, roots):
        return context.permission.may_read
    project = real_path(context.workspace.project)
    closed = {root for root, _ in _closed_roots(context)}

    def may_read(path: str) -> bool:
        is_open = path not in closed and not is_private(os.path.relpath(path, project))
        return is_open and context.permission.may_read(path) and not holds_secret(path)

    return may_read


def show_path(context: ToolContext, real: str) -> str:
    """A path as a tool says it, so that a tool understands it again: relative to where relative paths start."""
    base = base_folder(context)
    if context.commands and is_within(real, context.commands.tmp):
        return os.path.normpath(os.path.join(TMP, os.path.relpath(real, context.commands.tmp)))
    return os.path.relpath(real, base) if is_within(real, base) else real


def _reading_roots(context: ToolContext) -> Iterable[str]:
    return (real_path(root) for root in (context.files.spill_dir, *context.read_roots))


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
    """Check that a path is in no folder that is refused inside the project too, which may be the home folder or even
    `/`. Raises: ToolError."""
    for root, reason in _closed_roots(context):
        if is_within(real, root):
            raise ToolError("PERMISSION_DENIED", f"'{path}' {reason}")


def _closed_roots(context: ToolContext) -> list[tuple[str, str]]:
    project, user_dir = real_path(context.workspace.project), real_path(context.workspace.user_dir)
    closed = [(root, "belongs to the system, not to the project") for root in _SYSTEM]
    closed.append((user_dir, "holds this program's own settings and records"))
    home = real_path(context.workspace.home)
    closed.append(
        (home, "is in your home folder, which lies inside this project: start weft in the folder you work on")
    )
    return [(root, reason) for root, reason in closed if root and not is_within(project, root)]


def _check_private(path: str, real: str, relatives: Iterable[str]) -> None:
    if any(is_private(relative) for relative in relatives) or holds_secret(real):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' is a place for keys and passwords, which file tools leave alone",
            hint="A person can do this by hand",
        )


def _check_steering(path: str, relatives: Iterable[str], *, steers: bool) -> None:
    if steers or any(map(is_protected, relatives)):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' steers programs or agents; tools do not write there",
            hint="Show the person the change, to be made by hand",
        )


def _is_in_repository(real: str, project: str) -> bool:
    """Return whether a path lies among the files of a repository of git, which may have another name than `.git`, or
    would make a folder one."""
    folder, name = os.path.split(real)
    while is_within(folder, project):
        if has_repository({part for part in REPOSITORY_PARTS if os.path.lexists(f"{folder}/{part}")} | {name}):
            return True
        folder, name = os.path.split(folder)
    return False


def _program_folders(context: ToolContext) -> tuple[str, ...]:
    """Return the folders where the user's shell searches for programs."""
    return tuple(real_path(part) for part in context.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(part))


def _check_own(path: str, real: str, programs: Iterable[str]) -> None:
    if is_within_any(real, programs):
        raise ToolError("PERMISSION_DENIED", f"'{path}' is where your shell finds programs; tools do not write there")
    if is_within_any(real, own_folders()):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' is a part of this program itself, which tools do not change",
            hint="A person can do this by hand, or install weft elsewhere",
        )
