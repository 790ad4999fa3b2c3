"""The answer as a mail: in the thread of what it answers, and told to be from a program."""

import re
from email.charset import QP, Charset
from email.header import Header
from email.mime.nonmultipart import MIMENonMultipart
from email.policy import compat32
from email.utils import formataddr, formatdate
from hashlib import sha256
from typing import Any

from clawft.contracts import OutboundMessage, Unsupported
from email_channel.settings import Settings

__all__ = ["compose", "find_recipient", "make_message_id"]

_ID = re.compile(r"<[!-;=?-~]{1,200}@[!-;=?-~]{1,200}>")
_MAX_REFERENCES = 10


def make_message_id(key: str, domain: str) -> str:
    """The same for the same answer, so that whoever gets it twice can tell."""
    return f"<clawft.{sha256(key.encode()).hexdigest()[:40]}@{domain}>"


def find_recipient(message: OutboundMessage) -> str:
    """Whom to answer: the sender to whom the conversation belongs, and nobody else. Raises: Unsupported."""
    owner = message.conversation.rpartition("/")[0]
    if not re.fullmatch(r"[!-~]+@[!-~]+", owner):
        raise Unsupported(f"'{message.conversation[:80]}' is no conversation of this channel")
    address = str(message.metadata.get("address", ""))
    return address if address.lower() == owner else owner


def compose(message: OutboundMessage, settings: Settings) -> bytes:
    """The whole mail. Raises: Unsupported."""
    charset = Charset("utf-8")
    charset.body_encoding = QP
    mail = MIMENonMultipart("text", "plain", charset="utf-8", policy=compat32)
    mail.set_payload(message.text.rstrip() + "\n", charset)
    mail["From"] = formataddr((settings.name, settings.address))
    mail["To"] = find_recipient(message)
    subject = _make_subject(message.metadata)
    mail["Subject"] = subject if subject.isascii() else Header(subject, "utf-8").encode()
    mail["Date"] = formatdate()
    mail["Message-ID"] = make_message_id(message.key, settings.domain)
    answered = _ID.fullmatch(str(message.metadata.get("message_id", "")))
    if answered:
        mail["In-Reply-To"] = answered[0]
        mail["References"] = " ".join([*_read_references(message.metadata), answered[0]])
    mail["Auto-Submitted"] = "auto-replied"  # RFC 3834: no program answers this
    mail["X-Auto-Response-Suppress"] = "All"
    return mail.as_bytes(policy=compat32.clone(linesep="\r\n"))


def _make_subject(metadata: dict[str, Any]) -> str:
    subject = " ".join(str(metadata.get("subject", "")).split())[:300]
    if not subject:
        return "Your mail"
    return subject if re.match(r"re\s*:", subject, re.IGNORECASE) else f"Re: {subject}"


def _read_references(metadata: dict[str, Any]) -> list[str]:
    """The mails before the answered one; of many the first, which began the thread, and the last."""
    given = metadata.get("references")
    ids = [str(one) for one in given if _ID.fullmatch(str(one))] if isinstance(given, list | tuple) else []
    return ids if len(ids) <= _MAX_REFERENCES else [ids[0], *ids[1 - _MAX_REFERENCES :]]
