"""The tool `glob`: files by the pattern of their path, newest first."""

from typing import Annotated, Any

import re2  # type: ignore[import-untyped]
from msgspec import Meta, Struct

from clawft.tools.paths import reading_filter, resolve_inside, show_path
from clawft.tools.tool import Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.tools.tree import Budget, Found, run_walk, walk_tree

__all__ = ["compile_glob", "glob_tool"]

_MAX_RESULTS = 200
_MAX_PATTERN = 500
_DESCRIPTION = """\
Find files of the project by a pattern: `*` and `?` stay inside a name, `**` crosses folders, `{a,b}` is one of both.
A pattern without `/` is looked for at every depth. Newest files come first. Folders such as .git and node_modules are
left out unless `path` names them."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(min_length=1, description="The pattern: `src/**/*.py`, `*.{md,txt}`.")]
    path: Annotated[str, Meta(description="The folder to look in; the current one unless given.")] = "."


def glob_tool() -> Tool:
    return define_tool("glob", _DESCRIPTION, Arguments, _run, read_only=True)


async def _run(arguments: Arguments, context: ToolContext) -> ToolResult:
    matches = compile_glob(arguments.pattern)
    real = resolve_inside(context, arguments.path)
    may_read = reading_filter(context, real)

    def work(budget: Budget) -> list[Found]:
        walked = walk_tree(real, budget, may_read=may_read)
        return [
            one
            for one in walked
            if one.kind in ("file", "link") and matches.fullmatch(one.path.encode("utf-8", "replace"))
        ]

    budget = Budget()
    found = sorted(await run_walk(work, budget), key=lambda one: (-one.mtime_ns, one.path))
    paths = [show_path(context, f"{real.rstrip('/')}/{one.path}") for one in found[:_MAX_RESULTS]]
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
    """A glob as a regular expression. Braces may be nested; one that never closes stands for itself."""
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
