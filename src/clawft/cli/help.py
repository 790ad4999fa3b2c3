"""`weft help [TOPIC | COMMAND...]`: topics, commands and settings as text that fits the terminal."""

import re
import sys
import textwrap
from collections.abc import Iterator

import click

from clawft.cli.completion import completes
from clawft.cli.help_topics import get_topic_summary, list_topics, render_topic
from clawft.cli.output import say, terminal_width
from clawft.cli.repl.commands import COMMANDS, find_command
from clawft.errors import NotFound, find_close

_ALONE = re.compile(r"$|#|    |(?:[-*]|\d+\.) ")  # starts what no earlier line goes on with
_GOES_ON = re.compile(r"(?!$|#|    )")
_COLUMNS = re.compile(r"(\s+)(\S.*?)\s{2,}(\S.*)")


def render_help(text: str, columns: int, *, colour: bool, plain: bool = False) -> str:
    """A text for so many columns. Its code blocks are the indented ones; it has no tables."""
    from clawft.cli.repl.markdown import MarkdownStream  # not needed where nothing is folded

    stream = MarkdownStream(columns, colour=colour, plain=plain)
    return (stream.feed(_reflow(text, columns)) + stream.flush()).rstrip("\n")


def _reflow(text: str, columns: int) -> str:
    """Return Markdown in other lines: a paragraph or an item is one, and code fits."""
    lines: list[str] = []
    for line in text.rstrip().split("\n"):
        if lines and _GOES_ON.match(lines[-1]) and not _ALONE.match(line):
            lines[-1] += f" {line.strip()}"
        else:
            lines += _fit_columns(line, columns)
    return "\n".join(lines) + "\n"


def _fit_columns(line: str, columns: int) -> list[str]:
    """A line of code that is too long and has two columns gets the second below the first; others stay."""
    two = _COLUMNS.fullmatch(line) if line.startswith("    ") and len(line) > columns else None
    if two is None:
        return [line]
    indent = f"{two[1]}    "
    return [two[1] + two[2], *textwrap.wrap(two[3], columns, initial_indent=indent, subsequent_indent=indent)]


# Words that people look up, and the topic that explains them.
_EXPLAINED = {
    "security": ("approval", "approvals", "approve", "sandbox", "secrets", "stranger", "trust", "untrusted"),
    "permissions": ("mode", "modes", "patterns", "permission", "rules"),
    "writing": ("context", "dynamic", "fork", "forks"),
    "hooks": ("deno", "hook", "lifecycle"),
    "tools": ("allowed-tools", "exec", "shell"),
    "needs": ("dependencies", "depends-on", "deps", "installers", "requirements", "requires"),
    "install": ("lock", "lockfile", "locks", "source", "sources", "sync", "update", "updates", "verify"),
    "publishing": ("pack", "publish", "publishers", "registries", "registry", "sign", "signature", "signatures"),
}


@completes
def complete_help(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    context = ctx.find_root()
    words: tuple[str, ...] = ctx.params.get("words") or ()
    if not words:
        yield from ((name, get_topic_summary(name)) for name in list_topics())
    for word in words:
        below = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if below is None:
            return
        context = click.Context(below, info_name=word, parent=context)
    if isinstance(context.command, click.Group):
        yield from ((name, "") for name in context.command.list_commands(context))


@click.command("help")
@click.argument("words", nargs=-1, metavar="[TOPIC | COMMAND...]", shell_complete=complete_help)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Explain a topic, a command or a setting.

    A command such as `skills run`; settings such as `config tools.exec`.
    """
    root = ctx.find_root()
    words = tuple(part for word in words for part in word.split() or [word])
    if not words:
        click.echo(root.get_help())
        click.echo()
        _show(_topics(), ctx)
        return
    text = _find_text(words)
    named = _find_command(root, words)
    topic = _find_topic(" ".join(words))
    if text:
        _show(text, ctx)
    elif named:
        click.echo(named.get_help())
        if topic:
            click.echo()
            _show(f"See also: `weft help {topic}`.", ctx)
    elif topic:
        say(f"'{words[0]}' is explained here: weft help {topic}\n")
        _show(topic_text(topic), ctx)
    else:
        raise _not_found(root, " ".join(words))


def _show(text: str, ctx: click.Context) -> None:
    """Markdown as it is where nothing needs to fit: it reads well, and other programs may use it."""
    columns = terminal_width()
    colour = sys.stdout.isatty() and ctx.color is not False
    click.echo(text.rstrip("\n") if columns is None else render_help(text, columns, colour=colour))


def topic_text(name: str) -> str:
    """The Markdown of a topic, with the commands and settings that there are. Raises: NotFound."""
    if name == "commands":
        return render_topic(name, {"commands": _slash_commands()})
    if name == "config":
        return render_topic(name, {"settings": _settings()})
    return render_topic(name, {})


def _find_text(words: tuple[str, ...]) -> str:
    """The topic, slash command or settings that are meant; '' for none. `config KEY` is never a topic."""
    word = words[-1]
    if len(words) > 2 or (len(words) == 2 and words[0] != "config"):
        return ""
    if len(words) == 1 and word in list_topics():
        return topic_text(word)
    if len(words) == 1 and word.startswith("/"):
        slash = find_command(word[1:])
        return f"    {slash.usage}\n\n{slash.description}.\n\n{slash.help}".rstrip() if slash else ""
    from clawft.cli.settings_reference import find_settings  # reads sources: not for every start

    text = find_settings(word)
    return f"{text}\n\nSee also: `weft help {topic}`." if text and (topic := _find_topic(word)) else text


def _find_topic(word: str) -> str:
    return next((topic for topic, words in _EXPLAINED.items() if word.lower() in words), "")


def _find_command(context: click.Context, words: tuple[str, ...]) -> click.Context | None:
    """The context of a command below another, as it would be when it ran; None where there is none."""
    for word in words:
        group = context.command
        below = group.get_command(context, word) if isinstance(group, click.Group) else None
        if below is None:
            return None
        context = click.Context(below, info_name=word, parent=context)
    return context


def _not_found(root: click.Context, asked: str) -> NotFound:
    known = (*list_topics(), *_command_paths(root))
    close = find_close(asked, known)
    hint = (f"did you mean '{close}'? " if close else "") + "Run: weft help"
    return NotFound("topic-not-found", f"No topic or command '{asked}'", hint=hint)


def _command_paths(context: click.Context, above: str = "") -> Iterator[str]:
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            yield above + name
            below = group.get_command(context, name)
            if below is not None:
                yield from _command_paths(click.Context(below, info_name=name, parent=context), f"{above}{name} ")


def _topics() -> str:
    width = max(map(len, list_topics()))
    lines = [f"    {name.ljust(width)}  {get_topic_summary(name)}" for name in list_topics()]
    return "\n".join(["Topics, for `weft help TOPIC`:", "", *lines])


def _slash_commands() -> str:
    width = max(len(command.usage) for command in COMMANDS)
    return "\n".join(f"    {command.usage.ljust(width)}  {command.description}" for command in COMMANDS)


def _settings() -> str:
    from clawft.cli.settings_reference import list_sections, settings_of

    return "\n".join(
        f"- `{path}`: {', '.join(name for name, *_ in settings_of(kind))}" for path, kind in list_sections().items()
    )
