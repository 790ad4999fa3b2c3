"""An example of each event, with the context that a turn would give: for trying a hook by hand."""

from datetime import UTC, datetime
from typing import Any

from clawft.format.hook import EVENTS
from clawft.hooks.events import HookEvent
from clawft.workspace import Workspace

__all__ = ["expand_events", "make_example"]

_KEY = "cli:example"
_ENTRY = {"sessionId": _KEY, "sessionKey": _KEY, "sessionFile": ""}
_PLACE = {"channelId": "cli", "conversationId": _KEY, "messageId": f"{_KEY}:1"}
_MESSAGE = {
    "from": "user",
    "content": "What is new in this project?",
    **_PLACE,
    "metadata": {"skill": "", "images": 0},
}
_COMPACT = {"messageCount": 40, "tokenCount": 90_000}
_TOOL = {"toolName": "exec_shell", "params": {"command": "ls -la"}, "toolCallId": "call-1"}
_FILES = [{"path": "AGENTS.md", "name": "AGENTS.md", "content": "Be kind.\n"}]
_CONTEXTS: dict[str, dict[str, Any]] = {
    "command": {
        "commandSource": "cli",
        "senderId": "user",
        "sessionEntry": _ENTRY,
        "previousSessionEntry": _ENTRY,
    },
    "session:start": {"source": "startup", "sessionId": _KEY},
    "session:compact:before": _COMPACT,
    "session:compact:after": {
        **_COMPACT,
        "compactedCount": 30,
        "summaryLength": 1200,
        "tokensBefore": 90_000,
        "tokensAfter": 20_000,
    },
    "agent:bootstrap": {"bootstrapFiles": _FILES, "sessionKey": _KEY, "sessionId": _KEY},
    "agent:stop": {"stopHookActive": False, "lastMessage": "Nothing is new."},
    "gateway:startup": {"reason": "start"},
    "gateway:shutdown": {"reason": "SIGTERM"},
    "message:received": _MESSAGE,
    "message:preprocessed": {**_MESSAGE, "bodyForAgent": _MESSAGE["content"]},
    "message:sent": {"to": "user", "content": "Nothing is new.", "success": True, **_PLACE},
    "tool:before": _TOOL,
    "tool:after": {**_TOOL, "result": "README.md\n", "isError": False, "durationMs": 12},
}


def expand_events(events: tuple[str, ...]) -> tuple[str, ...]:
    """The single events that these are, each once: a type is all of its kind."""
    return tuple(key for key in EVENTS if key in events or key.partition(":")[0] in events)


def make_example(key: str, workspace: Workspace, agent: str) -> HookEvent:
    """An event of this kind that could happen here."""
    kind, _, action = key.partition(":")
    context = _CONTEXTS.get(key) or _CONTEXTS.get(kind, {})
    shared = {"workspaceDir": workspace.project, "agentId": agent, "cfg": {}}
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return HookEvent(kind, action, _KEY, {**shared, **context}, now, "ask")
