"""The Telegram channel: the Bot API by long polling, a session for each chat."""
