"""May an agent that a project or a plugin brought answer? Only as it was approved, byte for byte."""

from typing import TYPE_CHECKING

from clawft.discovery.agents import FoundAgent
from clawft.errors import ClawftError, Diagnostic

if TYPE_CHECKING:  # not needed where there is nothing to approve
    from clawft.trust.approvals import Approvals

__all__ = ["STRANGE_AGENTS", "distrust_agent", "tell_passed_over", "tell_untrusted"]

STRANGE_AGENTS = frozenset({"project", "plugin"})


def distrust_agent(found: FoundAgent, approvals: "Approvals") -> Diagnostic | None:
    """Why a stranger's agent may not answer; None if it may."""
    try:
        known = approvals.find("agent", found.file)
        if known is not None and found.digest and known.digest == found.digest:
            return None
    except ClawftError as error:
        return Diagnostic("untrusted", "warning", str(error), found.file, 0, error.hint)
    changed = f"It changed since it was approved on {known.at[:10]}" if known else ""
    message = changed or f"It comes with the {_whose(found)} and is not approved"
    return Diagnostic("untrusted", "warning", message, found.file, 0, f"Read it, then: weft {_command(found)}")


def tell_untrusted(found: FoundAgent) -> Diagnostic:
    """What is said where a stranger's agent is asked for that nobody approved."""
    message = f"The {_whose(found)}'s agent '{found.name}' is not approved"
    return Diagnostic("agent-untrusted", "warning", message, found.file, 0, f"Look at it, then: weft {_command(found)}")


def tell_passed_over(found: FoundAgent) -> Diagnostic:
    """What is said where another agent of the name answers."""
    message = f"The {_whose(found)}'s agent of this name is not approved, so another answers"
    hint = f"Look at it, then: weft {_command(found)}"
    return Diagnostic("agent-untrusted", "warning", message, found.file, 0, hint)


def _whose(found: FoundAgent) -> str:
    return f"plugin {found.plugin}" if found.plugin else "project"


def _command(found: FoundAgent) -> str:
    return f"plugins enable {found.plugin}" if found.plugin else f"skills trust {found.name}"
