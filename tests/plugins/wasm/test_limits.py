"""Components that take too much, or break: the call fails, the next one works, and nobody else notices."""

import os
import time

import anyio
import anyio.lowlevel
import pytest

from clawft.plugins import component as worker
from clawft.plugins.host import Plugins
from wasm_guests import ECHO, GET_CONFIG, READ_FILE, TEXT, make_guest, repeat
from wasm_yard import WasmYard

pytestmark = pytest.mark.anyio
# A text of more than ten characters does something else than to echo.
IS_LONG = "(i32.gt_u (local.get 3) (i32.const 18))"
COUNT = """(global.set $n (i32.add (global.get $n) (i32.const 1)))
      (i32.store8 (i32.const 600) (i32.add (global.get $n) (i32.const 48)))
      (call $answer (i32.const 600) (i32.const 1) (i32.const 0))"""
COUNTER = "(global $n (mut i32) (i32.const 0))"
LONG = "a longer text"
ENDLESS = {"wasm": {"fuel": 10**15, "timeout_s": 60}}


def when_long(code: str) -> str:
    """A guest that does this for a long text, and counts its calls for others."""
    return f"(if {IS_LONG} (then {code})) {COUNT}"


async def test_an_endless_loop_ends_when_its_instructions_are_used_up(yard: WasmYard) -> None:
    yard.add_code(when_long("(loop $l (br $l))"), more=COUNTER)
    async with yard.open({"wasm": {"fuel": 1_000_000}}) as plugins:
        failure = await yard.fail(plugins, LONG)
        assert failure.code == "wasm-limit"
        assert "plugins.wasm.fuel" in str(failure)
        assert await yard.ask(plugins) == ("1", False)


async def test_an_endless_loop_ends_at_its_deadline(yard: WasmYard) -> None:
    yard.add_code(when_long("(loop $l (br $l))"), more=COUNTER)
    async with yard.open({"wasm": {"fuel": 10**15, "timeout_s": 0.1}}) as plugins:
        await yard.ask(plugins)
        started = time.monotonic()
        failure = await yard.fail(plugins, LONG)
        assert time.monotonic() - started > 0.09
        assert failure.code == "plugin-timeout"
        assert await yard.ask(plugins) == ("1", False)


async def test_every_call_has_its_own_instructions(yard: WasmYard) -> None:
    yard.add_code(f"{repeat(20_000, 'nop')} {COUNT}", more=COUNTER)
    async with yard.open({"wasm": {"fuel": 200_000}}) as plugins:
        assert [(await yard.ask(plugins))[0] for _ in range(5)] == ["1", "2", "3", "4", "5"]


async def test_memory_grows_to_its_limit_and_no_further(yard: WasmYard) -> None:
    """It asks for pages until it gets none, and tells how many it has in units of a megabyte, as a letter."""
    grow = """(block $full (loop $l (br_if $full (i32.eq (call $grow (i32.const 16)) (i32.const -1))) (br $l)))
      (i32.store8 (i32.const 600) (i32.add (i32.shr_u (memory.size) (i32.const 4)) (i32.const 48)))
      (call $answer (i32.const 600) (i32.const 1) (i32.const 0))"""
    more = "(func $grow (param i32) (result i32) (memory.grow (local.get 0)))"
    yard.add_code(grow, more=more)
    async with yard.open({"wasm": {"memory_mb": 8}}) as plugins:
        assert await yard.ask(plugins) == ("7", False)


async def test_a_component_that_needs_too_much_memory_does_not_start(yard: WasmYard) -> None:
    yard.add_code(ECHO, pages=2000)
    async with yard.open() as plugins:
        failure = await yard.fail(plugins)
    assert failure.code == "wasm-limit"
    assert "plugins.wasm.memory_mb" in str(failure)


@pytest.mark.parametrize(("pages", "count", "starts"), [(200, 3, True), (900, 1, False), (200, 4, False)])
async def test_several_memories_are_no_way_around_the_limit(
    yard: WasmYard, pages: int, count: int, starts: bool
) -> None:
    """Beside the memory that all guests here have. Four share what one would have: 64 MB, or 256 pages each."""
    extra = f'(core module $extra (memory (export "memory") {pages}))' + "(core instance (instantiate $extra))" * count
    yard.add_guest(make_guest(ECHO).replace("(core instance $kept", f"{extra} (core instance $kept", 1))
    async with yard.open() as plugins:
        if starts:
            assert await yard.ask(plugins) == ('{"s":""}', False)
        else:
            assert (await yard.fail(plugins)).code == "wasm-limit"


async def test_deep_recursion_traps_and_nothing_else_happens(yard: WasmYard) -> None:
    more = (
        COUNTER
        + "(func $deep (param i32) (result i32) (i32.add (call $deep (local.get 0)) (call $deep (i32.const 1))))"
    )
    yard.add_code(when_long("(drop (call $deep (i32.const 1)))"), more=more)
    async with yard.open() as plugins:
        failure = await yard.fail(plugins, LONG)
        assert failure.code == "wasm-limit"
        assert "too deeply" in str(failure)
        assert await yard.ask(plugins) == ("1", False)


async def test_handing_over_too_much_at_once_is_a_limit_too(yard: WasmYard) -> None:
    """A list of headers that names the same megabyte again and again."""
    at = "(i32.add (i32.const 1048576) (i32.mul (local.get $i) (i32.const 16)))"
    fill = f"""(i32.store {at} (i32.const 65536)) (i32.store offset=4 {at} (i32.const 900000))
        (i32.store offset=8 {at} (i32.const 65536)) (i32.store offset=12 {at} (i32.const 900000))"""
    bomb = f"""{repeat(3000, fill)}
      (call $http-request (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1048576) (i32.const 3000)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1024)) {ECHO}"""
    yard.add_code(bomb, pages=32)
    async with yard.open() as plugins:
        assert (await yard.fail(plugins)).code == "wasm-limit"


async def test_after_a_trap_the_next_call_finds_a_fresh_instance_that_got_ready_anew(yard: WasmYard) -> None:
    init = "(call $log (i32.const 2) (i32.const 512) (i32.const 5)) (i32.const 4096)"
    yard.add_code(when_long("unreachable"), more=COUNTER, init=init, texts="ready")
    async with yard.open() as plugins:
        assert [(await yard.ask(plugins))[0] for _ in range(2)] == ["1", "2"]
        failure = await yard.fail(plugins, LONG)
        assert failure.code == "wasm-runtime"
        assert "unreachable" in str(failure)
        assert [(await yard.ask(plugins))[0] for _ in range(2)] == ["1", "2"]
    assert yard.log("org.example.guest").count("info: ready") == 2
    failed = [line for line in yard.audited() if line["decision"] == "failed"]
    assert "try_it" in failed[0]["detail"]["message"]


@pytest.mark.parametrize("code", [
    "(i32.const 2147483000)",  # a result that lies outside of its memory
    "(call $answer (i32.const 2147483000) (i32.const 9) (i32.const 0))",
    "(call $answer (i32.const 64) (i32.const -1) (i32.const 0))",
    "(i32.store (i32.const 700) (i32.const -1)) (call $answer (i32.const 700) (i32.const 4) (i32.const 0))",  # no UTF-8
    "(call $get-config (i32.const 2147483000) (i32.const 9) (i32.const 1024)) (i32.const 4096)",
    "(drop (i32.div_u (i32.const 1) (i32.const 0))) (i32.const 4096)",
])  # fmt: skip
async def test_pointers_and_texts_that_make_no_sense_trap(yard: WasmYard, code: str) -> None:
    yard.add_code(code)
    async with yard.open() as plugins:
        failure = await yard.fail(plugins)
    assert failure.code == "wasm-runtime"


async def test_a_cancelled_call_ends_its_guest_and_the_next_one_works(yard: WasmYard) -> None:
    yard.add_code(when_long("(loop $l (br $l))"), more=COUNTER)
    async with yard.open(ENDLESS) as plugins:
        await yard.ask(plugins)
        with anyio.move_on_after(0.05) as scope:
            await yard.ask(plugins, LONG)
        assert scope.cancelled_caught
        assert await yard.ask(plugins) == ("1", False)


async def test_a_call_that_waits_for_another_is_cancelled_at_once(
    yard: WasmYard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_END_S", 600)  # what the host would wait for a call that began
    yard.add_code(when_long("(loop $l (br $l))"), more=COUNTER)
    async with yard.open(ENDLESS) as plugins:
        await yard.ask(plugins)
        async with anyio.create_task_group() as group:
            group.start_soon(yard.ask, plugins, LONG)
            await anyio.lowlevel.checkpoint()
            with anyio.move_on_after(0.05) as scope:
                await yard.ask(plugins)
            assert scope.cancelled_caught
            group.cancel_scope.cancel()
        assert await yard.ask(plugins) == ("1", False)


async def test_calls_to_one_component_wait_for_each_other(yard: WasmYard) -> None:
    yard.add_code(COUNT, more=COUNTER)
    said: list[str] = []
    async with yard.open() as plugins:

        async def ask() -> None:
            said.append((await yard.ask(plugins))[0])

        async with anyio.create_task_group() as group:
            for _ in range(9):
                group.start_soon(ask)
    assert sorted(said) == list("123456789")


async def test_a_component_that_spins_does_not_stop_another_or_the_loop(yard: WasmYard) -> None:
    yard.add_code("(loop $l (br $l)) unreachable")
    schema = {"type": "object", "properties": {"a": {"default": "b"}}}
    yard.add_code(GET_CONFIG, "org.example.other", config_schema=schema)
    async with yard.open(ENDLESS) as plugins, anyio.create_task_group() as group:
        group.start_soon(yard.ask, plugins)
        answers = [await yard.ask(plugins, "a", "org.example.other") for _ in range(50)]
        group.cancel_scope.cancel()
    assert answers == [("b", False)] * 50


async def test_two_components_under_load_get_each_their_own_answers(yard: WasmYard) -> None:
    """The library keeps state in its modules when it converts such answers, so two threads could mix them up."""
    for name in ("one", "two"):
        schema = {"type": "object", "properties": {"who": {"default": name}}}
        yard.add_code(GET_CONFIG, f"org.example.{name}", config_schema=schema)
    async with yard.open() as plugins:

        async def ask(name: str) -> None:
            for number in range(100):
                wanted = (name, False) if number % 2 else ("", True)
                said = await yard.ask(plugins, "who" if number % 2 else "none", f"org.example.{name}")
                assert (said[1], said[0] if number % 2 else "") == (wanted[1], wanted[0])

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "one")
            group.start_soon(ask, "two")


async def test_a_component_that_fails_again_and_again_is_left_alone(yard: WasmYard) -> None:
    yard.add_code("unreachable")
    async with yard.open({"max_failures": 2}) as plugins:
        codes = [(await yard.fail(plugins)).code for _ in range(3)]
        assert await plugins.health("org.example.guest") == "left alone"
    assert codes == ["wasm-runtime", "wasm-runtime", "plugin-left-alone"]


async def test_a_component_whose_data_folder_cannot_be_made_does_not_start(yard: WasmYard) -> None:
    (yard.user_dir / "plugin-data").write_text("a file in its place")
    yard.add_code(ECHO)
    async with yard.open() as plugins:
        assert (await yard.fail(plugins)).code == "plugin-start"


async def test_a_component_that_never_gets_ready_ends_at_its_deadline(yard: WasmYard) -> None:
    yard.add_code(ECHO, init="(loop $l (br $l)) unreachable")
    async with yard.open({"wasm": {"fuel": 10**15}, "init_timeout_s": 0.1}) as plugins:
        assert (await yard.fail(plugins)).code == "plugin-timeout"


async def test_a_flood_of_refusals_fills_no_log(yard: WasmYard) -> None:
    yard.add_code(READ_FILE)
    async with yard.open() as plugins:
        for number in range(150):
            await yard.ask(plugins, f"/etc/{number}")
            await yard.ask(plugins, "/etc/passwd")
    assert len(yard.denials()) == 101
    assert yard.denials()[-1] == "and more"


async def test_results_that_are_too_long_are_refused(yard: WasmYard) -> None:
    yard.add_code("(call $answer (i32.const 8192) (i32.const 5000000) (i32.const 0))", pages=80)
    async with yard.open() as plugins:
        assert "is the limit" in str(await yard.fail(plugins))


async def test_shutdown_is_called_when_the_host_ends_and_has_a_deadline(yard: WasmYard) -> None:
    yard.add_code(ECHO, shutdown="(call $log (i32.const 2) (i32.const 512) (i32.const 3))", texts="bye")
    yard.add_code(ECHO, "org.example.slow", shutdown="(loop $l (br $l))")
    async with yard.open({"wasm": {"fuel": 10**15}, "shutdown_timeout_s": 0.1}) as plugins:
        await yard.ask(plugins)
        await yard.ask(plugins, "", "org.example.slow")
    assert "info: bye" in yard.log("org.example.guest")
    failed = [line for line in yard.audited() if line["decision"] == "failed"]
    assert [(one["subject"], one["rule"]) for one in failed] == [("org.example.slow", "plugin-timeout")]


async def test_the_end_of_the_host_ends_calls_that_are_under_way_and_those_that_wait(yard: WasmYard) -> None:
    yard.add_code(when_long("(loop $l (br $l))"), more=COUNTER)
    codes: list[str] = []

    async def fail(plugins: Plugins, text: str) -> None:
        codes.append((await yard.fail(plugins, text)).code)

    async with anyio.create_task_group() as group, yard.open({**ENDLESS, "shutdown_timeout_s": 0.1}) as plugins:
        await yard.ask(plugins)
        for text in (LONG, ""):
            group.start_soon(fail, plugins, text)
            await anyio.lowlevel.checkpoint()
    assert codes == ["plugin-ended", "plugin-ended"]


async def test_memory_that_a_call_took_is_given_back(yard: WasmYard) -> None:
    """Texts pass both ways, and neither side keeps them."""
    yard.add_code(f"(call $get-config {TEXT} (i32.const 1024)) {ECHO}")
    async with yard.open() as plugins:
        text = "x" * 200_000
        await yard.ask(plugins, text)
        before = _resident_mb()
        for _ in range(200):
            await yard.ask(plugins, text)
        assert _resident_mb() - before < 20


def _resident_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / (1 << 20)
