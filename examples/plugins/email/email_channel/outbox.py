"""Sending by SMTP. It blocks, so it is used from threads."""

import smtplib
from base64 import b64encode
from socket import socket

from clawft.contracts import ChannelError, PluginError, PluginHost, Unsupported
from email_channel.settings import Server, open_socket

__all__ = ["send_mail"]


class _Smtp(smtplib.SMTP):
    """SMTP over a connection that the host made."""

    def __init__(self, host: PluginHost, server: Server, domain: str) -> None:
        self._plugin_host = host
        self._server = server
        super().__init__(server.host, server.port, local_hostname=domain)

    def _get_socket(self, *_: object) -> socket:
        return open_socket(self._plugin_host, self._server)


def send_mail(host: PluginHost, server: Server, mail: bytes, sender: str, recipient: str) -> None:
    """Hand a mail over. Raises: ChannelError; Unsupported where trying again does not help."""
    try:
        with _Smtp(host, server, sender.rpartition("@")[2]) as smtp:
            if server.security == "starttls" and server.context is not None:
                smtp.starttls(context=server.context)
            if server.username:
                _log_in(smtp, server)
            smtp.sendmail(sender, [recipient], mail)
    except smtplib.SMTPRecipientsRefused as error:
        code, said = next(iter(error.recipients.values()))
        raise _refusal(code, f"{recipient} was refused", said) from error
    except smtplib.SMTPAuthenticationError as error:
        raise ChannelError(f"{server.host} does not take the password: {_show(error.smtp_error)}") from error
    except smtplib.SMTPResponseException as error:
        raise _refusal(error.smtp_code, f"{server.host} refused the mail", error.smtp_error) from error
    except PluginError as error:
        raise ChannelError(f"{server.host} cannot be reached: {error}", hint=error.hint) from error
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise ChannelError(f"{server.host} did not take the mail: {error}") from error


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


def _refusal(code: int, what: str, said: bytes | str) -> ChannelError:
    kind = Unsupported if 500 <= code < 600 else ChannelError
    return kind(f"{what}: {code} {_show(said)}")


def _show(said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return " ".join(text.split())[:200]
