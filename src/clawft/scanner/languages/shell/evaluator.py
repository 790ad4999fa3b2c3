"""The commands of a script evaluated in order: values flow, facts are noted, nothing is run."""

from collections.abc import Callable

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    is_program,
    join_sources,
    run_call,
    sources_of,
    unknown,
)
from clawft.scanner.languages.commands.system import check_assignment
from clawft.scanner.languages.shell.expansion import expand_one, expand_words
from clawft.scanner.languages.shell.parser import ShellParser
from clawft.scanner.languages.shell.words import CommandGroup, Node, ShellPipe, ShellRedirect, SimpleCommand

_DECLARES = frozenset(("export", "local", "declare", "readonly", "typeset"))


def _cd(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue:
    world = evaluator.world
    where = next((argument for argument in call.args if not argument.text.startswith("-")), CommandValue("~"))
    if "$" in where.text or not where.text:
        world.cwd = ""
    else:
        world.cwd = world.resolve(where.text.rstrip("/") or "/")
        world.cwd = "" if world.cwd in (".", "./") else world.cwd
    return NOTHING


def _declare(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue | None:
    """`export a=b` and its kin: the words are assignments."""
    assigned = False
    for argument in call.args:
        name, equals, text = argument.text.partition("=")
        if equals and not name.startswith("-"):
            evaluator.set_variable(name.rstrip("+"), argument.with_text(text), call, append=name.endswith("+"))
            assigned = True
    return NOTHING if assigned else None


def _alias(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue:
    for argument in call.args:
        name, equals, text = argument.text.partition("=")
        if equals:
            evaluator.aliases[name] = CommandValue(text, argument.sources)
            if not is_program(text.partition(" ")[0]) or is_program(name):
                evaluator.run_inner(text, CommandCall("alias", [], NOTHING, call.offset))
    return NOTHING


def _read(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue:
    """`read name`: from the input, or from the keyboard."""
    texts = call.texts
    hidden = any(text.startswith("-") and "s" in text for text in texts)
    value = unknown("$(read)", call.stdin.sources)
    if call.stdin.known and call.fed:
        value = CommandValue(call.stdin.text.partition("\n")[0], call.stdin.sources)
    elif hidden and not call.fed:
        value = unknown("$(read)", (evaluator.world.fact(Kind.READ, "keyboard", call.offset, "read -s"),))
    names = [text for text in texts if text.isidentifier()] or ["REPLY"]
    for name in names:
        evaluator.variables[name] = value
    return NOTHING


def _mapfile(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue:
    names = [text for text in call.texts if text.isidentifier()] or ["MAPFILE"]
    words = (
        [CommandValue(part, call.stdin.sources) for part in call.stdin.text.split("\n")[:64]]
        if call.stdin.known
        else [call.stdin]
    )
    evaluator.variables[names[-1]] = words
    return NOTHING


def _unset(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue:
    for text in call.texts:
        evaluator.variables.pop(text, None)
        if text.startswith("HIST"):
            evaluator.world.fact(Kind.DELETE, "history", call.offset, f"unset {text}")
    return NOTHING


def _set_words(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue | None:
    """`set -- a b` sets `$1 $2`; fish sets a variable."""
    texts = call.texts
    if evaluator.fish:
        rest = [argument for argument in call.args if not argument.text.startswith("-")]
        if rest:
            evaluator.variables[rest[0].text] = rest[1] if len(rest) == 2 else rest[1:]
            return NOTHING
        return None
    if texts[:1] == ["--"]:
        for index, argument in enumerate(call.args[1:10], 1):
            evaluator.variables[str(index)] = argument
        evaluator.variables["@"] = evaluator.variables["*"] = call.args[1:]
        return NOTHING
    return None


def _trap(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue:
    if call.args and call.args[0].known and call.args[0].text not in ("-", ""):
        evaluator.run_inner(call.args[0].text, CommandCall("trap", [], NOTHING, call.offset))
    return NOTHING


def _printf(evaluator: "ShellEvaluator", call: CommandCall) -> CommandValue | None:
    """`printf -v name …` writes to a variable."""
    if call.texts[:1] == ["-v"] and len(call.args) > 2:
        words = [CommandValue("printf"), *call.args[2:]]
        evaluator.variables[call.args[1].text] = run_call(
            evaluator.world, words, CommandCall("", [], call.stdin, call.offset)
        )
        return NOTHING
    return None


BUILTINS: dict[str, Callable[["ShellEvaluator", CommandCall], CommandValue | None]] = {
    "cd": _cd, "pushd": _cd, "alias": _alias, "read": _read, "mapfile": _mapfile, "readarray": _mapfile,
    "unset": _unset,
    "set": _set_words, "trap": _trap, "printf": _printf, **dict.fromkeys(_DECLARES, _declare),
}  # fmt: skip


MAX_STEPS = 40_000
MAX_DEPTH = 12
MAX_TURNS = 12  # of a for loop
MAX_INNER = 1 << 16


class ShellEvaluator:
    """Reads nodes in a world."""

    def __init__(self, world: CommandContext, *, fish: bool = False) -> None:
        self.world = world
        self.fish = fish
        self.variables: dict[str, CommandValue | list[CommandValue]] = {}
        self.functions: dict[str, Node] = {}
        self.aliases: dict[str, CommandValue] = {}
        self.offset = 0
        self._called: set[str] = set()
        self._fds: dict[str, CommandValue] = {}
        self._steps = 0
        self._depth = 0
        self._processes = 0
        world.run_shell = self.run_inner

    def run_script(self, nodes: list[Node]) -> None:
        """Everything, functions that nobody calls included."""
        self.run_nodes(nodes)
        for name, body in list(self.functions.items()):
            if name not in self._called:
                self._called.add(name)
                self._call_function(body, [], NOTHING, fed=False)

    # What expansion asks for.

    def capture(self, body: list[Node]) -> CommandValue:
        """Run commands and return their output as one value."""
        if self._depth >= MAX_DEPTH:
            return CommandValue("", known=False)
        cwd = self.world.cwd
        value = self.run_nodes(body)
        self.world.cwd = cwd
        return value

    def open_process(self, body: list[Node], *, into: bool) -> str:
        self._processes += 1
        path = f"/dev/fd/{62 + self._processes}"
        if into:
            self.world.writers[path] = lambda value: self.run_nodes(body, value, fed=True)
        else:
            self.world.files[path] = self.capture(body)
        return path

    def run_inner(self, text: str, call: CommandCall) -> CommandValue:
        """The text of `eval` or `sh -c`, in this same world."""
        if self._depth >= MAX_DEPTH or len(text) > MAX_INNER:
            self.world.child(text, "shell", "exec", call.offset)
            return CommandValue("", known=False)
        before, offset = self.world.anchor, self.offset
        self.world.anchor = before if before is not None else call.offset
        value = self.run_nodes(ShellParser(text, 1, fish=self.fish).read(), call.stdin, fed=call.fed)
        self.world.anchor, self.offset = before, offset
        return value

    # Nodes.

    def run_nodes(self, nodes: list[Node], stdin: CommandValue = NOTHING, *, fed: bool = False) -> CommandValue:
        """Commands one after another; what they write is joined."""
        if self._depth >= MAX_DEPTH:
            return NOTHING
        self._depth += 1
        outputs: list[CommandValue] = []
        for node in nodes:
            if self._steps >= MAX_STEPS:
                break
            value = self._node(node, stdin, fed=fed)
            if value.text or value.sources:
                outputs.append(value)
        self._depth -= 1
        return self._joined(outputs)

    def _joined(self, outputs: list[CommandValue]) -> CommandValue:
        if len(outputs) < 2:
            return outputs[0] if outputs else NOTHING
        text = "\n".join(output.text for output in outputs[:200])
        return self.world.make(text, sources_of(outputs), known=all(output.known for output in outputs))

    def _node(self, node: Node, stdin: CommandValue, *, fed: bool) -> CommandValue:
        if isinstance(node, SimpleCommand):
            return self._simple(node, stdin, fed=fed)
        if isinstance(node, ShellPipe):
            return self._pipe(node, stdin, fed=fed)
        if isinstance(node, CommandGroup):
            return self._group(node, stdin, fed=fed)
        if node.body is not None and node.name:
            self.functions[node.name] = node.body
        return NOTHING

    def _pipe(self, node: ShellPipe, stdin: CommandValue, *, fed: bool) -> CommandValue:
        turns = 2 if self.world.fifos else 1  # what is written to a pipe with a name is read by an earlier command
        value = NOTHING
        for _ in range(turns):
            value = self._node(node.commands[0], stdin, fed=fed)
            for command in node.commands[1:]:
                value = self._node(command, value, fed=True)
        return value

    def _group(self, node: CommandGroup, stdin: CommandValue, *, fed: bool) -> CommandValue:
        if self._depth >= MAX_DEPTH:
            return NOTHING
        call = CommandCall("{", [], stdin, node.offset, fed=fed)
        outputs = self._redirects(node.redirects, call)
        cwd = self.world.cwd
        value = self._loop(node, call) if node.variable else self.run_nodes(node.body, call.stdin, fed=call.fed)
        if node.subshell:
            self.world.cwd = cwd
        return self._written(value, outputs, call)

    def _loop(self, node: CommandGroup, call: CommandCall) -> CommandValue:
        values = expand_words(node.values, self)
        if not values:
            self.variables[node.variable] = CommandValue("$" + node.variable, known=False)
            return self.run_nodes(node.body, call.stdin, fed=call.fed)
        # Turns that only differ in a name that is looked up: few are enough unless the loop is short.
        outputs = []
        for value in values[:MAX_TURNS]:
            self.variables[node.variable] = value
            outputs.append(self.run_nodes(node.body, call.stdin, fed=call.fed))
        rest = values[MAX_TURNS:]
        if rest:
            self.variables[node.variable] = unknown("$" + node.variable, sources_of(rest))
            outputs.append(self.run_nodes(node.body, call.stdin, fed=call.fed))
        return self._joined([output for output in outputs if output.text or output.sources])

    # Simple commands.

    def _simple(self, node: SimpleCommand, stdin: CommandValue, *, fed: bool) -> CommandValue:
        self._steps += 1
        self.offset = node.offset
        call = CommandCall("", [], stdin, node.offset, fed=fed)
        self._assign(node, call)
        words = expand_words(node.words, self)
        if words and words[0].text in self.aliases:
            words = [*[CommandValue(word) for word in self.aliases[words[0].text].text.split()], *words[1:]]
        while words and not words[0].text and not words[0].sources:
            words.pop(0)
        call.path = words[0].text if words else ""
        outputs = self._redirects(node.redirects, call) if node.redirects else []
        if not words:
            return self._written(call.stdin if call.fed and node.redirects else NOTHING, outputs, call)
        value = self._command(words, call, node)
        return self._written(value, outputs, call) if outputs else value

    def _assign(self, node: SimpleCommand, call: CommandCall) -> None:
        for name, append, word in node.assigns:
            if isinstance(word, list):
                values = expand_words(word, self)
                held = self.variables.get(name)
                before = held if isinstance(held, list) else [held] if held is not None else []
                self.variables[name] = [*before, *values][:200] if append else values
                continue
            self.set_variable(name, expand_one(word, self), call, append=append)

    def set_variable(self, name: str, value: CommandValue, call: CommandCall, *, append: bool = False) -> None:
        held = self.variables.get(name)
        if append and isinstance(held, list):
            self.variables[name] = [*held, value][:200]
            return
        if append and isinstance(held, CommandValue):
            sources = join_sources(held.sources, value.sources)
            value = self.world.make(held.text + value.text, sources, known=held.known and value.known)
        self.variables[name] = value
        check_assignment(self.world, name, value, call.offset)

    def _command(self, words: list[CommandValue], call: CommandCall, node: SimpleCommand) -> CommandValue:
        name = words[0].text
        special = BUILTINS.get(name)
        if special is not None:
            call.name, call.args = name, words[1:]
            done = special(self, call)
            if done is not None:
                return done
        function = self.functions.get(name)
        if function is not None and self._depth < MAX_DEPTH:
            self._called.add(name)
            return self._call_function(function, words[1:], call.stdin, fed=call.fed)
        if len(words) == 1 and " " in name and words[0].known and isinstance(node.words[0], str):
            return NOTHING  # a quoted sentence is no command
        return run_call(self.world, words, call)

    def _call_function(self, body: Node, args: list[CommandValue], stdin: CommandValue, *, fed: bool) -> CommandValue:
        before = {key: self.variables.get(key) for key in ("@", "*", "#", *"123456789", "in a function")}
        for index in range(1, 10):
            if index <= len(args):
                self.variables[str(index)] = args[index - 1]
            else:
                self.variables.pop(str(index), None)
        self.variables["in a function"] = CommandValue("yes")
        if args:
            self.variables["@"] = self.variables["*"] = args
        value = self.run_nodes([body], stdin, fed=fed)
        for key, held in before.items():
            if held is None:
                self.variables.pop(key, None)
            else:
                self.variables[key] = held
        return value

    # Redirects.

    def _redirects(self, redirects: list[ShellRedirect], call: CommandCall) -> list[tuple[CommandValue, bool]]:
        """Set the input of a call; the files its output goes to, each with whether it is appended."""
        outputs: list[tuple[CommandValue, bool]] = []
        for redirect in redirects:
            op = redirect.op
            target = expand_one(redirect.target, self)
            if op in ("<<", "<<<"):
                call.stdin, call.fed = target, True
            elif target.text.startswith(("/dev/tcp/", "/dev/udp/", "/inet/tcp/")):
                self._socket(redirect, target, call, outputs)
            elif op == "<" or op == "<>":
                call.stdin = self.world.read(target, CommandCall(call.path or "<", [], call.stdin, call.offset))
                call.fed = True
                self._fds[redirect.fd.strip("{}") or "0"] = target
            elif op in ("<&", ">&") and (target.text.isdigit() or target.text in ("-", "")):
                self._duplicate(redirect, target, call, outputs)
            elif op in (">", ">>", ">|", "&>", "&>>", ">&"):
                if redirect.fd == "2":
                    continue
                outputs.append((target, ">>" in op))
                self._fds[redirect.fd.strip("{}") or "1"] = target
        return outputs

    def _socket(
        self, redirect: ShellRedirect, target: CommandValue, call: CommandCall, outputs: list[tuple[CommandValue, bool]]
    ) -> None:
        parts = target.text.split("/")
        address = ":".join(parts[3:5])
        fact = self.world.note(call, Kind.CONNECT, address, target.sources, via=target.text)
        received = unknown("$(socket)", (self.world.output(fact),))
        self._fds[redirect.fd.strip("{}") or ("0" if redirect.op[0] == "<" else "1")] = CommandValue(
            target.text, received.sources
        )
        if redirect.op in ("<", "<>") or call.path.rpartition("/")[2] in ("sh", "bash", "zsh", "dash", "ksh", "exec"):
            call.stdin, call.fed = received, True
        if redirect.op != "<":
            outputs.append((target, False))

    def _duplicate(
        self, redirect: ShellRedirect, target: CommandValue, call: CommandCall, outputs: list[tuple[CommandValue, bool]]
    ) -> None:
        held = self._fds.get(target.text)
        if held is None or (target.text in ("1", "2") and held.text[:5] != "/dev/"):
            return
        if redirect.op == "<&" or redirect.fd == "0":
            call.stdin = unknown("$(socket)", held.sources) if held.sources else self.world.read(held, call)
            call.fed = True
        elif redirect.fd in ("", "1"):
            outputs.append((held, True))

    def _written(
        self, value: CommandValue, outputs: list[tuple[CommandValue, bool]], call: CommandCall
    ) -> CommandValue:
        for target, append in outputs:
            if target.text.startswith(("/dev/tcp/", "/dev/udp/", "/inet/tcp/")):
                if value.sources:
                    address = ":".join(target.text.split("/")[3:5])
                    self.world.note(
                        call, Kind.SEND, address, join_sources(value.sources, target.sources), via=target.text
                    )
                continue
            call.name = call.name if call.name not in ("", "{") else ">"
            self.world.write(target, value, call, append=append)
        return NOTHING if outputs else value
