"""Extensions of the agent, built in or from plugins, and how they are joined.

An extension has tools, pipeline stages, memories, or some of each. Nothing else adds any of these to a turn.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from clawft.agent.runtime import Insertion, JoinedExtensions, MakeTools, Turn
from clawft.agent.tools.tool import Tool
from clawft.contracts import MemoryBackend, Phase
from clawft.errors import Diagnostic
from clawft.trust.tools import CANONICAL_TOOLS, canonical_tool


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


def join_extensions(extensions: Sequence[Extension]) -> JoinedExtensions:
    """Put extensions together. No two tools have the same name: a plugin's is called by its plugin then, and where two
    plugins claim one, both are."""
    taken = {name.lower() for extension in extensions for name in extension.names}
    claims = Counter(name for extension in extensions if extension.is_plugin for name in _find_claims(extension))
    tools: list[Tool] = []
    diagnostics: list[Diagnostic] = []
    for extension in extensions:
        for tool in extension.tools:
            # What a person allowed of one plugin by a name must not come to mean another's: then it is neither's.
            names = [
                name
                for name in _possible_names(extension, tool)
                if not extension.is_plugin or claims[name.lower()] == 1
            ]
            free = [name for name in names if name.lower() not in taken]
            if free:
                taken.add(free[0].lower())
                tools.append(tool if free[0] == tool.name else structs.replace(tool, name=free[0]))
            if not free or free[0] != tool.name:
                diagnostics.append(_tell_clash(extension, tool, free))
    makers = tuple(extension.make_tools for extension in extensions if extension.make_tools is not None)
    stages = tuple(stage for extension in extensions for stage in extension.stages)
    if diagnostics:
        stages = (*stages, _tell(diagnostics))
    return JoinedExtensions(tuple(tools), makers, stages, tuple(diagnostics))


def find_memories(extensions: Iterable[Extension], name: str) -> list[MemoryBackend]:
    """The memories of a name; `ID:NAME` says which plugin's."""
    return [
        memory
        for extension in extensions
        for memory in extension.memories
        if name == memory.name or (extension.is_plugin and name == f"{extension.name}:{memory.name}")
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


def _tell(diagnostics: Sequence[Diagnostic]) -> Insertion:
    async def tell(turn: Turn) -> None:
        if turn.id == 1 and not turn.conversation.depth:
            for diagnostic in diagnostics:
                turn.warn(diagnostic.code, diagnostic.message, diagnostic.hint)

    return Insertion(Phase.PRE_ROUTE, "tool-names", tell)
