"""A mail that came in: who wrote it, what, in which thread, and whether it is to be answered at all.

Whoever writes it may be hostile, so nothing here trusts it: what is odd is refused with a reason.
"""

import re
from codecs import lookup
from dataclasses import dataclass
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from email_channel.authenticity import check_authenticity
from email_channel.settings import Settings
from email_channel.text import clean_text, html_to_text, trim_reply

__all__ = ["Mail", "Refusal", "parse_mail"]

_MAX_PARTS = 100
_MAX_LOOKS = 3_000_000  # the library looks at each line once for every part that it may lie in
_MAX_HEADERS = 500
_MAX_NAMES = 20
_MAX_CHARS = 30_000  # a little less than what the gateway takes (gateway.max_message_chars)
_CONTAINER = re.compile(rb"(?:multipart|message)/", re.IGNORECASE)
# The library reads what a part is over and over, for each sign in it.
_LONG = re.compile(rb"^content-[a-z-]+[ \t]*:(?:[^\n]|\n[ \t]){2000}", re.IGNORECASE | re.MULTILINE)
_ID = re.compile(r"<[!-;=?-~]{1,200}@[!-;=?-~]{1,200}>")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.){0,500}"')
_COMMENT = re.compile(r"\([^()]*\)")
_ADDRESS = r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,188}[a-z0-9])?"
_FROM = re.compile(rf"[^<>,;]*<\s*({_ADDRESS})\s*>|\s*({_ADDRESS})\s*", re.IGNORECASE)
_MACHINES = re.compile(r"(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)(?:[+=-].*)?@", re.IGNORECASE)
_TEXT_CODECS = ("utf", "ascii", "latin", "iso", "cp", "koi8", "mac", "gb", "big5", "hz", "euc", "shift", "tis", "ptcp")
_BULK = frozenset({"bulk", "junk", "list", "auto_reply"})


class Refusal(Exception):
    """A mail that is not taken, for a reason."""


@dataclass(frozen=True)
class Mail:
    message_id: str  # "" if it has none
    sender: str  # the address, in small letters
    address: str  # the same as it was written
    name: str
    subject: str
    text: str
    sent_at: str
    references: tuple[str, ...]  # ids of the mails before it in its thread, oldest first


def parse_mail(data: bytes, size: int, settings: Settings) -> Mail:
    """Read a mail of which the beginning is here. Raises: Refusal."""
    containers = len(_CONTAINER.findall(data))
    if containers > _MAX_PARTS or containers * (data.count(b"\n") + data.count(b"\r")) > _MAX_LOOKS:
        raise Refusal("it has too many parts")
    if _LONG.search(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")):
        raise Refusal("it says at great length what it is")
    try:
        message = message_from_bytes(data)
        if len(message) > _MAX_HEADERS:
            raise Refusal("it has too many headers")
        address, name = _read_from(message)
        sender = address.lower()
        _refuse_automatic(message, sender, settings)
        _refuse_forged(message, sender, settings)
        return Mail(
            message_id=_find_id(message),
            sender=sender,
            address=address,
            name=name,
            subject=_read_words(message, "Subject"),
            text=_read_text(message, truncated=size > len(data)),
            sent_at=_read_date(message),
            references=_read_references(message),
        )
    except Refusal:
        raise
    except RecursionError:
        raise Refusal("its parts lie too deep in each other") from None
    except Exception as error:  # the standard library trips over some mails; that must not stop the others
        raise Refusal(f"it cannot be read: {type(error).__name__}") from error


# --- Who ---


def _read_from(message: Message) -> tuple[str, str]:
    """The one address that it is from, and the name beside it; a mail that leaves doubt is refused."""
    values = message.get_all("From") or []
    if len(values) != 1 or len(str(values[0])) > 1000:
        raise Refusal("it does not have exactly one sender")
    raw = _unfold(str(values[0]))
    found = _FROM.fullmatch(_COMMENT.sub(" ", _QUOTED.sub(" ", raw)))
    if found is None:
        raise Refusal("its sender cannot be told")
    address = found[1] or found[2]
    name = _decode_words(raw.partition("<")[0]).strip().strip('"') if found[1] else ""
    return address, clean_text(name).replace("\n", " ")[:100]


def _refuse_automatic(message: Message, sender: str, settings: Settings) -> None:
    """To answer what a program sent is how mails go round for ever (RFC 3834)."""

    def value(name: str) -> str:
        return _unfold(str(message.get(name, "")))[:200].strip().lower()

    if sender == settings.address:
        raise Refusal("it is from this very address")
    if value("Auto-Submitted") not in ("", "no") or any(name in message for name in ("X-Autoreply", "X-Autorespond")):
        raise Refusal("a program sent it")
    if value("Precedence") in _BULK or any(name in message for name in ("List-Id", "List-Unsubscribe", "List-Post")):
        raise Refusal("it came by a mailing list")
    if any(word.strip() in ("all", "autoreply") for word in value("X-Auto-Response-Suppress").split(",")):
        raise Refusal("it asks for no answer by a program")
    if value("Return-Path") == "<>" or message.get_content_type() in ("multipart/report", "message/delivery-status"):
        raise Refusal("it reports what became of another mail")
    if _MACHINES.match(sender):
        raise Refusal("a program sent it")


def _refuse_forged(message: Message, sender: str, settings: Settings) -> None:
    if settings.require_authentication:
        headers = [_unfold(str(one)) for one in message.get_all("Authentication-Results") or ()]
        problem = check_authenticity(headers, sender.rpartition("@")[2], settings.authserv_id)
        if problem:
            raise Refusal(f"nobody knows that it is from {sender}: {problem}")


# --- What ---


def _read_text(message: Message, *, truncated: bool) -> str:
    plain, html, names = "", "", []
    for count, part in enumerate(message.walk()):
        if count >= _MAX_PARTS:
            raise Refusal("it has too many parts")
        if part.is_multipart():
            continue
        kind = part.get_content_type()
        if part.get_content_disposition() == "attachment" or kind not in ("text/plain", "text/html"):
            names.append(_read_filename(part))
        elif kind == "text/plain" and not plain:
            plain = clean_text(_decode_body(part))
        elif kind == "text/html" and not html:
            html = html_to_text(_decode_body(part))
    text = trim_reply(plain or html)
    if len(text) > _MAX_CHARS:
        text, truncated = text[:_MAX_CHARS], True
    if names:
        text += f"\n\n[Attached, and not read: {', '.join(names[:_MAX_NAMES])}{', …' * (len(names) > _MAX_NAMES)}]"
    if truncated:
        text += "\n\n[The mail is longer; the rest was not read.]"
    return text.strip()


def _decode_body(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    return _decode_bytes(payload, str(part.get_content_charset() or "utf-8"))


def _decode_bytes(data: bytes, charset: str) -> str:
    """By a character set that is one: Python has codecs by these names that do quite other things."""
    try:
        codec = lookup(charset).name
    except (LookupError, ValueError):
        codec = "utf-8"
    try:
        return data.decode(codec if codec.startswith(_TEXT_CODECS) else "utf-8", "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


def _read_filename(part: Message) -> str:
    name = clean_text(_decode_words(str(part.get_filename() or part.get_content_type())[:300]))
    return re.sub(r"[\s\[\],]+", " ", name)[:80] or "a file"


# --- Where ---


def _find_id(message: Message) -> str:
    found = _ID.search(_unfold(str(message.get("Message-ID", "")))[:1000])
    return found[0] if found else ""


def _read_references(message: Message) -> tuple[str, ...]:
    """All ids of its thread that it names; of very many the first and the last."""
    named = [_unfold(str(message.get(name, ""))) for name in ("References", "In-Reply-To")]
    ids = [found for text in named for found in _ID.findall(text if len(text) < 20_000 else text[:2000] + text[-2000:])]
    known = list(dict.fromkeys(ids))
    return tuple(known if len(known) <= 30 else [known[0], *known[-29:]])


def _read_words(message: Message, name: str) -> str:
    return clean_text(_decode_words(_unfold(str(message.get(name, "")))[:2000])).replace("\n", " ")[:300]


def _read_date(message: Message) -> str:
    try:
        return parsedate_to_datetime(str(message.get("Date", ""))[:100]).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _decode_words(text: str) -> str:
    """RFC 2047."""
    try:
        parts = decode_header(text)
    except (HeaderParseError, ValueError):
        return text
    return "".join(
        part if isinstance(part, str) else _decode_bytes(part, charset or "utf-8") for part, charset in parts
    )


def _unfold(text: str) -> str:
    return text.replace("\r", "").replace("\n", "")
