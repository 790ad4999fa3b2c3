"""`/hooks` and `/hooks NAME`."""

from collections.abc import Awaitable, Callable

import pytest

from terminal import Open, Terminal
from world import World

pytestmark = pytest.mark.anyio
Enter = Callable[[Terminal, str], Awaitable[str]]


async def test_hooks_are_listed_and_shown(world: World, terminal: Open, enter: Enter) -> None:
    for base, name in ((world.user_dir / "hooks", "greeter"), (world.project / ".clawft" / "hooks", "theirs")):
        folder = base / name
        folder.mkdir(parents=True)
        (folder / "HOOK.md").write_text(
            f"---\nname: {name}\ndescription: Does it.\nmetadata: {{openclaw: {{events: [gateway]}}}}\n---\n"
        )
        (folder / "handler.js").write_text("export default () => {};\n")
    async with terminal(columns=100, lines=50) as t:
        shown = await enter(t, "/hooks")
        rows = [line.split() for line in shown.split("\n")]
        assert ["✓", "greeter", "gateway", "ready", "user", "deno"] in rows
        assert any(row[:2] == ["✗", "theirs"] and "untrusted" in row for row in rows)
        assert "State: ready: it runs at its events" in (await enter(t, "/hooks greeter")).split("\n")
        assert "No hook 'greter'" in await enter(t, "/hooks greter")
