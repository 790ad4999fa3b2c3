"""A session as one HTML page: no scripts, nothing loaded from elsewhere, everything in it escaped."""

import re
from html import escape

from clawft.messages import Image, Message
from clawft.sessions.export import describe, format_arguments, printable, turn_note, walk
from clawft.sessions.record import CompactionRecord, MessageRecord, Record, SkillRecord, TurnRecord
from clawft.sessions.transcript import Transcript

__all__ = ["render_html"]

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
    facts = "".join(f"<dt>{_text(label)}</dt><dd>{_text(value)}</dd>" for label, value in describe(transcript))
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
        parts.append(_render(record))
    return "\n".join(parts)


def _render(record: Record) -> str:
    if isinstance(record, MessageRecord):
        return _render_message(record.message, record.at)
    if isinstance(record, SkillRecord):
        return _fold("Skill", record.name, record.content) if record.is_skill else ""
    if isinstance(record, CompactionRecord):
        return _fold("Summary", f"of {record.replaces} earlier messages", record.summary)
    return f'<p class="note">{_text(turn_note(record))}</p>' if isinstance(record, TurnRecord) else ""


def _render_message(message: Message, at: str) -> str:
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
