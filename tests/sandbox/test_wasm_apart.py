"""Compiling in a process of its own: what it makes fits here, and what keeps the compiler busy is ended."""

from pathlib import Path

import pytest
from wasmtime import wat2wasm

from clawft.sandbox.wasm import CompiledCache, WasmError
from clawft.sandbox.wasm import compiler as apart
from clawft.trust.records import Seal

PAD = '(data (i32.const 0) "' + "x" * 5000 + '")'
BUSY = "(memory 1) (func (param i32) " + "(if (local.get 0) (then " * 9000 + "))" * 9000 + ")"


@pytest.fixture
def cache(tmp_path: Path) -> CompiledCache:
    return CompiledCache(str(tmp_path), Seal(str(tmp_path / "key")))


def test_what_was_compiled_apart_fits_the_engine_here(cache: CompiledCache) -> None:
    cache.compile_component(bytes(wat2wasm(f"(component (core module (memory 1) {PAD}))")))
    assert (cache.hits, cache.misses) == (0, 1)


def test_what_keeps_the_compiler_busy_is_ended(cache: CompiledCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LIMIT_S", 0.5)
    with pytest.raises(WasmError, match=r"it takes more than 0\.5 s to compile"):
        cache.compile_component(bytes(wat2wasm(f"(component (core module {BUSY}))")))


def test_what_cannot_be_compiled_says_why(cache: CompiledCache) -> None:
    with pytest.raises(WasmError, match="WebAssembly failed: "):
        cache.compile_component(bytes(wat2wasm(f"(module (memory 1) {PAD})")))


@pytest.mark.parametrize("nested", [True, False])
def test_a_few_bytes_that_compile_to_gigabytes_are_ended_too(
    cache: CompiledCache, monkeypatch: pytest.MonkeyPatch, nested: bool
) -> None:
    monkeypatch.setattr("clawft.sandbox.wasm.compiler.LIMIT_S", 0.2)
    inner = "(component $c0 (core module $m) (core instance (instantiate $m)))"
    for level in range(1, 22):  # each has the one before it twice
        twice = f"(instance (instantiate $c{level - 1}))" * 2
        inner = f"(component $c{level} {inner} {twice})" if nested else f"{inner} (component $c{level} {twice})"
    data = bytes(wat2wasm(inner if nested else f"(component {inner} (instance (instantiate $c21)))"))
    assert len(data) < 2000
    with pytest.raises(WasmError, match=r"more than 0\.2 s to compile"):
        cache.compile_component(data)
