"""What the host and the process of a plugin say to each other: one JSON object a line, each of a bounded length."""

from typing import Any, Literal

from msgspec import Struct

__all__ = ["MAX_LINE", "Answer", "Ask", "Declared", "Error", "FromGuest", "Order", "Rule", "Start", "Told"]

MAX_LINE = 4 * 1024 * 1024
Kind = Literal["answer", "channel", "unsupported", "failed", "cancelled"]
Rule = Literal["no-host", "past-proxy", "no-shell"]


class Declared(Struct, frozen=True, omit_defaults=True):
    """What the manifest promises of the code."""

    tools: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    stages: tuple[tuple[str, str], ...] = ()
    memory: tuple[str, ...] = ()


class Start(Struct, frozen=True, omit_defaults=True):
    """All that a plugin is started with. `package` is the name of a Python package whose place `folder` takes; `opened`
    are the places that it sees beside its folders, if it is `confined` at all."""

    folder: str
    module: str
    name: str
    data_dir: str
    package: str = ""
    config: dict[str, Any] = {}
    env: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    declared: Declared = Declared()
    filter: str = ""  # of system calls, as hex
    data_bytes: int = 0  # how much memory it may take; without a sandbox nobody else says so
    id: str = ""
    opened: tuple[str, ...] = ()
    confined: bool = False


class Order(Struct, frozen=True, omit_defaults=True):
    """From the host: something to do, to cancel, to answer at once (`ping`), or the answer to what was asked."""

    id: int
    do: Literal["start", "call", "cancel", "ping", "answer", "shutdown"]
    what: str = ""
    given: Any = None
    error: "Error | None" = None


class Error(Struct, frozen=True, omit_defaults=True):
    """Why something was not done."""

    kind: Kind
    message: str
    code: str = ""
    hint: str = ""


class Answer(Struct, frozen=True, omit_defaults=True, tag="answer"):
    """To the host: what came of an order."""

    id: int
    value: Any = None
    error: Error | None = None


class Ask(Struct, frozen=True, tag="ask"):
    """To the host: something that only it can do."""

    id: int
    what: Literal["deliver_inbound", "deliver_payload"]
    channel: str
    given: Any


class Told(Struct, frozen=True, tag="told"):
    """To the host: what was refused, and why. Nothing is answered."""

    rule: Rule
    subject: str


FromGuest = Answer | Ask | Told
