"""The visible part of a web page, as plain, well-formed and shallow HTML."""

import re
from collections import Counter
from html import escape
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

_MAX_DEPTH = 60
_ITEMS_AT_ONCE = 200
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
_DROPPED = frozenset(
    (  # noqa: SIM905
        "script style noscript template svg canvas iframe object nav footer head title button select textarea dialog "
        "audio video map datalist"
    ).split()
)
# Which open elements an element ends, and within which others they are looked for.
_BLOCKS = (
    "address article aside blockquote div dl fieldset figure form h1 h2 h3 h4 h5 h6 header hr main ol p pre section "
    "table ul"
)
_ENDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(_BLOCKS.split(), (("p",), ("td", "th", "li", "dd", "blockquote", "div", "section", "article"))),
    "li": (("li",), ("ul", "ol")),
    **dict.fromkeys(("dt", "dd"), (("dt", "dd"), ("dl",))),
    **dict.fromkeys(("td", "th"), (("td", "th"), ("tr", "table"))),
    "tr": (("tr",), ("table",)),
    **dict.fromkeys(("thead", "tbody", "tfoot"), (("thead", "tbody", "tfoot"), ("table",))),
}
_HIDING = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|(?:opacity|font-size|max-height|max-width):0(?:\.0*)?(?![.\d])"
    r"|text-indent:-\d{3,}|(?:left|top|right|bottom|margin-left|margin-top):-\d{4,}|clip(?:-path)?:(?:rect\(0|inset\(50)"
    r"|color:transparent|transform:scale\(0\)"
)
# Characters nobody sees: tags, joiners, marks of direction.
_INVISIBLE = re.compile("[\U000e0000-\U000e007f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u00ad]")
_SCHEMES = ("http", "https", "mailto")


def strip_invisible(text: str) -> str:
    return _INVISIBLE.sub("", text)


class VisibleHtmlParser(HTMLParser):
    """Feed it a page, `close` it, then take `title` and `html`."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = url
        self._written: list[str] = []
        self._title: list[str] = []
        self._open: list[tuple[str, bool]] = []  # name, and whether it was written
        self._count: Counter[str] = Counter()
        self._depth = 0
        self._hidden_at: int | None = None  # how many elements were open when the hidden one began
        self._items: list[int] = []  # how many items each open list has

    @property
    def title(self) -> str:
        return " ".join(strip_invisible("".join(self._title)).split())[:300]

    @property
    def html(self) -> str:
        return "".join(self._written)

    def close(self) -> None:
        super().close()
        while self._open:
            self._end_last()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "base" and attributes.get("href"):
            self._base = self._join(attributes["href"]) or self._base
        if self._hidden_at is None and tag in _ENDS:
            self._end_implied(*_ENDS[tag])
        if tag in _VOID:
            if self._hidden_at is None and tag in ("br", "hr", "img") and not _is_hidden(attributes):
                self._written.append(self._show(tag, attributes))
            return
        if self._hidden_at is None and (tag in _DROPPED or _is_hidden(attributes)):
            self._hidden_at = len(self._open)
        self._begin(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        if self._count[tag]:
            while self._end_last() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._hidden_at is None:
            self._written.append(escape(strip_invisible(data), quote=False))
        elif self._open[-1][0] == "title" and not self._count["svg"]:
            self._title.append(data)

    def _begin(self, tag: str, attributes: dict[str, str]) -> None:
        shown = self._hidden_at is None and self._depth < _MAX_DEPTH
        if shown:
            if tag == "li":
                self._number_item()
            if tag in ("ul", "ol"):
                self._items.append(0)
            self._written.append(self._show(tag, attributes))
            self._depth += 1
        self._open.append((tag, shown))
        self._count[tag] += 1

    def _end_last(self) -> str:
        tag, shown = self._open.pop()
        self._count[tag] -= 1
        if shown:
            self._depth -= 1
            self._written.append(f"</{tag}>")
            if tag in ("ul", "ol"):
                self._items.pop()
        if self._hidden_at == len(self._open):
            self._hidden_at = None
        return tag

    def _end_implied(self, ended: tuple[str, ...], within: tuple[str, ...]) -> None:
        if not any(self._count[tag] for tag in ended):
            return
        for index in range(len(self._open) - 1, max(-1, len(self._open) - 1 - _MAX_DEPTH), -1):
            if self._open[index][0] in ended:
                while len(self._open) > index:
                    self._end_last()
                return
            if self._open[index][0] in within:
                return

    def _number_item(self) -> None:
        """A long list becomes several: numbering an item takes a look at all before it."""
        if self._items and self._open and self._open[-1] in (("ol", True), ("ul", True)):
            self._items[-1] += 1
            name, count = self._open[-1][0], self._items[-1]
            if count % _ITEMS_AT_ONCE == 0:
                self._written.append(f'</{name}><{name} start="{count}">')

    def _show(self, tag: str, attributes: dict[str, str]) -> str:
        """A tag with what is needed of its attributes."""
        remaining = {name: self._join(attributes[name]) for name in ("href", "src") if attributes.get(name)}
        if tag == "img":
            remaining["alt"] = " ".join(attributes.get("alt", "").split())[:200]
        if tag == "ol" and attributes.get("start", "").isdecimal():
            remaining["start"] = attributes["start"][:6]
        name = tag if tag.isalnum() and tag.isascii() else "span"
        shown = [f'{key}="{escape(strip_invisible(value))}"' for key, value in remaining.items() if value]
        return f"<{' '.join([name, *shown])}>"

    def _join(self, link: str) -> str:
        """A link made absolute; '' for what leads nowhere on the web."""
        try:
            joined = urljoin(self._base, link.strip())
            return joined.replace(" ", "%20") if urlsplit(joined).scheme in _SCHEMES else ""
        except ValueError:
            return ""


def _is_hidden(attributes: dict[str, str]) -> bool:
    if "hidden" in attributes or attributes.get("aria-hidden", "").strip().lower() == "true":
        return True
    style = "".join(attributes.get("style", "").lower().split())
    return bool(style) and _HIDING.search(re.sub(r"/\*[^*]*\*/", "", style)) is not None
