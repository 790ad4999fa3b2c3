"""WebAssembly in a skill: what it asks of its host is told, and nothing that it holds breaks the scanner."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wasmtime import wat2wasm

from clawft.scanner.intake.programs import render_imports

MODULE = b"\0asm\x01\0\0\0"


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("", "asks its host for nothing"),
        ('(import "wasi_snapshot_preview1" "fd_write" (func))', "asks its host for input and output"),
        (
            '(import "wasi_snapshot_preview1" "path_open" (func)) (import "wasi_snapshot_preview1" "sock_send" (func))',
            "asks its host for files, connections",
        ),
        (
            '(import "env" "memory" (memory 1 2)) (import "env" "table" (table 1 funcref))'
            ' (import "env" "base" (global i32)) (import "env" "system" (func (param i32)))',
            "asks its host for env.memory, env.table, env.base, env.system",
        ),
        ("".join(f'(import "e" "f{one}" (func))' for one in range(9)), "e.f0, e.f1, e.f2, e.f3 and 5 more functions"),
        ('(import "env" "\\1b[31m" (func))', "asks its host for env.?[31m"),
    ],
)
def test_what_a_module_asks_of_its_host_is_told(text: str, asks: str) -> None:
    assert asks in render_imports(bytes(wat2wasm(f"(module {text})")))


def test_a_component_is_called_one() -> None:
    assert render_imports(bytes(wat2wasm("(component)"))) == "is a component"


@given(st.binary(max_size=200))
def test_no_bytes_break_it(tail: bytes) -> None:
    assert isinstance(render_imports(MODULE + tail), str)
    assert isinstance(render_imports(MODULE + b"\x02" + bytes([len(tail) & 0x7F]) + tail), str)


def test_a_section_that_claims_more_than_there_is_tells_nothing() -> None:
    assert render_imports(MODULE + b"\x02\xff\xff\xff\x7f\xff\xff\xff\x7f") == ""
