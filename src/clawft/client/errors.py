"""What goes wrong between a client and the daemon: what the daemon refused, or that it cannot be reached."""

from clawft.errors import ClawftError
from clawft.protocol.base import Problem

__all__ = ["ClientError"]

_CLOSED = {1012: "serve-stopping", 4001: "token-wrong", 4002: "request-invalid", 4008: "slow-consumer"} | {
    4029: "too-many-requests",
    1009: "request-too-large",
}


class ClientError(ClawftError):
    """`code` is stable, and `hint` says what to do. `close_code` is set where the connection is gone."""

    def __init__(self, code: str, message: str, *, hint: str = "", close_code: int = 0) -> None:
        super().__init__(code, message, hint=hint)
        self.close_code = close_code

    @classmethod
    def of(cls, problem: Problem) -> "ClientError":
        """What the daemon said."""
        return cls(problem.code, problem.message, hint=problem.hint or "")

    @classmethod
    def closed(cls, code: int, reason: str) -> "ClientError":
        """The connection is gone, and why."""
        message = f"The connection was closed: {reason or 'no reason was given'}"
        return cls(_CLOSED.get(code, "connection-closed"), message, hint="Connect again", close_code=code)
