"""From the body of a mail to what its writer wrote: HTML to text, without quoted mails and signatures."""

import re
from collections.abc import Iterator
from html import unescape

__all__ = ["clean_text", "html_to_text", "trim_reply"]

_TAG = re.compile(r"/?[A-Za-z][A-Za-z0-9]*")
_HIDDEN = frozenset({"script", "style", "head", "title", "template", "noscript"})
_BLOCKS = frozenset({"p", "div", "tr", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote"})
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_MAX_ATTRIBUTION = 3  # lines
_BLANKS = re.compile(r"\n{3,}")
_SIGNATURE = re.compile(r"^-- ?$")
_ORIGINAL = re.compile(
    r"-{2,}\s*(?:original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale)"
    r"\s*-{2,}",
    re.IGNORECASE,
)
_RULE = re.compile(r"_{20,}")  # Outlook's, before the head of the mail that it quotes
_HEAD = re.compile(r"\*?(?:From|Von|De|Da|Van|Fra|Från|Od)\s?:")
_WHEN_OR_WHO = re.compile(r"[\d@]")


def html_to_text(html: str) -> str:
    """The words of a page, a line for each of its blocks; quotations as mails have them, with `>`."""
    out: list[str] = []
    quotes = 0
    for tag, words in _split_html(html):
        if tag in ("blockquote", "/blockquote"):
            quotes = max(0, quotes + (1 if tag == "blockquote" else -1))
        if tag == "hr":
            out.append(f"\n{'_' * 30}\n")
        elif tag == "li":
            out.append("\n- ")
        elif tag == "br" or tag.removeprefix("/") in _BLOCKS:
            out.append("\n")
        elif words:
            begins = not out or out[-1].endswith("\n")
            out.append(("> " if quotes and begins else "") + (words.lstrip() if begins else words))
    return clean_text("\n".join(line.strip() for line in "".join(out).split("\n")))


def _split_html(html: str) -> Iterator[tuple[str, str]]:
    """Tags, by their names, and the words between them, in one go: the library's parser can be made to hang."""
    at = 0
    while (start := html.find("<", at)) >= 0:
        yield "", _read_words(html[at:start])
        if not (html[start + 1 : start + 2].isalpha() or html[start + 1 : start + 2] in ("/", "!", "?")):
            yield "", "<"
            at = start + 1
            continue
        close = "-->" if html.startswith("<!--", start) else ">"
        end = html.find(close, start)
        if end < 0:
            return
        at = end + len(close)
        name = _TAG.match(html, start + 1, end)
        tag = name[0].lower() if name else ""
        if tag in _HIDDEN and (hidden := re.compile(f"</{tag}", re.IGNORECASE).search(html, at)):
            at = hidden.start()
        elif tag in _HIDDEN:
            return
        yield tag, ""
    yield "", _read_words(html[at:])


def _read_words(text: str) -> str:
    return re.sub(r"\s+", " ", unescape(text))


def clean_text(text: str) -> str:
    """Without what no terminal and no model should get: controls, marks that turn the direction, heaps of blanks."""
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _BLANKS.sub("\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip()


def trim_reply(text: str) -> str:
    """Without the mail that is quoted below, and the signature. Quotations between answers stay; never to nothing."""
    lines = text.split("\n")
    end = next((index for index in range(1, len(lines)) if _ends_at(lines, index)), len(lines))
    lines = lines[:end]
    quoted = len(lines)
    while quoted and (not lines[quoted - 1].strip() or lines[quoted - 1].startswith(">")):
        quoted -= 1
    if any(line.startswith(">") for line in lines[quoted:]):
        lines = _without_attribution(lines[:quoted])
    return "\n".join(lines).strip() or text.strip()


def _ends_at(lines: list[str], index: int) -> bool:
    """Whether what was written ends before a line."""
    line = lines[index].strip()
    if _RULE.fullmatch(line):
        return _HEAD.match(next((one for one in lines[index + 1 : index + 4] if one), "")) is not None
    return _SIGNATURE.match(lines[index]) is not None or _ORIGINAL.fullmatch(line) is not None


def _without_attribution(lines: list[str]) -> list[str]:
    """It is a paragraph of its own, maybe wrapped, or the last line of one."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    paragraph = len(lines)
    while paragraph and lines[paragraph - 1].strip():
        paragraph -= 1
    for start in (paragraph, len(lines) - 1):
        if 0 <= len(lines) - start <= _MAX_ATTRIBUTION and _is_attribution(" ".join(lines[start:])):
            return lines[:start]
    return lines


def _is_attribution(text: str) -> bool:
    """Whether it is like "On 3 May, somebody wrote:", in whatever language."""
    return text.rstrip().endswith(":") and _WHEN_OR_WHO.search(text) is not None
