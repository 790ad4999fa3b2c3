"""Record docs/tour.svg: the real screen of a short session, answered from a script. The same on every machine.

`--check` only tells whether what the session says still stands in the picture.
"""

import asyncio
import html
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from terminal import CTRL_O, Terminal, open_terminal
from wire import call, say
from world import World

OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "tour.svg"
COLUMNS, LINES = 80, 30
_CELL, _ROW, _EDGE = 8.4, 18, 14
_COLOURS = {"red": "#f47067", "green": "#8ddb8c", "brown": "#f69d50", "blue": "#6cb6ff", "default": "#d0d7de"}
_ANSWER = """The plan has **two** open points:

1. `ship it` waits for a review.
2. `write the docs` has not begun.

| point | who |
| --- | --- |
| ship it | Ada |
| write the docs | nobody |
"""


async def record(folder: Path) -> list[str]:
    """The rows of the picture, as SVG, after the session was played."""
    world = World(folder)
    world.add_skill(
        "plan", "Read plan.txt, then tell what is open.", "Tells what is open in a plan.", "argument-hint: '[who]'\n"
    )
    (world.project / "plan.txt").write_text("OPEN ship it (Ada)\nOPEN write the docs\nDONE test it\n")
    world.replies = [
        call("grep", {"pattern": "OPEN", "path": "plan.txt"}),
        say(_ANSWER),
        call("exec_shell", {"command": "touch reviewed"}),
        say("Done: `reviewed` is there."),
    ]
    world.config = '[agents.defaults]\nmode = "ask"\nmodel = "local/some-model"\n'
    async with open_terminal(world, columns=COLUMNS, lines=LINES) as terminal:
        await play(terminal)
        return list(draw(terminal))


async def play(terminal: Terminal) -> None:
    terminal.type("/pl")
    await terminal.wait_for("[who] Tells what is open")
    terminal.type("an\r")
    await terminal.wait_for("nobody")
    await terminal.prompt()
    terminal.type(CTRL_O)
    await terminal.wait_for("▼")
    await terminal.prompt()
    terminal.type("mark it as reviewed\r")
    await terminal.wait_for("[N]o:")
    terminal.type("y\r")
    await terminal.wait_for("Done:")
    await terminal.prompt()


def draw(terminal: Terminal) -> Iterator[str]:
    """Each row, one piece of text for each run of cells that look alike."""
    for number, row in enumerate(terminal.cells()):
        start = 0
        while start < len(row):
            look = row[start][1:]
            end = next((at for at in range(start, len(row)) if row[at][1:] != look), len(row))
            text = "".join(cell[0] for cell in row[start:end]).rstrip()
            if text:
                yield _text(text, start, number, *look)
            start = end


def _text(text: str, column: int, row: int, colour: str, bold: bool) -> str:
    x, y = _EDGE + column * _CELL, _EDGE + (row + 1) * _ROW
    weight = ' font-weight="bold"' if bold else ""
    fill = _COLOURS.get(colour, _COLOURS["default"])
    length = f'textLength="{len(text) * _CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:.1f}" y="{y}" fill="{fill}"{weight} {length}>{html.escape(text, quote=False)}</text>'


def make_svg(rows: list[str]) -> str:
    width, height = COLUMNS * _CELL + 2 * _EDGE, LINES * _ROW + 2 * _EDGE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'aria-label="A session: a skill tells what is open, a tool asks before it acts">'
    )
    style = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" xml:space="preserve"'
    box = '<rect width="100%" height="100%" rx="8" fill="#22272e"/>'
    return "\n".join([head, box, f"<g {style}>", *rows, "</g>", "</svg>", ""])


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        svg = make_svg(asyncio.run(record(Path(folder))))
    if "--check" in sys.argv:
        if OUTPUT.exists() and OUTPUT.read_text("utf-8") == svg:
            return 0
        print("docs/tour.svg is not up to date; run: make tour", file=sys.stderr)
        return 1
    OUTPUT.write_text(svg, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
