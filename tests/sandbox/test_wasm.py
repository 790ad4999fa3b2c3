"""The engine for WebAssembly: what one call may take, how large a module may be, and compiled code that is ours."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest
import wasmtime
from wasmtime.component import Component, Linker

from clawft.config.extensions import WasmSettings
from clawft.sandbox.wasm import CompiledCache, StoreGuard, WasmError, check_size, explain_trap, load_wasm
from clawft.sandbox.wasm import compiler as cache_module
from clawft.sandbox.wasm.engine import shared_engine
from clawft.trust.records import Seal

CODE = """(module (memory (export "memory") 1)
  (func (export "spin") (loop $l (br $l)))
  (func $deep (export "deep") (call $deep) (call $deep))
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "seven") (result i32) (i32.const 7)))"""
MODULE = bytes(wasmtime.wat2wasm(CODE))
# A component is compiled and kept; `seven` is all it does.
DATA = bytes(
    wasmtime.wat2wasm(f"""(component (core {CODE[1:7]} $m {CODE[8:]} (core instance $i (instantiate $m))
  (func (export "seven") (result s32) (canon lift (core func $i "seven"))))""")
)
NAMED = DATA + b"\0\x03\x01n\0"  # the same, with a section of its own


@pytest.fixture
def module() -> wasmtime.Module:
    return wasmtime.Module(shared_engine(), MODULE)


@pytest.fixture
def cache(tmp_path: Path) -> CompiledCache:
    return CompiledCache(str(tmp_path), Seal(str(tmp_path / "trust.key")))


def another(cache: CompiledCache, tmp_path: Path) -> CompiledCache:
    """The cache of another process."""
    return CompiledCache(str(tmp_path), Seal(str(tmp_path / "trust.key")))


def kept(cache: CompiledCache) -> list[Path]:
    return list(Path(cache.folder).iterdir())


def call(module: wasmtime.Module, name: str, *args: int, fuel: int = 10**6, timeout_s: float = 5.0) -> Any:
    guard = StoreGuard(8 << 20)
    try:
        with guard.running(fuel, timeout_s):
            function = wasmtime.Instance(guard.store, module, []).exports(guard.store)[name]
            assert isinstance(function, wasmtime.Func)
            return function(guard.store, *args)
    except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
        raise (guard.why or explain_trap(error)) from error
    finally:
        guard.close()


def count(component: Component) -> Any:
    """What a component says that was compiled or kept."""
    guard = StoreGuard(8 << 20)
    try:
        with guard.running(10**6, 5.0):
            instance = Linker(shared_engine()).instantiate(guard.store, component)
            function = instance.get_func(guard.store, "seven")
            assert function is not None
            return function(guard.store)
    finally:
        guard.close()


@pytest.mark.parametrize(
    ("name", "limits", "code"),
    [
        ("spin", {"fuel": 10**5}, "wasm-limit"),
        ("spin", {"fuel": 10**15, "timeout_s": 0.05}, "wasm-timeout"),
        ("deep", {"fuel": 10**9}, "wasm-limit"),
    ],
)
def test_a_call_ends_at_its_limit(module: wasmtime.Module, name: str, limits: dict[str, Any], code: str) -> None:
    with pytest.raises(WasmError) as failed:
        call(module, name, **limits)
    assert failed.value.code == code


def test_memory_has_a_limit(module: wasmtime.Module) -> None:
    assert call(module, "grow", 127) == 1
    assert call(module, "grow", 128) == -1


def test_a_call_is_stopped_from_another_thread_and_others_go_on(module: wasmtime.Module) -> None:
    guard = StoreGuard(8 << 20)
    ended: list[str] = []

    def spin() -> None:
        try:
            with guard.running(10**15, 60):
                function = wasmtime.Instance(guard.store, module, []).exports(guard.store)["spin"]
                assert isinstance(function, wasmtime.Func)
                function(guard.store)
        except (wasmtime.WasmtimeError, wasmtime.Trap):
            ended.append(str(guard.why))

    thread = threading.Thread(target=spin)
    thread.start()
    assert call(module, "seven") == 7
    assert not ended
    guard.stop()
    thread.join(60)
    assert ended == ["WebAssembly was stopped"]
    guard.close()


def test_compiled_code_is_found_again(cache: CompiledCache, tmp_path: Path) -> None:
    cache.compile_component(DATA)
    again = another(cache, tmp_path)
    assert count(again.compile_component(DATA)) == 7
    assert (cache.hits, cache.misses, again.hits, again.misses) == (0, 1, 1, 0)
    [path] = kept(cache)
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.stat(cache.folder).st_mode & 0o777 == 0o700


def test_other_bytes_another_version_and_another_kind_are_not_the_same(
    cache: CompiledCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.compile_component(DATA)
    other = another(cache, tmp_path)
    other.compile_component(NAMED)
    assert other.misses == 1
    with pytest.raises(WasmError):
        other.compile_component(MODULE)
    assert other.hits == 0
    monkeypatch.setattr(cache_module, "_library_version", lambda: "1.2.3")
    newer = another(cache, tmp_path)
    newer.compile_component(DATA)
    assert (newer.hits, newer.misses) == (0, 1)


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _swap(path: Path) -> None:
    """Another file of the same cache in its place: its seal holds, for another key."""
    [other] = [one for one in path.parent.iterdir() if one != path]
    path.write_bytes(other.read_bytes())


def _expose(path: Path) -> None:
    path.chmod(0o666)


def _link(path: Path) -> None:
    target = path.parent.parent / "elsewhere"
    path.rename(target)
    path.symlink_to(target)


def _give_away(path: Path) -> None:
    os.chown(path, 65534, 65534)


def _seal_anew(path: Path) -> None:
    """Hostile code under the seal of another key."""
    foreign = Seal(str(path.parent.parent / "foreign.key"))
    code = path.read_bytes()[64:]
    path.write_bytes(foreign.sign(code, f"wasm-cache:{path.name}").encode() + code)


@pytest.mark.parametrize(
    "change",
    [
        _damage,
        _swap,
        _expose,
        _link,
        _seal_anew,
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(b""),
        pytest.param(_give_away, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")),
    ],
)
def test_compiled_code_that_may_not_be_ours_is_compiled_anew(cache: CompiledCache, tmp_path: Path, change: Any) -> None:
    cache.compile_component(DATA)
    [path] = kept(cache)
    cache.compile_component(NAMED)
    change(path)
    again = another(cache, tmp_path)
    assert count(again.compile_component(DATA)) == 7
    assert (again.hits, again.misses) == (0, 1)
    third = another(cache, tmp_path)
    third.compile_component(DATA)
    assert third.hits == 1


def test_without_a_place_to_keep_it_code_is_compiled_each_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    cache = CompiledCache(str(tmp_path), Seal(str(tmp_path / "trust.key")))
    assert count(cache.compile_component(DATA)) == 7
    assert cache.misses == 1


def test_the_cache_keeps_the_newest_files_and_no_more(cache: CompiledCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "MAX_FILES", 2)
    for number in range(4):
        cache.compile_component(DATA + b"\0\x03\x01n" + bytes([number]))
    assert len(kept(cache)) == 2


def test_a_module_is_read_from_text_and_from_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.wat").write_text(CODE)
    (tmp_path / "a.wasm").write_bytes(MODULE)
    assert load_wasm(str(tmp_path / "a.wat"), WasmSettings()) == load_wasm(str(tmp_path / "a.wasm"), WasmSettings())


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("none.wasm", None, "wasm-no-module"),
        ("bad.wat", b"(module", "wasm-runtime"),
        ("text.wasm", b"(module)", "wasm-runtime"),
        ("large.wasm", bytes(400_000), "wasm-too-large"),
        ("large.wat", bytes(6_000_000), "wasm-too-large"),
    ],
)
def test_what_is_no_module_is_told(tmp_path: Path, name: str, content: bytes | None, code: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(WasmError) as failed:
        load_wasm(str(tmp_path / name), WasmSettings())
    assert failed.value.code == code


def test_a_link_or_a_pipe_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "link.wasm").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe.wasm")
    for name in ("link.wasm", "pipe.wasm"):
        with pytest.raises(WasmError) as failed:
            load_wasm(str(tmp_path / name), WasmSettings())
        assert failed.value.code == "wasm-io"


def test_the_size_counts_as_it_is_and_compressed() -> None:
    noise = os.urandom(130 * 1024)
    check_size(bytes(300 * 1024), WasmSettings())
    with pytest.raises(WasmError, match=f"has {300 * 1024 + 1} bytes"):
        check_size(bytes(300 * 1024 + 1), WasmSettings())
    with pytest.raises(WasmError, match="compressed"):
        check_size(noise, WasmSettings())
    check_size(noise, WasmSettings(max_gzip_bytes=140 * 1024))
