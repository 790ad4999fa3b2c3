"""The commands of a script, read in order with what is known so far. Nothing is run: values flow, facts are noted."""

from clawft.scan.facts import Kind
from clawft.scan.languages.commands import NOTHING, Call, Value, World, join_sources, run_call
from clawft.scan.languages.commands.system import check_assignment
from clawft.scan.languages.shell.builtins import BUILTINS
from clawft.scan.languages.shell.expand import expand_one, expand_words
from clawft.scan.languages.shell.nodes import Group, Node, Pipe, Redirect, Simple
from clawft.scan.languages.shell.parse import Parser

__all__ = ["Evaluator"]

MAX_STEPS = 40_000
MAX_DEPTH = 12
MAX_TURNS = 12  # of a for loop
MAX_INNER = 1 << 16


class Evaluator:
    """Reads nodes in a world."""

    def __init__(self, world: World, *, fish: bool = False) -> None:
        self.world = world
        self.fish = fish
        self.variables: dict[str, Value | list[Value]] = {}
        self.functions: dict[str, Node] = {}
        self.aliases: dict[str, Value] = {}
        self.offset = 0
        self._called: set[str] = set()
        self._fds: dict[str, Value] = {}
        self._steps = 0
        self._depth = 0
        self._processes = 0
        world.run_shell = self.run_inner

    def run_script(self, nodes: list[Node]) -> None:
        """Everything, functions that nobody calls included."""
        self._body(nodes, NOTHING, fed=False)
        for name, body in list(self.functions.items()):
            if name not in self._called:
                self._called.add(name)
                self._call_function(body, [], NOTHING, fed=False)

    def run_nodes(self, nodes: list[Node]) -> Value:
        """Some commands, and what they write."""
        return self._body(nodes, NOTHING, fed=False)

    # What expansion asks for.

    def capture(self, body: list[Node]) -> Value:
        """What commands write, as one value."""
        if self._depth >= MAX_DEPTH:
            return Value("", known=False)
        cwd = self.world.cwd
        value = self._body(body, NOTHING, fed=False)
        self.world.cwd = cwd
        return value

    def open_process(self, body: list[Node], *, into: bool) -> str:
        self._processes += 1
        path = f"/dev/fd/{62 + self._processes}"
        if into:
            self.world.writers[path] = lambda value: self._feed(body, value)
        else:
            self.world.files[path] = self.capture(body)
        return path

    def _feed(self, body: list[Node], value: Value) -> None:
        self._body(body, value, fed=True)

    def run_inner(self, text: str, call: Call) -> Value:
        """The text of `eval` or `sh -c`, in this same world."""
        if self._depth >= MAX_DEPTH or len(text) > MAX_INNER:
            self.world.child(text, "shell", "exec", call.offset)
            return Value("", known=False)
        before, offset = self.world.anchor, self.offset
        self.world.anchor = before if before is not None else call.offset
        value = self._body(Parser(text, 1, fish=self.fish).read(), call.stdin, fed=call.fed)
        self.world.anchor, self.offset = before, offset
        return value

    # Nodes.

    def _body(self, nodes: list[Node], stdin: Value, *, fed: bool) -> Value:
        """Commands one after another; what they write is joined."""
        if self._depth >= MAX_DEPTH:
            return NOTHING
        self._depth += 1
        outputs: list[Value] = []
        for node in nodes:
            if self._steps >= MAX_STEPS:
                break
            value = self._node(node, stdin, fed=fed)
            if value.text or value.sources:
                outputs.append(value)
        self._depth -= 1
        return self._joined(outputs)

    def _joined(self, outputs: list[Value]) -> Value:
        if len(outputs) < 2:
            return outputs[0] if outputs else NOTHING
        text = "\n".join(one.text for one in outputs[:200])
        return self.world.make(
            text, join_sources(*[one.sources for one in outputs]), known=all(one.known for one in outputs)
        )

    def _node(self, node: Node, stdin: Value, *, fed: bool) -> Value:
        if isinstance(node, Simple):
            return self._simple(node, stdin, fed=fed)
        if isinstance(node, Pipe):
            return self._pipe(node, stdin, fed=fed)
        if isinstance(node, Group):
            return self._group(node, stdin, fed=fed)
        if node.body is not None and node.name:
            self.functions[node.name] = node.body
        return NOTHING

    def _pipe(self, node: Pipe, stdin: Value, *, fed: bool) -> Value:
        turns = 2 if self.world.fifos else 1  # what is written to a pipe with a name is read by an earlier command
        value = NOTHING
        for _ in range(turns):
            value = self._node(node.commands[0], stdin, fed=fed)
            for command in node.commands[1:]:
                value = self._node(command, value, fed=True)
        return value

    def _group(self, node: Group, stdin: Value, *, fed: bool) -> Value:
        if self._depth >= MAX_DEPTH:
            return NOTHING
        call = Call("{", [], stdin, node.offset, fed=fed)
        outputs = self._redirects(node.redirects, call)
        cwd = self.world.cwd
        value = self._loop(node, call) if node.variable else self._body(node.body, call.stdin, fed=call.fed)
        if node.subshell:
            self.world.cwd = cwd
        return self._written(value, outputs, call)

    def _loop(self, node: Group, call: Call) -> Value:
        values = expand_words(node.values, self)
        if not values:
            self.variables[node.variable] = Value("$" + node.variable, known=False)
            return self._body(node.body, call.stdin, fed=call.fed)
        # Turns that only differ in a name that is looked up: few are enough unless the loop is short.
        outputs = []
        for value in values[:MAX_TURNS]:
            self.variables[node.variable] = value
            outputs.append(self._body(node.body, call.stdin, fed=call.fed))
        rest = values[MAX_TURNS:]
        if rest:
            self.variables[node.variable] = Value(
                "$" + node.variable, join_sources(*[one.sources for one in rest]), known=False
            )
            outputs.append(self._body(node.body, call.stdin, fed=call.fed))
        return self._joined([one for one in outputs if one.text or one.sources])

    # Simple commands.

    def _simple(self, node: Simple, stdin: Value, *, fed: bool) -> Value:
        self._steps += 1
        self.offset = node.offset
        call = Call("", [], stdin, node.offset, fed=fed)
        self._assign(node, call)
        words = expand_words(node.words, self)
        if words and words[0].text in self.aliases:
            words = [*[Value(one) for one in self.aliases[words[0].text].text.split()], *words[1:]]
        while words and not words[0].text and not words[0].sources:
            words.pop(0)
        call.path = words[0].text if words else ""
        outputs = self._redirects(node.redirects, call) if node.redirects else []
        if not words:
            return self._written(call.stdin if call.fed and node.redirects else NOTHING, outputs, call)
        value = self._command(words, call, node)
        return self._written(value, outputs, call) if outputs else value

    def _assign(self, node: Simple, call: Call) -> None:
        for name, append, word in node.assigns:
            if isinstance(word, list):
                values = expand_words(word, self)
                held = self.variables.get(name)
                before = held if isinstance(held, list) else [held] if held is not None else []
                self.variables[name] = [*before, *values][:200] if append else values
                continue
            self.set_variable(name, expand_one(word, self), call, append=append)

    def set_variable(self, name: str, value: Value, call: Call, *, append: bool = False) -> None:
        held = self.variables.get(name)
        if append and isinstance(held, list):
            self.variables[name] = [*held, value][:200]
            return
        if append and isinstance(held, Value):
            sources = join_sources(held.sources, value.sources)
            value = self.world.make(held.text + value.text, sources, known=held.known and value.known)
        self.variables[name] = value
        check_assignment(self.world, name, value, call.offset)

    def _command(self, words: list[Value], call: Call, node: Simple) -> Value:
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

    def _call_function(self, body: Node, args: list[Value], stdin: Value, *, fed: bool) -> Value:
        before = {key: self.variables.get(key) for key in ("@", "*", "#", *"123456789", "in a function")}
        for index in range(1, 10):
            if index <= len(args):
                self.variables[str(index)] = args[index - 1]
            else:
                self.variables.pop(str(index), None)
        self.variables["in a function"] = Value("yes")
        if args:
            self.variables["@"] = self.variables["*"] = args
        value = self._body([body], stdin, fed=fed)
        for key, held in before.items():
            if held is None:
                self.variables.pop(key, None)
            else:
                self.variables[key] = held
        return value

    # Redirects.

    def _redirects(self, redirects: list[Redirect], call: Call) -> list[tuple[Value, bool]]:
        """Set the input of a call; the files its output goes to, each with whether it is appended."""
        outputs: list[tuple[Value, bool]] = []
        for redirect in redirects:
            op = redirect.op
            target = expand_one(redirect.target, self)
            if op in ("<<", "<<<"):
                call.stdin, call.fed = target, True
            elif target.text.startswith(("/dev/tcp/", "/dev/udp/", "/inet/tcp/")):
                self._socket(redirect, target, call, outputs)
            elif op == "<" or op == "<>":
                call.stdin = self.world.read(target, Call(call.path or "<", [], call.stdin, call.offset))
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

    def _socket(self, redirect: Redirect, target: Value, call: Call, outputs: list[tuple[Value, bool]]) -> None:
        parts = target.text.split("/")
        address = ":".join(parts[3:5])
        fact = self.world.fact(Kind.CONNECT, address, call.offset, target.text, target.sources)
        received = Value("$(socket)", (self.world.output(fact),), known=False)
        self._fds[redirect.fd.strip("{}") or ("0" if redirect.op[0] == "<" else "1")] = Value(
            target.text, received.sources
        )
        if redirect.op in ("<", "<>") or call.path.rpartition("/")[2] in ("sh", "bash", "zsh", "dash", "ksh", "exec"):
            call.stdin, call.fed = received, True
        if redirect.op != "<":
            outputs.append((target, False))

    def _duplicate(self, redirect: Redirect, target: Value, call: Call, outputs: list[tuple[Value, bool]]) -> None:
        held = self._fds.get(target.text)
        if held is None or (target.text in ("1", "2") and held.text[:5] != "/dev/"):
            return
        if redirect.op == "<&" or redirect.fd == "0":
            call.stdin = Value("$(socket)", held.sources, known=False) if held.sources else self.world.read(held, call)
            call.fed = True
        elif redirect.fd in ("", "1"):
            outputs.append((held, True))

    def _written(self, value: Value, outputs: list[tuple[Value, bool]], call: Call) -> Value:
        for target, append in outputs:
            if target.text.startswith(("/dev/tcp/", "/dev/udp/", "/inet/tcp/")):
                if value.sources:
                    address = ":".join(target.text.split("/")[3:5])
                    self.world.fact(
                        Kind.SEND, address, call.offset, target.text, join_sources(value.sources, target.sources)
                    )
                continue
            call.name = call.name if call.name not in ("", "{") else ">"
            self.world.write(target, value, call, append=append)
        return NOTHING if outputs else value
