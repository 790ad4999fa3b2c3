"""The tool `list_directory`: what is in a folder."""

import os
from typing import Annotated

from msgspec import Meta, Struct

from clawft.tools.paths import reading_filter, resolve_inside, show_path
from clawft.tools.tool import Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.tools.tree import Budget, Found, run_walk, walk_tree

__all__ = ["list_directory_tool"]

_MAX_ENTRIES = 1000
_DESCRIPTION = """\
List a folder of the project: folders end in `/`, links show where they lead, files their size in bytes. With `depth`
what is in its folders too, except in those that programs keep for themselves, such as .git and node_modules."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="The folder; the current one unless given.")] = "."
    depth: Annotated[int, Meta(ge=1, le=10, description="How deep to look; 1 is the folder alone.")] = 1


def list_directory_tool() -> Tool:
    return define_tool("list_directory", _DESCRIPTION, Arguments, _run, read_only=True)


async def _run(arguments: Arguments, context: ToolContext) -> ToolResult:
    real = resolve_inside(context, arguments.path)
    may_read = reading_filter(context, real)

    def work(budget: Budget) -> list[str]:
        if os.path.isfile(real):
            raise ToolError("INVALID_PARAM", f"'{arguments.path}' is a file", hint="read_file reads it")
        found = walk_tree(real, budget, may_read=may_read, max_depth=arguments.depth)
        return [_show(one) for one in found]

    budget = Budget(_MAX_ENTRIES)
    lines = sorted(await run_walk(work, budget))
    text = "\n".join([f"{show_path(context, real)}:", *(lines or ["(empty)"])])
    data = {"entries": len(lines)}
    if budget.spent:
        text += f"\n[cut: {len(lines)} entries are shown; {budget.spent}; list a folder below, or use glob]"
        return ToolResult(text, "partial", data, path_resolved=real)
    return ToolResult(text, data=data, path_resolved=real)


def _show(found: Found) -> str:
    if found.kind == "folder":
        return f"{found.path}/"
    if found.kind == "link":
        return f"{found.path} -> {_lead(found)}"
    return f"{found.path}  {found.size}" if found.kind == "file" else f"{found.path}  (special)"


def _lead(found: Found) -> str:
    try:
        return os.readlink(found.name, dir_fd=found.folder)
    except OSError:
        return "?"
