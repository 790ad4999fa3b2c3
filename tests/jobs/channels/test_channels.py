"""Channels of plugins through the real host, in its sandbox: what becomes of them when they die or are taken back."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from clawft.app.app import open_app
from clawft.app.plugin_host import open_plugins
from clawft.jobs.channels import gateway as sender
from clawft.jobs.channels.gateway import Gateway
from clawft.jobs.channels.inbox import REPEAT
from clawft.jobs.channels.plugin_channels import PluginChannel
from gateway_desk import Desk, until
from gateway_remote import Remote
from gateway_world import GatewayWorld

pytestmark = pytest.mark.anyio


@pytest.fixture
def remote() -> Iterator[Remote]:
    with Remote(deduplicates=False) as remote:
        yield remote


@asynccontextmanager
async def running(world: GatewayWorld, desk: Desk) -> AsyncIterator[Gateway]:
    app = open_app(world.env, str(world.project))
    async with open_plugins(app, app.open_sandbox()) as plugins:
        plugins.is_patient = True
        gateway = Gateway(desk.means(), [(PluginChannel("line", "test.line", plugins), "test.line")])
        async with gateway.running():
            yield gateway


async def finish(desk: Desk) -> None:
    await until(desk.open, 20)
    desk.finish(desk.open()[0])


async def test_what_a_plugin_was_sending_when_it_died_is_sent_again_and_says_so(
    tmp_path: Path, remote: Remote, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.jobs.channels.gateway._KEEPER_AGAIN_S", (0.05,))
    monkeypatch.setattr(sender, "_AGAIN_S", (0.05,))
    world = GatewayWorld(tmp_path, remote)
    code = (world.plugin / "plugin.py").read_text()
    dies = "        if message.text == 're: die':\n            import os\n\n            os._exit(1)\n"
    changed = code.replace("        if not done.get", f"{dies}        if not done.get")
    assert changed != code
    (world.plugin / "plugin.py").write_text(changed)
    world.grant()
    remote.write("die", "c1")
    async with running(world, desk):
        await finish(desk)
        await until(lambda: len(remote.sent) == 2, 20)
        remote.write("live", "c1")
        await finish(desk)
        await until(lambda: len(remote.sent) == 3, 20)
    assert [one.text for one in remote.sent] == ["re: die", f"{REPEAT}\nre: die", "re: live"]
    assert remote.connections == 2
    assert any("line  failed  again in 0.05 s: The plugin 'test.line': Its process ended" in one for one in desk.lines)


async def test_who_may_write_is_as_the_user_says_now_and_a_channel_that_may_not_run_ends(
    tmp_path: Path, remote: Remote, desk: Desk
) -> None:
    world = GatewayWorld(tmp_path, remote)
    async with running(world, desk) as gateway:
        gateway.follow({"line": ("ann",)})
        remote.write("hello", "c1", "eve", "m-eve")
        remote.write("hello", "c1", "ann", "m-ann")
        await until(lambda: remote.is_taken, 20)
        assert remote.refused == ["m-eve"]
        await finish(desk)
        await until(lambda: remote.sent, 20)
        gateway.follow({})
        await until(lambda: desk.means().board.rows()["line"].state == "stopped", 20)
        remote.write("too late", "c1")
        await anyio.sleep(0.1)
        assert not remote.is_taken
        gateway.follow({"line": ("ann",)})
        await until(lambda: remote.is_taken, 20)
    assert "line  ends  its plugin may not be used any more, or the config turns it off" in desk.lines


async def test_a_plugin_that_cannot_start_is_said_so_and_tried_again(
    tmp_path: Path, remote: Remote, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.jobs.channels.gateway._KEEPER_AGAIN_S", (0.05,))
    world = GatewayWorld(tmp_path, remote)
    (world.plugin / "plugin.py").write_text("raise RuntimeError('oh dear')\n")
    world.grant()
    async with running(world, desk):
        await until(lambda: sum("oh dear" in one for one in desk.lines) > 3, 20)  # as often as it takes
    assert desk.means().board.rows()["line"].error.count("oh dear") == 1
