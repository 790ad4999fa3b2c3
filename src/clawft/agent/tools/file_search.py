"""The tools `list_directory`, `glob` and `grep`, and the bounded walk of folders that they share."""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypeVar

import re2  # type: ignore[import-untyped]
from anyio import to_thread
from msgspec import Meta, Struct

from clawft.agent.tools.file_access import (
    decode,
    open_folder,
    read_file_at,
    read_status_at,
    reading_filter,
    resolve_inside,
    show_path,
)
from clawft.agent.tools.tool import ArgumentAlias, Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.errors import Unreadable
from clawft.files import read_regular

T = TypeVar("T")
_MAX_DEPTH = 50
_MAX_ENTRIES = 200_000
_MAX_SECONDS = 20.0
# Made by machines for machines: looked into only where asked for by name.
_SKIPPED = frozenset({
    ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache",
    ".pytest_cache", ".tox", ".cache",
})  # fmt: skip
EntryKind = Literal["file", "folder", "link", "other"]
_KINDS: dict[int, EntryKind] = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


class FoundPath(Struct, frozen=True):
    """Something below the folder: its path from there, and `name` in the open folder `folder` until the next comes."""

    path: str
    kind: EntryKind
    size: int
    mtime_ns: int
    name: str
    folder: int


class WalkBudget:
    """The remaining budget of a directory walk. `spent` says why it had to stop, '' if it did not."""

    def __init__(self, max_entries: int = _MAX_ENTRIES, max_seconds: float = _MAX_SECONDS) -> None:
        self.spent = ""
        self.cancelled = threading.Event()
        self._max_entries = max_entries
        self._max_seconds = max_seconds
        self._left = max_entries
        self._until = time.monotonic() + max_seconds

    def take(self) -> bool:
        """Count one entry; False once there is nothing left to spend."""
        self._left -= 1
        if self.cancelled.is_set():
            self.spent = "it was cancelled"
        elif self._left < 0:
            self.spent = f"there are more than {self._max_entries} files and folders"
        elif time.monotonic() > self._until:
            self.spent = f"it took more than {self._max_seconds:g} seconds"
        return not self.spent


async def run_walk(work: Callable[[WalkBudget], T], budget: WalkBudget | None = None) -> T:
    """Do the work in a thread, which stops soon after the wait for it was cancelled."""
    budget = budget or WalkBudget()
    try:
        return await to_thread.run_sync(work, budget, abandon_on_cancel=True)
    finally:
        budget.cancelled.set()


def walk_tree(
    real: str, budget: WalkBudget, *, may_read: Callable[[str], bool], max_depth: int = _MAX_DEPTH
) -> Iterator[FoundPath]:
    """All below a folder, each folder before what is in it, sorted by name. What may not be read is not shown.

    Raises: OSError, ToolError.
    """
    with open_folder(real) as top:
        for where, folders, files, folder in os.fwalk(".", dir_fd=top):
            inner = where[2:]
            names = sorted([*folders, *files])
            folders.sort()
            depth = inner.count("/") + 2 if inner else 1
            entered = []
            for name in names:
                path = f"{inner}/{name}" if inner else name
                if not budget.take():
                    return
                if not may_read(f"{real.rstrip('/')}/{path}"):
                    continue
                found = _look(folder, path, name)
                if found is None:
                    continue
                if found.kind == "folder" and depth < max_depth and name not in _SKIPPED:
                    entered.append(name)
                yield found
            folders[:] = entered


def _look(folder: int, path: str, name: str) -> FoundPath | None:
    status = read_status_at(folder, name)
    if status is None:  # gone meanwhile
        return None
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
    return FoundPath(path, kind, status.st_size, status.st_mtime_ns, name, folder)


_LIST_DIRECTORY_MAX_ENTRIES = 1000
_DESCRIPTION = """\
List a folder of the project: folders end in `/`, links show where they lead, files their size in bytes. With `depth`
what is in its folders too, except in those that programs keep for themselves, such as .git and node_modules."""


class ListDirectoryArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The folder; the current one unless given.")] = "."
    depth: Annotated[int, Meta(ge=1, le=10, description="How deep to look; 1 is the folder alone.")] = 1


def list_directory_tool() -> Tool:
    return define_tool("list_directory", _DESCRIPTION, ListDirectoryArguments, _run, read_only=True)


async def _run(arguments: ListDirectoryArguments, context: ToolContext) -> ToolResult:
    real = resolve_inside(context, arguments.path)
    may_read = reading_filter(context, real)

    def work(budget: WalkBudget) -> list[str]:
        if os.path.isfile(real):
            raise ToolError("INVALID_PARAM", f"'{arguments.path}' is a file", hint="read_file reads it")
        found = walk_tree(real, budget, may_read=may_read, max_depth=arguments.depth)
        return [_show(entry) for entry in found]

    budget = WalkBudget(_LIST_DIRECTORY_MAX_ENTRIES)
    lines = sorted(await run_walk(work, budget))
    text = "\n".join([f"{show_path(context, real)}:", *(lines or ["(empty)"])])
    data = {"entries": len(lines)}
    if budget.spent:
        text += f"\n[cut: {len(lines)} entries are shown; {budget.spent}; list a folder below, or use glob]"
        return ToolResult(text, "partial", data, path_resolved=real)
    return ToolResult(text, data=data, path_resolved=real)


def _show(found: FoundPath) -> str:
    if found.kind == "folder":
        return f"{found.path}/"
    if found.kind == "link":
        return f"{found.path} -> {_lead(found)}"
    return f"{found.path}  {found.size}" if found.kind == "file" else f"{found.path}  (special)"


def _lead(found: FoundPath) -> str:
    try:
        return os.readlink(found.name, dir_fd=found.folder)
    except OSError:
        return "?"


_MAX_RESULTS = 200
_MAX_PATTERN = 500
_GLOB_DESCRIPTION = """\
Find files of the project by a pattern: `*` and `?` stay inside a name, `**` crosses folders, `{a,b}` is one of both.
A pattern without `/` is looked for at every depth. Newest files come first. Folders such as .git and node_modules are
left out unless `path` names them."""


class GlobArguments(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(min_length=1, description="The pattern: `src/**/*.py`, `*.{md,txt}`.")]
    path: Annotated[str, Meta(description="The folder to look in; the current one unless given.")] = "."


def glob_tool() -> Tool:
    return define_tool("glob", _GLOB_DESCRIPTION, GlobArguments, _run_glob, read_only=True)


async def _run_glob(arguments: GlobArguments, context: ToolContext) -> ToolResult:
    matches = compile_glob(arguments.pattern)
    real = resolve_inside(context, arguments.path)
    may_read = reading_filter(context, real)

    def work(budget: WalkBudget) -> list[FoundPath]:
        walked = walk_tree(real, budget, may_read=may_read)
        return [
            entry
            for entry in walked
            if entry.kind in ("file", "link") and matches.fullmatch(entry.path.encode("utf-8", "replace"))
        ]

    budget = WalkBudget()
    found = sorted(await run_walk(work, budget), key=lambda one: (-one.mtime_ns, one.path))
    paths = [show_path(context, f"{real.rstrip('/')}/{entry.path}") for entry in found[:_MAX_RESULTS]]
    text = "\n".join(paths) or "No file matches"
    data = {"matches": len(found)}
    cut = f"{_MAX_RESULTS} of {len(found)} files are shown" if len(found) > _MAX_RESULTS else ""
    if cut or budget.spent:
        why = "; ".join(filter(None, (cut, budget.spent and f"the search stopped, since {budget.spent}")))
        return ToolResult(f"{text}\n[cut: {why}; narrow the pattern or the path]", "partial", data, path_resolved=real)
    return ToolResult(text, data=data, path_resolved=real)


def compile_glob(pattern: str) -> Any:
    """A matcher of whole relative paths, as bytes.

    Raises: ToolError.
    """
    plain = pattern.removeprefix("./")
    if len(plain) > _MAX_PATTERN or plain.startswith(("/", "~")) or ".." in plain.split("/"):
        raise ToolError(
            "INVALID_PARAM", f"'{pattern[:80]}' is no pattern below a folder", hint="Give the folder as `path`"
        )
    if "/" not in plain:
        plain = f"**/{plain}"
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_translate(plain).encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ToolError("INVALID_PARAM", f"'{pattern}' is no pattern") from error


def _translate(pattern: str) -> str:
    """Translate a glob to a regular expression. Braces may be nested; one that never closes is literal."""
    result, at, open_braces = "", 0, 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            result, at = result + "(?:[^/]+/)*", at + 3
            continue
        if pattern.startswith("**", at):
            result, at = result + ".*", at + 2
            continue
        end = pattern.find("]", at + 2) if char == "[" else -1
        if end > 0:
            inner = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            result, at = result + f"[{'^/' + inner[1:] if inner[0] in '!^' else inner}]", end + 1
            continue
        if char == "{" and pattern.count("}", at) > open_braces:
            result, open_braces = result + "(?:", open_braces + 1
        elif char == "}" and open_braces:
            result, open_braces = result + ")", open_braces - 1
        elif char == "," and open_braces:
            result += "|"
        else:
            result += {"*": "[^/]*", "?": "[^/]"}.get(char) or re2.escape(char)
        at += 1
    return result


_MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_LINE_CHARS = 300
_MAX_CHARS = 30_000
_GREP_DESCRIPTION = """\
Search the text files of the project, line by line, with a regular expression (RE2: no look-around, no
back-references). A line that matches is shown as `path:line:text`, a line around it as `path-line-text`. Binary files
and folders such as .git and node_modules are left out."""


_GREP_ALIASES = {
    "include": ArgumentAlias("glob"),
    "-i": ArgumentAlias("ignore_case"),
    **dict.fromkeys(("-C", "-A", "-B"), ArgumentAlias("context")),
    "head_limit": ArgumentAlias("max_results"),
    **dict.fromkeys(("-n", "output_mode"), ArgumentAlias()),  # lines and their numbers are shown in any case
}


class GrepArguments(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(min_length=1, max_length=2000, description="The regular expression.")]
    path: Annotated[str, Meta(description="The folder or file to search; the current folder unless given.")] = "."
    glob: Annotated[str, Meta(description="Only files with such a path: `*.py`, `src/**/*.ts`.")] = "**"
    context: Annotated[int, Meta(ge=0, le=20, description="How many lines around a match to show.")] = 0
    ignore_case: Annotated[bool, Meta(description="Take capital and small letters as the same.")] = False
    max_results: Annotated[int, Meta(ge=1, le=1000, description="How many matching lines to show.")] = 100


class _Search:
    """The matches found so far."""

    def __init__(self, arguments: GrepArguments, regex: Any, wanted: Any) -> None:
        self.arguments = arguments
        self.regex = regex
        self.wanted = wanted
        self.lines: list[str] = []
        self.chars = 0
        self.matches = 0
        self.files = 0
        self.skipped = 0

    @property
    def full(self) -> bool:
        return self.matches >= self.arguments.max_results or self.chars >= _MAX_CHARS

    def look_into(self, raw: bytes, shown: str) -> None:
        """Add the matching lines of one file."""
        decoded = decode(raw)
        if decoded is None:
            return
        lines = decoded.text.split("\n")
        hits = self._find_hits(lines)
        if hits:
            self.files += 1
            self.matches += len(hits)
            for text in _show_grep(lines, hits, shown, self.arguments.context):
                self.lines.append(text)
                self.chars += len(text) + 1

    def _find_hits(self, lines: list[str]) -> list[int]:
        hits: list[int] = []
        for index, line in enumerate(lines):
            if self.regex.search(line.encode("utf-8", "replace")):
                hits.append(index)
                if self.matches + len(hits) >= self.arguments.max_results:
                    break
        return hits


def grep_tool() -> Tool:
    return define_tool("grep", _GREP_DESCRIPTION, GrepArguments, _run_grep, read_only=True, aliases=_GREP_ALIASES)


async def _run_grep(arguments: GrepArguments, context: ToolContext) -> ToolResult:
    search = _Search(arguments, _compile(arguments), compile_glob(arguments.glob))
    real = resolve_inside(context, arguments.path)
    budget = WalkBudget()
    await run_walk(lambda budget: _search(search, context, real, budget), budget)
    notes = [f"{search.skipped} files over {_MAX_FILE_BYTES} bytes were left out"] if search.skipped else []
    if search.full:
        notes.append("there may be more matches")
    if budget.spent:
        notes.append(f"the search stopped, since {budget.spent}")
    data = {"matches": search.matches, "files": search.files}
    text = "\n".join(search.lines) or "No line matches"
    if notes:
        text = f"{text}\n[cut: {'; '.join(notes)}; narrow the pattern, the glob or the path]"
        return ToolResult(text, "partial", data, path_resolved=real)
    return ToolResult(text, data=data, path_resolved=real)


def _compile(arguments: GrepArguments) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not arguments.ignore_case
    try:
        return re2.compile(arguments.pattern.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ToolError(
            "INVALID_PARAM",
            f"`pattern` is no regular expression: {arguments.pattern[:200]}",
            hint="RE2 has neither look-around nor back-references; `\\` before a sign means the sign itself",
        ) from error


def _search(search: _Search, context: ToolContext, real: str, budget: WalkBudget) -> None:
    if os.path.isfile(real):
        search.look_into(read_file_at(real, 4 * _MAX_FILE_BYTES)[0], show_path(context, real))
        return
    for found in walk_tree(real, budget, may_read=reading_filter(context, real)):
        if found.kind != "file" or not search.wanted.fullmatch(found.path.encode("utf-8", "replace")):
            continue
        try:
            raw, _ = read_regular(found.name, _MAX_FILE_BYTES, folder=found.folder)
        except (Unreadable, OSError):
            search.skipped += found.size > _MAX_FILE_BYTES
            continue
        search.look_into(raw, show_path(context, f"{real.rstrip('/')}/{found.path}"))
        if search.full:
            return


def _show_grep(lines: list[str], hits: list[int], shown: str, around: int) -> Iterator[str]:
    """Matching lines with those around them; `--` stands where lines are left out."""
    wanted = sorted({i for hit in hits for i in range(max(0, hit - around), min(len(lines), hit + around + 1))})
    matching, last = set(hits), -1
    for index in wanted:
        if around and last >= 0 and index > last + 1:
            yield "--"
        sign = ":" if index in matching else "-"
        line = lines[index].removesuffix("\r")
        yield f"{shown}{sign}{index + 1}{sign}{line[:_MAX_LINE_CHARS]}{'…' if len(line) > _MAX_LINE_CHARS else ''}"
        last = index
