"""Components for tests and measurements, as text: the world `clawft-plugin` around a few lines of code of each test.

A guest's memory has three parts: texts that are known beforehand, room for answers of the host at `OUT`, and above
`HEAP` what the host puts there. `execute-tool` is called with the name and the arguments as pointer and length, and
returns where its result stands: pointer, length, whether it is an error.
"""

from typing import Any

from msgspec import Struct

__all__ = [
    "ECHO",
    "GET_CONFIG",
    "GET_ENV",
    "HTTP_GET",
    "HTTP_POST",
    "LOG",
    "OUT",
    "READ_FILE",
    "RESULT",
    "TEXT",
    "WRITE_FILE",
    "Guest",
    "make_guest",
    "repeat",
]

HEAP = 1 << 16
OUT = 1024  # where the host writes what it answers
RESULT = 2048  # where a guest writes what it answers

_HOST = {  # each function of the host: its type, and that of the core function it becomes
    "get-config": ('(param "key" string) (result (option string))', "(param i32 i32 i32)"),
    "get-env": ('(param "name" string) (result (option string))', "(param i32 i32 i32)"),
    "log": ('(param "level" u8) (param "message" string)', "(param i32 i32 i32)"),
    "read-file": ('(param "path" string) (result (result string (error string)))', "(param i32 i32 i32)"),
    "write-file": (
        '(param "path" string) (param "content" string) (result (result (error string)))',
        "(param i32 i32 i32 i32 i32)",
    ),
    "http-request": (
        '(param "method" string) (param "url" string) (param "headers" (list (tuple string string)))'
        ' (param "body" (option string)) (result (result string (error string)))',
        "(param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)",
    ),
}
ECHO = "(call $answer (local.get 2) (local.get 3) (i32.const 0))"
# The arguments are `{"s":"…"}`: six bytes stand before the text, and two after it.
TEXT = "(i32.add (local.get 2) (i32.const 6)) (i32.sub (local.get 3) (i32.const 8))"
_OPTION = f"""(call $answer (i32.load offset=4 (i32.const {OUT})) (i32.load offset=8 (i32.const {OUT}))
        (i32.eqz (i32.load8_u (i32.const {OUT}))))"""
_RESULT = f"""(call $answer (i32.load offset=4 (i32.const {OUT})) (i32.load offset=8 (i32.const {OUT}))
        (i32.load8_u (i32.const {OUT})))"""
GET_CONFIG = f"(call $get-config {TEXT} (i32.const {OUT})) {_OPTION}"
GET_ENV = f"(call $get-env {TEXT} (i32.const {OUT})) {_OPTION}"
READ_FILE = f"(call $read-file {TEXT} (i32.const {OUT})) {_RESULT}"
WRITE_FILE = f"""(i64.store offset=4 (i32.const {OUT}) (i64.const 0))
      (call $write-file {TEXT} {TEXT} (i32.const {OUT})) {_RESULT}"""
LOG = f"(call $log (i32.const 3) {TEXT}) {ECHO}"
# `texts` of the guest begin with the method: GET or POST; the text is the address, and the body of a POST.
HTTP_GET = f"""(call $http-request (i32.const 512) (i32.const 3) {TEXT} (i32.const 0) (i32.const 0)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const {OUT})) {_RESULT}"""
HTTP_POST = f"""(i32.store (i32.const 900) (i32.const 516)) (i32.store (i32.const 904) (i32.const 6))
      (i32.store (i32.const 908) (i32.const 516)) (i32.store (i32.const 912) (i32.const 6))
      (call $http-request (i32.const 512) (i32.const 4) {TEXT} (i32.const 900) (i32.const 1)
        (i32.const 1) {TEXT} (i32.const {OUT})) {_RESULT}"""


class Guest(Struct, frozen=True):
    """A component whose `execute-tool` is `code`. `more` are further functions and globals, `texts` stand at 512."""

    code: str = ECHO
    id: str = "org.example.guest"
    version: str = "1.0.0"
    init: str = "(i32.const 4096)"
    shutdown: str = ""
    more: str = ""
    pages: int = 2
    texts: str = ""


def make_guest(code: str = ECHO, **parts: Any) -> str:
    """The text of a guest with this code, and such parts."""
    one = Guest(code, **parts)
    lowered = "\n".join(
        f'(core func ${name} (canon lower (func $host "{name}") (memory $memory) (realloc $realloc)))' for name in _HOST
    )
    imports = "\n".join(f'(import "h" "{name}" (func ${name} {core}))' for name, (_, core) in _HOST.items())
    handed = " ".join(f'(export "{name}" (func ${name}))' for name in _HOST)
    declared = "\n".join(f'(export "{name}" (func {kind}))' for name, (kind, _) in _HOST.items())
    return f"""(component
  (import "clawft:plugin/host@0.1.0" (instance $host {declared}))
  (core module $store
    (memory (export "memory") {one.pages})
    (global $next (mut i32) (i32.const {HEAP}))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.set $next (i32.add (local.get $at) (local.get 3)))
      (if (i32.gt_u (global.get $next) (i32.shl (memory.size) (i32.const 16)))
        (then (drop (memory.grow (i32.add (i32.shr_u (local.get 3) (i32.const 16)) (i32.const 1))))))
      (local.get $at))
    (func (export "reset") (global.set $next (i32.const {HEAP}))))
  (core instance $kept (instantiate $store))
  (alias core export $kept "memory" (core memory $memory))
  (alias core export $kept "realloc" (core func $realloc))
  {lowered}
  (core module $code
    (import "m" "memory" (memory {one.pages}))
    (import "m" "reset" (func $reset))
    {imports}
    (data (i32.const 64) "{one.id}") (data (i32.const 192) "guest") (data (i32.const 256) "{one.version}")
    (data (i32.const 512) "{one.texts}")
    {one.more}
    (func $answer (param $text i32) (param $length i32) (param $is_error i32) (result i32)
      (i32.store (i32.const {RESULT}) (local.get $text))
      (i32.store offset=4 (i32.const {RESULT}) (local.get $length))
      (i32.store8 offset=8 (i32.const {RESULT}) (local.get $is_error))
      (i32.const {RESULT}))
    (func (export "info") (result i32)
      (i32.store (i32.const 3000) (i32.const 64)) (i32.store (i32.const 3004) (i32.const {len(one.id)}))
      (i32.store (i32.const 3008) (i32.const 192)) (i32.store (i32.const 3012) (i32.const {len("guest")}))
      (i32.store (i32.const 3016) (i32.const 256)) (i32.store (i32.const 3020) (i32.const {len(one.version)}))
      (i32.const 3000))
    (func (export "init") (result i32) {one.init})
    (func (export "execute-tool") (param i32 i32 i32 i32) (result i32) {one.code})
    (func (export "shutdown") {one.shutdown})
    (func (export "after") (param i32) (call $reset)))
  (core instance $made (instantiate $code (with "m" (instance $kept)) (with "h" (instance {handed}))))
  {_EXPORTS})
"""


_INFO = '(record (field "id" string) (field "name" string) (field "version" string))'
_CALL = '(record (field "name" string) (field "arguments" string))'
_ANSWER = '(record (field "content" string) (field "is-error" bool))'
_EXPORTS = f"""(type $plugin-info {_INFO}) (type $tool-call {_CALL}) (type $tool-result {_ANSWER})
  (func $info (result $plugin-info) (canon lift (core func $made "info") (memory $memory) (realloc $realloc)))
  (func $init (result (result (error string)))
    (canon lift (core func $made "init") (memory $memory) (realloc $realloc)))
  (func $execute (param "call" $tool-call) (result $tool-result) (canon lift (core func $made "execute-tool")
    (memory $memory) (realloc $realloc) (post-return (core func $made "after"))))
  (func $shutdown (canon lift (core func $made "shutdown")))
  (component $shape
    (type $i0 {_INFO}) (import "type-info" (type $i (eq $i0)))
    (type $c0 {_CALL}) (import "type-call" (type $c (eq $c0)))
    (type $a0 {_ANSWER}) (import "type-result" (type $a (eq $a0)))
    (import "f-info" (func $info (result $i)))
    (import "f-init" (func $init (result (result (error string)))))
    (import "f-execute" (func $execute (param "call" $c) (result $a)))
    (import "f-shutdown" (func $shutdown))
    (export $ie "plugin-info" (type $i)) (export $ce "tool-call" (type $c)) (export $ae "tool-result" (type $a))
    (export "info" (func $info) (func (result $ie)))
    (export "init" (func $init))
    (export "execute-tool" (func $execute) (func (param "call" $ce) (result $ae)))
    (export "shutdown" (func $shutdown)))
  (instance $plugin (instantiate $shape
    (with "type-info" (type $plugin-info)) (with "type-call" (type $tool-call)) (with "type-result" (type $tool-result))
    (with "f-info" (func $info)) (with "f-init" (func $init)) (with "f-execute" (func $execute))
    (with "f-shutdown" (func $shutdown))))
  (export "clawft:plugin/plugin@0.1.0" (instance $plugin))"""


def repeat(times: int, code: str) -> str:
    """A loop, for a function that has no other local `$i`."""
    step = "(local.tee $i (i32.add (local.get $i) (i32.const 1)))"
    return f"(local $i i32) (loop $l {code} (br_if $l (i32.lt_u {step} (i32.const {times}))))"
