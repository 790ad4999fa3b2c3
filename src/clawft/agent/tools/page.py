"""A web page as Markdown. `python -m clawft.agent.tools.page` does it in a process of its own, which can be ended:
a page can be made to take for ever. What that reads and writes is JSON.
"""

import re
import resource
import sys

import msgspec
from bs4 import BeautifulSoup
from markdownify import ATX, MarkdownConverter
from msgspec import Struct

from clawft.agent.tools.visible_html import VisibleHtmlParser

_MEMORY_BYTES = 1 << 30
_BLANK_LINES = re.compile(r"\n{3,}")


class PageSource(Struct, frozen=True):
    """A page as it was fetched."""

    html: str
    url: str


class RenderedPage(Struct, frozen=True):
    """A page as it is read."""

    title: str
    text: str


def render_page(source: PageSource) -> RenderedPage:
    """The title and the visible text of a page, links made absolute."""
    visible = VisibleHtmlParser(source.url)
    visible.feed(source.html)
    visible.close()
    soup = BeautifulSoup(visible.html, "html.parser")
    text = MarkdownConverter(heading_style=ATX, bullets="-", escape_underscores=False).convert_soup(soup)
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return RenderedPage(visible.title, _BLANK_LINES.sub("\n\n", lines).strip())


def main() -> None:
    """Read a source from standard input and write its page to standard output, with little memory."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    source = msgspec.json.decode(sys.stdin.buffer.read(), type=PageSource)
    sys.stdout.buffer.write(msgspec.json.encode(render_page(source)))


if __name__ == "__main__":
    main()
