"""`weft sessions show KEY`: one conversation, to be read."""

import click
import msgspec

from clawft.cli._complete import complete_sessions
from clawft.cli.options import format_option
from clawft.cli.output import clean, one_line, print_json
from clawft.cli.sessions._store import open_store, show_all
from clawft.describe.diagnostics import to_json
from clawft.describe.sessions import transcript_json
from clawft.messages import Message
from clawft.sessions import CompactionRecord, MessageRecord, SkillRecord, TurnRecord
from clawft.sessions.export import describe, turn_note

__all__ = ["command"]

_COLOURS = {"user": "cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}


@click.command("show")
@click.argument("key", shell_complete=complete_sessions)
@format_option
def command(key: str, output: str) -> None:
    """Show one conversation. KEY may be cut short where its start is enough."""
    app, store = open_store()
    transcript = store.read(store.resolve(key))
    said = (*store.diagnostics, *transcript.diagnostics)
    if output == "json":
        told = [to_json(one) for one in said]
        return print_json("clawft.sessions.show.v1", **transcript_json(transcript), diagnostics=told)
    click.echo(f"Session: {one_line(transcript.key)}")
    for label, value in describe(transcript):
        click.echo(f"{label}: {one_line(value)}")
    for record in transcript.records:
        if isinstance(record, MessageRecord):
            click.echo(f"\n{_head(record)}")
            for line in _lines(record.message):
                click.echo(clean(line))
        elif isinstance(record, SkillRecord):
            loaded, name = record.is_skill, one_line(record.name)
            click.echo(f"\n-- {f'skill {name} was loaded' if loaded else f'{name} was heard'} --")
        elif isinstance(record, CompactionRecord):
            click.echo(f"\n-- {record.replaces} earlier messages were summarised --\n{clean(record.summary)}")
        elif isinstance(record, TurnRecord):
            click.echo(f"\n-- {one_line(turn_note(record))} --")
    show_all(app, said)
    return None


def _head(record: MessageRecord) -> str:
    message = record.message
    said = f" {one_line(message.name)}{' (error)' if message.is_error else ''}" if message.role == "tool" else ""
    return click.style(f"{message.role}{said}", fg=_COLOURS[message.role], bold=True)


def _lines(message: Message) -> list[str]:
    lines = [message.content] if message.content else []
    lines += [f"({len(message.images)} images)"] if message.images else []
    for call in message.tool_calls:
        arguments = call.malformed or msgspec.json.encode(call.arguments).decode()
        lines.append(f"-> {one_line(call.name)} {one_line(arguments)}")
    return lines
