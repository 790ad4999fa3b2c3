"""What handlers answer, read."""

import pytest

from clawft.agent.hooks.events import HookEvent, HookFailed, HookReply, read_reply
from clawft.agent.hooks.registry import Hooks

pytestmark = pytest.mark.anyio


class Echo:
    """A stranger's hook that answers with what it was told."""

    name, events, strict, hosts = "echo", frozenset({"agent:bootstrap"}), False, ()

    def matches_event(self, event: HookEvent) -> bool:
        return True

    async def call(self, event: HookEvent) -> HookReply:
        return read_reply(event, {"context": event.context, "messages": []})


async def test_a_hook_that_leaves_the_prompt_as_it_was_has_not_written_any_of_it() -> None:
    files = [{"path": "AGENTS.md", "name": "AGENTS.md", "content": "Be kind.\n"}]
    event = HookEvent("agent", "bootstrap", context={"bootstrapFiles": files})
    outcome = await Hooks(lambda *_: ([Echo()], [])).fire(event)

    assert (outcome.versions, outcome.voices) == ((), ())


async def test_a_hook_that_blocks_what_cannot_be_blocked_is_told() -> None:
    with pytest.raises(HookFailed, match="nothing can be blocked at tool:after"):
        read_reply(HookEvent("tool", "after"), {"context": {"block": True}, "messages": []})
    assert read_reply(HookEvent("tool", "before"), {"context": {"block": True}}).blocked == "it gave no reason"
    assert read_reply(HookEvent("tool", "after"), {"context": {"block": False}, "messages": ["ok"]}).messages == ("ok",)
