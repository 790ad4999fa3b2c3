"""Answers that a hook must not forge, and calls that it must not survive: with real Deno, both ways of running it."""

import os
import re
from pathlib import Path

import pytest

from clawft.agent.hooks.events import HookFailed
from clawft.agent.hooks.processes import HookProcesses
from hook_stage import Stage

pytestmark = pytest.mark.anyio

# A hook that throws, after it has changed what our modules might use to say so. LEAK is printed if the mark passed by.
TAMPERS = {
    "prints an answer": "console.log('\\n' + 'f'.repeat(32) + '{\"context\":{},\"messages\":[]}');",
    "JSON": 'JSON.stringify = () => \'{"context":{},"messages":[]}\'; JSON.parse = () => ({});',
    "TextEncoder": "TextEncoder.prototype.encode = (x) => (console.log('LEAK', x), new Uint8Array());",
    "stdout": "for (const one of [Deno.stdout, Object.getPrototypeOf(Deno.stdout)])"
    " one.writeSync = (x) => (console.error('LEAK', x), x.length);",
    "Deno": "Deno.exit = () => {}; Object.defineProperty(Deno, 'stdout', {value: {writeSync: (x) => x.length}});",
    "bytes": "const was = Uint8Array.prototype.subarray; Uint8Array.prototype.subarray = function (...at) "
    "{ console.error('LEAK', new TextDecoder().decode(this)); return was.apply(this, at); };",
    "promises": "Promise.prototype.then = (ok) => ok('{}');"
    " Object.defineProperty(Promise.prototype, 'constructor', {get: () => class {}});",
    "toJSON": "Object.prototype.toJSON = String.prototype.toJSON = () => ({context: {}, messages: []});",
    "setters": "for (const name of ['error', 'kind', 'message', 'mark', '0', 'context']) "
    "Object.defineProperty(Object.prototype, name, {get: () => undefined, set: (x) => console.error('LEAK', x)});",
    "lists": "Array.isArray = () => { throw 1 }; Array.prototype[Symbol.iterator] = function* () { yield 'LEAK' };",
    "calls": "Reflect.apply = Function.prototype.call = Function.prototype.apply = () => { throw 1 };",
    "events": "globalThis.addEventListener = () => {}; Event.prototype.preventDefault = () => { throw 1 };",
    "String": "globalThis.String = () => 'no'; globalThis.Error = class {}; globalThis.Promise = class {};",
}
BOMB = "const all = []; for (;;) all.push(new Array(500).fill(0).map((x) => ({x})));"
ENDS = {
    "Deno.exit(3)": "(exit code 3)",
    "Deno.exit(0)": "(exit code 0)",
    "process.exit(4)": "(exit code 4)",
    "process.kill(process.pid, 'SIGKILL')": "(signal 9)",
    "process.abort()": "(signal 6)",
}


@pytest.fixture(params=["bubblewrap-once", "bubblewrap-kept"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    kind, way = request.param.split("-")
    stage = Stage(tmp_path, kind, kept=way == "kept")
    if stage.sandbox.status().kind != kind:
        pytest.skip(f"there is no {kind} here")
    return stage


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        *(("bubblewrap-once", name) for name in TAMPERS),
        *(("bubblewrap-kept", name) for name in ("prints an answer", "JSON", "stdout", "promises", "toJSON")),
    ],
    indirect=["stage"],
)
async def test_a_hook_that_throws_has_failed_whatever_it_changed_before(stage: Stage, name: str) -> None:
    code = f"const Oops = Error; export default (event) => {{ {TAMPERS[name]} throw new Oops('it broke'); }}"
    with pytest.raises(HookFailed) as failed:
        await stage.run(code)
    assert (failed.value.code, str(failed.value)) == ("hook-failed", "it broke")


@pytest.mark.parametrize("name", ["TextEncoder", "stdout", "bytes", "setters", "lists"])
@pytest.mark.parametrize("stage", ["bubblewrap-once"], indirect=True)
async def test_the_mark_of_an_answer_is_never_seen_by_the_hook(stage: Stage, name: str) -> None:
    said = await stage.run(f"export default (event) => {{ console.log('ran'); {TAMPERS[name]} }}")
    assert said.printed.startswith("ran")
    assert not re.search("[0-9a-f]{32}", said.printed)


@pytest.mark.parametrize("code", ENDS)
async def test_a_hook_that_ends_its_process_has_given_no_answer(stage: Stage, code: str) -> None:
    said = await stage.say(f"import process from 'node:process';\nexport default (event) => {{ {code} }};")
    assert said == f"hook-ended: It ended without an answer {ENDS[code]}"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("async () => { Promise.reject(new TypeError('lost')); await later(50); }", "hook-failed: TypeError: lost"),
        ("async () => { setTimeout(() => { throw new Error('late'); }, 1); await later(50); }", "hook-failed: late"),
        ("(e) => { setTimeout(() => { throw new Error('late'); }, 1); e.messages.push('told'); }", "told"),
        ("(e) => { addEventListener('unload', () => { for (;;); }); e.messages.push('told'); }", "told"),
        ("() => { throw undefined; }", "hook-failed: undefined"),
        (
            "() => { throw new Proxy({}, {get() { throw 1; }}); }",
            "hook-failed: Something that cannot be told was thrown",
        ),
    ],
)
async def test_what_a_hook_leaves_behind_or_throws_is_told_and_no_more(stage: Stage, code: str, said: str) -> None:
    later = "const later = (ms) => new Promise((done) => setTimeout(done, ms));\n"
    assert await stage.say(f"{later}export default {code}") == said


@pytest.mark.parametrize(
    "code",
    [
        "export default () => { for (;;); }",
        "export default () => new Promise(() => setInterval(() => {}, 1))",
        "await new Promise(() => setInterval(() => {}, 1));\nexport default () => {};",
    ],
)
async def test_a_hook_that_does_not_come_to_an_end_is_ended(stage: Stage, code: str) -> None:
    said = await stage.say(code, timeout_s=0.4)
    assert said == "hook-timeout: It took longer than 0.4 seconds and was ended"
    assert not _find_running(stage)


@pytest.mark.parametrize(
    "code",
    ["export default () => new Promise(() => {})", "await new Promise(() => {});\nexport default () => {};"],
)
async def test_a_hook_that_waits_for_nothing_is_not_waited_for(stage: Stage, code: str) -> None:
    assert await stage.say(code, timeout_s=60) == "hook-failed: It waits for something that never comes"


@pytest.mark.parametrize(
    ("stage", "code"),
    [
        ("bubblewrap-once", BOMB),
        ("bubblewrap-kept", BOMB),
        ("bubblewrap-once", "const all = []; for (;;) all.push(new Uint8Array(1 << 25).fill(1));"),
        (
            "bubblewrap-once",
            "const all = new WebAssembly.Memory({initial: 1, maximum: 65536});"
            " for (;;) { all.grow(512); new Uint8Array(all.buffer).fill(1); }",
        ),
    ],
    indirect=["stage"],
)
async def test_a_hook_that_takes_ever_more_memory_is_ended(stage: Stage, code: str) -> None:
    said = await stage.say(f"export default () => {{ {code} }}", memory_mb=64)
    assert said == "hook-memory: It needed more than 64 MB of memory"
    assert not _find_running(stage)


@pytest.mark.parametrize("stage", ["bubblewrap-once", "landlock-once"], indirect=True)
async def test_a_hook_that_lifts_the_limit_of_its_heap_is_ended_all_the_same(stage: Stage) -> None:
    lift = "import v8 from 'v8';\nv8.setFlagsFromString('--max-old-space-size=9000');\n"
    said = await stage.say(f"{lift}export default () => {{ {BOMB} }}", memory_mb=64)
    assert said == "hook-memory: It needed more than 64 MB of memory"


@pytest.mark.parametrize("stage", ["landlock-once", "landlock-kept"], indirect=True)
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("for (;;);", "hook-timeout: It took longer than 1 seconds and was ended"),
        ("Deno.exit(3);", "hook-ended: It ended without an answer (exit code 3)"),
    ],
)
async def test_a_hook_under_landlock_ends_as_others_do(stage: Stage, code: str, said: str) -> None:
    assert await stage.say(f"export default () => {{ {code} }}", timeout_s=1.0) == said
    assert not _find_running(stage)


@pytest.mark.parametrize(
    "code", ["for (;;) console.log('x'.repeat(9999));", "for (;;) console.error('x'.repeat(9999));"]
)
async def test_a_hook_that_writes_without_end_is_ended(stage: Stage, code: str) -> None:
    said = await stage.say(f"export default () => {{ {code} }}", max_bytes=50_000)
    assert said == "hook-flooded: It wrote more than 50000 bytes and was ended"
    assert not _find_running(stage)


@pytest.mark.parametrize("stage", ["bubblewrap-once"], indirect=True)
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("e.context.block = 'x'.repeat(60_000)", "hook-flooded: It wrote more than 50000 bytes and was ended"),
        (
            "e.context.block = 5n",
            "hook-result: It answered something that is no event: it cannot be written as JSON: Do not",
        ),
        (
            "e.context.block = e",
            "hook-result: It answered something that is no event: it cannot be written as JSON: Conv",
        ),
        ("e.context = () => 1", "hook-result: It answered something that is no event: its context is no object"),
        ("e.context = null", "hook-result: It answered something that is no event: its context is no object"),
        ("e.context = [1]", "hook-result: It answered something that is no event: its context is no object"),
        (
            "e.context.block = {toJSON: () => [1]}",
            "hook-result: It answered something that tool:before does not know: Expec",
        ),
        ("e.messages = 'abc'", "hook-result: It answered something that is no event: its messages are no list"),
        ("e.messages.push(5)", "hook-result: It answered something that tool:before does not know: Expected `str`"),
        ("for (let n = 0; n < 21; n++) e.messages.push('x')", "hook-result: It answered something that tool:before"),
        (
            "let x = {}; for (let n = 0; n < 3000; n++) x = {x}; e.context.block = x",
            "hook-result: Its answer cannot be read",
        ),
        (
            "e.context.block = 'yes'",
            "hook-result: It answered something that tool:before does not know: Expected `bool`",
        ),
        ("return {__proto__: {block: true}, ['__proto__']: {block: true}}", ""),
        ("delete e.messages", "hook-result: It answered something that is no event: its messages are no list"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_no_answer(stage: Stage, code: str, said: str) -> None:
    told = await stage.say(f"export default (e) => {{ {code} }}", max_bytes=50_000)
    assert told.startswith(said)
    assert bool(told) == bool(said)


async def test_no_call_is_so_large_that_a_hook_cannot_refuse_it(stage: Stage) -> None:
    job = stage.job("export default () => ({block: true, blockReason: 'no'})", max_bytes=1024)
    async with HookProcesses(stage.deno) as hosts:
        reply = await hosts.call(job, stage.event(params={"command": "rm -r x #" + "x" * 3_000_000}))
    assert reply.blocked == "no"


def _find_running(stage: Stage) -> list[str]:
    """Processes that see the folder of the hook."""
    mark = os.fsencode(stage.hook)
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if not ended and mark in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found
