"""The needs of phrases as they are shipped: those that would be worked out."""

import json
from pathlib import Path

from clawft.scanner.instructions import find_orders  # noqa: F401  (brings all grammars)
from clawft.scanner.instructions.index import POOL
from clawft.scanner.instructions.needs import FILE, make_key
from needs import find_needs


def test_what_is_shipped_is_what_the_phrases_need() -> None:
    """If not: python tools/needs.py"""
    sources = {source for one in POOL.things for source in one.sources}
    shipped = json.loads(Path(FILE).read_text(encoding="utf-8"))
    assert shipped == {make_key(one): [sorted(need) for need in find_needs(one)] for one in sources}
