"""The plugin: looks at its settings, and brings the channel."""

from collections.abc import Iterable

from clawft.contracts import Plugin, PluginHost
from email_channel.channel import EmailChannel
from email_channel.settings import load_settings
from email_channel.store import Store
from email_channel.threads import Threads

__all__ = ["EmailPlugin"]


class EmailPlugin(Plugin):
    """Email as a channel of the gateway."""

    def __init__(self) -> None:
        self._store: Store | None = None
        self._threads = Threads()
        self._channel: EmailChannel | None = None

    def init(self, host: PluginHost) -> None:
        settings = load_settings(host)
        self._store = Store(host.data_dir())
        self._channel = EmailChannel(host, settings, self._store, self._threads)

    def parts(self) -> Iterable[object]:
        return () if self._channel is None else (self._channel,)

    def shutdown(self) -> None:
        self._threads.close()
        if self._store is not None:
            self._store.close()
