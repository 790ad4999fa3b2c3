"""The events of a turn, for hooks: told where they happen, and what comes of each is taken over."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from clawft.discovery.instructions import Instructions
from clawft.hooks.events import BootstrapFile, HookEvent, Outcome
from clawft.messages import MessageSent, Noticed
from clawft.run.turn import Turn
from clawft.tools.steps import Step

__all__ = ["bootstrap", "fire"]


async def fire(turn: Turn, key: str, context: dict[str, Any], at: str = "") -> Outcome | None:
    """Tell hooks of an event; None where nobody hears it. What they say is shown, what fails is noticed.

    It is a step of the turn: where a run is begun again, hooks are not asked again. `at` tells one of several apart.
    """
    hooks = turn.runtime.hooks
    if not hooks.wants(key):
        return None
    kind, _, action = key.partition(":")
    conversation = turn.conversation
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    shared = {"workspaceDir": turn.runtime.workspace.project, "agentId": turn.agent.name, "cfg": {}}
    masked = turn.runtime.secrets.mask_value({**shared, **context})
    event = HookEvent(kind, action, turn.session.key, masked, now, conversation.effective_mode.value, turn.id)
    outcome = await conversation.steps.run(Step("hook", key), lambda: hooks.fire(event), Outcome, at=f"hook.{key}.{at}")
    for one in outcome.said:
        turn.emit(MessageSent(text=one.text, hook=one.hook))
    for problem in outcome.problems:
        turn.notice(Noticed(code=problem.code, message=problem.message, severity="warning", hint=problem.hint))
    return outcome


async def bootstrap(turn: Turn) -> None:
    """Hooks may change what the system prompt holds of AGENTS.md and CLAUDE.md, or add to it."""
    turn.instructions = turn.runtime.instructions(turn.emit)
    files = [BootstrapFile(one.path, one.text, one.path.rpartition("/")[2]) for one in turn.instructions]
    outcome = await fire(turn, "agent:bootstrap", {"bootstrapFiles": msgspec.to_builtins(files)})
    if outcome is None:
        return
    changed = msgspec.convert(outcome.context["bootstrapFiles"], tuple[BootstrapFile, ...])
    turn.instructions = [Instructions(one.path, one.content.encode()) for one in changed if one.content.strip()]
