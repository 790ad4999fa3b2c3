"""The mailbox: what is new in it, and what is done. It blocks, so it is used from threads.

Done is marked in the mailbox by a keyword of our own, so that nobody else's reading and marking gets in the way; and
the highest number that was looked at is kept. What was there before the first start is left alone.
"""

from datetime import date, timedelta

from clawft.contracts import PluginHost
from email_channel.imap import Imap, Mailbox
from email_channel.mail import Mail, parse_mail
from email_channel.settings import Settings, open_socket
from email_channel.store import Progress, Store

__all__ = ["Inbox"]

DONE = "$ClawftDone"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Inbox:
    """One connection to the mailbox."""

    def __init__(self, host: PluginHost, settings: Settings, store: Store) -> None:
        self._host = host
        self._settings = settings
        self._store = store
        self._imap: Imap | None = None
        self._interrupted = False
        self._mailbox = Mailbox()
        self._progress = Progress(0, 1, "")
        self._since = ""
        self.senders: dict[int, str] = {}  # of mails that were read, and have to wait

    def open(self) -> None:
        """Connect, log in, and find where to go on. Raises: OSError, ImapError, PluginError."""
        server = self._settings.imap
        self._imap = imap = Imap(open_socket(self._host, server), self._settings.max_bytes + 65_536)
        if self._interrupted:
            imap.interrupt()
        imap.greet()
        if server.security == "starttls" and server.context is not None:
            imap.start_tls(server.context, server.host)
        imap.login(server.username, server.password)
        self._mailbox = imap.select(self._settings.mailbox)
        self._go_on()

    def interrupt(self) -> None:
        """End what waits, from another thread."""
        self._interrupted = True
        if self._imap is not None:
            self._imap.interrupt()

    def close(self) -> None:
        if self._imap is not None:
            self._imap.close()

    @property
    def can_idle(self) -> bool:
        return "IDLE" in self._connection.capabilities

    def find_new(self) -> list[int]:
        """The UIDs of mails that nothing was done with yet, oldest first."""
        marked = f"UNKEYWORD {DONE}" if self._mailbox.keywords else "UNSEEN"
        first = self._progress.next_uid
        found = self._connection.search(f"UID {first}:* UNDELETED {marked}{self._since}")
        return [uid for uid in found if uid >= first]  # `n:*` has the last mail in it, whatever its number

    def load(self, uid: int) -> Mail | None:
        """A mail; None if it is gone. Raises: Refusal."""
        fetched = self._connection.fetch(uid, self._settings.max_bytes)
        return None if fetched is None else parse_mail(*fetched, self._settings)

    def name(self, uid: int) -> str:
        """What to call a mail that has no id of its own."""
        return f"uid:{self._mailbox.uid_validity}:{uid}"

    def mark(self, uid: int, *, seen: bool) -> None:
        """Nothing more is to be done with a mail. One that was refused stays unread for people, where that can be."""
        flags = [DONE] if self._mailbox.keywords else ["\\Seen"]
        if seen and self._mailbox.keywords:
            flags.append("\\Seen")
        self._connection.flag(uid, *flags)

    def advance(self, uids: list[int]) -> None:
        """All of these are done, and all before them."""
        progress = Progress(
            self._mailbox.uid_validity, max([self._progress.next_uid, *(uid + 1 for uid in uids)]), _today()
        )
        if progress != self._progress:
            self._progress = progress
            self._store.save_progress(self._settings.mailbox, progress)

    def wait(self, seconds: float) -> None:
        """Wait for news, at most so long."""
        self._connection.wait(seconds)

    def look(self) -> None:
        self._connection.look()

    def _go_on(self) -> None:
        """Where mails were numbered anew, go on with those that came since it was last looked at."""
        kept = self._store.load_progress(self._settings.mailbox)
        validity = self._mailbox.uid_validity
        if kept is None:
            known = self._mailbox.uid_next or max(self._connection.search("ALL"), default=0) + 1
            self._progress = Progress(validity, known, _today())
            self._store.save_progress(self._settings.mailbox, self._progress)
        elif kept.uid_validity == validity:
            self._progress = kept
        else:
            self._progress = Progress(validity, 1, kept.day)
            day = date.fromisoformat(kept.day) - timedelta(days=1)  # servers count days in their own time zone
            self._since = f" SINCE {day.day}-{_MONTHS[day.month - 1]}-{day.year}"

    @property
    def _connection(self) -> Imap:
        assert self._imap is not None
        return self._imap


def _today() -> str:
    return date.today().isoformat()
