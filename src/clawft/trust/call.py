"""One use of a tool, as patterns and rules look at it: the command line it runs, the file or host it means."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clawft.errors import Refused
from clawft.files import real_path
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from clawft.trust.shell import Line
    from clawft.trust.urls import Target

__all__ = ["Call", "Where"]


class Where(Struct, frozen=True):
    """What paths stand for: those of patterns start at the project, those of calls at `base`."""

    project: str
    base: str = ""
    home: str = ""


class Call:
    """A tool by our own name, and the arguments as a model wrote them: nothing in them is sure to be what it should.

    `server` tells that it is a tool of an MCP server or a plugin, `read_only` that it changes nothing and is not asked
    about.
    """

    def __init__(
        self, tool: str, arguments: Mapping[str, Any], where: Where, *, server: bool = False, read_only: bool = False
    ) -> None:
        self.tool = tool
        self.arguments = arguments
        self.where = where
        self.server = server
        self.read_only = read_only

    def text(self, name: str) -> str | None:
        """An argument that is a text; '' where it is left out, None where it is anything else."""
        value = self.arguments.get(name)
        return "" if value is None else value if isinstance(value, str) else None

    @cached_property
    def line(self) -> "Line | None":
        """The commands of a command line; None if it is not understood."""
        from clawft.trust.shell import NotUnderstood, parse_line

        try:
            return parse_line(self.text("command") or "")
        except NotUnderstood:
            return None

    @property
    def is_obscure(self) -> bool:
        """Whether it is a command line that is not understood."""
        return self.tool == "exec_shell" and bool(self.text("command")) and self.line is None

    @cached_property
    def cwd(self) -> str:
        """The real folder that a command line runs in; '' if that cannot be told."""
        given = self.text("cwd")
        return "" if given is None else self.resolve(given or self.where.base)[1]

    @property
    def at_start(self) -> bool:
        """Whether a command line runs where relative paths of the session start."""
        return bool(self.cwd) and self.cwd in (real_path(self.where.base), real_path(self.where.project))

    @cached_property
    def path(self) -> tuple[str, str]:
        """The file or folder that is meant: made absolute as written, and where its links lead; '' for no telling."""
        given = self.text("path")
        return ("", "") if given is None else self.resolve(given or self.where.base)

    def resolve(self, path: str, base: str = "") -> tuple[str, str]:
        """A path of this call, absolute as it is written and with its links resolved."""
        if "\0" in path:
            return "", ""
        full = resolve_path(path, base or self.where.base, self.where.home)
        return full, real_path(full)

    @cached_property
    def target(self) -> "Target | None":
        """The address that is fetched; None if it makes no sense."""
        from clawft.trust.urls import read_url

        try:
            return read_url(self.text("url") or "")
        except Refused:
            return None
