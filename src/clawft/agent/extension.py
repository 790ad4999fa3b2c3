"""What extends the agent: one value, for what is built in and for what a plugin brings, and how all of them are joined.

An extension has tools, stages of the pipeline, memories, or some of each. Nothing else puts any of these into a turn.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from clawft.contracts import MemoryBackend
from clawft.errors import Diagnostic
from clawft.messages import Noticed
from clawft.run.turn import Insertion, Phase, Turn
from clawft.tools.tool import Tool
from clawft.trust.tools import CANONICAL_TOOLS, canonical_tool

if TYPE_CHECKING:
    from clawft.run.conversation import Conversation

__all__ = ["Extension", "Joined", "MakeTools", "find_memories", "join_extensions"]

MakeTools = Callable[["Conversation"], Sequence[Tool]]


class Extension(Struct, frozen=True, kw_only=True):
    """One thing that extends the agent. A plugin's is named by its id; `make_tools` gives tools that know whose they
    are, and `names` is how those are called."""

    name: str
    tools: tuple[Tool, ...] = ()
    make_tools: MakeTools | None = None
    names: tuple[str, ...] = ()
    stages: tuple[Insertion, ...] = ()
    memories: tuple[MemoryBackend, ...] = ()
    is_plugin: bool = False


class Joined(Struct, frozen=True):
    """All extensions as turns use them: those that came first win, and stages run in this order."""

    tools: tuple[Tool, ...]
    makers: tuple[MakeTools, ...]
    stages: tuple[Insertion, ...]
    diagnostics: tuple[Diagnostic, ...]


def join_extensions(extensions: Sequence[Extension]) -> Joined:
    """Put extensions together. No two tools have the same name: a plugin's is called by its plugin then, and where two
    plugins claim one, both are."""
    taken = {name.lower() for one in extensions for name in one.names}
    claims = Counter(name for one in extensions if one.is_plugin for name in _find_claims(one))
    tools: list[Tool] = []
    said: list[Diagnostic] = []
    for one in extensions:
        for tool in one.tools:
            # What a person allowed of one plugin by a name must not come to mean another's: then it is neither's.
            names = [name for name in _possible_names(one, tool) if not one.is_plugin or claims[name.lower()] == 1]
            free = [name for name in names if name.lower() not in taken]
            if free:
                taken.add(free[0].lower())
                tools.append(tool if free[0] == tool.name else structs.replace(tool, name=free[0]))
            if not free or free[0] != tool.name:
                said.append(_tell_clash(one, tool, free))
    makers = tuple(one.make_tools for one in extensions if one.make_tools is not None)
    stages = tuple(stage for one in extensions for stage in one.stages)
    if said:
        stages = (*stages, _tell(said))
    return Joined(tuple(tools), makers, stages, tuple(said))


def find_memories(extensions: Iterable[Extension], name: str) -> list[MemoryBackend]:
    """The memories of a name; `ID:NAME` says which plugin's."""
    return [
        memory
        for one in extensions
        for memory in one.memories
        if name == memory.name or (one.is_plugin and name == f"{one.name}:{memory.name}")
    ]


def _find_claims(extension: Extension) -> set[str]:
    return {name.lower() for tool in extension.tools for name in _possible_names(extension, tool)}


def _possible_names(extension: Extension, tool: Tool) -> tuple[str, ...]:
    if not extension.is_plugin:
        return (tool.name,)
    longer = [
        f"{who}-{tool.name}"[:64] for who in (extension.name.rpartition(".")[2], extension.name.replace(".", "-"))
    ]
    # A name that rules take for a tool of ours is none of a plugin's, also where there is no such tool now.
    own = () if canonical_tool(tool.name) in CANONICAL_TOOLS else (tool.name,)
    return (*own, *longer)


def _tell_clash(extension: Extension, tool: Tool, free: Sequence[str]) -> Diagnostic:
    outcome = f"so it is called '{free[0]}'" if free else "so it is left out"
    what = f"the plugin '{extension.name}'" if extension.is_plugin else f"'{extension.name}'"
    hint = f"Run: weft plugins show {extension.name}" if extension.is_plugin else ""
    message = f"There is a tool '{tool.name}' already; that of {what} has the same name, {outcome}"
    return Diagnostic("tool-name", "warning", message, hint=hint)


def _tell(said: Sequence[Diagnostic]) -> Insertion:
    async def tell(turn: Turn) -> None:
        if turn.id == 1 and not turn.conversation.depth:
            for one in said:
                turn.emit(Noticed(code=one.code, message=one.message, severity="warning", hint=one.hint))

    return Insertion(Phase.PRE_ROUTE, "tool-names", tell)
