"""The memory that these commands work on, and what they say of an empty one."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from clawft.app import App
from clawft.cli.options import open_here
from clawft.cli.output import one_line, say, show_diagnostic
from clawft.memory import MemoryFiles, open_memory

__all__ = ["empty_text", "open_here_memory", "say_empty", "warn_of_index"]


@contextmanager
def open_here_memory() -> Iterator[tuple[App, MemoryFiles]]:
    """The app and its memory, closed afterwards. Raises: ClawftError."""
    app = open_here()
    with closing(open_memory(app.workspace, app.config.memory)) as memory:
        yield app, memory


def say_empty(app: App, memory: MemoryFiles) -> None:
    say(empty_text(app, memory))


def empty_text(app: App, memory: MemoryFiles) -> str:
    where = one_line(app.workspace.shorten(memory.folder))
    what = "Nothing is" if memory.is_empty else "No facts are"
    said = f"{what} remembered yet. Agents keep facts with memory_write; you may write {where}/MEMORY.md yourself."
    return said if memory.is_empty else f"{said} What happened is found by: weft memory search"


def warn_of_index(app: App, memory: MemoryFiles) -> None:
    for diagnostic in memory.check_index():
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
