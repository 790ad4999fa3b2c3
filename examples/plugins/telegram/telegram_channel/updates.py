"""An update of the Bot API as a message, or why it is none. Nothing in it is trusted to be as it should."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clawft.contracts import InboundMessage
from telegram_channel.text import cut_units

__all__ = ["Bot", "Ignored", "read_update"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_KINDS = ("photo", "document", "voice", "audio", "video", "video_note", "sticker", "animation", "location", "contact")


class Ignored(Exception):
    """An update of which no message is made, for a reason."""


@dataclass(frozen=True)
class Bot:
    """Who the agent is on Telegram, and when it is meant in groups: `mention`, `all` or `off`."""

    id: int
    username: str
    groups: str


def read_update(update: dict[str, Any], bot: Bot) -> InboundMessage:
    """Raises: Ignored."""
    message = update.get("message")
    if not isinstance(message, dict):
        raise Ignored("it is no new message")
    sender, chat = _table(message, "from"), _table(message, "chat")
    if type(sender.get("id")) is not int or type(chat.get("id")) is not int or type(update.get("update_id")) is not int:
        raise Ignored("it does not say from whom, or where")
    if sender.get("is_bot"):
        raise Ignored("a bot sent it")
    if "sender_chat" in message:  # an anonymous administrator: all of them have the same id
        raise Ignored("it does not say which person sent it")
    text = _read_text(message)
    if chat.get("type") != "private":
        text = _read_for_bot(message, text, bot)
    if not text:
        raise Ignored("it has no text")
    thread = message.get("message_thread_id") if message.get("is_topic_message") is True else None
    return InboundMessage(
        id=f"{bot.id}:{update['update_id']}",
        sender=str(sender["id"]),
        conversation=f"{chat['id']}/{thread}" if isinstance(thread, int) else str(chat["id"]),
        text=text,
        sender_name=_read_name(sender),
        sent_at=_read_date(message.get("date")),
        metadata={"message_id": message["message_id"]} if type(message.get("message_id")) is int else {},
    )


def _read_text(message: dict[str, Any]) -> str:
    """Its text, or that of its picture; what is attached is named."""
    text = message.get("text") or message.get("caption") or ""
    attached = [kind for kind in _KINDS if kind in message]
    note = f"[Attached, and not read: {', '.join(attached)}]" if attached and text else ""
    return "\n\n".join(filter(None, (_CONTROLS.sub("", str(text)).strip(), note)))


def _read_for_bot(message: dict[str, Any], text: str, bot: Bot) -> str:
    """In a group: the text without the mention. Raises: Ignored if nobody means the bot."""
    if bot.groups == "off":
        raise Ignored("it was written in a group")
    answered = _table(_table(message, "reply_to_message"), "from").get("id") == bot.id
    mention = _find_mention(message, bot)
    if bot.groups == "mention" and not mention and not answered:
        raise Ignored("nobody means the agent")
    if mention.startswith("/"):  # a command keeps its name: /ask@agent is /ask
        return text.replace(mention, mention.partition("@")[0], 1)
    return text.removeprefix(mention).lstrip(" ,:\n") if mention else text


def _find_mention(message: dict[str, Any], bot: Bot) -> str:
    """The words by which the bot is meant; none if it is not. What counts are entities, which Telegram makes."""
    raw = str(message.get("text") or message.get("caption") or "")
    entities = message.get("entities") or message.get("caption_entities")
    for entity in entities if isinstance(entities, list) else []:
        if not isinstance(entity, dict) or not all(type(entity.get(name)) is int for name in ("offset", "length")):
            continue
        words = cut_units(raw, max(0, entity["offset"]), max(0, entity["length"]))
        named = words.lower().endswith(f"@{bot.username.lower()}")
        if entity.get("type") in ("mention", "bot_command") and bot.username and named:
            return words
        if entity.get("type") == "text_mention" and _table(entity, "user").get("id") == bot.id:
            return words
    return ""


def _read_name(sender: dict[str, Any]) -> str:
    names = [str(sender[name]) for name in ("first_name", "last_name") if sender.get(name)]
    return " ".join(_CONTROLS.sub("", " ".join(names)).split())[:100]


def _read_date(given: Any) -> str:
    try:
        return datetime.fromtimestamp(given, UTC).isoformat()
    except (TypeError, ValueError, OverflowError, OSError):
        return ""


def _table(holder: dict[str, Any], name: str) -> dict[str, Any]:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}
