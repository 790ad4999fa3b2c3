"""The tool `grep`: lines by a regular expression, in time that grows with the text alone (RE2)."""

import os
from collections.abc import Iterator
from typing import Annotated, Any

import re2  # type: ignore[import-untyped]
from msgspec import Meta, Struct

from clawft.errors import Unreadable
from clawft.files import read_regular
from clawft.tools.beneath import read_file_at
from clawft.tools.encoding import decode
from clawft.tools.glob import compile_glob
from clawft.tools.paths import reading_filter, resolve_inside, show_path
from clawft.tools.tool import Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.tools.tree import Budget, run_walk, walk_tree

__all__ = ["grep_tool"]

_MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_LINE_CHARS = 300
_MAX_CHARS = 30_000
_DESCRIPTION = """\
Search the text files of the project, line by line, with a regular expression (RE2: no look-around, no
back-references). A line that matches is shown as `path:line:text`, a line around it as `path-line-text`. Binary files
and folders such as .git and node_modules are left out."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(min_length=1, max_length=2000, description="The regular expression.")]
    path: Annotated[str, Meta(description="The folder or file to search; the current folder unless given.")] = "."
    glob: Annotated[str, Meta(description="Only files with such a path: `*.py`, `src/**/*.ts`.")] = "**"
    context: Annotated[int, Meta(ge=0, le=20, description="How many lines around a match to show.")] = 0
    ignore_case: Annotated[bool, Meta(description="Take capital and small letters as the same.")] = False
    max_results: Annotated[int, Meta(ge=1, le=1000, description="How many matching lines to show.")] = 100


class _Search:
    """What was found so far."""

    def __init__(self, arguments: Arguments, regex: Any, wanted: Any) -> None:
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
            for text in _show(lines, hits, shown, self.arguments.context):
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
    return define_tool("grep", _DESCRIPTION, Arguments, _run, read_only=True)


async def _run(arguments: Arguments, context: ToolContext) -> ToolResult:
    search = _Search(arguments, _compile(arguments), compile_glob(arguments.glob))
    real = resolve_inside(context, arguments.path)
    budget = Budget()
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


def _compile(arguments: Arguments) -> Any:
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


def _search(search: _Search, context: ToolContext, real: str, budget: Budget) -> None:
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


def _show(lines: list[str], hits: list[int], shown: str, around: int) -> Iterator[str]:
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
