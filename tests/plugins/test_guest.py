"""What a plugin sees of its host: settings, secrets, its folder, its log; and how its code is found."""

import json
from pathlib import Path
from typing import Any

import pytest

from clawft.contracts import PluginError
from clawft.plugins.host import Plugins
from clawft.plugins.runtime import PluginFailed
from yard import ID, Yard

pytestmark = pytest.mark.anyio

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "default": "Oslo"},
        "days": {"type": "integer", "default": 3},
        "server": {
            "type": "object",
            "properties": {"host": {"type": "string", "default": "localhost"}, "port": {"type": "integer"}},
        },
        "api_key": {"type": "string"},
    },
}


async def run(plugins: Plugins, plugin_id: str = ID, **arguments: Any) -> Any:
    output = await plugins.call(plugin_id, "execute_tool", name="try_it", arguments=arguments)
    return json.loads(output.content)


async def test_settings_are_those_of_the_user_with_the_defaults_of_the_schema(yard: Yard) -> None:
    yard.add_tool(
        "return [self.host.config_value(key) for key in "
        "('city', 'days', 'server', 'server.host', 'server.port', 'none', 'server.none', 'city.x')]",
        config_schema=SCHEMA,
    )
    async with yard.open({"entries": {ID: {"config": {"city": "Bergen", "server": {"port": 143}}}}}) as plugins:
        assert await run(plugins) == [
            "Bergen", 3, {"host": "localhost", "port": 143}, "localhost", 143, None, None, None,
        ]  # fmt: skip


async def test_a_plugin_cannot_change_its_settings(yard: Yard) -> None:
    yard.add_tool("self.host.config_value('server')['host'] = 'x'\nreturn [self.host.config_value('server.host')]",
        config_schema=SCHEMA,
    )  # fmt: skip
    async with yard.open() as plugins:
        assert await run(plugins) == ["localhost"]


async def test_secrets_come_by_granted_names_from_the_plugins_settings_or_the_environment(yard: Yard) -> None:
    yard.environ |= {"A_TOKEN": "from-outside-1", "B_TOKEN": "from-outside-2", "C_TOKEN": "from-outside-3"}
    yard.add_tool(
        "return [self.host.resolve_secret(name) for name in ('A_TOKEN', 'B_TOKEN', 'C_TOKEN', 'D_TOKEN', 'HOME')]",
        permissions={"env_vars": ["A_TOKEN", "B_TOKEN", "D_TOKEN"]},
    )
    env = {"A_TOKEN": "from-settings-1", "B_TOKEN": {"env": "C_TOKEN"}, "C_TOKEN": "not-granted-1"}
    async with yard.open({"entries": {ID: {"env": env}}}) as plugins:
        assert await run(plugins) == ["from-settings-1", "from-outside-3", None, None, None]


async def test_what_it_logs_and_prints_is_in_its_log_without_secrets(yard: Yard) -> None:
    yard.environ["A_TOKEN"] = "token-4711"
    yard.add_tool(
        """
        self.host.log("warn", "two\\nlines with token-4711")
        print("printed", "key-4711-key")
        print("to stderr", file=sys.stderr)
        os.write(1, b"raw, and not ended")
        return input() if arguments else 1
        """,
        permissions={"env_vars": ["A_TOKEN"]},
        config_schema=SCHEMA,
    )
    async with yard.open({"entries": {ID: {"config": {"api_key": "key-4711-key"}}}}) as plugins:
        await run(plugins)
        with pytest.raises(PluginFailed, match="EOFError"):
            await run(plugins, read=True)
    lines = [line[20:] for line in yard.log().splitlines()]
    assert lines[:4] == ["warn: two", "warn: lines with <secret>", "printed <secret>", "to stderr"]
    assert any("raw, and not ended" in line for line in lines)
    path = yard.user_dir / "logs" / "plugins" / f"{ID}.log"
    assert path.stat().st_mode & 0o777 == 0o600


async def test_plain_methods_share_one_thread_and_async_ones_another(yard: Yard) -> None:
    yard.add("""
        class Stage:
            name, phase = "ask", "pre_route"
            async def process(self, context):
                context.metadata["thread"] = threading.current_thread().name
        class Plugin(Plugin):
            def __init__(self):
                self.seen = [threading.get_ident()]
            def init(self, host):
                self.seen.append(threading.get_ident())
            def parts(self):
                return self, Stage()
            def execute_tool(self, name, arguments):
                self.seen.append(threading.get_ident())
                return len(set(self.seen))
        """,
        capabilities=["tool", "pipeline_stage"],
        stages=[{"name": "ask", "phase": "pre_route"}],
    )  # fmt: skip
    async with yard.open() as plugins:
        assert [await run(plugins), await run(plugins)] == [1, 1]
        context = await plugins.call(ID, "process", stage="ask", context={"request": {}})
        assert context.metadata == {"thread": "MainThread"}


async def test_modules_beside_the_plugin_are_imported_and_nothing_is_written_there(yard: Yard) -> None:
    folder = yard.add_tool("from parts.more import SAID\nimport json\nreturn [SAID, json.__file__[:5]]")
    (folder / "parts").mkdir()
    (folder / "parts" / "__init__.py").touch()
    (folder / "parts" / "more.py").write_text("SAID = 'more'\n")
    yard.grant(folder)
    async with yard.open() as plugins:
        assert (await run(plugins))[0] == "more"
    assert not list(folder.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("entry", "python"),
    [("their_plugin.code:Ours", None), ("their_plugin:Ours", None), ("their_plugin:Other", "code:Ours")],
)
async def test_a_plugin_of_an_installed_package_runs_on_the_approved_copy(
    yard: Yard, tmp_path: Path, entry: str, python: str | None
) -> None:
    folder = tmp_path / "site-packages" / "their_plugin"
    folder.mkdir(parents=True)
    manifest: dict[str, Any] = {"id": ID, "name": "Theirs", "version": "1.0.0", "capabilities": ["tool"]}
    manifest |= {"tools": [{"name": "try_it", "description": "Tries"}], **({"python": python} if python else {})}
    (folder / "clawft.plugin.json").write_text(json.dumps(manifest))
    (folder / "__init__.py").write_text("from .code import Ours\n")
    (folder / "helper.py").write_text("def where(): return [__name__, __file__]\n")
    (folder / "code.py").write_text(
        "from clawft.contracts import Plugin\nfrom . import helper\nimport their_plugin.helper as same\n"
        "class Ours(Plugin):\n    def execute_tool(self, name, arguments):\n"
        "        return [*helper.where(), same is helper]\n"
    )
    yard.grant(folder, scope="python", entry=entry)
    async with yard.open() as plugins:
        name, file, is_same = await run(plugins)
    assert (name, is_same) == ("their_plugin.helper", True)
    assert str(yard.user_dir / "cache" / "programs") in file


async def test_without_a_sandbox_a_plugin_runs_and_the_person_is_warned(tmp_path: Path) -> None:
    yard = Yard(tmp_path, "off")
    yard.environ["OTHER"] = "x"
    yard.add_tool("""
        try:
            subprocess.run(["/bin/true"])
        except PermissionError:
            return ["refused", os.environ.get("OTHER")]
    """)
    async with yard.open() as plugins:
        assert await run(plugins) == ["refused", None]
        (told,) = plugins.check()
        assert told.code == "plugin-bare"
        assert "WITHOUT a sandbox" in told.message


async def test_without_a_sandbox_hosts_are_judged_by_name(tmp_path: Path, site: Any) -> None:
    yard = Yard(tmp_path, "off")
    port = site.server_port
    yard.add_tool(
        "self.host.connect(arguments['host'], arguments['port']).close()\nreturn 1",
        permissions={"network": [f"127.0.0.1:{port}"]},
    )
    async with yard.open() as plugins:
        assert await run(plugins, host="127.0.0.1", port=port) == 1
        with pytest.raises(PluginError) as refused:
            await run(plugins, host="localhost", port=port)
        assert refused.value.code == "host-refused"


async def test_where_there_is_no_sandbox_no_plugin_runs(tmp_path: Path) -> None:
    yard = Yard(tmp_path, "bubblewrap")
    yard.environ["PATH"] = str(tmp_path)
    yard.add_tool("return 1")
    async with yard.open() as plugins:
        with pytest.raises(PluginFailed) as failed:
            await run(plugins)
        assert failed.value.code == "sandbox-unavailable"


async def test_the_data_of_a_plugin_stays_and_another_plugin_does_not_see_it(yard: Yard) -> None:
    code = "open('mine', 'a').write('x')\nreturn [open('mine').read(), os.listdir('..')]"
    for name in ("org.example.one", "org.example.two"):
        yard.add_tool(code, plugin_id=name)
    for times in (1, 2):
        async with yard.open() as plugins:
            for name in ("org.example.one", "org.example.two"):
                said, beside = await run(plugins, name)
                assert said == "x" * times
                assert beside == [name]
