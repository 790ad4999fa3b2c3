"""Contexts for tests of tools."""

from typing import Any

from msgspec import structs

from clawft.agent.tools.tool import AskPerson, CallFiles, ToolContext
from clawft.config.tools import SandboxSettings
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace


def make_context(workspace: Workspace, environ: dict[str, str], spill_dir: str, ask: AskPerson) -> ToolContext:
    """A context outside of a turn: nothing is recorded, and no rule refuses anything."""
    sandbox = Sandbox(SandboxSettings(), workspace, environ)
    return ToolContext(workspace, environ, sandbox, CallFiles(spill_dir, spill_dir), ask, lambda _: None)


def adjust(context: ToolContext, **fields: Any) -> None:
    """Change a context in place, for all who have it: its own fields, or those of its files or its permission."""
    for name, value in fields.items():
        part = next((part for part in ("files", "permission") if hasattr(getattr(context, part), name)), "")
        changed = structs.replace(getattr(context, part), **{name: value}) if part else value
        structs.force_setattr(context, part or name, changed)
