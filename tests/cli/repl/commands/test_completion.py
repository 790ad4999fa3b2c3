"""What may follow each command: names that are there now."""

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from clawft.agent.sessions import SessionStore
from clawft.cli.repl.completion import ReplCompleter
from terminal import Open, Terminal
from world import World

pytestmark = pytest.mark.anyio


def offered(terminal: Terminal, typed: str) -> list[str]:
    completer = ReplCompleter(terminal.repl)
    return [one.text for one in completer.get_completions(Document(typed), CompleteEvent(text_inserted=True))]


async def test_names_that_commands_take_are_offered(world: World, terminal: Open) -> None:
    world.add_skill("research")
    world.add_skill("inner", head="user-invocable: false\n")
    world.provider = 'default_model = "big"\n[providers.local.models.m]\ncontext_window = 1000\n'
    store = SessionStore(str(world.user_dir / "sessions"))
    for key in ("20260101-one", "20260102-two", "20260102-two:task-1"):
        with store.open(key) as session:
            session.finish_turn(1)
    async with terminal() as t:
        assert offered(t, "/skill re") == ["research", "review-diff"]
        assert offered(t, "/skill in") == []
        assert offered(t, "/skills in") == offered(t, "/why in") == ["inner"]
        assert offered(t, "/agent ex") == ["explore"]
        assert offered(t, "/model lo") == ["local/big", "local/m"]
        assert offered(t, "/model o") == ["offline", "ollama/", "openai/", "openrouter/"]
        assert offered(t, "/config agents.defaults.mod") == ["agents.defaults.mode", "agents.defaults.model"]
        assert offered(t, "/mode a") == ["ask", "auto-edit"]
        assert "agents.defaults" in offered(t, "/config agents.d")
        assert offered(t, "/resume 2026") == ["20260102-two", "20260101-one"]
        assert offered(t, "/help sk") == ["skill", "skills"]
        assert offered(t, "/help mcp") == ["mcp"]
        assert offered(t, "/memory s") == ["search"]
        assert offered(t, "/undo --") == ["--redo", "--yes"]
        assert offered(t, "/skill research mo") == []
