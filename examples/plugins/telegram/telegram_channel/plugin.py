"""The plugin: looks at its settings, and brings the channel."""

from collections.abc import Iterable

from clawft.contracts import Plugin, PluginError, PluginHost
from telegram_channel.api import Api
from telegram_channel.channel import TelegramChannel
from telegram_channel.store import Store
from telegram_channel.threads import Threads

__all__ = ["TelegramPlugin"]


class TelegramPlugin(Plugin):
    """Telegram as a channel of the gateway."""

    def __init__(self) -> None:
        self._store: Store | None = None
        self._threads = Threads()
        self._channel: TelegramChannel | None = None

    def init(self, host: PluginHost) -> None:
        token = host.resolve_secret("TELEGRAM_BOT_TOKEN")
        if not token:
            raise PluginError("There is no TELEGRAM_BOT_TOKEN", hint="See the plugin's README.md")
        api = Api(host, str(host.config_value("base_url") or "https://api.telegram.org"), token)
        self._store = Store(host.data_dir())
        self._channel = TelegramChannel(host, api, self._store, self._threads)

    def parts(self) -> Iterable[object]:
        return () if self._channel is None else (self._channel,)

    def shutdown(self) -> None:
        self._threads.close()
        if self._store is not None:
            self._store.close()
