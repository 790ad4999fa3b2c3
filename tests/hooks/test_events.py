"""What handlers answer, read."""

import pytest

from clawft.hooks.events import HookEvent, Reply, read_reply
from clawft.hooks.registry import Hooks

pytestmark = pytest.mark.anyio


class Echo:
    """A stranger's hook that answers with what it was told."""

    name, events, strict, hosts = "echo", frozenset({"agent:bootstrap"}), False, ()

    def hears(self, event: HookEvent) -> bool:
        return True

    async def call(self, event: HookEvent) -> Reply:
        return read_reply(event, {"context": event.context, "messages": []})


async def test_a_hook_that_leaves_the_prompt_as_it_was_has_not_written_any_of_it() -> None:
    files = [{"path": "AGENTS.md", "name": "AGENTS.md", "content": "Be kind.\n"}]
    event = HookEvent("agent", "bootstrap", context={"bootstrapFiles": files})
    outcome = await Hooks(lambda *_: ([Echo()], [])).fire(event)

    assert (outcome.versions, outcome.heard) == ((), ())
