"""Mails of all kinds and of bad will: what is read of them, and that none of them breaks anything."""

import socket
import threading
from contextlib import suppress
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest
from channel_hosts import DirectHost
from hypothesis import given
from hypothesis import strategies as st

from clawft.contracts import ChannelError
from effort import within
from email_channel.authenticity import check_authenticity
from email_channel.imap import Imap, ImapError
from email_channel.mail import Mail, Refusal, parse_mail
from email_channel.outbox import send_mail
from email_channel.responses import parse_values
from email_channel.settings import Server, Settings
from email_channel.text import html_to_text, trim_reply

SERVER = Server("127.0.0.1", 1, "plain", None, "x", "x")
SETTINGS = Settings("agent@example.com", "", SERVER, SERVER, "INBOX", False, "", 1_000_000, 240, 60)
HEAD = b"From: Alice <alice@example.org>\r\nSubject: Hi\r\n"


def read(data: bytes, size: int | None = None) -> Mail:
    return parse_mail(data, len(data) if size is None else size, SETTINGS)


def test_plain_text_is_preferred_and_attachments_are_only_named() -> None:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "alice@example.org", "Pläne"
    mail.set_content("Der Text\n")
    mail.add_alternative("<p>Das HTML</p>", subtype="html")
    mail.add_attachment(b"x" * 1000, maintype="application", subtype="pdf", filename="Plan, [ü].pdf")
    found = read(mail.as_bytes())
    assert found.text == "Der Text\n\n[Attached, and not read: Plan ü .pdf]"
    assert found.subject == "Pläne"


def test_html_becomes_text_without_what_nobody_sees() -> None:
    html = (
        "<html><head><title>T</title><style>p{}</style></head><body><p>One&nbsp;<b>two</b></p><script>alert(1)</script>"
        "<ul><li>a</li><li>b</li></ul><blockquote>before</blockquote></body></html>"
    )
    assert html_to_text(html) == "One two\n\n- a\n- b\n\n> before"
    quoted = "<div>Yes</div><hr><div><b>From:</b> Agent<br><b>Sent:</b> Monday</div><p>No?</p>"
    assert trim_reply(html_to_text(quoted)) == "Yes"
    gmail = '<div>Yes</div><div class="q"><div>On Mon, 3 May, A &lt;<a href="mailto:a@b">a@b</a>&gt; wrote:<br></div>'
    assert trim_reply(html_to_text(f"{gmail}<blockquote>No?<br><div>Or<br>yes?</div></blockquote></div>")) == "Yes"
    mail = read(HEAD + b"Content-Type: text/html; charset=iso-8859-1\r\n\r\n<div>gr\xfc\xdfe</div>")
    assert mail.text == "grüße"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Yes.\n\nOn Mon, 3 May 2027 at 10:00, Agent <a@b.c> wrote:\n> No?\n> Yes?", "Yes."),
        ("Yes.\n\nOn Mon, 3 May 2027 at 10:00, Agent\n<a@b.c> wrote:\n\n> No?", "Yes."),
        ("Ja.\n\nAm 03.05.2027 schrieb Agent:\n> Nein?", "Ja."),
        ("Yes.\n-- \nAlice\nHead of things", "Yes."),
        ("Yes.\n\n-----Original Message-----\nFrom: Agent\nNo?", "Yes."),
        ("Yes.\n\n______________________________\nFrom: Agent\nSent: Monday\n\nNo?", "Yes."),
        ("One\n______________________________\nTwo", "One\n______________________________\nTwo"),
        ("> Which?\nThe first.\n> When?\nNow.", "> Which?\nThe first.\n> When?\nNow."),
        ("> all of it\n> is quoted", "> all of it\n> is quoted"),
        ("Do this:\n> rm the file\n> now", "Do this:"),
        ("-- \nonly a signature", "-- \nonly a signature"),
    ],
)
def test_what_is_quoted_below_and_signatures_are_left_out(written: str, kept: str) -> None:
    assert trim_reply(written) == kept


@pytest.mark.parametrize(
    "charset", ["utf-8", "windows-1252", "no-such", "zlib", "idna", "unicode_escape", "\x00", "x" * 999]
)
def test_no_character_set_breaks_it(charset: str) -> None:
    mail = read(
        HEAD + f'Content-Type: text/plain; charset="{charset}"\r\n\r\n'.encode() + b"caf\xe9 \\u0041\x00\x1b[2J"
    )
    assert mail.text.startswith("caf")
    assert "\\u0041[2J" in mail.text


def test_a_mail_that_is_cut_off_says_so() -> None:
    assert "the rest was not read" in read(HEAD + b"\r\nbeginning", 5_000_000).text
    long = read(HEAD + b"\r\n" + b"word " * 50_000).text
    assert len(long) < 32_000
    assert long.endswith("the rest was not read.]")


def _nest(kind: bytes, depth: int) -> bytes:
    if kind == b"message":
        return HEAD + b"Content-Type: message/rfc822\r\n\r\n" * depth + b"deep"
    parts = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(depth))
    return HEAD + parts + b"\r\ndeep\r\n" * 3_000


_FILENAMES = b"".join(b"filename*%d=a;" % number for number in range(10_000))


@pytest.mark.parametrize(
    "data",
    [
        _nest(b"multipart", 5_000),
        _nest(b"multipart", 99),
        _nest(b"message", 20_000),
        HEAD + b"X: y\r\n" * 40_000 + b"\r\n",
        HEAD + b"Subject: " + b"=?utf-8?q?a?= " * 60_000 + b"\r\n\r\nx",
        HEAD + b"References: " + b"<a@b> " * 150_000 + b"\r\n\r\nx",
        HEAD + b"Content-Type: text/html\r\n\r\n" + b"<a " * 300_000,
        HEAD + b"Content-Type: text/html\r\n\r\n" + b"<!-- " * 200_000,
        HEAD + b"Content-Type: multipart/mixed; boundary=x\r\n\r\n" + b"--x\r\n\r\na\r\n" * 10_000,
        b"From: " + b"(" * 500 + b"alice@example.org" + b")" * 500 + b"\r\n\r\nx",
        b"From: " + b"a@b," * 200_000 + b"\r\n\r\nx",
        HEAD + b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n" + b"====" * 200_000,
        HEAD + b"Content-Disposition: attachment; " + _FILENAMES + b"\r\n\r\n",
        b"\x00" * 100_000,
        b"",
        HEAD + b"\r\nx\r\n\r\n" + b"1" * 900_000 + b"\r\n> y",
        _nest(b"multipart", 99) + b"\n" * 900_000,
        _nest(b"multipart", 99) + b"\r" * 900_000,
        HEAD + b'Content-Type: text/plain; a="' + b";" * 900_000,
        HEAD + b'Content-Type:\r\n text/plain; a="' + b";\r " * 300_000,
        HEAD.replace(b"\r\n", b"\r") + b'Content-Disposition:x;"' + b"\n ;" * 300_000,
        HEAD.replace(b"\r\n", b"\r") + b'Content-Type:x;"' + b";\r\n " * 200_000,
        HEAD + (b"Content-Type: multipart/mixed; boundary=x;" + b'"' + b";" * 1900 + b"\r\n\r\n--x\r\n") * 99,
    ],
    ids=range(23),
)  # fmt: skip
def test_a_hostile_mail_is_read_or_refused_in_little_time(data: bytes) -> None:
    with within(2), suppress(Refusal):
        assert read(data[:1_000_000]).sender == "alice@example.org"


@given(st.binary(max_size=300), st.sampled_from([b"", HEAD, HEAD + b"Content-Type: text/html;", HEAD + b"References:"]))
def test_whatever_comes_is_read_or_refused(data: bytes, head: bytes) -> None:
    try:
        mail = read(head + data)
    except Refusal:
        return
    assert "@" in mail.sender
    assert not any(char in mail.subject + mail.name for char in "\r\n\0\x1b")


@pytest.mark.parametrize(
    ("sender", "address"),
    [
        ("alice@example.org", "alice@example.org"),
        ('"bob@evil.net" <alice@example.org>', "alice@example.org"),
        ('"a <b@c.d>" <alice@example.org>', "alice@example.org"),
        ("alice@example.org (bob@evil.net)", "alice@example.org"),
        ("=?utf-8?q?bob=40evil=2Enet=3E?= <alice@example.org>", "alice@example.org"),
        ("alice@example.org <eve@evil.net>", "eve@evil.net"),
        ("alice@example.org, eve@evil.net", ""),
        ("<alice@example.org> <eve@evil.net>", ""),
        ("<alice@example.org>eve@evil.net", ""),
        ("alice@example.org)eve@evil.net", ""),
        ("group: alice@example.org;", ""),
        ("alice@example.org\x00@evil.net", ""),
    ],
)
def test_the_sender_is_one_address_or_the_mail_is_refused(sender: str, address: str) -> None:
    data = b"From: " + sender.encode() + b"\r\n\r\nHi"
    if address:
        assert read(data).sender == address
    else:
        with pytest.raises(Refusal):
            read(data)


GOOD = "mx.example.com; dmarc=pass header.from=example.org"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        ["mx.example.com; none", GOOD],
        ["mx.example.com; dmarc=fail header.from=example.org; dkim=pass header.d=example.org"],
        ["mx.example.com; dmarc=fail header.from=example.org", GOOD],
        ["mx.example.com; dmarc=pass header.from=example.net"],
        ["mx.example.com; dmarc=pass"],
        ["mx.example.com; dkim=pass header.d=mailer.net; spf=pass smtp.mailfrom=x@mailer.net"],
        ["mx.example.com; dkim=fail header.d=example.org; spf=softfail smtp.mailfrom=example.org"],
        ["mx.example.com; spf=pass (dkim=pass header.d=example.org) smtp.mailfrom=mailer.net"],
        ["mx.example.com; spf=pass (\\) ; dkim=pass header.d=example.org) smtp.mailfrom=mailer.net"],
        ['mx.example.com; spf=pass smtp.mailfrom="x; dkim=pass header.d=example.org"@mailer.net'],
        ['mx.example.com; spf=pass smtp.mailfrom="x@example.org"@mailer.net'],
        ['mx.example.com; dkim=pass header.i="x@example.org"@mailer.net'],
        ['mx.example.com; dkim=pass header.i=""@example.org"@mailer.net'],
        ['mx.example.com; spf=pass reason="for smtp.mailfrom=example.org" smtp.mailfrom=mailer.net'],
        ['mx.example.com; spf=pass "a smtp.mailfrom=example.org" smtp.mailfrom=mailer.net'],
        ["mx.example.com; spf=pass (", GOOD],
        ["mx.example.com; " + "x" * 20_000, GOOD],
        ["mx.evil.net; dmarc=pass header.from=example.org"],
        ["mx.example.com.evil.net; dmarc=pass header.from=example.org"],
    ],
)
def test_a_mail_that_nobody_vouches_for_is_found_out(headers: list[str]) -> None:
    assert check_authenticity(headers, "example.org", "mx.example.com")
    assert not check_authenticity([GOOD, *headers], "example.org", "mx.example.com")  # only the topmost counts


@pytest.mark.parametrize(
    "header",
    [
        "Auto-Submitted: auto-replied",
        "Auto-Submitted: auto-generated (rejected)",
        "Precedence: bulk",
        "List-Id: <news.example.org>",
        "Return-Path: <>",
        'Content-Type: multipart/report; boundary="x"',
        "X-Auto-Response-Suppress: OOF, AutoReply",
        "From: MAILER-DAEMON@example.org",
        "From: no-reply@example.org",
        "From: Me <AGENT@example.com>",
    ],
)
def test_what_a_program_sent_is_never_answered(header: str) -> None:
    sender = b"" if header.startswith("From") else b"From: alice@example.org\r\n"
    with pytest.raises(Refusal):
        read(sender + header.encode() + b"\r\n\r\nI am on holiday")
    assert read(HEAD + b"Auto-Submitted: no\r\nPrecedence: normal\r\n\r\nHi").text == "Hi"


@given(st.text(alphabet='mx.example.com;=()"\\ dkimpasfheadr@', max_size=200))
def test_no_nonsense_is_taken_for_a_good_word(noise: str) -> None:
    headers = [noise, f"mx.example.com; dmarc=fail ({noise}) header.from=example.org"]
    if "pass" not in noise:
        assert check_authenticity(headers, "example.org", "mx.example.com")


def test_a_domain_that_lies_in_a_signed_one_is_genuine_and_the_other_way_round_is_not() -> None:
    header = "MX.example.com 1; dkim=pass (2048 bit) header.d=example.org header.i=@example.org"
    assert not check_authenticity([header], "mail.example.org", "mx.example.com")
    quoted = 'mx.example.com; spf=pass smtp.mailfrom="a b"@example.org; dkim=pass header.d="example.net"'
    assert not check_authenticity([quoted], "example.org", "mx.example.com")
    assert not check_authenticity([quoted], "example.net", "mx.example.com")
    assert check_authenticity([header], "example.net", "mx.example.com")
    assert check_authenticity([header.replace("d=example.org", "d=org").replace("@example.org", "@org")],
                              "example.org", "mx.example.com")  # fmt: skip


def test_what_imap_sends_is_read_and_nonsense_refused() -> None:
    found = parse_values([b'(UID 7 FLAGS (\\Seen "a\\"b") BODY[]<0> ', b"lit)(eral", b" RFC822.SIZE 9)"])
    assert found == [[b"UID", b"7", b"FLAGS", [b"\\Seen", b'a"b'], b"BODY[]<0>", b"lit)(eral", b"RFC822.SIZE", b"9"]]
    for bad in (b"(", b")", b'"', b"(" * 50 + b")" * 50):
        with pytest.raises(ValueError, match=r"list|text"):
            parse_values([bad])


class _Said:
    """A socket from which a server's words come."""

    def __init__(self, *said: bytes) -> None:
        self.said = list(said)
        self.heard: list[bytes] = []

    def settimeout(self, seconds: float) -> None: ...

    def sendall(self, data: bytes) -> None:
        self.heard.append(data)

    def recv(self, size: int) -> bytes:
        return self.said.pop(0) if self.said else b""


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([b"* PREAUTH hello\r\n"], "greets"),
        ([b"SSH-2.0\r\n"], "greets"),
        ([b"* OK\r\n", b"* X {999999999}\r\n"], "more than was asked for"),
        ([b"* OK\r\n", b"x" * 2_000_000], "without end"),
        ([b"* OK\r\n", b"nonsense\r\n"], "no IMAP"),
        ([b"* OK\r\n", b"+ go on\r\n"], "more than there is"),
        ([b"* OK\r\n", b"* X\r\n" * 30_000], "come to an end"),
        ([b"* OK\r\n", *[b"* X {900000}\r\n" + b"x" * 900_000 + b"\r\n"] * 9], "come to an end"),
        ([b"* OK\r\n"], "hung up"),
    ],
)
def test_a_server_that_speaks_no_imap_is_left(said: list[bytes], why: str) -> None:
    with pytest.raises(ImapError, match=why):
        Imap(_Said(*said), 1_000_000).greet()  # type: ignore[arg-type]


def test_any_password_is_taken_the_oldest_way_where_there_is_no_other() -> None:
    capable = b"* CAPABILITY IMAP4rev1\r\n"
    server = _Said(b"* OK\r\n", capable + b"c1 OK\r\n", b"+ go\r\n", b"+ go\r\n", b"c2 OK\r\n", capable + b"c3 OK\r\n")
    imap = Imap(server, 1_000_000)  # type: ignore[arg-type]
    imap.greet()
    imap.login("me", 'a"\\ü')
    assert server.heard[1:4] == [b"c2 LOGIN {2}\r\n", b"me {5}\r\n", 'a"\\ü\r\n'.encode()]


def test_what_came_before_encryption_is_not_taken_for_what_comes_after() -> None:
    said = [b"* OK\r\n", b"* CAPABILITY STARTTLS\r\nc1 OK\r\n", b"c2 OK go\r\nc3 OK injected\r\n"]
    imap = Imap(_Said(*said), 1_000_000)  # type: ignore[arg-type]
    imap.greet()
    with pytest.raises(ImapError, match="more than an answer"):
        imap.start_tls(replace(SERVER).context, "x")  # type: ignore[arg-type]


def test_an_answer_of_smtp_that_has_no_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("email_channel.outbox._PATIENCE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            connection, _ = listener.accept()
            connection.settimeout(0.5)  # for when nobody listens any more
            with connection, suppress(OSError):
                while True:
                    connection.sendall(b"220-and so on\r\n" * 100)

        endless = threading.Thread(target=talk)
        endless.start()
        with pytest.raises(ChannelError):  # in words that depend on where it was cut off
            send_mail(
                DirectHost(tmp_path, {}, {}),
                replace(SERVER, port=listener.getsockname()[1]),
                b"x",
                "agent@example.com",
                "alice@example.org",
            )
        endless.join(60)
    assert not endless.is_alive()
