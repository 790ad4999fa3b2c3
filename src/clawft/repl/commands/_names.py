"""Names that commands take: looked up with the texts of R94, and offered while they are typed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.errors import NotFound, find_close
from clawft.trust import AgentStanding, Standing

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["complete_agents", "complete_skills", "find_agent", "find_skill", "offer"]


def find_skill(repl: "Repl", name: str) -> Standing | None:
    """The skill of a name or of `scope:name`; where there is none, that is said (R94)."""
    try:
        return repl.app.get_skill(name)
    except NotFound:
        _say_missing(repl, "skill", name, (one.name for one in repl.app.skills))
        return None


def find_agent(repl: "Repl", name: str) -> AgentStanding | None:
    """The agent of a name; where there is none, that is said (R94)."""
    try:
        return repl.app.get_agent(name)
    except NotFound:
        _say_missing(repl, "agent", name, (one.found.name for one in repl.app.agents))
        return None


def _say_missing(repl: "Repl", kind: str, name: str, known: Iterable[str]) -> None:
    repl.screen.print(
        f"{kind.capitalize()} '{one_line(name)}' not found. Run /{kind}s to see available {kind}s."  # R94
    )
    close = find_close(name.rpartition(":")[2], known)
    if close:
        repl.screen.print(f"  hint: did you mean '{one_line(close)}'?")


def offer(names: Iterable[str], partial: str) -> list[str]:
    """The names that begin so, each once and in order; none once the first word is over."""
    return sorted({name for name in names if name.startswith(partial)}) if " " not in partial else []


def complete_skills(repl: "Repl", partial: str) -> list[str]:
    """Every skill, usable or not."""
    return offer((one.name for one in repl.app.skills), partial)


def complete_agents(repl: "Repl", partial: str) -> list[str]:
    return offer((one.found.name for one in repl.app.agents), partial)
