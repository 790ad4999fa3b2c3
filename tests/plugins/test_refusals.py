"""What a plugin tries that was not granted: its log says what was refused, and how to grant it."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from clawft.plugins.host import Plugins
from clawft.plugins.runtime import PluginFailed
from yard import ID, Yard

pytestmark = pytest.mark.anyio
# What each line raises is swallowed, as plugins do.
ATTEMPTS = """
said = []
HOST = self.host
for line in arguments["lines"]:
    try:
        exec(line, {**globals(), "HOST": self.host})
    except PluginError as error:
        said.append([str(error), error.hint])
    except Exception as error:
        said.append(type(error).__name__)
    else:
        said.append("done")
return said
"""


async def attempt(plugins: Plugins, *lines: str) -> list[Any]:
    output = await plugins.call(ID, "execute_tool", name="try_it", arguments={"lines": lines})
    said: list[Any] = json.loads(output.content)
    return said


def refused(yard: Yard) -> list[tuple[str, str]]:
    """What the audit log says, each with its rule."""
    return [(one["subject"], one["rule"]) for one in yard.audited() if one["decision"] == "denied"]


async def test_without_a_granted_host_each_that_is_tried_is_told(yard: Yard) -> None:
    yard.add_tool(ATTEMPTS)
    async with yard.open() as plugins:
        said = await attempt(
            plugins,
            "__import__('urllib.request').request.urlopen('http://one.invalid/', timeout=3)",
            "socket.create_connection(('127.0.0.1', 9), 3)",
            "HOST.connect('two.invalid', 993)",
            "HOST.connect('two.invalid', 993)",
        )
    assert "done" not in said
    assert said[2] == ["two.invalid:993 cannot be reached: no host was granted", said[2][1]]
    assert f"weft plugins grant {ID} --network two.invalid:993" in said[2][1]
    assert refused(yard) == [(one, "no-host") for one in ("one.invalid:80", "127.0.0.1:9", "two.invalid:993")]
    assert f"host: refused: one.invalid:80: no host is granted (weft plugins grant {ID})" in yard.log()


async def test_a_server_of_its_own_is_no_refused_host(yard: Yard) -> None:
    yard.add_tool(ATTEMPTS)
    serve = "with socket.create_server(('127.0.0.1', 0)) as one: socket.create_connection(one.getsockname(), 3).close()"
    async with yard.open() as plugins:
        await attempt(plugins, serve)
    assert refused(yard) == []


async def test_a_host_that_was_not_granted_is_told_and_so_is_what_goes_past_the_proxy(yard: Yard) -> None:
    yard.add_tool(ATTEMPTS, permissions={"network": ["one.invalid"]})
    async with yard.open() as plugins:
        said = await attempt(
            plugins,
            "__import__('urllib.request').request.urlopen('https://two.invalid/', timeout=3)",
            "socket.create_connection(('one.invalid', 443), 3)",
            "HOST.connect('three.invalid', 443)",
        )
    assert said[:2] == ["URLError", said[1]]
    message, hint = said[2]
    assert message == "three.invalid:443: The host is not among those that this program may reach"
    assert hint == f"If its manifest asks for it: weft plugins grant {ID} --network three.invalid"
    assert refused(yard) == [
        ("two.invalid:443", "not-granted"),
        ("one.invalid:443", "past-proxy"),
        ("three.invalid:443", "not-granted"),
    ]
    assert f"host: refused: two.invalid:443 is not granted (weft plugins grant {ID})" in yard.log()
    assert "host: refused: one.invalid:443: it does not go through the proxy" in yard.log()


async def test_a_private_host_is_told_with_the_setting_that_keeps_it_closed(yard: Yard) -> None:
    yard.web = type(yard.web)()
    yard.add_tool(ATTEMPTS, permissions={"network": ["127.0.0.1:9"]})
    async with yard.open() as plugins:
        ((message, hint),) = await attempt(plugins, "HOST.connect('127.0.0.1', 9)")
    assert message.startswith("127.0.0.1:9: ")
    assert "hint:" not in message
    assert "tools.web" in hint
    assert "host: refused: 127.0.0.1:9: it is private, and tools.web.block_private_ips keeps it closed" in yard.log()


async def test_a_program_that_may_not_be_started_is_told(yard: Yard) -> None:
    yard.add_tool(ATTEMPTS)
    async with yard.open() as plugins:
        said = await attempt(plugins, "subprocess.run(['/bin/true', 'x'])", "os.system('/bin/false secret')")
    assert said[0] == "PermissionError"
    assert refused(yard) == [("/bin/true", "no-shell"), ("/bin/false", "no-shell")]
    assert f"refused: /bin/true: starting programs is not granted (weft plugins grant {ID} --shell)" in yard.log()


@pytest.mark.parametrize("mode", ["auto", "landlock"])  # one hides what was not granted, the other refuses it
async def test_an_error_of_the_system_is_told_with_what_was_not_granted(
    tmp_path: Path, mode: Literal["auto", "landlock"]
) -> None:
    yard = Yard(tmp_path, mode)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/notes.txt").write_text("x")
    yard.add_tool("exec(arguments['line'], globals())")
    missing = f"open('{tmp_path}/other/notes.txt')"
    told = {
        "subprocess.run(['/bin/true'])": f"weft plugins grant {ID} --shell",
        missing: f"'{tmp_path}/other/notes.txt' lies in nothing that was granted: weft plugins grant {ID} --filesystem",
        "open('mine.txt')": "",
    }
    async with yard.open() as plugins:
        for line, hint in told.items():
            with pytest.raises(PluginFailed) as failed:
                await plugins.call(ID, "execute_tool", name="try_it", arguments={"line": line})
            assert hint in failed.value.hint
            assert bool(hint) == bool(failed.value.hint)
    assert told[missing] in yard.log()


async def test_without_a_sandbox_nothing_is_called_refused_that_is_not(tmp_path: Path) -> None:
    yard = Yard(tmp_path, "off")
    yard.add_tool(ATTEMPTS)
    async with yard.open() as plugins:
        await attempt(plugins, "socket.create_connection(('127.0.0.1', 9), 3)", f"open('{tmp_path}/none')")
    assert refused(yard) == []


async def test_refusals_without_end_fill_no_log(yard: Yard) -> None:
    yard.add_tool(ATTEMPTS)
    async with yard.open() as plugins:
        await attempt(plugins, "for n in range(300):\n try: HOST.connect(f'{n}.invalid', 1)\n except PluginError: pass")
    assert len(refused(yard)) == 101
    assert refused(yard)[-1][0] == "and more"
    assert yard.log().count("refused") == 101
