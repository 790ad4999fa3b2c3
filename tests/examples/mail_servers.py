"""Real mail servers of the test's own: Debian's Dovecot for IMAP, aiosmtpd for SMTP. Nothing leaves this machine."""

import asyncio
import email
import grp
import imaplib
import os
import pwd
import random
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from email.message import Message
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

TLS = Path(__file__).parents[1] / "agent" / "providers" / "tls"  # a certificate for 127.0.0.1 that signs itself
PASSWORD = 'open sesame "\\ü'
BOT = "agent@example.com"
_WAIT_S = 60.0
_USERS = 100
# Ends the server with all its processes when whoever holds the other end of the pipe is gone, whatever ended it.
_GUARD = '"$1" -F -c "$0/dovecot.conf" & cat >/dev/null; rm -rf "$0"; kill -KILL 0'
_SERVICES = """
service imap-login {
  chroot =
  inet_listener imap {
    port = PLAIN_PORT
  }
  inet_listener imaps {
    port = TLS_PORT
    ssl = yes
  }
}
service anvil {
  chroot =
}
"""
_COMMON = """
protocols = imap
base_dir = FOLDER/run
state_dir = FOLDER/run
log_path = FOLDER/log
listen = 127.0.0.1
ssl = yes
default_internal_user = USER
default_internal_group = GROUP
default_login_user = USER
mail_uid = USER
mail_gid = GROUP
first_valid_uid = 1
first_valid_gid = 1
auth_failure_delay = 0
mail_fsync = never
"""
_OLD = """
disable_plaintext_auth = no
mail_location = maildir:FOLDER/mail/%u
ssl_cert = <FOLDER/cert.pem
ssl_key = <FOLDER/key.pem
passdb {
  driver = passwd-file
  args = FOLDER/users
}
userdb {
  driver = passwd-file
  args = FOLDER/users
}
"""
_NEW = """
auth_allow_cleartext = yes
mail_driver = maildir
mail_path = FOLDER/mail/%{user}
ssl_server_cert_file = FOLDER/cert.pem
ssl_server_key_file = FOLDER/key.pem
passdb passwd-file {
  passwd_file_path = FOLDER/users
}
userdb passwd-file {
  passwd_file_path = FOLDER/users
}
"""


def has_dovecot() -> bool:
    return bool(_find_dovecot())


def _find_dovecot() -> str:
    """Its program, which does not lie where everybody looks."""
    return shutil.which("dovecot", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin") or ""


class Dovecot:
    """An IMAP server with its own folder. Whoever logs in with the password has a mailbox."""

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="weft-dovecot-"))
        self.folder.chmod(0o755)
        self.port, self.tls_port = choose_port(), choose_port()
        self._write()
        guard = ["/bin/sh", "-c", _GUARD, str(self.folder), _find_dovecot()]
        self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True)
        try:
            _until(lambda: _answers(self.port), "Dovecot did not start: " + str(self.folder / "log"))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(_WAIT_S)

    def add(self, *, idle: bool = True) -> "Mailbox":
        """A mailbox that nobody has yet; without `idle` its owner is told that the server does not have it."""
        names = self._names if idle else self._poor_names
        return Mailbox(self, next(names))

    def _write(self) -> None:
        root = os.geteuid() == 0
        user = pwd.getpwnam("nobody") if root else pwd.getpwuid(os.geteuid())
        self._uid, self._gid = user.pw_uid, user.pw_gid
        names = {"FOLDER": str(self.folder), "USER": user.pw_name, "GROUP": grp.getgrgid(user.pw_gid).gr_name,
                 "PLAIN_PORT": str(self.port), "TLS_PORT": str(self.tls_port)}  # fmt: skip
        version = subprocess.run([_find_dovecot(), "--version"], capture_output=True, text=True, check=True).stdout
        new = not version.startswith("2.3")
        head = "dovecot_config_version = 2.4.0\ndovecot_storage_version = 2.4.0\n" if new else ""
        config = head + _COMMON + (_NEW if new else _OLD) + _SERVICES
        for name, value in names.items():
            config = config.replace(name, value)
        (self.folder / "dovecot.conf").write_text(config)
        self._write_users()
        for name in ("cert.pem", "key.pem"):
            shutil.copy(TLS / name, self.folder / name)
        (self.folder / "mail").mkdir()
        os.chown(self.folder / "mail", self._uid, self._gid)

    def _write_users(self) -> None:
        """All at once: the server does not look at the file again within a second."""
        names = [f"agent{number}@example.com" for number in range(_USERS)]
        poor_names = [f"poor{number}@example.com" for number in range(_USERS)]
        self._names, self._poor_names = iter(names), iter(poor_names)
        lines = []
        for name in (*names, *poor_names):
            extra = "userdb_imap_capability=IMAP4rev1" if name.startswith("poor") else ""
            lines.append(f"{name}:{{PLAIN}}{PASSWORD}:{self._uid}:{self._gid}::{self.folder}/mail/{name}::{extra}\n")
        (self.folder / "users").write_text("".join(lines), "utf-8")


class Mailbox:
    """The agent's mailbox, as its owner and whoever delivers mail see it."""

    def __init__(self, server: Dovecot, name: str) -> None:
        self.server = server
        self.name = name

    def deliver(self, *mails: bytes, flags: str = "") -> None:
        with self._open() as client:
            for mail in mails:
                status, said = client.append("INBOX", flags, "", mail)
                assert status == "OK", said

    def flags(self) -> list[str]:
        """The flags of every mail, in order, but for `Recent`."""
        with self._open() as client:
            client.select(readonly=True)
            found: list[Any] = client.fetch("1:*", "(FLAGS)")[1]
            texts = [one.decode() for one in found if one is not None]
            return [
                " ".join(sorted(set(text.split("FLAGS (")[1].rstrip(")").split()) - {"\\Recent"})) for text in texts
            ]

    def number_anew(self) -> None:
        """What happens when a mailbox is restored: every mail has another number (UIDVALIDITY)."""
        for path in (self.server.folder / "mail" / self.name).glob("dovecot[.-]*"):
            if "keywords" not in path.name:
                path.unlink()

    def kick(self) -> None:
        """Break every connection to it."""
        doveadm = ["doveadm", "-c", str(self.server.folder / "dovecot.conf"), "kick", self.name]
        subprocess.run(doveadm, check=False, capture_output=True, timeout=_WAIT_S)

    def _open(self) -> imaplib.IMAP4:
        client = imaplib.IMAP4("127.0.0.1", self.server.port, _WAIT_S)
        client.authenticate("PLAIN", lambda _: f"\0{self.name}\0{PASSWORD}".encode())
        return client


class Postbox:
    """An SMTP server that wants STARTTLS and the password, and keeps what it is given. `refuse` is what it says.

    `hang_up`: it takes the next mail, and is gone before it says so.
    """

    def __init__(self) -> None:
        self.mails: list[tuple[str, Message]] = []
        self.refuse = ""
        self.hang_up = False
        self.delay_s = 0.0
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
        self.port = choose_port()
        self._controller = Controller(
            self,
            "127.0.0.1",
            self.port,
            tls_context=context,
            require_starttls=True,
            auth_required=True,
            authenticator=_authenticate,
        )

    async def handle_RCPT(  # noqa: N802  (aiosmtpd's name)
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        await asyncio.sleep(self.delay_s)
        if self.refuse:
            return self.refuse
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        for recipient in envelope.rcpt_tos:
            self.mails.append((recipient, email.message_from_bytes(envelope.content)))
        if self.hang_up:
            self.hang_up = False
            assert server.transport is not None
            server.transport.close()
        return "250 OK"

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop()


def _authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: Any) -> AuthResult:
    good = isinstance(given, LoginPassword) and given.password.decode() == PASSWORD
    return AuthResult(success=good, handled=False)


def choose_port() -> int:
    """A free port below those that the system gives to clients."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("No port is free")


def _answers(port: int) -> bool:
    """Whether it lets somebody talk to it: Dovecot listens before it does."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
        connection.settimeout(1)
        return connection.recv(100).startswith(b"* OK")
    return False


def _until(condition: Callable[[], bool], message: str) -> None:
    ends = time.monotonic() + _WAIT_S
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(message)
        time.sleep(0.02)
