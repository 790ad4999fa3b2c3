"""A typed line to a request: skills at its start, files it names, and long pastes put back in place."""

import base64
import os
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from clawft.errors import ClawftError, Unreadable
from clawft.files import read_regular
from clawft.messages import Image
from clawft.workspace import Workspace, resolve_path

__all__ = ["Attached", "attach_files", "expand_pastes", "stack_skills"]

MAX_FILE_BYTES = 5 << 20
MAX_TEXT_CHARS = 200_000
_FILE = re.compile(r"(?<!\S)@((?:\\ |[^\s@])+)")
_PASTE = re.compile(r"\[paste (\d+): [\d,]+ characters\]")
_SIGNATURES = ((b"\x89PNG\r\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class Attached(Struct, frozen=True):
    """A message with what it names: texts inside it, pictures beside it."""

    text: str
    images: tuple[Image, ...] = ()
    problems: tuple[str, ...] = ()


def expand_pastes(text: str, pastes: Mapping[int, str]) -> str:
    """Long pastes stand in the prompt as a mark; here they are put back."""
    return _PASTE.sub(lambda match: pastes.get(int(match[1]), match[0]), text)


def stack_skills(text: str, known: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The skills named one after the other at the start of a message, `/a /b do it`, and the rest of it."""
    names: list[str] = []
    rest = text
    while match := re.match(r"/([\w-]+)(?:\s+|$)", rest):
        if match[1] not in known:
            break
        names.append(match[1])
        rest = rest[match.end() :]
    return tuple(names), rest.strip()


def attach_files(text: str, workspace: Workspace) -> Attached:
    """What `@path` names is read: a picture goes beside the message, a text at its end. The mark stays in place."""
    texts: list[str] = []
    images: list[Image] = []
    problems: list[str] = []
    for written in dict.fromkeys(match[1].replace("\\ ", " ") for match in _FILE.finditer(text)):
        path = resolve_path(written, workspace.cwd, workspace.home)
        if not os.path.isfile(path):
            continue  # an @mention of somebody, not a file
        try:
            content, _ = read_regular(path, MAX_FILE_BYTES, follow=True)
        except (Unreadable, OSError) as error:
            problems.append(f"{written}: {error}")
            continue
        media_type = next((kind for start, kind in _SIGNATURES if content.startswith(start)), "")
        if media_type or (content[:4] == b"RIFF" and content[8:12] == b"WEBP"):
            images.append(Image(media_type or "image/webp", base64.b64encode(content).decode()))
        elif b"\0" in content[:4096]:
            problems.append(f"{written}: this is neither text nor a picture")
        else:
            body = content.decode("utf-8", errors="replace")[:MAX_TEXT_CHARS]
            texts.append(f'<file path="{written}">\n{body}\n</file>')
    return Attached("\n\n".join([text, *texts]), tuple(images), tuple(problems))


def check_message(text: str, limit: int) -> None:
    """Raises: ClawftError for a message that is too long."""
    if len(text) > limit:
        raise ClawftError("message-too-long", f"The message has more than {limit} characters")
