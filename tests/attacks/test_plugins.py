"""What a plugin tries that it was not granted, in each of the sandboxes."""

import json
import os
import time
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest

from clawft.plugins.host import Plugins
from clawft.plugins.runtime import PluginFailed
from yard import ID, Yard

pytestmark = pytest.mark.anyio

# Every attempt of a list, and what came of each: the kind of the error, or the result.
ATTEMPTS = """
    def attempt(line):
        try:
            return eval(line, globals())
        except BaseException as error:
            return type(error).__name__
    return [attempt(line) for line in arguments["lines"]]
"""


@pytest.fixture
def yard(sandboxed: str, tmp_path: Path) -> Iterator[Yard]:
    made = Yard(tmp_path, sandboxed)  # type: ignore[arg-type]
    (made.home / ".ssh").mkdir()
    (made.home / ".ssh" / "id_rsa").write_text("SECRET")
    (made.user_dir / "keys").write_text("SECRET")
    (made.project / "notes.txt").write_text("SECRET")
    made.environ["OTHER_TOKEN"] = "SECRET-123456"
    yield made
    for _ in range(200):  # the kernel ends what is left of a namespace in its own time
        if not _find_left(made):
            return
        time.sleep(0.02)
    raise AssertionError(_find_left(made))


def _find_left(yard: Yard) -> list[str]:
    """Processes that have the plugin's folder of data as their home."""
    sought = os.fsencode(str(yard.user_dir / "plugin-data"))
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if sought in Path(f"/proc/{name}/environ").read_bytes():
                found.append(Path(f"/proc/{name}/cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


async def try_all(plugins: Plugins, *lines: str) -> list[Any]:
    """What comes of each expression in the plugin."""
    output = await plugins.call(ID, "execute_tool", name="try_it", arguments={"lines": lines})
    found: list[Any] = json.loads(output.content)
    return found


async def fail(plugins: Plugins, **arguments: Any) -> PluginFailed:
    with pytest.raises(PluginFailed) as failed:
        await plugins.call(ID, "execute_tool", name="try_it", arguments=arguments)
    return failed.value


DENIED = ("PermissionError", "FileNotFoundError", "OSError", "NotADirectoryError", "IsADirectoryError")


async def test_a_plugin_reads_and_writes_nothing_of_the_user(yard: Yard) -> None:
    folder = yard.add_tool(ATTEMPTS)
    outside = yard.home.parent / "made"
    async with yard.open() as plugins:
        reads = await try_all(
            plugins,
            f"open({str(yard.home / '.ssh' / 'id_rsa')!r}).read()",
            f"open({str(yard.user_dir / 'keys')!r}).read()",
            f"open({str(yard.audit.path)!r}).read()",
            f"open({str(yard.project / 'notes.txt')!r}).read()",
            f"os.listdir({str(yard.user_dir / 'plugins')!r})",
            f"os.listdir({str(yard.home / '.ssh')!r})",
            "open('/etc/shadow').read()",
            f"os.symlink({str(yard.user_dir / 'keys')!r}, 'link') or open('link').read()",
            f"os.link({str(yard.user_dir / 'keys')!r}, 'hard') or open('hard').read()",
            f"open('/proc/{os.getpid()}/environ').read()",
            f"open('/proc/1/root{yard.user_dir}/keys').read()",
        )
        writes = await try_all(
            plugins,
            f"open({str(outside)!r}, 'w').write('x')",
            f"open({str(yard.home / '.bashrc')!r}, 'w').write('x')",
            f"open({str(yard.project / 'made')!r}, 'w').write('x')",
            f"open({str(yard.user_dir / 'plugins' / ID / 'plugin.py')!r}, 'a').write('x')",
            "open(__file__, 'a').write('x')",
            f"open({str(yard.user_dir / 'grants.json')!r}, 'w').write('x')",
            f"os.symlink({str(outside)!r}, 'out') or open('out', 'w').write('x')",
            "open(os.__file__, 'a').write('x')",
            "os.chmod(__file__, 0o777)",
            f"os.rename('.', {str(yard.user_dir / 'plugin-data' / 'org.example.other')!r})",
        )
        passwd = await try_all(plugins, "open('/etc/passwd').read()")
    assert all(one in DENIED for one in reads), reads
    assert all(one in DENIED for one in (*writes[3:5], *writes[7:])), writes
    for path in (outside, yard.home / ".bashrc", yard.project / "made", yard.user_dir / "grants.json"):
        assert not path.exists()  # some could be written in a place that is the plugin's own, and gone with it
    assert (folder / "plugin.py").read_text().endswith("]\n")
    assert passwd[0] in DENIED or passwd[0] == ""
    assert sorted(os.listdir(yard.user_dir / "plugin-data")) == [ID]


async def test_a_plugin_has_its_own_folder_its_data_and_what_was_granted(yard: Yard) -> None:
    for name in ("given", "shown"):
        (yard.project / name).mkdir()
        (yard.project / name / "file").write_text(name)
    (yard.project / "given" / "escape").symlink_to(yard.user_dir / "keys")
    yard.add_tool(ATTEMPTS, permissions={"filesystem": [f"{yard.project}/given", f"{yard.project}/shown:ro"]})
    async with yard.open() as plugins:
        done = await try_all(
            plugins,
            "open('state', 'w').write('kept')",
            "os.makedirs('deep/er')",
            "open(os.path.join(os.path.dirname(__file__), 'clawft.plugin.json')).read()[:1]",
            f"open({str(yard.project / 'given' / 'file')!r}, 'a').write('!')",
            f"open({str(yard.project / 'shown' / 'file')!r}).read()",
            f"open({str(yard.project / 'shown' / 'file')!r}, 'a').write('!')",
            f"open({str(yard.project / 'given' / 'escape')!r}).read()",
            "os.getcwd()",
        )
    data = yard.user_dir / "plugin-data" / ID
    assert done[:5] == [4, None, "{", 1, "shown"]
    assert all(one in DENIED for one in done[5:7])
    assert done[7] == str(data)
    assert (data / "state").read_text() == "kept"
    assert (yard.project / "given" / "file").read_text() == "given!"
    assert data.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", [".", "..", ".clawft", ".clawft/skills", ".clawft/plugin-data"])
async def test_nothing_around_or_in_the_folder_of_clawft_is_granted(yard: Yard, place: str) -> None:
    yard.add_tool(ATTEMPTS, permissions={"filesystem": [str(yard.home / place)]})
    async with yard.open() as plugins:
        assert (await fail(plugins, lines=[])).code == "plugin-permissions"


async def test_a_plugin_reaches_no_host_but_those_granted(yard: Yard, site: ThreadingHTTPServer) -> None:
    port = site.server_port
    fetch = f"__import__('urllib.request').request.urlopen('http://127.0.0.1:{port}/', timeout=5).read().decode()"
    raw = f"socket.create_connection(('127.0.0.1', {port}), 3)"
    get = b"GET / HTTP/1.0\r\n\r\n"
    spoken = (
        f"(lambda s: (s.sendall({get!r}), s.makefile('rb').read().endswith(b'hello'))[1])"
        f"(HOST.connect('127.0.0.1', {port}))"
    )
    for plugin_id, hosts in (("org.example.none", []), ("org.example.some", [f"127.0.0.1:{port}"])):
        keep = "globals()['HOST'] = self.host\n"
        yard.add_tool(keep + ATTEMPTS.replace("\n    ", "\n"), plugin_id=plugin_id, permissions={"network": hosts})
    lines = [
        fetch,
        raw,
        spoken,
        "HOST.connect('127.0.0.1', 9)",
        "HOST.connect('example.com', 443)",
        "HOST.connect('a b', 1)",
    ]
    async with yard.open() as plugins:
        none, some = [
            json.loads((await plugins.call(one, "execute_tool", name="try_it", arguments={"lines": lines})).content)
            for one in ("org.example.none", "org.example.some")
        ]
    assert none[0] in ("URLError", "OSError")
    assert none[1] in (*DENIED, "ConnectionRefusedError")
    assert none[2:] == ["PluginError"] * 4
    assert some[0] == "hello"
    assert some[1] in (*DENIED, "ConnectionRefusedError")
    assert some[2] is True
    assert some[3:] == ["PluginError"] * 3
    judged = [
        (one["detail"]["plugin"][12:], one["subject"], one["decision"])
        for one in yard.audited()
        if one["kind"] == "url"
    ]
    asked = [f"127.0.0.1:{port}", "127.0.0.1:9", "example.com:443"]
    assert [one for one in judged if one[0] == "none"] == [("none", subject, "denied") for subject in asked]
    assert {one for one in judged if one[0] == "some"} == {
        ("some", f"127.0.0.1:{port}", "allowed"),
        ("some", f"127.0.0.1:{port}", "denied"),  # past the proxy
        ("some", "127.0.0.1:9", "denied"),
        ("some", "example.com:443", "denied"),
    }


async def test_private_addresses_stay_closed_where_the_policy_says_so(yard: Yard, site: ThreadingHTTPServer) -> None:
    yard.web = type(yard.web)()
    yard.add_tool(
        "return self.host.connect('127.0.0.1', arguments['port']).fileno()",
        permissions={"network": [f"127.0.0.1:{site.server_port}", "*"]},
    )
    async with yard.open() as plugins:
        with pytest.raises(Exception, match=r"127\.0\.0\.1") as refused:
            await plugins.call(ID, "execute_tool", name="try_it", arguments={"port": site.server_port})
        assert getattr(refused.value, "code", "") == "host-refused"


async def test_the_environment_of_the_user_is_absent(yard: Yard) -> None:
    yard.environ |= {"GIVEN": "yes", "LD_PRELOAD": "/evil.so", "PYTHONPATH": "/evil"}
    yard.add_tool(
        "return {'env': sorted(os.environ), 'given': os.environ['GIVEN'], 'path': sys.path}",
        permissions={"env_vars": ["GIVEN", "LD_PRELOAD", "PYTHONPATH"]},
    )
    async with yard.open() as plugins:
        said = json.loads((await plugins.call(ID, "execute_tool", name="try_it", arguments={})).content)
    assert said["given"] == "yes"
    assert set(said["env"]) <= {
        "GIVEN", "HOME", "LANG", "PATH", "TMPDIR", "PWD", "LC_CTYPE", "CLAWFT_PROJECT_ID"
    }  # fmt: skip
    assert not any("evil" in one for one in said["path"])


async def test_no_program_is_started_without_shell(yard: Yard) -> None:
    yard.add_tool(ATTEMPTS, permissions={"shell": False})
    async with yard.open() as plugins:
        done = await try_all(
            plugins,
            "subprocess.run(['/bin/true'])",
            "os.system('true')",
            "os.execv('/bin/true', ['true'])",
            "os.posix_spawn('/bin/true', ['true'], {})",
            "os.execv(os.open('/bin/true', os.O_RDONLY), ['true'], )",
            "os.execve(os.memfd_create('x'), ['x'], {})",
            "[t := threading.Thread(target=print, args=('in a thread',)), t.start(), t.join(), 'threads'][-1]",
            "os.fork()",
        )
    assert done[0] == "PermissionError"
    assert done[1] in (127 << 8, "PermissionError", 126 << 8)  # no shell could be started
    assert done[2] == done[3] == "PermissionError"
    assert done[5] == "PermissionError"
    assert done[6:] == ["threads", "PermissionError"]
    assert "in a thread" in yard.log()


async def test_no_other_process_is_made_to_start_a_program(yard: Yard) -> None:
    yard.add_tool(ATTEMPTS)
    async with yard.open() as plugins:
        done = await try_all(
            plugins,
            "os.open('/proc/1/mem', os.O_RDWR)",  # what is there is run
            "__import__('ctypes').CDLL(None).ptrace(16, 1, 0, 0)",  # to attach
            "__import__('ctypes').CDLL(None).process_vm_readv(1, 0, 0, 0, 0, 0)",
        )
    assert done[0] in ("PermissionError", "OSError")
    assert done[1:] == [-1, -1]


async def test_with_shell_programs_are_started_inside_the_same_bounds(yard: Yard) -> None:
    yard.add_tool(ATTEMPTS, permissions={"shell": True})
    async with yard.open() as plugins:
        done = await try_all(
            plugins,
            "subprocess.run(['echo', 'hello'], capture_output=True, text=True).stdout",
            f"subprocess.run(['cat', {str(yard.user_dir / 'keys')!r}], capture_output=True, text=True).stdout",
        )
    assert done == ["hello\n", ""]


async def test_what_changed_after_the_grant_is_not_run(yard: Yard) -> None:
    folder = yard.add_tool("return 'approved'")
    (folder / "plugin.py").write_text("raise SystemExit")
    async with yard.open() as plugins:
        failed = await fail(plugins)
        assert (failed.code, failed.hint) == ("plugin-changed", f"Look at it, then: weft plugins enable {ID}")


async def test_what_changes_while_it_runs_is_not_seen(yard: Yard) -> None:
    folder = yard.add_tool("import other\nreturn other.SAID")
    (folder / "other.py").write_text("SAID = 'approved'\n")
    yard.grant(folder)
    async with yard.open() as plugins:
        state = await plugins.call(ID, "execute_tool", name="try_it", arguments={})
        (folder / "other.py").write_text("SAID = 'evil'\n")
        assert state.content == "approved"
        assert (await plugins.call(ID, "execute_tool", name="try_it", arguments={})).content == "approved"


FORGED = {
    "no-json": "b'hello\\n'",
    "unasked": 'b\'{"type":"answer","id":99}\\n\'',
    "kind": 'b\'{"type":"answer","id":[1]}\\n\'',
    "deep": "b'[' * 100000 + b'\\n'",
    "long": "b'x' * 5000000",
    "text": "bytes([255, 254, 10])",
}


@pytest.mark.parametrize("said", FORGED.values(), ids=FORGED)
async def test_forged_lines_of_the_protocol_end_the_plugin(yard: Yard, said: str) -> None:
    yard.add_tool(f"""
        if arguments:
            for number in range(3, 40):
                try:
                    if os.readlink(f"/proc/self/fd/{{number}}").startswith("pipe"):
                        left = memoryview({said})
                        while left:
                            left = left[os.write(number, left):]
                except OSError:
                    pass
            time.sleep(600)
        return "fine"
    """)
    async with yard.open() as plugins:
        with anyio.fail_after(60):
            assert (await fail(plugins, forge=True)).code == "plugin-nonsense"
        assert (await plugins.call(ID, "execute_tool", name="try_it", arguments={})).content == "fine"


async def test_messages_of_a_channel_that_is_not_its_own_are_not_taken(yard: Yard) -> None:
    yard.add_tool("""
        for number in range(3, 40):
            try:
                os.write(number, b'{"type":"ask","id":1,"what":"deliver_inbound","channel":"post","given":{}}\\n' * 300)
            except OSError:
                pass
        time.sleep(600)
    """)
    async with yard.open() as plugins:
        with anyio.fail_after(60):
            assert (await fail(plugins)).code == "plugin-flooded"


HARM = {
    "loop": ("while True: pass", {"plugin-timeout"}),
    "memory": ("x = [bytearray(1 << 20) for _ in range(1 << 20)]", {"plugin-memory"}),
    "threads": (
        "[threading.Thread(target=time.sleep, args=(30,)).start() for _ in range(9999)]",
        {"plugin-raised", "plugin-timeout"},
    ),
    "forks": ("while True: os.fork()", {"plugin-raised"}),
    "prints": ("while True: os.write(2, b'x' * 65536)", {"plugin-flooded"}),
    "exit": ("os._exit(3)", {"plugin-ended"}),
    "signal": ("os.kill(os.getpid(), 9)", {"plugin-ended"}),
    "deep": ("f = lambda: f()\nf()", {"plugin-raised"}),
    "result": ("return 'x' * 5_000_000", {"plugin-result"}),
    "no-json": ("return {1: object()}", {"plugin-result"}),
    "half": ("return '\\ud800'", {"plugin-result"}),
    "closed": ("os.closerange(0, 40); time.sleep(600)", {"plugin-ended", "plugin-timeout"}),
}


@pytest.mark.parametrize(("code", "codes"), HARM.values(), ids=HARM)
async def test_a_plugin_that_does_harm_fails_and_the_next_call_works(yard: Yard, code: str, codes: set[str]) -> None:
    lines = "\n".join(f"    {line}" for line in code.splitlines())
    yard.add_tool(f"if arguments:\n{lines}\nreturn 'fine'")
    call_s = 1.5 if "plugin-timeout" in codes else 10
    async with yard.open({"call_timeout_s": call_s, "memory_mb": 64, "shutdown_timeout_s": 0.3}) as plugins:
        with anyio.fail_after(60):
            assert (await fail(plugins, harm=True)).code in codes
        told = [one.code for one in plugins.check()]
        assert len(told) == 1
        assert (await plugins.call(ID, "execute_tool", name="try_it", arguments={})).content == "fine"


async def test_what_the_settings_open_for_commands_is_not_open_for_plugins(yard: Yard) -> None:
    yard.opened = (str(yard.project), str(yard.home))
    yard.add_tool(ATTEMPTS, permissions={"shell": True})
    async with yard.open() as plugins:
        (said,) = await try_all(plugins, f"open({str(yard.project / 'notes.txt')!r}).read()")
    assert said in DENIED
