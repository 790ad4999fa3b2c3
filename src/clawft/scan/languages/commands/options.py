"""The options of a command line, as most programs understand them."""

from collections.abc import Sequence

from msgspec import Struct

from clawft.scan.facts import Fact
from clawft.scan.languages.commands.world import NOTHING, Value, join_sources

__all__ = ["Options", "sources_of", "split_options", "tail_of"]


class Options(Struct):
    """Options in order, each with its value, and the operands."""

    pairs: list[tuple[str, Value]]
    operands: list[Value]

    def get(self, *names: str) -> Value | None:
        """The last value of an option, under any of its names."""
        return next((value for name, value in reversed(self.pairs) if name in names), None)

    def every(self, *names: str) -> list[Value]:
        return [value for name, value in self.pairs if name in names]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.pairs)


def tail_of(value: Value, start: int) -> Value:
    """The rest of a value, with its sources."""
    return Value(value.text[start:], value.sources, value.known)


def sources_of(values: Sequence[Value]) -> tuple[Fact, ...]:
    return join_sources(*[value.sources for value in values if value.sources])


def split_options(args: Sequence[Value], short: str = "", long: frozenset[str] = frozenset()) -> Options:
    """Options and operands; `short` are the letters, `long` the words (with their dashes) that take a value."""
    options = Options([], [])
    index, size = 0, len(args)
    while index < size:
        arg = args[index]
        text = arg.text
        index += 1
        if len(text) < 2 or text[0] != "-":
            options.operands.append(arg)
        elif text == "--":
            options.operands.extend(args[index:])
            break
        elif text.startswith("--") or text in long:
            name, equals, _ = text.partition("=")
            if equals:
                options.pairs.append((name, tail_of(arg, len(name) + 1)))
            elif name in long and index < size:
                options.pairs.append((name, args[index]))
                index += 1
            else:
                options.pairs.append((name, NOTHING))
        else:
            index += _short(options, arg, short, args[index] if index < size else NOTHING)
    return options


def _short(options: Options, arg: Value, short: str, following: Value) -> int:
    """Letters after one dash; how many of the following words they took."""
    for at in range(1, min(len(arg.text), 40)):
        letter = arg.text[at]
        if letter in short:
            attached = at + 1 < len(arg.text)
            options.pairs.append(("-" + letter, tail_of(arg, at + 1) if attached else following))
            return 0 if attached else 1
        options.pairs.append(("-" + letter, NOTHING))
    return 0
