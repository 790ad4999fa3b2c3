"""Sending by SMTP. It blocks, so it is used from threads."""

import smtplib
import time
from base64 import b64encode
from contextlib import suppress
from socket import SHUT_RDWR, socket
from threading import Timer

from clawft.contracts import ChannelError, PluginError, PluginHost, Unsupported
from email_channel.settings import Server, open_socket

__all__ = ["send_mail"]

_PATIENCE_S = 25.0  # for one mail: after 30 s the host would take the plugin for hung (plugins.call_timeout_s)


class _Smtp(smtplib.SMTP):
    """SMTP over a connection that the host made."""

    def __init__(self, host: PluginHost, server: Server, domain: str) -> None:
        self._plugin_host = host
        self._server = server
        self._ends = time.monotonic() + _PATIENCE_S
        self._alarm = Timer(_PATIENCE_S, self._hang_up)  # for an answer that has no end
        self._alarm.daemon = True
        super().__init__(server.host, server.port, local_hostname=domain)

    def _get_socket(self, *_: object) -> socket:
        sock = open_socket(self._plugin_host, self._server)
        self._alarm.start()
        return sock

    def _hang_up(self) -> None:
        if self.sock is not None:
            with suppress(OSError):
                socket.shutdown(self.sock, SHUT_RDWR)

    def close(self) -> None:
        self._alarm.cancel()
        super().close()

    def getreply(self) -> tuple[int, bytes]:
        """Every answer is waited for, but all together not longer than the gateway waits for one mail."""
        left = self._ends - time.monotonic()
        if left <= 0 or self.sock is None:
            raise TimeoutError("it takes too long")
        self.sock.settimeout(left)
        return super().getreply()


def send_mail(host: PluginHost, server: Server, mail: bytes, sender: str, recipient: str) -> None:
    """Hand a mail over.

    Raises: ChannelError if it was not sent, Unsupported if trying again does not help, PluginError if nobody knows.
    """
    smtp: _Smtp | None = None
    in_doubt = False
    try:
        smtp = _Smtp(host, server, sender.rpartition("@")[2])
        if server.security == "starttls" and server.context is not None:
            smtp.starttls(context=server.context)
        if server.username:
            _log_in(smtp, server)
        _expect(smtp.mail(sender), f"{server.host} refused the sender")
        _expect(smtp.rcpt(recipient), f"{recipient} was refused")
        in_doubt = True
        _expect(smtp.data(mail), f"{server.host} refused the mail")
    except smtplib.SMTPAuthenticationError as error:
        raise ChannelError(f"{server.host} does not take the password: {_show(error.smtp_error)}") from error
    except smtplib.SMTPResponseException as error:  # also of DATA: it says no, so it was not sent
        raise ChannelError(f"{server.host} says {error.smtp_code} {_show(error.smtp_error)}") from error
    except ChannelError:
        raise
    except (OSError, smtplib.SMTPException, ValueError, PluginError) as error:
        if in_doubt:
            raise PluginError(f"{server.host} may have taken the mail, and may not: {error}") from error
        raise ChannelError(f"{server.host} did not take the mail: {error}") from error
    finally:
        if smtp is not None:
            smtp.close()  # without a QUIT, of which nothing depends


def _expect(reply: tuple[int, bytes], what: str) -> None:
    """Raises: ChannelError; Unsupported where it is for good."""
    code, said = reply
    if not 200 <= code < 300:
        kind = Unsupported if 500 <= code < 600 else ChannelError
        raise kind(f"{what}: {code} {_show(said)}")


def _log_in(smtp: smtplib.SMTP, server: Server) -> None:
    """Raises: smtplib.SMTPException."""
    smtp.ehlo_or_helo_if_needed()
    if "PLAIN" not in smtp.esmtp_features.get("auth", "").upper().split():
        smtp.login(server.username, server.password)
        return
    # By hand, since the library takes no password that is not ASCII.
    token = b64encode(f"\0{server.username}\0{server.password}".encode()).decode()
    code, said = smtp.docmd("AUTH", f"PLAIN {token}")
    if code not in (235, 503):  # 503: it is logged in already
        raise smtplib.SMTPAuthenticationError(code, said)


def _show(said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return " ".join(text.split())[:200]
