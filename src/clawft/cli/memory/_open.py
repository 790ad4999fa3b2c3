"""The memory that these commands work on, and what they say of an empty one."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TypeVar

import anyio

from clawft.app import App
from clawft.cli.options import open_here
from clawft.cli.output import one_line, say, show_diagnostic
from clawft.config.memory import FILES, own_backend
from clawft.errors import ClawftError
from clawft.memory import MemoryBackend, MemoryFiles, open_memory

__all__ = [
    "check_files",
    "empty_text",
    "find_backend",
    "open_here_memory",
    "say_empty",
    "use_brought",
    "warn_of_damage",
]

T = TypeVar("T")


@contextmanager
def open_here_memory() -> Iterator[tuple[App, MemoryFiles]]:
    """The app and its memory, closed afterwards. Raises: ClawftError."""
    app = open_here()
    with closing(open_memory(app.workspace, app.config.memory)) as memory:
        yield app, memory


def find_backend(app: App) -> str:
    """The name of the memory that a plugin brings, if the user chose one; '' for the files."""
    name = own_backend(app.config, app.workspace.user_dir, app.environ)
    return "" if name == FILES else name


def use_brought(app: App, name: str, work: Callable[[MemoryBackend], T]) -> T:
    """Do something with the memory of a plugin. Raises: ClawftError."""
    from clawft.plugging import use_memory  # few have one

    return anyio.run(use_memory, app, name, work)


def check_files(app: App) -> None:
    """Raises: ClawftError where the memory is not in files, so that nothing is done to the wrong one."""
    if name := find_backend(app):
        message = f"The memory is '{name}', which a plugin brings; this works on the files of the built-in one"
        raise ClawftError("memory-not-files", message, hint="See memory.backend: weft config get memory.backend")


def say_empty(app: App, memory: MemoryFiles) -> None:
    say(empty_text(app, memory))


def empty_text(app: App, memory: MemoryFiles) -> str:
    where = one_line(app.workspace.shorten(memory.folder))
    what = "Nothing is" if memory.is_empty else "No facts are"
    said = f"{what} remembered yet. Agents keep facts with memory_write; you may write {where}/MEMORY.md yourself."
    return said if memory.is_empty else f"{said} What happened is found by: weft memory search"


def warn_of_damage(app: App, memory: MemoryFiles) -> None:
    for diagnostic in (*memory.check_files(), *memory.check_index()):
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
