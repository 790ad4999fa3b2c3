"""Interpreters of the rarer languages, and tools with a language of their own: the code on their command lines."""

from clawft.scan.languages.commands.running import run_file
from clawft.scan.languages.commands.world import NOTHING, Call, Value, World

__all__ = ["PROGRAMS"]

# Each with its language and the options that code follows.
_INTERPRETERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "julia": ("julia", ("-e", "-E", "--eval")),
    "elixir": ("elixir", ("-e", "--eval")),
    "erl": ("erlang", ("-eval",)),
    "escript": ("erlang", ()),
    "bb": ("clojure", ("-e", "--eval")),
    "clojure": ("clojure", ("-e", "--eval", "-M")),
    "clj": ("clojure", ("-e", "--eval")),
    "racket": ("scheme", ("-e", "--eval")),
    "guile": ("scheme", ("-c",)),
    "tclsh": ("tcl", ()),
    "expect": ("tcl", ("-c",)),
    "runghc": ("haskell", ("-e",)),
    "runhaskell": ("haskell", ("-e",)),
    "ghc": ("haskell", ("-e",)),
    "ocaml": ("ocaml", ("-e",)),
    "scala": ("scala", ("-e",)),
    "groovy": ("groovy", ("-e",)),
    "crystal": ("crystal", ("eval",)),
    "swift": ("swift", ("-e",)),
}
# What these are given is data as a rule; what it makes them run is found in it.
_TOOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "psql": ("sql", ("-c", "--command")),
    "mysql": ("sql", ("-e", "--execute")),
    "mariadb": ("sql", ("-e", "--execute")),
    "sqlcmd": ("sql", ("-q", "-Q")),
    "vim": ("viml", ("-c", "--cmd")),
    "nvim": ("viml", ("-c", "--cmd")),
    "vi": ("viml", ("-c",)),
    "gdb": ("gdb", ("-ex", "--eval-command")),
    "emacs": ("elisp", ("--eval", "-eval", "--execute")),
    "gnuplot": ("gnuplot", ("-e",)),
}


def _codes(call: Call, options: tuple[str, ...]) -> list[Value]:
    return [after for before, after in zip(call.args, call.args[1:], strict=False) if before.text in options]


def run_rare_interpreter(world: World, call: Call) -> Value:
    """`julia -e CODE`, `tclsh script`, or code on the input."""
    language, options = _INTERPRETERS[call.name]
    codes = _codes(call, options)
    for code in codes:
        world.run_code(code, language, call)
    script = next((one for one in call.args if not one.text.startswith("-")), None)
    if codes:
        return NOTHING
    if script is not None:
        return run_file(world, script, call)
    return world.run_code(call.stdin, language, call) if call.fed else NOTHING


def run_tool(world: World, call: Call) -> Value:
    """`psql -c STATEMENT`, `vim -c COMMAND`: what is written there is looked at for commands."""
    language, options = _TOOLS[call.name]
    for code in _codes(call, options):
        if code.known:
            world.child(code.text, language, "exec", call.offset)
    return Value(f"$({call.name})", call.stdin.sources, known=False)


PROGRAMS = {**dict.fromkeys(_INTERPRETERS, run_rare_interpreter), **dict.fromkeys(_TOOLS, run_tool)}
