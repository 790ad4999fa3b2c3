"""Why a server does not answer, in words a person can use, and when it is tried again."""

import math
from collections.abc import Callable

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS

from clawft.config.masking import Secrets
from clawft.config.mcp import ServerSettings
from clawft.errors import ClawftError
from clawft.mcp.plain import clean_text, cut_text
from clawft.mcp.remote import RemoteError
from clawft.mcp.watch import Watch

__all__ = ["Failures", "explain_answer", "root_cause"]

_MAX_WAIT_S = 60.0
_PATIENCE_S = 1.0
_MAX_REASON = 400


class Failures:
    """How often a server failed since it last did its work; each failure doubles the wait before the next try."""

    def __init__(self, name: str, settings: ServerSettings, secrets: Secrets, clock: Callable[[], float]) -> None:
        self._name = name
        self._settings = settings
        self._secrets = secrets
        self._clock = clock
        self._count = 0
        self._retry_at = 0.0
        self._code = ""
        self._message = ""

    def note_start(self, error: Exception, watch: Watch) -> None:
        """It did not start: 1, 2, 4 … 60 s until the next try."""
        reason = _explain(error, self._settings)
        self._note("mcp-start", f"The MCP server '{self._name}' did not start: {reason}", watch, self._count + 1)

    def note_end(self, watch: Watch) -> None:
        """It was up and went away: that may have been a single crash, so the first new try may come at once."""
        self._note("mcp-lost", f"The MCP server '{self._name}' went away", watch, self._count)

    def forget(self) -> None:
        """It did its work."""
        self._count = 0

    @property
    def patience_s(self) -> float:
        """How long a turn waits for it: one that failed to start goes on starting by itself."""
        return _PATIENCE_S if self._count and self._code == "mcp-start" else math.inf

    def last(self) -> RemoteError:
        """What went wrong, as an error for whoever needs the server now."""
        left = self._retry_at - self._clock()
        again = f"It is tried again in {left:.0f} s" if left > 0 else ""
        return RemoteError(self._code, self._message, hint=again or f"Look at [mcp.servers.{self._name}] in the config")

    def check_may_try(self) -> None:
        """Raises: RemoteError, the last failure, while the wait after it is not over."""
        if self._count and self._clock() < self._retry_at:
            raise self.last()

    def _note(self, code: str, message: str, watch: Watch, waits: int) -> None:
        self._count += 1
        self._retry_at = self._clock() + (min(2.0 ** min(waits - 1, 10), _MAX_WAIT_S) if waits else 0.0)
        status = f" (HTTP {watch.status})" if watch.status else ""
        words = watch.last_words(self._secrets)
        self._code = code
        self._message = self._secrets.mask(message) + status + (f". Its last words: {words}" if words else "")


def explain_answer(name: str, error: Exception, watch: Watch, secrets: Secrets) -> RemoteError:
    """Why a request gave no result. A server's own words are shown, without secrets."""
    if _is_lost(error, watch):
        watch.end()
        return RemoteError(
            "mcp-lost", f"The MCP server '{name}' went away", hint="It is started again when next needed"
        )
    if not isinstance(error, MCPError):
        return RemoteError("mcp-refused", f"The MCP server '{name}' gave an answer that cannot be read")
    said = cut_text(clean_text(secrets.mask(error.message)), _MAX_REASON)
    code = "mcp-arguments" if error.code == INVALID_PARAMS else "mcp-refused"
    return RemoteError(code, f"The MCP server '{name}' refused: {said}")


def _is_lost(error: Exception, watch: Watch) -> bool:
    # By its text too: servers use the same number for errors of their own.
    closed = isinstance(error, MCPError) and error.code == CONNECTION_CLOSED and error.message == "Connection closed"
    return closed or watch.ended.is_set()


def root_cause(error: Exception) -> Exception:
    """The first error that is no group of others."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def _explain(error: Exception, settings: ServerSettings) -> str:
    if isinstance(error, ClawftError):
        return str(error)
    if isinstance(error, TimeoutError):
        return f"it did not answer within {settings.start_timeout_s:g} s"
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}"
    if isinstance(error, httpx2.ConnectError):
        return "its address cannot be reached"
    if isinstance(error, MCPError):
        return cut_text(clean_text(error.message), _MAX_REASON)
    return f"it gave an answer that cannot be read ({type(error).__name__})"
