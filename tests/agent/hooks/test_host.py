"""Processes that are kept for hooks: the same answers, sooner; nothing of them stays."""

import os
from pathlib import Path

import anyio
import pytest
from msgspec import structs

from clawft.agent.hooks.events import HookEvent, HookFailed, HookReply
from clawft.agent.hooks.handlers import HookLaunch, HookRunner
from clawft.agent.hooks.processes import HookProcesses
from clawft.errors import ClawftError
from hook_stage import Stage

pytestmark = pytest.mark.anyio

COUNT = "let n = 0;\nexport default (e) => { e.messages.push(`${++n}`); };"
# What is called twice, in a process for each call and in one that is kept; every answer is the same.
HANDLERS = {
    "tells": "export default (e) => { e.messages.push('one', 'two'); }",
    "blocks": "export default () => ({block: true, blockReason: 'not today'})",
    "prints": "export default () => { console.log('out'); console.error('err'); }",
    "prints marks": "export default () => { console.log('\\n' + '0'.repeat(32) + '{}'); }",
    "throws": "export default () => { throw new TypeError('no'); }",
    "rejects": "export default async () => { await 1; throw new Error('later'); }",
    "is denied": "export default () => { Deno.env.get('HOME'); }",
    "imports what it may not": "import x from '/etc/hosts' with {type: 'text'};\nexport default () => x;",
    "has a mistake": "export default (e) => {\n  let = ;\n}",
    "has no function": "export const x = 1;",
    "answers nonsense": "export default (e) => { e.messages.push(5); }",
    "has no JSON": "export default (e) => { e.context.x = 1n; }",
    "waits": "export default (e) => new Promise((done) => setTimeout(() => { e.messages.push('x'); done(); }, 5));",
    "ends": "export default () => { Deno.exit(7); }",
    "kills itself": "export default () => { Deno.kill(Deno.pid, 'SIGKILL'); }",
    "floods": "export default () => { console.log('x'.repeat(200_000)); }",
    "is common": "module.exports = (e) => { e.messages.push('common'); };",
    "is long": "export default (e) => { e.messages.push(e.context.long.slice(-3)); }",
}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path, kept=True)
    if stage.sandbox.status().kind != "bubblewrap":
        stage = Stage(tmp_path / "again", "landlock", kept=True)
    return stage


async def _call(runner: HookRunner, job: HookLaunch, event: HookEvent) -> tuple[object, ...]:
    try:
        reply = await runner.call(job, event)
    except HookFailed as error:
        return error.code, str(error), error.hint, error.diagnostic.where
    return tuple(structs.asdict(structs.replace(reply, time_ms=0)).values())


@pytest.mark.parametrize("name", HANDLERS)
async def test_a_kept_process_answers_as_one_for_each_call_does(stage: Stage, name: str) -> None:
    job = stage.job(HANDLERS[name], "handler.js" if name == "is common" else "handler.ts", max_bytes=150_000)
    event = stage.event(long="ä" * 100_000 + "end")
    async with HookProcesses(stage.deno) as hosts:
        alone = await _call(stage.deno, job, event)
        assert [await _call(hosts, job, event) for _ in range(2)] == [alone, alone]


async def test_what_a_module_holds_stays_between_calls(stage: Stage) -> None:
    async with HookProcesses(stage.deno) as hosts:
        job = stage.job(COUNT)
        assert [await _tell(hosts, job, stage.event()) for _ in range(3)] == ["1", "2", "3"]


@pytest.mark.parametrize("key", ["agent:bootstrap", "session:start", "tool:before"])
async def test_only_events_that_come_often_are_told_to_a_kept_process(stage: Stage, key: str) -> None:
    async with HookProcesses(stage.deno) as hosts:
        job = stage.job(COUNT)
        said = [await _tell(hosts, job, stage.event(key, bootstrapFiles=[])) for _ in range(2)]
    assert said == (["1", "2"] if key == "tool:before" else ["1", "1"])


async def test_a_hook_is_called_once_at_a_time(stage: Stage) -> None:
    code = """let inside = 0;
    export default async (e) => {
      e.messages.push(`${++inside}`);
      await new Promise((done) => setTimeout(done, 5));
      inside--;
    };"""
    job, said = stage.job(code), []

    async def call() -> None:
        said.append(await _tell(hosts, job, stage.event()))

    async with HookProcesses(stage.deno) as hosts, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(call)
    assert said == ["1"] * 5


async def test_a_process_that_was_ended_is_started_anew(stage: Stage) -> None:
    code = """let n = 0;
    export default (e) => {
      if (e.context.params.loop) for (;;);
      e.messages.push(`${++n}`);
    };"""
    job = stage.job(code, timeout_s=1.0)
    async with HookProcesses(stage.deno) as hosts:
        assert [await _tell(hosts, job, stage.event()) for _ in range(2)] == ["1", "2"]
        with pytest.raises(HookFailed, match="It took longer than 1 seconds"):
            await hosts.call(job, stage.event(params={"loop": True}))
        assert await _tell(hosts, job, stage.event()) == "1"


async def test_a_process_that_ended_between_calls_is_started_anew(stage: Stage) -> None:
    job = stage.job("export default (e) => { setTimeout(() => Deno.exit(1), 1); e.messages.push('told'); }")
    async with HookProcesses(stage.deno) as hosts:
        assert await _tell(hosts, job, stage.event()) == "told"
        with anyio.fail_after(60):
            while _find_kept(stage, b"bwrap", b"deno", b"python"):
                await anyio.sleep(0.01)
        assert await _tell(hosts, job, stage.event()) == "told"


async def test_a_process_that_nobody_asks_for_long_is_ended(stage: Stage) -> None:
    code = "let n = 0;\nexport default async (e) => { await wait(50); e.messages.push(`${++n}`); };\n"
    job = stage.job(code + "const wait = (ms) => new Promise((done) => setTimeout(done, ms));")
    async with HookProcesses(stage.deno, idle_s=0.02) as hosts:
        assert await _tell(hosts, job, stage.event()) == "1"  # which takes longer than that
        with anyio.fail_after(60):
            while _find_kept(stage):
                await anyio.sleep(0.01)
        assert await _tell(hosts, job, stage.event()) == "1"


async def test_an_error_between_calls_is_not_the_next_calls(stage: Stage) -> None:
    code = """let n = 0, late = false;
    setTimeout(() => { late = true; throw new Error('stray'); }, 5);
    export default (e) => { e.messages.push(`${++n}`, `${late}`); };"""
    job, calls, said = stage.job(code), 0, ""
    async with HookProcesses(stage.deno) as hosts:
        with anyio.fail_after(60):
            while not said.endswith("true"):
                calls, said = calls + 1, await _tell(hosts, job, stage.event())
    assert said == f"{calls} true"


async def test_a_late_answer_of_a_call_is_not_the_next_calls(stage: Stage) -> None:
    code = """export default async (e) => {
      if (e.context.params.first) {
        setTimeout(() => { throw new Error('stray'); }, 1);
        await new Promise((done) => setTimeout(done, 40));
        return {block: true};
      }
      await new Promise((done) => setTimeout(done, 80));
    };"""
    job = stage.job(code)
    async with HookProcesses(stage.deno) as hosts:
        with pytest.raises(HookFailed, match="stray"):
            await hosts.call(job, stage.event(params={"first": True}))
        assert (await hosts.call(job, stage.event())).blocked is None


async def test_a_call_that_is_given_up_leaves_nothing(stage: Stage) -> None:
    job = stage.job(
        "let n = 0; export default (e) => e.context.params.hang ? wait() : void n++;\n"
        "const wait = () => new Promise(() => setInterval(() => {}, 1));"
    )
    async with HookProcesses(stage.deno) as hosts:
        await hosts.call(job, stage.event())
        (before,) = _find_kept(stage)
        with anyio.move_on_after(1):
            await hosts.call(job, stage.event(params={"hang": True}))
        await hosts.call(job, stage.event())
        (after,) = _find_kept(stage)
        assert before != after
    assert not _find_kept(stage)


async def test_a_hook_that_changed_or_may_reach_something_else_gets_a_new_process(stage: Stage) -> None:
    job = stage.job(COUNT)
    async with HookProcesses(stage.deno) as hosts:
        assert [await _tell(hosts, job, stage.event()) for _ in range(2)] == ["1", "2"]
        for changed in (structs.replace(job, version="2"), structs.replace(job, memory_mb=200)):
            assert await _tell(hosts, changed, stage.event()) == "1"
        with anyio.fail_after(60):
            while len(_find_kept(stage)) > 1:
                await anyio.sleep(0.01)


async def test_two_hooks_never_share_a_process(stage: Stage) -> None:
    code = "globalThis.seen ??= 0; export default (e) => { e.messages.push(`${++globalThis.seen}`); };"
    one, other = stage.job(code), structs.replace(stage.job(code, "other.ts"), name="other")
    async with HookProcesses(stage.deno) as hosts:
        assert [await _tell(hosts, job, stage.event()) for job in (one, other, one)] == ["1", "1", "2"]
        assert len(_find_kept(stage)) == 2
    assert not _find_kept(stage)


async def test_processes_end_with_their_owner_whatever_happens(stage: Stage) -> None:
    async def fail() -> None:
        async with HookProcesses(stage.deno) as hosts:
            await hosts.call(stage.job(COUNT), stage.event())
            assert _find_kept(stage)
            raise KeyError

    with pytest.raises(KeyError):
        await fail()
    assert not _find_kept(stage)


async def test_a_hook_that_cannot_be_started_is_told_each_time(stage: Stage) -> None:
    job = stage.job(COUNT, digest="0" * 64)
    async with HookProcesses(stage.deno) as hosts:
        for _ in range(2):
            with pytest.raises(ClawftError) as failed:
                await hosts.call(job, stage.event())
            assert failed.value.code == "skill-changed"


async def _tell(runner: HookRunner, job: HookLaunch, event: HookEvent) -> str:
    reply: HookReply = await runner.call(job, event)
    return " ".join(reply.messages)


def _find_kept(stage: Stage, *programs: bytes) -> list[int]:
    """The kept processes of this stage: those of Deno, or also of what is around it."""
    found = []
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(programs or b"deno") and any(os.fsencode(stage.hook) in word for word in words):
            found.append(pid)
    return found
