"""Who asks: a name, and what they may do. The same for every way in."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.errors import Refused
from clawft.protocol.base import Answer, Scope

if TYPE_CHECKING:
    from clawft.serve.subscriptions import Subscriptions

__all__ = ["ALL_SCOPES", "Call", "Caller"]

ALL_SCOPES: frozenset[Scope] = frozenset({"read", "run", "approve", "admin"})


class Caller(Struct, frozen=True):
    """Whoever holds a token, or sits at the other end of a pipe."""

    name: str
    scopes: frozenset[Scope]
    is_local: bool = False  # at the other end of a pipe: what it may is said where that is opened

    @property
    def described(self) -> str:
        """Who it is in the audit log."""
        return f"the client '{self.name}' at the pipe" if self.is_local else f"token {self.name}"

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def need(self, scope: Scope) -> None:
        """Raises: Refused without that scope."""
        if self.may(scope):
            return
        if self.is_local:
            words = " ".join(f"--scope {one}" for one in sorted({*self.scopes, scope}))
            message = f"This client may not do that: it was started without the scope {scope}"
            raise Refused("scope-missing", message, hint=f"Have it start: weft mcp {words}")
        message = f"'{self.name}' may not do that: its token lacks the scope {scope}"
        raise Refused("scope-missing", message, hint=f"Make one that may: weft serve token new NAME --scope {scope}")

    def owns(self, name: str) -> bool:
        """Whether what another caller started is this one's business."""
        return self.name == name or "admin" in self.scopes

    def session_key(self, key: str) -> str:
        """The key that a session is kept under: whoever may not see those of others has a drawer of their own."""
        drawer = f"@{self.name}:"  # no channel's name begins so, nor anything else that has sessions
        return key if "admin" in self.scopes or key.startswith(drawer) else drawer + key


def _stays() -> bool:
    return True


class Call(Struct, frozen=True):
    """One request on its way: who asks, and where what happens before the answer goes. `send` never waits."""

    caller: Caller
    send: Callable[[Answer], None]
    subscriptions: "Subscriptions | None" = None  # of a connection that stays
    can_answer: bool = False  # questions reach whoever is at the other end, who may answer them
    is_known: Callable[[], bool] = _stays  # whether their token still counts: work for one that does not is ended
