"""Write down the words that the phrases of the scanner need, which it looks up instead of working them out."""

import json

from clawft.scanner.instructions import find_orders  # noqa: F401  (brings all grammars)
from clawft.scanner.instructions.index import POOL
from clawft.scanner.instructions.needs import FILE, find_needs, make_key


def render_needs() -> str:
    """All of them, a line for each pattern."""
    sources = {source for one in POOL.things for source in one.sources}
    needs = {make_key(source): [sorted(need) for need in find_needs(source)] for source in sources}
    lines = [f"{json.dumps(key)}: {json.dumps(needs[key])}" for key in sorted(needs)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(render_needs())
