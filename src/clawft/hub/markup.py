"""HTML that is made of strangers' words: whatever is filled in is escaped, unless it is markup already."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from clawft.sources.plain import plain_line

__all__ = ["CONTENT_POLICY", "Markup", "fill", "join", "page"]

MAX_TEXT = 600
_STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5c6470;--line:#d5d9e0;--back:#fff;--box:#f3f5f8;--link:#0b57d0;
--good:#12663a;--bad:#a3290f}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#a0a8b4;--line:#3a404a;--back:#15181c;--box:#20252c;
--link:#8ab4f8;--good:#7fd6a2;--bad:#ff9d85}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:52rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--back);overflow-wrap:anywhere}
a{color:var(--link)}h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.1rem;margin:1.5rem 0 .5rem}
p{margin:.4rem 0}ul,ol,dl{margin:0;padding:0;list-style:none}dd{margin:0 0 .8rem}
li{border-top:1px solid var(--line);padding:.6rem 0}
.soft{color:var(--soft)}.clean{color:var(--good)}.suspicious,.malicious,.yanked{color:var(--bad)}
pre{background:var(--box);padding:.6rem;margin:.2rem 0;white-space:pre-wrap;font-size:.9rem}
form{display:flex;gap:.5rem;margin:1rem 0}input{flex:1;min-width:0}
input,button{font:inherit;padding:.4rem .6rem;color:inherit;background:var(--box);border:1px solid var(--soft)}
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# A page runs nothing, fetches nothing, and is framed nowhere; its one form asks this hub.
CONTENT_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Markup(str):
    """HTML, which is filled in as it is."""

    __slots__ = ()


def fill(template: str, **values: str | int) -> Markup:
    """A template of ours with values in it, as `{name}`; texts become one line that is safe there, in quotes too."""
    return Markup(template.format_map({name: _escape(value) for name, value in values.items()}))


def _escape(value: str | int) -> str:
    return value if isinstance(value, Markup) else escape(plain_line(str(value), MAX_TEXT))


def join(parts: Iterable[Markup]) -> Markup:
    return Markup("".join(parts))


def page(title: str, body: Markup) -> str:
    """A whole page."""
    head = fill(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n<style>',
        title=title,
    )
    return f"{head}{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
