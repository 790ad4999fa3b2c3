"""What a hook may not reach: tried with real Deno, in both ways of running it and under both sandboxes."""

import json
import os
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from hook_stage import SECRET, Stage

pytestmark = pytest.mark.anyio

WAYS = ["bubblewrap-once", "bubblewrap-kept", "landlock-once"]

# Each is an expression of a handler; what it throws is its name and the start of its message.
DENIED: dict[str, str | tuple[str, ...]] = {
    "fetch('http://127.0.0.1:8080')": 'NotCapable: Requires net access to "127.0.0.1:8080"',
    "fetch('file:///etc/passwd')": 'NotCapable: Requires read access to "/etc/passwd"',
    "Deno.connect({port: 80})": 'NotCapable: Requires net access to "127.0.0.1:80"',
    "Deno.connect({transport: 'unix', path: '/run/x'})": 'NotCapable: Requires read access to "/run/x"',
    "Deno.listen({port: 0})": 'NotCapable: Requires net access to "0.0.0.0:0"',
    "Deno.resolveDns('a.test', 'A', {nameServer: {ipAddr: '127.0.0.1'}})": "NotCapable: Requires net access",
    "new Promise((ok, no) => dns.lookup('a.test', (e) => no(e)))": "Error: getaddrinfo EPERM a.test",
    "new WebSocket('ws://127.0.0.1:8080')": 'NotCapable: Requires net access to "127.0.0.1:8080"',
    "new Promise((ok, no) => net.connect(80, '127.0.0.1').on('error', no))": "NotCapable: Requires net access",
    "Deno.writeTextFileSync(here + '/made', 'x')": "NotCapable: Requires write access to",
    "Deno.makeTempFileSync()": "NotCapable: Requires write access to",
    "Deno.removeSync(here + '/notes.txt')": "NotCapable: Requires write access to",
    "Deno.symlinkSync('/etc', here + '/made')": "NotCapable: Deno.symlinkSync() requires unscoped --allow-read",
    "fs.writeFileSync(here + '/made', 'x')": "NotCapable: Requires write access to",
    "fs.promises.appendFile(here + '/notes.txt', 'x')": "NotCapable: Requires write access to",
    "Deno.openKv('/tmp/kv')": "TypeError: Deno.openKv is not a function",
    "new Deno.Command('/bin/sh').outputSync()": 'NotCapable: Requires run access to "/bin/sh"',
    "new Deno.Command(Deno.execPath(), {args: ['eval', '1']}).outputSync()": "NotCapable: Requires run access",
    "child.execFileSync('/bin/sh')": "Error: Command failed: /bin/sh",
    "child.execFileSync('/bin/echo', ['hi'], {env: {}})": "Error: Command failed: /bin/echo",
    "new Promise((ok, no) => child.fork('./it.ts', [], {env: {}}).on('error', no))": "NotCapable: Requires run access",
    "ran(child.spawnSync('/bin/echo', ['hi'], {env: {}}).stdout)": "Error: nothing ran",
    "Deno.kill(1, 'SIGTERM')": "NotCapable: Requires run access",
    "Deno.dlopen('/usr/lib/x86_64-linux-gnu/libc.so.6', {})": "NotCapable: Requires ffi access",
    "process.dlopen({exports: {}}, '/usr/lib/x86_64-linux-gnu/libc.so.6')": "NotCapable: Requires ffi access",
    "Deno.hostname()": 'NotCapable: Requires sys access to "hostname"',
    "os.userInfo()": "NotCapable: Requires sys access",
    "Deno.readTextFileSync('/etc/passwd')": 'NotCapable: Requires read access to "/etc/passwd"',
    "fs.readFileSync('/etc/hosts')": 'NotCapable: Requires read access to "/etc/hosts"',
    "Deno.readTextFileSync(here + '/../../../../../../../etc/hosts')": "NotCapable: Requires read access to",
    "Deno.readTextFileSync(here + '/../home/private.txt')": "NotCapable: Requires read access to",
    "Deno.readTextFileSync('/proc/self/environ')": "NotCapable: Requires",
    "Deno.readTextFileSync('/proc/self/root/etc/hosts')": "NotCapable: Requires",
    "Deno.readTextFileSync('/proc/1/cmdline')": "NotCapable: Requires",
    "Deno.openSync('/dev/stdin')": "NotCapable: Requires",
    "Deno.realPathSync('/etc/hosts')": 'NotCapable: Requires read access to "/etc/hosts"',
    "Deno.lstatSync('/etc/shadow')": 'NotCapable: Requires read access to "/etc/shadow"',
    "process.chdir('/etc')": 'NotCapable: Requires read access to "/etc"',
    "fs.openAsBlob('/etc/hosts')": 'NotCapable: Requires read access to "/etc/hosts"',
    "new sqlite.DatabaseSync('/etc/hosts', {readOnly: true})": "NotCapable: Requires read access",
    "new sqlite.DatabaseSync(':memory:', {allowExtension: true}).loadExtension('/x.so')": "NotCapable: Requires ffi",
    "new sqlite.DatabaseSync(':memory:').exec(\"ATTACH DATABASE '/tmp/x' AS b\")": "Error: too many attached databases",
    "new WASI({version: 'preview1', preopens: {'/': '/etc'}})": 'Error: uvwasi_init: failed to open preopen "/etc"',
    "new WASI({version: 'preview1', preopens: {'/': here}})": "NotCapable: Requires write access to",
    "v8.writeHeapSnapshot(here + '/made')": "NotCapable: Requires write access to",
    "inspector.open(9229)": 'NotCapable: Requires sys access to "inspector"',
    "Deno.linkSync(here + '/notes.txt', here + '/made')": "NotCapable: Requires write access to",
    "Deno.chmodSync(here + '/notes.txt', 0o777)": "NotCapable: Requires write access to",
    "Deno.truncateSync(here + '/notes.txt')": "NotCapable: Requires write access to",
    "Deno.createHttpClient({proxy: {url: 'http://127.0.0.1:8080'}})": "NotCapable: Requires net access",
    "vm.runInNewContext('this.constructor.constructor(\"return Deno\")()').readTextFileSync('/etc/hosts')": (
        'NotCapable: Requires read access to "/etc/hosts"'
    ),
    "import('data:text/javascript,Deno.readTextFileSync(\"/etc/hosts\")')": "NotCapable: Requires read access",
    "Deno.readDirSync('/').next()": 'NotCapable: Requires read access to "/"',
    "Deno.readTextFileSync(here + '/link')": "PermissionDenied: Permission denied",
    "Deno.readTextFileSync(here + '/.env')": "PermissionDenied: Permission denied",
    "Deno.readTextFileSync(own + '/link')": "PermissionDenied: Permission denied",
    "fs.readFileSync(here + '/link')": "Error: EACCES: permission denied",
    "Deno.readTextFileSync(here + '/private')": ("NotFound: No such file", "PermissionDenied: Permission denied"),
    "import('./static-text.ts')": 'TypeError: Requires read access to "/etc/passwd"',
    "import('./static-json.ts')": 'TypeError: Requires read access to "/etc/passwd"',
    "import('./static-environ.ts')": 'TypeError: Requires read access to "/proc/self/environ"',
    "import('./static-link.ts')": "TypeError: Import 'file:",
    "import('./static-up.ts')": "TypeError: Requires read access to",
    "import('/etc/passwd', {with: {type: 'text'}})": 'TypeError: Requires read access to "/etc/passwd"',
    "import('/etc/passwd', {with: {type: 'bytes'}})": 'TypeError: "bytes" is not a valid module type',
    "import(['', 'etc', 'hosts'].join('/'), {with: {type: 'text'}})": 'TypeError: Requires read access to "/etc/hosts"',
    "import('./linked.ts')": ("TypeError: Module not found", "TypeError: Import 'file:"),
    "import('https://127.0.0.1:1/x.ts')": 'TypeError: Requires import access to "127.0.0.1:1"',
    "import('npm:left-pad')": "TypeError: npm specifiers were requested; but --no-npm is specified",
    "import('jsr:@std/path')": "TypeError: JSR package manifest",
    "import('left-pad')": 'TypeError: Import "left-pad" not a dependency',
    "require('/etc/passwd')": "NotCapable: Requires read access",
    'new Function(\'return import("/etc/hosts", {with: {type: "text"}})\')()': "TypeError: Requires read access",
}
FILES = {
    "static-text.ts": 'import text from "/etc/passwd" with { type: "text" };\nexport default text;',
    "static-json.ts": 'import text from "/etc/passwd" with { type: "json" };\nexport default text;',
    "static-environ.ts": 'import text from "/proc/self/environ" with { type: "text" };\nexport default text;',
    "static-link.ts": 'import text from "./link" with { type: "text" };\nexport default text;',
    "static-up.ts": 'import text from "../../../private.txt" with { type: "text" };\nexport default text;',
}
TRY_ALL = """
import child from "child_process";
import dns from "dns";
import fs from "fs";
import net from "net";
import os from "os";
import inspector from "inspector";
import process from "process";
import v8 from "v8";
import vm from "vm";
import * as sqlite from "node:sqlite";
import { WASI } from "node:wasi";
import { createRequire } from "module";
const require = createRequire(import.meta.url);
const own = import.meta.dirname;
const ran = (output) => { if (!output) throw new Error("nothing ran"); return output; };
export default async function (event) {
  const here = event.context.workspaceDir;
  const told = {};
  for (const [name, attempt] of Object.entries({%s})) {
    try {
      const got = await attempt(here);
      told[name] = "GOT " + (typeof got === "object" ? JSON.stringify(got) : String(got)).slice(0, 200);
    } catch (error) {
      told[name] = `${error?.name}: ${error?.message}`.slice(0, 200);
    }
  }
  const all = Object.entries(told);
  for (let at = 0; at < all.length; at += 8) event.messages.push(JSON.stringify(all.slice(at, at + 8)));
}
"""


@pytest.fixture(params=WAYS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    kind, way = request.param.split("-")
    stage = Stage(tmp_path, kind, kept=way == "kept")
    status = stage.sandbox.status()
    if status.kind != kind:
        pytest.skip(f"there is no {kind} here: {status.reason}")
    return stage


async def test_a_hook_reaches_nothing_that_it_was_not_granted(stage: Stage) -> None:
    for name, text in FILES.items():
        (stage.hook / name).write_text(text)
    (stage.hook / "link").symlink_to("/etc/passwd")
    (stage.home / "elsewhere.ts").write_text(f"export default '{SECRET}';")
    (stage.hook / "linked.ts").symlink_to(stage.home / "elsewhere.ts")
    attempts = ",\n".join(f"{json.dumps(code)}: (here) => {code}" for code in DENIED)
    reply = await stage.run(TRY_ALL % attempts, env={"NODE_V8_COVERAGE": ""})
    told = {name: said for one in reply.messages for name, said in json.loads(one)}
    assert told.keys() == DENIED.keys()
    allowed = {name: said for name, said in told.items() if said.startswith("GOT")}
    assert not allowed
    wrong = {name: said for name, said in told.items() if not said.startswith(DENIED[name])}
    assert not wrong
    assert SECRET not in str(told) + reply.printed
    assert sorted(os.listdir(stage.project)) == [".env", "link", "notes.txt", "private", "src"]


async def test_a_hook_sees_and_changes_no_variable_but_those_it_was_given(stage: Stage) -> None:
    code = """export default async (event) => {
      const { LANG, HOME, PATH, ...rest } = process.env;
      Deno.env.set("LD_PRELOAD", "x");
      process.env.PATH = "/tmp";
      const seen = [Deno.env.get("HOME") ?? null, process.env.PATH ?? null, Deno.env.get("LD_PRELOAD") ?? null];
      event.messages.push(JSON.stringify([LANG, HOME ?? null, PATH ?? null, rest, seen, Deno.env.toObject()]));
    }"""
    said = await stage.say(code, env={"LANG": "C"})
    assert json.loads(said) == ["C", None, None, {}, [None, None, None], {"LANG": "C"}]


WORKERS = {
    "more rights": (
        "new Worker(import.meta.url, {type: 'module', deno: {permissions: {read: true, net: true}}})",
        "hook-ended: It ended without an answer (exit code 70)",
    ),
    "all rights": (
        "new Worker(import.meta.url, {type: 'module', deno: {permissions: 'inherit'}})",
        "hook-ended: It ended without an answer (exit code 70)",
    ),
    "the same": ("new Worker(import.meta.url, {type: 'module'})", 'Requires read access to "/etc/hosts"'),
    "of Node": (
        "new Node('import(\\'node:fs\\').then((fs) => fs.readFileSync(\\'/etc/hosts\\'))', {eval: true})",
        'hook-denied: Requires read access to "/etc/hosts"',
    ),
}
WORKER = """
import {{ Worker as Node }} from "node:worker_threads";
if (globalThis.WorkerGlobalScope) {{
  try {{ self.postMessage(Deno.readTextFileSync("/etc/hosts")); }} catch (error) {{ self.postMessage(error.message); }}
}}
export default (event) => new Promise((ok, no) => {{
  const worker = {worker};
  worker.onmessage = (told) => {{ event.messages.push(String(told.data)); ok(); }};
  worker.on?.("error", no);
}});
"""


@pytest.mark.parametrize("worker", WORKERS)
@pytest.mark.parametrize("stage", WAYS[:1], indirect=True)
async def test_a_worker_of_a_hook_has_no_more_rights_than_the_hook(stage: Stage, worker: str) -> None:
    code, said = WORKERS[worker]
    assert (await stage.say(WORKER.format(worker=code))).startswith(said)


async def test_nobody_is_asked_for_more_rights(stage: Stage) -> None:
    ask = "async (e) => { for (const name of ['read', 'write', 'net', 'env', 'run', 'ffi', 'sys']) "
    code = ask + "e.messages.push((await Deno.permissions.request({name})).state) }"
    assert set((await stage.say(f"export default {code}")).split()) == {"denied"}


@pytest.mark.parametrize("stage", ["bubblewrap-once", "landlock-once"], indirect=True)
async def test_what_a_hook_stores_is_gone_with_its_process(stage: Stage) -> None:
    code = "(e) => { e.messages.push(String(localStorage.getItem('a'))); localStorage.setItem('a', 'kept'); }"
    assert await stage.say(f"export default {code}") == "null"
    assert await stage.say(f"export default {code}") == "null"


async def test_a_hook_reads_its_own_folder_and_the_project_and_what_it_was_granted(stage: Stage) -> None:
    granted = stage.home / "-granted #?%20"
    granted.mkdir()
    (granted / "a=b.txt").write_text("granted")
    (stage.hook / "lib").mkdir()
    (stage.hook / "lib/one.ts").write_text("export const one: string = 'own';")
    code = f"""
    import {{ one }} from "./lib/one.ts";
    import fs from "fs";
    export default (event: {{ messages: string[]; context: {{ workspaceDir: string }} }}) => {{
      event.messages.push(one, fs.readFileSync(event.context.workspaceDir + "/notes.txt", "utf8"));
      event.messages.push(Deno.readTextFileSync({json.dumps(str(granted / "a=b.txt"))}), Deno.env.get("GIVEN")!);
    }}"""
    said = await stage.say(code, read=(str(granted),), env={"GIVEN": "a,b=c\nd"})
    assert said == "own\nto be read\ngranted\na,b=c\nd"


async def test_a_hook_changes_only_what_it_was_granted(stage: Stage) -> None:
    out = stage.home / "out"
    out.mkdir()
    (out / "made").write_text("old")
    code = f"""export default (event) => {{
      Deno.writeTextFileSync({json.dumps(str(out / "made"))}, "x");
      Deno.writeTextFileSync(event.context.workspaceDir + "/made", "x");
    }}"""
    assert (await stage.say(code, write=(str(out),))).startswith("hook-denied: Requires write access to")
    assert (out / "made").read_text() == "x"
    assert not (stage.project / "made").exists()


FETCH = "async (e) => e.messages.push(await (await fetch('http://{}/')).text())"


async def test_a_granted_host_is_reached_through_the_proxy_and_no_other(
    stage: Stage, site: ThreadingHTTPServer
) -> None:
    stage.allow_private()
    granted = f"127.0.0.1:{site.server_port}"
    assert await stage.say(f"export default {FETCH.format(granted)}", net=(granted,)) == "hello"
    said = await stage.say(f"export default {FETCH.format(f'localhost:{site.server_port}')}", net=(granted,))
    assert said == f'hook-denied: Requires net access to "localhost:{site.server_port}"'
    connect = f"async (e) => {{ await Deno.connect({{hostname: '127.0.0.1', port: {site.server_port}}}) }}"
    said = await stage.say(f"export default {connect}", net=(granted,))  # there is no way around the proxy
    assert said.startswith("hook-failed: ConnectionRefused")


@pytest.mark.parametrize("stage", ["bubblewrap-once", "landlock-once"], indirect=True)
async def test_a_granted_host_is_reached_only_as_far_as_the_policy_for_addresses_allows(
    stage: Stage, site: ThreadingHTTPServer
) -> None:
    said = await stage.say(
        f"export default {FETCH.format(f'127.0.0.1:{site.server_port}')}", net=(f"127.0.0.1:{site.server_port}",)
    )
    assert said.startswith(f"clawft: 127.0.0.1:{site.server_port}: '127.0.0.1' is an address of this machine")
    assert "hello" not in said
    # Deno is told of every host here, and the proxy knows better.
    said = await stage.say(f"export default {FETCH.format(f'127.0.0.1:{site.server_port}')}", net=("*",))
    assert "not among those that this program may reach" in said


async def test_settings_and_packages_of_the_project_that_a_hook_starts_in_are_nothing_to_it(stage: Stage) -> None:
    (stage.project / "deno.json").write_text('{"imports": {"fs": "./evil.ts"}, "preload": ["./evil.ts"]}')
    (stage.project / "package.json").write_text('{"type": "commonjs", "dependencies": {"left": "1"}}')
    (stage.project / "evil.ts").write_text("console.log('EVIL'); export default {};")
    package = stage.project / "node_modules" / "left"
    package.mkdir(parents=True)
    (package / "index.js").write_text("console.log('EVIL'); module.exports = 1;")
    code = """import fs from "fs";
    export default async (event) => {
      const left = await import("left").catch((error) => error.message);
      event.messages.push(Deno.cwd(), fs.readFileSync("notes.txt", "utf8"), left.slice(0, 32));
    }"""
    reply = await stage.run(code)
    notes = (stage.project / "notes.txt").read_text()
    assert reply.messages == (str(stage.project), notes, 'Import "left" not a dependency a')
    assert "EVIL" not in reply.printed
