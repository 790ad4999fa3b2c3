"""What personal data looks like. Each kind has a cheap pattern, and a check that tells it from what only looks so.

Most of what a model reads here is code: versions, hashes, dates, offsets and identifiers are full of digits and dots,
and hiding one of those is a bug for whoever works with it. So a number counts where a checksum, the length that its
country uses, or the words before it say what it is.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from .countries import CALLING_CODES, IBAN_LENGTHS

__all__ = ["DETECTORS", "Detector"]


@dataclass(frozen=True)
class Detector:
    """One kind of personal data. `read` gives the plain form of a match, and where that ends; '' if it is none."""

    kind: str
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], tuple[str, int]]
    hint: str = ""  # a text without any of these characters has none of it


_LETTER = r"[^\W_]"
_EMAIL = re.compile(
    rf"(?:(?<=\\[nrt])|(?<![\w.%+\\-]))(?!\.)"
    rf"({_LETTER}[\w.%+'-]{{0,63}}?)(?:@|%40|&#64;)"
    rf"((?:{_LETTER}(?:[\w-]{{0,61}}{_LETTER})?\.){{1,8}}[^\W\d_]{{2,24}})(?![\w-])"
)
_UNITS = "service|socket|timer|target|mount|automount|slice|scope|swap|device"
_NO_DOMAIN = re.compile(rf".*\.(?:{_UNITS})")  # getty@tty1.service
_DENSITY = re.compile(r"\d{1,2}x")  # icon@2x.png


def _read_email(match: re.Match[str]) -> tuple[str, int]:
    local, domain = match[1], match[2].lower()
    after = match.string[match.end() : match.end() + 1]
    if local.lower() in ("git", "hg", "svn") and after in (":", "/"):  # git@github.com:owner/name
        return "", 0
    if _NO_DOMAIN.fullmatch(domain) or _DENSITY.match(domain):
        return "", 0
    return f"{local}@{domain}".lower(), match.end()


_IBAN = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})[ -]?\d{2}")
_IBAN_REST = {  # an IBAN ends where its country says, whatever is written behind it
    length: re.compile(rf"(?:[ -]?[A-Za-z0-9]){{{length - 4}}}(?![A-Za-z0-9])") for length in IBAN_LENGTHS.values()
}


def _read_iban(match: re.Match[str]) -> tuple[str, int]:
    length = IBAN_LENGTHS.get(match[1].upper())
    rest = _IBAN_REST[length].match(match.string, match.end()) if length else None
    if rest is None:
        return "", 0
    plain = re.sub(r"[ -]", "", match[0] + rest[0]).upper()
    digits = "".join(str(int(one, 36)) for one in plain[4:] + plain[:4])
    return (plain, rest.end()) if int(digits) % 97 == 1 else ("", 0)


_GROUPS = r"[2-6]\d{12,18}|[2-6]\d{3}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{3})?|[2-6]\d{3}([ -])\d{6}\2\d{4,5}"
_CARD = re.compile(rf"(?<![\w.])(?<!\d[-+])(?:{_GROUPS})(?!\w|[.-]\d)")
_BRANDS = (  # how a number begins, and how long it may be
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[689])"), (14, 16)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16,)),
    (re.compile(r"6(?:011|4[4-9]|5|2)"), (16, 17, 18, 19)),
    (re.compile(r"50|5[6-9]|6[37]"), (16, 18, 19)),
)


def _read_card(match: re.Match[str]) -> tuple[str, int]:
    """The longest number that is one: a year or a code may stand behind it."""
    written = match[0]
    ends = [len(written), *(at for at in range(len(written) - 1, 12, -1) if written[at] in " -")]
    for end in ends:
        plain = re.sub(r"[ -]", "", written[:end])
        if re.fullmatch(_GROUPS, written[:end]) and _is_card(plain):
            return plain, match.start() + end
    return "", 0


def _is_card(plain: str) -> bool:
    branded = any(begin.match(plain) and len(plain) in lengths for begin, lengths in _BRANDS)
    if not branded or len(set(plain)) < 2:
        return False
    doubled = (int(one) * (1 + at % 2) for at, one in enumerate(reversed(plain)))
    return sum(one // 10 + one % 10 for one in doubled) % 10 == 0


_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IP = re.compile(
    rf"(?<![\w.:])(?:({_OCTET}(?:\.{_OCTET}){{3}})(?![\w-]|\.\d)|"
    r"((?:(?:[23][0-9a-f]{3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):|::ffff:)[0-9a-f:.]{1,40})(?!\w))",  # of a network
    re.IGNORECASE,
)
_VERSIONED = re.compile(r"(?:[A-Za-z_]/|[=><~!]=\s?|\^|(?:versions?|release|rev|build)[\s:=\"']{0,3})\Z", re.IGNORECASE)
_HEADING = re.compile(r"(?:^|\n)[ \t#*-]*\Z")
_ADDRESSED = re.compile(
    r"(?:\b(?:ip\w*|\w*addr\w*|host\w*|from|server|dns|ping|ssh|peer|client)\W{1,3}|://|@)\Z", re.IGNORECASE
)
_MASKED = re.compile(r"/(\d{1,2})(?!\d)")


def _read_ip(match: re.Match[str]) -> tuple[str, int]:
    if match[1]:
        return _read_v4(match), match.end()
    text = match[2] if match[2].endswith("::") else match[2].rstrip(":.")  # a sentence may end behind it
    return _read_v6(text), match.start() + len(text)


def _read_v4(match: re.Match[str]) -> str:
    address = IPv4Address(match[1])
    octets = [int(one) for one in match[1].split(".")]
    if address.is_loopback or octets[0] in (0, 255) or address.is_multicast:  # nobody's own, or a mask
        return ""
    before, text = match.string[max(0, match.start() - 16) : match.start()], match.string
    if _VERSIONED.search(before):
        return ""
    masked = _MASKED.match(text, match.end())
    if masked and not int(address) & (0xFFFFFFFF >> min(32, int(masked[1]))):  # a whole network
        return ""
    if max(octets) <= 40 and text[match.end() : match.end() + 1] != ":":  # 23.2.1.1 is a section, 10.0.0.1 may be one
        is_plain = octets[0] != 10 or bool(_HEADING.search(before) and text[match.end() : match.end() + 2] != " -")
        return "" if is_plain and not _ADDRESSED.search(before) else str(address)
    return str(address)


def _read_v6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return ""
    is_network = text.endswith("::") or (address.ipv4_mapped is not None and "." not in text)
    return "" if is_network else str(address)


# Between two groups of digits stands something, or a run of digits could be read in thousands of ways.
_PHONE = re.compile(
    r"(?<![\w.+/-])(?:(\+|00[ ]?)([1-9]\d{0,15}(?:[ ./-]?\(\d{1,5}\)\d{0,12}|[ ./-]\d{1,12}){0,6})"  # the country first
    r"|(\([2-9]\d{2}\)[ ]?[2-9]\d{2}[ .-]\d{4}|[2-9]\d{2}([ .-])[2-9]\d{2}\4\d{4})"  # North America
    r"|(\(?0[1-9]\d{0,11}\)?(?:[ /-]\d{1,8}){0,5}))(?!\w|[.:-]\d)"
)
_CALLED = re.compile(
    r"(?:tel|phone|mobile?|cell|call|fax|handy|ruf|dial|sms|whatsapp|telefon\w*|t[eé]l[eé]\w*|portable|nummer)\b[^\n\d]{0,25}\Z",
    re.IGNORECASE,
)


def _read_phone(match: re.Match[str]) -> tuple[str, int]:
    digits = re.sub(r"\D", "", match[0])
    before = match.string[max(0, match.start() - 40) : match.start()]
    if match[1] == "+":
        return _read_international(match)
    if match[3]:
        return f"1{digits}", match.end()
    if not _CALLED.search(before) or not 8 <= len(digits) <= 16:  # as any number with a zero in front
        return "", 0
    return digits.removeprefix("00"), match.end()


def _read_international(match: re.Match[str]) -> tuple[str, int]:
    """The number up to where most numbers end: another, or a year, may stand behind it."""
    written = match[0]
    is_run = match[2].isdigit()
    is_line = match.start() == 0 or match.string[match.start() - 1] == "\n"
    if is_run and is_line and "\n@@ -" in match.string:  # a line that was added, of a number
        return "", 0
    ends = [at for at in range(len(written), 7, -1) if at == len(written) or written[at] in " ./-"]
    plain = [(re.sub(r"\D", "", written[:end]), match.start() + end) for end in ends]
    known = [one for one in plain if any(one[0][:size] in CALLING_CODES for size in (1, 2, 3))]
    for lengths in (range(9, 14), range(8, 16)) if not is_run else (range(9, 14),):
        for digits, end in known:
            if len(digits) in lengths:
                return digits, end
    return "", 0


DETECTORS = (
    Detector("EMAIL", _EMAIL, _read_email, "@%&"),
    Detector("IBAN", _IBAN, _read_iban, "0123456789"),
    Detector("CARD", _CARD, _read_card, "0123456789"),
    Detector("IP", _IP, _read_ip, ".:"),
    Detector("PHONE", _PHONE, _read_phone, "0123456789"),
)
