"""Which components are taken: those that fit the world, are what their manifest says, and are small enough."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
import wasmtime
from wasmtime.component import Component

import clawft.plugins
from clawft.plugins.component_instance import HOST_FUNCTIONS, check_world
from clawft.plugins.runtime import PluginFailed
from clawft.sandbox.wasm import WasmError, shared_engine
from effort import within
from wasm_guests import ECHO, make_guest
from wasm_yard import WasmYard

pytestmark = pytest.mark.anyio
EXPORT = '(export "clawft:plugin/plugin@0.1.0" (instance $plugin))'


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (EXPORT, "", "does not export 'clawft:plugin/plugin@0.1.0'"),
        (EXPORT, EXPORT.replace("0.1.0", "0.2.0"), "does not export 'clawft:plugin/plugin@0.1.0'"),
        ('(export "shutdown" (func $shutdown))', "", "does not export the function 'shutdown'"),
        (
            '(export "init" (func $init))',
            '(export "init" (func $shutdown))',
            "'init' as func(); it is func() -> result",
        ),
        ('(field "is-error" bool)', '(field "is-error" u8)', "is-error: u8}; it is"),
        ('(field "is-error" bool)', '(field "failed" bool)', "failed: bool}; it is"),
        ('(param "key" string)', '(param "key" (list u8))', "'get-config' as func(key: list<u8>)"),
        ('"get-env"', '"get-secret"', "the function 'get-secret', which is not there"),
        ("clawft:plugin/host@0.1.0", "wasi:cli/environment@0.2.0", "imports 'wasi:cli/environment@0.2.0'"),
    ],
)
async def test_a_component_that_does_not_fit_the_world_is_refused_with_the_difference(
    yard: WasmYard, before: str, after: str, said: str
) -> None:
    text = make_guest(ECHO)
    assert before in text
    yard.add_guest(text.replace(before, after))
    async with yard.open() as plugins:
        failure = await yard.fail(plugins)
    assert failure.code == "wasm-runtime"
    assert said in str(failure)


async def test_a_core_module_is_no_component(yard: WasmYard) -> None:
    yard.add_guest('(module (func (export "execute-tool")))')
    async with yard.open() as plugins:
        failure = await yard.fail(plugins)
    assert failure.code == "wasm-runtime"
    assert "component" in str(failure)


@pytest.mark.parametrize("content", [b"", b"\0asm\1\0\0\0", b"\0asm\x0d\0\1\0garbage", b"MZ", b"#!/bin/sh\n"])
async def test_bytes_that_are_no_component_are_refused(yard: WasmYard, content: bytes) -> None:
    yard.add_guest(content)
    async with yard.open() as plugins:
        assert (await yard.fail(plugins)).code == "wasm-runtime"


async def test_a_component_in_binary_form_is_the_same_as_its_text(yard: WasmYard) -> None:
    yard.add_guest(bytes(wasmtime.wat2wasm(make_guest(ECHO))))
    async with yard.open() as plugins:
        assert await yard.ask(plugins, "a") == ('{"s":"a"}', False)


async def test_a_module_that_is_not_there_is_told(yard: WasmYard) -> None:
    yard.add_guest(make_guest(ECHO), wasm_module="other.wasm")
    async with yard.open() as plugins:
        failure = await yard.fail(plugins)
    assert failure.code == "wasm-no-module"
    assert "other.wasm" in str(failure)


async def test_a_component_has_to_be_what_its_manifest_says(yard: WasmYard) -> None:
    yard.add_guest(make_guest(ECHO, id="org.example.else", version="2.0.0"))
    async with yard.open() as plugins:
        failure = await yard.fail(plugins)
    assert failure.code == "plugin-start"
    assert "org.example.else 2.0.0; its manifest says org.example.guest 1.0.0" in str(failure)


async def test_a_component_that_refuses_to_start_says_why(yard: WasmYard) -> None:
    refuse = """(i32.store8 (i32.const 4096) (i32.const 1)) (i32.store (i32.const 4100) (i32.const 512))
      (i32.store (i32.const 4104) (i32.const 7)) (i32.const 4096)"""
    yard.add_code(ECHO, init=refuse, texts="no unit")
    async with yard.open() as plugins:
        failure = await yard.fail(plugins)
    assert failure.code == "plugin-start"
    assert "no unit" in str(failure)


async def test_a_component_that_is_too_large_is_refused_as_it_is_and_compressed(yard: WasmYard) -> None:
    # What does not compress: a section of its own that the engine skips.
    guest = bytes(wasmtime.wat2wasm(make_guest(ECHO)))
    noise = b"".join(gzip.compress(bytes([one]) * 90, mtime=0) for one in range(256)) * 8
    size = 1 + 1 + len(noise)
    length = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14])
    large = guest + b"\0" + length + b"\1n" + noise
    yard.add_guest(large)
    async with yard.open({"wasm": {"max_bytes": len(large) - 1}}) as plugins:
        failure = await yard.fail(plugins)
        assert failure.code == "wasm-too-large"
        assert str(len(large)) in str(failure)
    async with yard.open({"wasm": {"max_gzip_bytes": 1024}}) as plugins:
        failure = await yard.fail(plugins)
        assert failure.code == "wasm-too-large"
        assert "compressed" in str(failure)
    async with yard.open({"wasm": {"max_bytes": len(large)}}) as plugins:
        assert await yard.ask(plugins) == ('{"s":""}', False)


async def test_a_plugin_that_changed_since_it_was_granted_is_not_run(yard: WasmYard) -> None:
    folder = yard.add_code(ECHO)
    (folder / "guest.wat").write_text(make_guest("unreachable"))
    async with yard.open() as plugins:
        failure = await yard.fail(plugins)
    assert failure.code == "plugin-changed"


async def test_a_component_only_does_tools(yard: WasmYard) -> None:
    yard.add_code(ECHO)
    async with yard.open() as plugins:
        with pytest.raises(PluginFailed, match="process"):
            await plugins.call("org.example.guest", "process", stage="x", context={})


def test_the_interface_is_shipped_and_says_what_the_host_checks() -> None:
    shipped = (Path(clawft.plugins.__file__).parent / "wit/clawft-plugin.wit").read_text()
    assert "package clawft:plugin@0.1.0;" in shipped
    flat = " ".join(line.partition("//")[0].strip() for line in shipped.splitlines()).replace("( ", "(")
    for name, kind in HOST_FUNCTIONS.items():
        assert f"{name}: {kind};" in flat.replace(", )", ")"), name


def test_without_the_library_the_error_names_the_extra(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["wasmtime"] = None
from clawft.errors import ClawftError
from clawft.sandbox.wasm import shared_engine
try:
    shared_engine()
except ClawftError as error:
    print(error.code, "/", error.hint)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "wasm-missing / Install clawft[wasm]"


def test_a_type_of_a_million_parts_is_refused_at_once() -> None:
    types = "(type $t0 (tuple string string))"
    types += "".join(f"(type $t{level} (tuple $t{level - 1} $t{level - 1}))" for level in range(1, 14))
    functions = "".join(f'(export "f{number}" (func (param "x" $t13)))' for number in range(20))
    text = f'(component (import "clawft:plugin/host@0.1.0" (instance {types} {functions})))'
    component = Component(shared_engine(), bytes(wasmtime.wat2wasm(text)))
    with within(1), pytest.raises(WasmError, match="the function 'f0'"):  # it took nine seconds
        check_world(component, "it.wasm")
