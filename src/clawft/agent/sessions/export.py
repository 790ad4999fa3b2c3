"""The export of a session as Markdown or as one HTML page."""

import re
from collections.abc import Iterator
from html import escape

import msgspec

from clawft.agent.sessions.record import (
    CompactionRecord,
    MessageRecord,
    RewindRecord,
    SessionRecord,
    SkillRecord,
    TurnRecord,
)
from clawft.agent.sessions.transcript import Transcript
from clawft.messages import Image, Message, ToolCall

# Control characters have no place in a document; tab and line end stay.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_FENCES = re.compile("`{3,}")
_NAMES = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}


def render_markdown(transcript: Transcript) -> str:
    """The whole session; what tools got and gave stands in fenced blocks."""
    lines = [f"# Session {_inline(transcript.key)}", ""]
    lines += [f"- {label}: {_inline(value)}" for label, value in summarize_session(transcript)]
    for record, begun in walk(transcript):
        lines += ["", f"## Turn {begun}"] if begun else []
        lines += ["", *_render(record)]
    return "\n".join(lines).rstrip() + "\n"


def walk(transcript: Transcript) -> Iterator[tuple[SessionRecord, int]]:
    """Every record, with the number of the turn that begins with it, or 0."""
    last = 0
    for record in transcript.records:
        turn = record.turn if isinstance(record, MessageRecord | SkillRecord) else 0
        yield record, turn if turn > last else 0
        last = max(last, turn)


def summarize_session(transcript: Transcript) -> list[tuple[str, str]]:
    """Return the facts to show above a session."""
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
    """Format the arguments of a tool call for reading."""
    if call.malformed:
        return printable(call.malformed)
    return printable(msgspec.json.format(msgspec.json.encode(call.arguments), indent=2).decode())


def turn_note(record: TurnRecord | RewindRecord) -> str:
    """Return a note on how a turn ended, with its model, tokens and run where known; or on a rewind."""
    if isinstance(record, RewindRecord):
        did = "taken back again" if record.redo else "taken back"
        return f"{did}: the conversation goes on from " + (
            f"the end of turn {record.to}" if record.to else "its beginning"
        )
    parts = [f"turn {record.turn} {record.status}", record.model]
    if record.usage.total_tokens:
        parts.append(f"{record.usage.input_tokens} tokens in, {record.usage.output_tokens} out")
    parts.append(f"run {record.run}" if record.run else "")
    return ", ".join(part for part in parts if part)


def _render(record: SessionRecord) -> list[str]:
    if isinstance(record, MessageRecord):
        return _render_message(record.message)
    if isinstance(record, SkillRecord):
        return [f"*Skill {_inline(record.name)} was loaded.*"] if record.is_skill else []
    if isinstance(record, CompactionRecord):
        return [f"*{record.replaces} earlier messages were summarised:*", "", *_quote(record.summary)]
    return [f"*{_inline(turn_note(record))}*"] if isinstance(record, TurnRecord | RewindRecord) else []


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


_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light dark; --page: #fbfaf8; --text: #1f2328; --faint: #6a7078; --line: #dedbd4;
  --user: #eef3fb; --code: #f3f1ec; --bad: #b3261e; --accent: #2f5d9e; }
@media (prefers-color-scheme: dark) { :root { --page: #16181b; --text: #e4e6e9; --faint: #9aa1a9; --line: #33373c;
  --user: #1e2733; --code: #1f2225; --bad: #ff8a80; --accent: #8db4ee; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: .85rem; font-weight: 600; color: var(--faint); border-top: 1px solid var(--line);
  padding-top: 1rem; margin: 2rem 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; font-size: .9rem; }
dt, .role, .note { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
article { margin: 1rem 0; } .role { font-size: .8rem; font-weight: 600; margin-bottom: .2rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
.user .text { background: var(--user); border-radius: .5rem; padding: .7rem .9rem; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .6rem 0; }
summary { cursor: pointer; padding: .45rem .8rem; font-size: .9rem; overflow-wrap: anywhere; }
summary:focus-visible { outline: 2px solid var(--accent); } summary b { color: var(--accent); }
details.error summary b { color: var(--bad); }
pre { margin: 0; padding: .7rem .8rem; background: var(--code); border-top: 1px solid var(--line); overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; font: .85rem/1.5 ui-monospace, monospace; }
img { max-width: 100%; border-radius: .5rem; margin-top: .5rem; } .note { font-size: .85rem; margin: .6rem 0; }
""".strip()


def render_html(transcript: Transcript) -> str:
    """One page that needs nothing else; what tools got and gave is folded away."""
    title = _text(f"Session {transcript.key}")
    facts = "".join(f"<dt>{_text(label)}</dt><dd>{_text(value)}</dd>" for label, value in summarize_session(transcript))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{title}</h1>\n<dl>{facts}</dl>\n{_body(transcript)}\n</main>\n</body>\n</html>\n"
    )


def _body(transcript: Transcript) -> str:
    parts: list[str] = []
    for record, begun in walk(transcript):
        if begun:
            parts.append(f"<h2>Turn {begun}</h2>")
        parts.append(_render_page(record))
    return "\n".join(parts)


def _render_page(record: SessionRecord) -> str:
    if isinstance(record, MessageRecord):
        return _render_message_page(record.message, record.at)
    if isinstance(record, SkillRecord):
        return _fold("Skill", record.name, record.content) if record.is_skill else ""
    if isinstance(record, CompactionRecord):
        return _fold("Summary", f"of {record.replaces} earlier messages", record.summary)
    return f'<p class="note">{_text(turn_note(record))}</p>' if isinstance(record, TurnRecord | RewindRecord) else ""


def _render_message_page(message: Message, at: str) -> str:
    if message.role == "tool":
        title = "Error" if message.is_error else "Result"
        pictures = "".join(map(_picture, message.images))
        return _fold(title, message.name or "of a tool", message.content or "", bad=message.is_error) + pictures
    text = f'<div class="text">{_text(message.content)}</div>' if message.content else ""
    pictures = "".join(map(_picture, message.images))
    calls = "".join(_fold("Called", call.name, format_arguments(call)) for call in message.tool_calls)
    head = f'<div class="role" title="{_text(at)}">{message.role.capitalize()}</div>'
    return f'<article class="{message.role}">{head}{text}{pictures}{calls}</article>'


def _fold(title: str, name: str, text: str, *, bad: bool = False) -> str:
    kind = ' class="error"' if bad else ""
    return f"<details{kind}><summary><b>{title}</b> {_text(name)}</summary><pre>{_text(text)}</pre></details>"


def _picture(image: Image) -> str:
    if image.media_type not in _PICTURES or not _BASE64.fullmatch(image.base64):
        return '<p class="note">(a picture that cannot be shown)</p>'
    return f'<img alt="" src="data:{image.media_type};base64,{image.base64}">'


def _text(text: str) -> str:
    return escape(printable(text))
