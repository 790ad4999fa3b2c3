"""The messages between the host and the process of a plugin: one JSON object a line, each of a bounded length."""

from typing import Any, Literal

from msgspec import Struct, field

MAX_LINE = 4 * 1024 * 1024
FailureKind = Literal["answer", "channel", "unsupported", "failed", "cancelled"]
Rule = Literal["no-host", "past-proxy", "no-shell"]


class DeclaredParts(Struct, frozen=True, omit_defaults=True):
    """The parts that the manifest declares."""

    tools: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    stages: tuple[tuple[str, str], ...] = ()
    memory: tuple[str, ...] = ()


class PluginStart(Struct, frozen=True, omit_defaults=True):
    """The start parameters of a plugin. `package` is the name of a Python package that `folder` is loaded as; `opened`
    are the paths that it sees in addition to its folders, if it is `confined` at all."""

    folder: str
    module: str
    name: str
    data_dir: str
    package: str = ""
    config: dict[str, Any] = {}
    env: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    declared: DeclaredParts = DeclaredParts()
    filter: str = ""  # of system calls, as hex
    data_bytes: int = 0  # how much memory it may take; without a sandbox nobody else says so
    id: str = ""
    opened: tuple[str, ...] = ()
    confined: bool = False


class HostRequest(Struct, frozen=True, omit_defaults=True):
    """From the host: something to do, to cancel, to answer at once (`ping`), or the answer to what was asked."""

    id: int
    do: Literal["start", "call", "cancel", "ping", "answer", "shutdown"]
    what: str = ""
    arguments: Any = field(default=None, name="given")
    error: "GuestError | None" = None


class GuestError(Struct, frozen=True, omit_defaults=True):
    """The reason why a request failed."""

    kind: FailureKind
    message: str
    code: str = ""
    hint: str = ""


class GuestResponse(Struct, frozen=True, omit_defaults=True, tag="answer"):
    """To the host: what came of an order."""

    id: int
    value: Any = None
    error: GuestError | None = None


class GuestRequest(Struct, frozen=True, tag="ask"):
    """To the host: something that only it can do."""

    id: int
    what: Literal["deliver_inbound", "deliver_payload"]
    channel: str
    arguments: Any = field(name="given")


class RefusalReport(Struct, frozen=True, tag="told"):
    """To the host: what was refused, and why. Nothing is answered."""

    rule: Rule
    subject: str


FromGuest = GuestResponse | GuestRequest | RefusalReport
