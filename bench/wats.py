"""Modules of WASI preview 1 for tests, written by hand: a frame of helpers, and what each does in between."""

from pathlib import Path

__all__ = ["CAT", "HERE", "SKILL", "TMP", "assemble", "module"]

CAT = "(call $cat (i32.const 0))"  # standard input to standard output
SKILL, HERE, TMP = 3, 4, 5  # the folders that are open
_TEXTS, _ROOM = 4096, 512
_FRAME = r"""
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_symlink" (func $symlink (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 4)
  {texts}
  (func $put (param $fd i32) (param $at i32) (param $length i32) (result i32)
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $length))
    (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8)))
  (func $say (param $at i32) (param $length i32)
    (drop (call $put (i32.const 1) (local.get $at) (local.get $length))))
  (func $errno (param $code i32)  ;; E and two digits
    (i32.store8 (i32.const 16) (i32.const 69))
    (i32.store8 (i32.const 17) (i32.add (i32.const 48) (i32.div_u (local.get $code) (i32.const 10))))
    (i32.store8 (i32.const 18) (i32.add (i32.const 48) (i32.rem_u (local.get $code) (i32.const 10))))
    (call $say (i32.const 16) (i32.const 3)))
  (func $cat (param $fd i32)
    (loop $more
      (i32.store (i32.const 0) (i32.const 65536))
      (i32.store (i32.const 4) (i32.const 65536))
      (if (call $read (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8)) (then (unreachable)))
      (if (i32.load (i32.const 8)) (then
        (call $say (i32.const 65536) (i32.load (i32.const 8)))
        (br $more)))))
  (func $open (param $dir i32) (param $at i32) (param $length i32) (param $oflags i32) (param $rights i64) (result i32)
    (call $path_open (local.get $dir) (i32.const 1) (local.get $at) (local.get $length) (local.get $oflags)
      (local.get $rights) (i64.const 0) (i32.const 0) (i32.const 12)))
  (func $show (param $dir i32) (param $at i32) (param $length i32)  ;; a file, or the number of the error
    (local $failed i32)
    (local.set $failed (call $open (local.get $dir) (local.get $at) (local.get $length) (i32.const 0) (i64.const 2)))
    (if (local.get $failed)
      (then (call $errno (local.get $failed)))
      (else (call $cat (i32.load (i32.const 12))))))
  (func $make (param $dir i32) (param $at i32) (param $length i32)  ;; a new file, which says E00
    (call $errno (call $open (local.get $dir) (local.get $at) (local.get $length) (i32.const 1) (i64.const 64))))
  (func $list (param $is_env i32)  ;; variables, or words, each ended by a zero
    (local $at i32)
    (if (local.get $is_env)
      (then (drop (call $environ_sizes (i32.const 0) (i32.const 4)))
            (drop (call $environ (i32.const 65536) (i32.const 131072))))
      (else (drop (call $args_sizes (i32.const 0) (i32.const 4)))
            (drop (call $args (i32.const 65536) (i32.const 131072)))))
    (call $say (i32.const 131072) (i32.load (i32.const 4))))
  (func $sleep (param $seconds i64)
    (i32.store (i32.const 216) (i32.const 1))
    (i64.store (i32.const 224) (i64.mul (local.get $seconds) (i64.const 1000000000)))
    (drop (call $poll (i32.const 200) (i32.const 304) (i32.const 1) (i32.const 8))))
  (func $deep (param i32) (result i32)
    (i32.add (i32.const 1) (call $deep (i32.add (local.get 0) (i32.const 1)))))
  (func (export "_start") {body}))
"""


def module(body: str, *texts: str) -> bytes:
    """A module; `{0}` in its body is where the first of the texts is, and how long."""
    from wasmtime import wat2wasm

    data = [f'(data (i32.const {_TEXTS + number * _ROOM}) "{one}")' for number, one in enumerate(texts)]
    places = [f"(i32.const {_TEXTS + number * _ROOM}) (i32.const {len(one)})" for number, one in enumerate(texts)]
    filled = body.format(*places)
    return bytes(wat2wasm(_FRAME.replace("{texts}", "\n  ".join(data)).replace("{body}", filled)))


def assemble(folder: Path, name: str, content: bytes) -> Path:
    """The folder of a skill with a module in it."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder
