"""A session as Markdown, to read or to keep. The page for browsers is in page.py."""

import re
from collections.abc import Iterator

import msgspec

from clawft.messages import Message, ToolCall
from clawft.sessions.record import CompactionRecord, MessageRecord, Record, SkillRecord, TurnRecord
from clawft.sessions.transcript import Transcript

__all__ = ["describe", "format_arguments", "printable", "render_markdown", "turn_note", "walk"]

# Control characters have no place in a document; tab and line end stay.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_FENCES = re.compile("`{3,}")
_NAMES = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}


def render_markdown(transcript: Transcript) -> str:
    """The whole session; what tools got and gave stands in fenced blocks."""
    lines = [f"# Session {_inline(transcript.key)}", ""]
    lines += [f"- {label}: {_inline(value)}" for label, value in describe(transcript)]
    for record, begun in walk(transcript):
        lines += ["", f"## Turn {begun}"] if begun else []
        lines += ["", *_render(record)]
    return "\n".join(lines).rstrip() + "\n"


def walk(transcript: Transcript) -> Iterator[tuple[Record, int]]:
    """Every record, with the number of the turn that begins with it, or 0."""
    last = 0
    for record in transcript.records:
        turn = record.turn if isinstance(record, MessageRecord | SkillRecord) else 0
        yield record, turn if turn > last else 0
        last = max(last, turn)


def describe(transcript: Transcript) -> list[tuple[str, str]]:
    """What there is to say above a session."""
    header, usage = transcript.header, transcript.usage
    models = dict.fromkeys(turn.model for turn in transcript.turns if turn.model)
    facts = [
        ("Started", header.created),
        ("Folder", header.cwd),
        ("Copied from", header.forked_from),
        ("Turns", str(len(transcript.turns))),
        ("Messages", str(len(transcript.messages))),
        ("Models", ", ".join(models)),
        ("Tokens", f"{usage.input_tokens} in, {usage.output_tokens} out" if usage.total_tokens else ""),
    ]
    return [(label, value) for label, value in facts if value]


def printable(text: str) -> str:
    """A text without control characters, its line ends all alike."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def format_arguments(call: ToolCall) -> str:
    """What a model gave to a tool, to be read."""
    if call.malformed:
        return printable(call.malformed)
    return printable(msgspec.json.format(msgspec.json.encode(call.arguments), indent=2).decode())


def turn_note(record: TurnRecord) -> str:
    """How a turn ended, if there is more to say than that it did."""
    parts = [f"turn {record.turn} {record.status}", record.model]
    if record.usage.total_tokens:
        parts.append(f"{record.usage.input_tokens} tokens in, {record.usage.output_tokens} out")
    parts.append(f"run {record.run}" if record.run else "")
    return ", ".join(part for part in parts if part)


def _render(record: Record) -> list[str]:
    if isinstance(record, MessageRecord):
        return _render_message(record.message)
    if isinstance(record, SkillRecord):
        return [f"*Skill {_inline(record.name)} was loaded.*"] if record.is_skill else []
    if isinstance(record, CompactionRecord):
        return [f"*{record.replaces} earlier messages were summarised:*", "", *_quote(record.summary)]
    return [f"*{_inline(turn_note(record))}*"] if isinstance(record, TurnRecord) else []


def _render_message(message: Message) -> list[str]:
    if message.role == "tool":
        title = "Error of" if message.is_error else "Result of"
        return [f"**{title} {_inline(message.name or 'a tool')}**", "", *_fence(message.content or "")]
    lines = [f"### {_NAMES[message.role]}", ""]
    if message.content:
        text = printable(message.content)
        lines += [text, ""] if message.role == "assistant" else [*_quote(text), ""]
    lines += [f"*({len(message.images)} images)*", ""] if message.images else []
    for call in message.tool_calls:
        lines += [f"**Called {_inline(call.name)}**", "", *_fence(format_arguments(call), "json"), ""]
    return lines[:-1]


def _quote(text: str) -> list[str]:
    """A text as a quotation: no line of it can pass for one of ours."""
    return [f"> {line}".rstrip() for line in printable(text).split("\n")]


def _fence(text: str, language: str = "") -> list[str]:
    """A block that ends where we end it, whatever the text holds."""
    text = printable(text)
    fence = "`" * max([3, *(len(run) + 1 for run in _FENCES.findall(text))])
    return [fence + language, text.rstrip("\n"), fence]


def _inline(text: str) -> str:
    """A text on one line, marks of Markdown and HTML shown as they are."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(printable(text).split()))
