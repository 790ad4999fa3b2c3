"""Programs of skills that are WASI modules: what reaches them, what they cannot reach, and how each of them ends."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.config.extensions import PluginsSettings, WasmSettings
from clawft.config.tools import SandboxSettings
from clawft.sandbox.process import Finished, Streams
from clawft.sandbox.sandbox import Sandbox
from clawft.sandbox.wasi import Wasi
from clawft.sandbox.wasm import CompiledCache, WasmError
from clawft.trust.records import KEY_NAME, Seal
from clawft.workspace import Workspace
from wats import CAT, HERE, SKILL, TMP, module

pytestmark = pytest.mark.anyio
NOT_PERMITTED, NOT_OPEN = "E63", "E08"
Run = Callable[..., Awaitable[Finished]]


@pytest.fixture(params=["bubblewrap", "landlock", "off"])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> Run:
    """The same in each of the sandboxes, and without one: none is needed."""
    return runner(tmp_path, request.param)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return runner(tmp_path, "off")


def runner(tmp_path: Path, mode: Any) -> Run:
    """Runs a module that lies in a skill's folder."""
    user_dir, skill, project = tmp_path / ".clawft", tmp_path / "skill", tmp_path / "project"
    for one in (user_dir, skill, project):
        one.mkdir()
    (skill / "note.txt").write_text("a note")
    sandbox = Sandbox(
        SandboxSettings(mode=mode), Workspace(str(tmp_path), str(user_dir), str(project), str(project)), {}
    )

    async def run(content: bytes, *words: str, **how: Any) -> Finished:
        (skill / "tool.wasm").write_bytes(content)
        streams, env = Streams(stdin=how.pop("stdin", b"")), how.pop("env", {})
        start_s = how.pop("init_timeout_s", 10)
        wasi = Wasi(PluginsSettings(init_timeout_s=start_s, wasm=WasmSettings(**how)), sandbox)
        mount = (str(skill), str(skill))
        async with wasi.open("tool.wasm", ("tool.wasm", *words), env, mount) as program:
            return await sandbox.run(
                program.words,
                cwd=mount[1],
                env=program.env,
                timeout_s=program.timeout_s,
                max_bytes=4096,
                streams=streams,
                confinement=program.confinement,
            )

    return run


async def test_a_module_gets_its_input_its_words_and_its_variables(either: Run) -> None:
    body = f"{CAT} (call $list (i32.const 1)) (call $list (i32.const 0))"
    given = json.dumps({"text": "x" * 80_000}).encode()
    finished = await either(
        module(body), "one", "two words", stdin=given, env={"ARG_TEXT": "é", "PYTHONPATH": "/x", "LD_PRELOAD": "y"}
    )
    tail = 'x"}ARG_TEXT=é\0PYTHONPATH=/x\0LD_PRELOAD=y\0tool.wasm\0one\0two words\0'.encode()
    assert finished.output.endswith(tail)
    assert (finished.code, finished.cut_bytes) == (0, len(given) + len(tail) - 3 - 4096)


async def test_it_reads_the_files_of_its_skill_and_nothing_outside(run: Run, tmp_path: Path) -> None:
    (tmp_path / "project/.env").write_text("SECRET=1")
    (tmp_path / "skill/sub").mkdir()
    (tmp_path / "skill/link").symlink_to("../project/.env")
    (tmp_path / "skill/linked").symlink_to("../project")
    outside = [
        (SKILL, "/etc/hostname"),
        (SKILL, "../project/.env"),
        (SKILL, "sub/../../project/.env"),
        (SKILL, "link"),
        (SKILL, "linked/.env"),
        (HERE, "/etc/hostname"),
        (TMP, "../../../../../../../../../../etc/hostname"),
    ]
    tried = [(SKILL, "note.txt"), (HERE, "sub/../note.txt"), *outside]
    body = " ".join(f"(call $show (i32.const {folder}) {{{number}}})" for number, (folder, _) in enumerate(tried))
    finished = await run(module(body, *(path for _, path in tried)))
    assert finished.output.decode() == "a notea note" + NOT_PERMITTED * len(outside)


async def test_it_writes_into_its_own_tmp_and_nowhere_else(either: Run, tmp_path: Path) -> None:
    body = " ".join(f"(call $make (i32.const {one}) {{0}})" for one in (SKILL, HERE, TMP, TMP + 2))
    finished = await either(module(f"{body} (call $list (i32.const 1))", "new"))  # nor does any variable reach it
    assert finished.output.decode() == f"{NOT_PERMITTED}{NOT_PERMITTED}E00{NOT_OPEN}"
    assert sorted(os.listdir(tmp_path / "skill")) == ["note.txt", "tool.wasm"]
    assert os.listdir(tmp_path / ".clawft/cache/programs") == []  # and nothing of it is left


async def test_a_link_that_it_makes_leads_nowhere(run: Run) -> None:
    body = "(call $errno (call $symlink {0} (i32.const 5) {1})) (call $show (i32.const 5) {1})"
    finished = await run(module(body, "../../../../../../../../etc/hostname", "way"))
    assert finished.output.decode() == f"E00{NOT_PERMITTED}"


async def test_its_exit_code_and_its_errors_are_told(run: Run) -> None:
    body = "(drop (call $put (i32.const 2) {0})) (call $exit (i32.const 3))"
    finished = await run(module(body, "no such city"))
    assert (finished.code, finished.output) == (3, b"no such city")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("(unreachable)", "wasm `unreachable` instruction executed"),
        ("(drop (i32.load (i32.const 90000000)))", "out of bounds memory access"),
        ("(drop (call $deep (i32.const 0)))", "it calls itself too deeply"),
        ("(loop $l (br $l))", "it took more instructions than plugins.wasm.fuel allows"),
    ],
)
async def test_one_that_traps_is_told_with_the_reason(run: Run, body: str, why: str) -> None:
    finished = await run(module(body), fuel=10_000_000)
    assert finished.code == 125
    assert finished.output.decode() == f"WebAssembly was stopped: {why}\n"


@pytest.mark.parametrize("body", ["(loop $l (br $l))", "(call $sleep (i64.const 100000))"])
async def test_time_ends_an_endless_loop_and_a_sleep_that_no_engine_interrupts(run: Run, body: str) -> None:
    finished = await run(module(body), fuel=10**15, timeout_s=0.4)
    assert finished.timed_out
    assert finished.seconds < 60


async def test_memory_has_a_limit(run: Run) -> None:
    grow = "(loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 16))))) (call $exit (memory.size))"
    assert (await run(module(grow), memory_mb=2)).code == 2 * 16 - 12  # pages, from four on, sixteen at once
    with_much = module("").replace(b"\x05\x03\x01\x00\x04", b"\x05\x04\x01\x00\x80\x08")
    finished = await run(with_much, memory_mb=2)
    assert "more memory than plugins.wasm.memory_mb allows" in finished.output.decode()


async def test_output_without_end_is_ended(run: Run) -> None:
    flood = "(loop $l (drop (call $put (i32.const 1) (i32.const 65536) (i32.const 65536))) (br $l))"
    finished = await run(module(flood), fuel=10**15)
    assert finished.flooded
    assert len(finished.output) <= 4096


async def test_files_that_are_never_closed_are_its_own_trouble(run: Run) -> None:
    before = len(os.listdir("/proc/self/fd"))
    body = "(loop $l (br_if $l (i32.eqz (call $open (i32.const 3) {0} (i32.const 0) (i64.const 2))))) (call $say {1})"
    assert (await run(module(body, "note.txt", "no more"))).output == b"no more"
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"#!/bin/sh\necho ran\n", "This is no WebAssembly"),
        (b"\0asm\x0d\0\x01\0", "component"),
        (b"\0asm\x01\0\0\0\x05", "WebAssembly failed"),
        (b"\0asm\x01\0\0\0", "it has no _start and no memory"),
    ],
)
async def test_what_is_no_program_of_wasi_is_refused(run: Run, content: bytes, why: str) -> None:
    with pytest.raises(WasmError, match=why):
        await run(content)


async def test_one_that_needs_more_than_wasi_is_refused_by_name(run: Run) -> None:
    from wasmtime import wat2wasm

    text = '(module (import "env" "system" (func)) (memory (export "memory") 1) (func (export "_start")))'
    with pytest.raises(WasmError, match=r"it needs env\.system, which is not of WASI preview 1"):
        await run(bytes(wat2wasm(text)))


async def test_one_that_takes_too_long_to_compile_is_ended(run: Run) -> None:
    with pytest.raises(WasmError, match=r"takes more than 0\.5 s to compile"):
        await run(module("(if (i32.load (i32.const 0)) (then " * 9000 + "))" * 9000), init_timeout_s=0.5)


async def test_one_that_is_too_large_is_refused(run: Run) -> None:
    with pytest.raises(WasmError, match=r"1024 is the limit"):
        await run(module(CAT), max_bytes=1024)


async def test_what_was_compiled_is_kept_and_not_run_where_it_was_changed(run: Run, tmp_path: Path) -> None:
    await run(module(CAT))
    (kept,) = os.listdir(tmp_path / ".clawft/cache/wasm")
    (tmp_path / ".clawft/cache/wasm" / kept).write_bytes(b"0" * 64 + b"evil")  # what no seal fits is not run
    assert (await run(module(CAT), stdin=b"well")).output == b"well"


async def test_what_was_compiled_for_another_machine_is_compiled_anew(run: Run, tmp_path: Path) -> None:
    cache = CompiledCache(str(tmp_path / ".clawft"), Seal(str(tmp_path / ".clawft" / KEY_NAME)))
    cache.keep_code(module(CAT), "module", b"code of another processor")
    assert (await run(module(CAT), stdin=b"well")).output == b"well"
