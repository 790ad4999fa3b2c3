"""The sessions of this user, for the commands about them."""

from collections.abc import Iterable

from clawft.app import App
from clawft.cli.options import open_here
from clawft.cli.output import show_diagnostic
from clawft.errors import Diagnostic
from clawft.sessions import SessionStore

__all__ = ["open_store", "show_all"]


def open_store() -> tuple[App, SessionStore]:
    """The app and the sessions of its user."""
    app = open_here()
    return app, app.sessions


def show_all(app: App, diagnostics: Iterable[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        show_diagnostic(diagnostic, where=app.workspace.shorten(diagnostic.where))
