"""A typed line to a request: skills at its start, files it names, and long pastes put back in place."""

import base64
import os
import re
from collections.abc import Container, Mapping

from msgspec import Struct

from clawft.app.app import App
from clawft.errors import ClawftError, Unreadable
from clawft.files import read_regular
from clawft.messages import Image
from clawft.skills.render.template import wrap_file
from clawft.workspace import Workspace, resolve_path

MAX_FILE_BYTES = 5 << 20
MAX_TEXT_CHARS = 200_000
AS_IS = "-- "  # what follows it is a message, whatever it looks like
_FILE = re.compile(r"(?<!\S)@((?:\\ |[^\s@])+)")
_PASTE = re.compile(r"\[paste ([0-9a-f]{6}): [\d,]+ characters\]")
_SIGNATURES = ((b"\x89PNG\r\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class Attached(Struct, frozen=True):
    """A message with what it names: texts inside it, pictures beside it; and what to tell the person of each."""

    text: str
    images: tuple[Image, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def split_command(line: str) -> tuple[str, str] | None:
    """The name and the rest of a line that begins with `/`; None for any other, and for the path of a file that is
    there, such as `/etc/hosts`."""
    if not line.startswith("/"):
        return None
    name, _, rest = line[1:].partition(" ")
    is_path = "/" in name.strip("/") and os.path.exists(f"/{name}")
    return None if is_path else (name.strip(), rest.strip())


def list_startable(app: App) -> set[str]:
    """Return the names of the skills that the user may start, also as `scope:name`."""
    skills = [skill for skill in app.skills if skill.user_may_invoke]
    return {word for skill in skills for word in (skill.name, f"{skill.found.location.prefix}:{skill.name}")}


def expand_pastes(text: str, pastes: Mapping[str, str]) -> str:
    """Long pastes stand in the prompt as a mark; here they are put back. Raises: ClawftError for one that is gone."""
    missing = next((match[0] for match in _PASTE.finditer(text) if match[1] not in pastes), "")
    if missing:
        raise ClawftError("paste-gone", f"{missing} is no longer there", hint="Paste it again")
    return _PASTE.sub(lambda match: pastes[match[1]], text)


def stack_skills(text: str, known: Container[str]) -> tuple[tuple[str, ...], str]:
    """The skills named one after the other at the start of a message, `/a /b do it`, and the rest of it."""
    names: list[str] = []
    rest = text
    while (match := re.match(r"/([\w:.-]+)(?:\s+|$)", rest)) and match[1] in known:
        names.append(match[1])
        rest = rest[match.end() :]
    return tuple(names), rest.strip()


def attach_files(text: str, workspace: Workspace) -> Attached:
    """Read the files that `@path` names: a picture is attached to the message, a text added at its end.

    The mark stays in place. Use it only for text that the user typed and saw: a long paste of untrusted text names no
    files.
    """
    texts, images, notes, problems = [text], [], [], []
    for written in dict.fromkeys(match[1].replace("\\ ", " ") for match in _FILE.finditer(text)):
        path = resolve_path(written, workspace.cwd, workspace.home)
        if not os.path.isfile(path):
            continue  # an @mention of a person, not a file
        try:
            content, _ = read_regular(path, MAX_FILE_BYTES, follow=True)
        except (Unreadable, OSError) as error:
            problems.append(f"{written}: {error}")
            continue
        kind = _picture_type(content)
        if not kind and b"\0" in content[:4096]:
            problems.append(f"{written}: this is neither text nor a picture")
            continue
        notes.append(f"{written}: {kind or 'text'}, {len(content):,} bytes")
        if kind:
            images.append(Image(kind, base64.b64encode(content).decode()))
        else:
            texts.append(wrap_file(written, content.decode("utf-8", errors="replace"), MAX_TEXT_CHARS))
    return Attached("\n\n".join(texts), tuple(images), tuple(notes), tuple(problems))


def _picture_type(content: bytes) -> str:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _SIGNATURES if content.startswith(start)), "")
