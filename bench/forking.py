"""A model that forks: outside it calls the skill `work`, inside it uses a tool; either way it repeats the result."""

from collections.abc import Callable
from typing import Any

from wire import Asked, Reply, call, say

FORK = "context: fork\n"
Inside = Callable[[Asked], Reply]


def is_fork(asked: Asked) -> bool:
    return "<skill_content" in str(asked.body["messages"][1]["content"])


def repeat_result(asked: Asked) -> Reply | None:
    message = asked.body["messages"][-1]
    return say(str(message["content"])) if message["role"] == "tool" else None


def using(tool: str, arguments: dict[str, Any]) -> Inside:
    """A fork that uses a tool once and repeats what came of it; outside, the skill `work` is called."""

    def reply(asked: Asked) -> Reply:
        return repeat_result(asked) or (call(tool, arguments) if is_fork(asked) else call("Skill", {"name": "work"}))

    return reply
