"""The plugin API: every contract between the agent and what extends it, and nothing else.

A plugin is a folder with a manifest. Its code is a Python class here, or a WebAssembly component with the world of
`clawft-plugin.wit`. It gets its host in `init`, gives its `parts`, and each part implements one of the contracts below:
tools, a channel, a stage of the pipeline, skills, a memory. Built-in parts implement the same contracts.

A plugin in Python runs in a process of its own, inside the sandbox, with only the permissions that the user granted it.
So everything passed is plain data, and a method may be `async def` or `def`.
"""

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from enum import StrEnum
from socket import socket
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from clawft.errors import ClawftError

__all__ = [
    "Binary",
    "Cancel",
    "Capability",
    "ChannelAdapter",
    "ChannelCapabilities",
    "ChannelError",
    "ChannelHost",
    "InboundMessage",
    "Level",
    "MemoryBackend",
    "MemoryResult",
    "MessagePayload",
    "Metadata",
    "OutboundMessage",
    "Permissions",
    "Phase",
    "PipelineContext",
    "PipelineStage",
    "Plugin",
    "PluginError",
    "PluginHost",
    "SkillMetadata",
    "SkillProvider",
    "Structured",
    "Text",
    "ToolOutput",
    "ToolProvider",
    "Unsupported",
    "VoiceHandler",
]

Level = Literal["trace", "debug", "info", "warn", "error"]


class Capability(StrEnum):
    """The kinds of parts that a plugin can bring."""

    TOOL = "tool"
    CHANNEL = "channel"
    PIPELINE_STAGE = "pipeline_stage"
    SKILL = "skill"
    MEMORY = "memory"
    VOICE = "voice"  # reserved: a manifest may name it, and nothing comes of it yet


class Permissions(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The permissions that a plugin requests, or that a user granted it. It always has its own folder, and a data
    folder."""

    filesystem: tuple[str, ...] = ()  # files and folders that it may read and change; `PATH:ro` only to read
    network: tuple[str, ...] = ()  # hosts, as `example.com`, `*.example.com`, with a port for all but the web, or `*`
    env_vars: tuple[str, ...] = ()  # variables that it may be given
    shell: bool = False  # may it start programs?


class PluginError(ClawftError):
    """An operation that a plugin cannot do; the message is written for the user."""

    def __init__(self, message: str, *, code: str = "plugin-failed", hint: str = "") -> None:
        super().__init__(code, message, hint=hint)


class ChannelError(PluginError):
    """A channel could not take or send a message; it may be tried again."""


class Unsupported(ChannelError):
    """A channel has no such thing; trying again does not help."""


# --- The plugin and its host -----------------------------------------------------------------------------------------


class PluginHost(Protocol):
    """The host's services for a plugin. A call without the permission for it is refused, with a reason in the audit
    log."""

    def config_value(self, key: str) -> Any:
        """A setting of the plugin, checked against its `config_schema`, with its defaults; None if there is none.

        `a.b` is the setting `b` in the table `a`.
        """

    def resolve_secret(self, env_var: str) -> str | None:
        """The value of a variable that was granted by name; None for any other."""

    def data_dir(self) -> str:
        """A folder that is the plugin's own, and stays when it is upgraded."""

    def log(self, level: Level, message: str) -> None:
        """Write a line to the plugin's log."""

    def connect(self, host: str, port: int, timeout_s: float = 30.0) -> socket:
        """A connection to a host that was granted, for what speaks no HTTP. Raises: PluginError."""


class Plugin:
    """The base of a plugin. What it overrides is called in this order: `init`, then its parts, then `shutdown`."""

    def init(self, host: PluginHost) -> Awaitable[None] | None:
        """Look at the settings and get ready. Raises: whatever says that the plugin cannot work."""

    def parts(self) -> Iterable[object]:
        """Return the plugin's parts; by default the plugin itself is its only part. Called once, after `init`."""
        return (self,)

    def shutdown(self) -> Awaitable[None] | None:
        """Close what was opened. It has a few seconds."""

    def is_healthy(self) -> bool:
        """Return whether it can work right now."""
        return True


# --- Tools -----------------------------------------------------------------------------------------------------------


class ToolOutput(Struct, frozen=True):
    """The result of a tool call: the text that the model reads."""

    content: str
    is_error: bool = False


@runtime_checkable
class ToolProvider(Protocol):
    """Does the tools that the manifest declares. A result that is no text is written as JSON; `bytes` are neither."""

    def execute_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Run a tool. Raises: PluginError with a message for the model; anything else is a failure of the plugin."""


# --- Channels --------------------------------------------------------------------------------------------------------


class Text(Struct, frozen=True, tag="text"):
    text: str


class Binary(Struct, frozen=True, tag="binary"):
    mime_type: str
    data: bytes


class Structured(Struct, frozen=True, tag="structured"):
    value: Any


MessagePayload = Text | Binary | Structured


class ChannelCapabilities(Struct, frozen=True):
    """The kinds of content that a channel can carry."""

    text: bool = True
    binary: bool = False
    structured: bool = False
    streaming: bool = False
    editable: bool = False
    reactions: bool = False
    threads: bool = False


class InboundMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message that came in. `id` is the same whenever the remote side gives this message again.

    `conversation` is the thread or chat that it belongs to, which becomes a session; `sender` is who may be allowed.
    """

    id: str
    sender: str
    conversation: str
    text: str
    sender_name: str = ""
    sent_at: str = ""
    metadata: dict[str, Any] = {}  # comes back in the answer's


class OutboundMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message to send. `key` is the same whenever this message is sent again, for who can tell repeats by it.

    `is_repeat`: it may have been sent before, since it is not known what came of that.
    """

    key: str
    conversation: str
    text: str
    reply_to: str = ""  # the id of the message that it answers
    is_repeat: bool = False
    metadata: dict[str, Any] = {}


class Cancel(Protocol):
    """Tells a channel to end."""

    def is_set(self) -> bool: ...

    async def wait(self) -> Any: ...


class ChannelHost(Protocol):
    """The host's side of a channel: it takes the messages that the channel receives."""

    async def deliver_inbound(self, message: InboundMessage) -> bool:
        """Hand in a message. When this returns it is on disk, so the remote side may forget it.

        False: it was refused for good (the sender is not allowed, it is too long), and need not come again. One that
        was handed in before is taken as such, and nothing more happens. Raises: ChannelError if it cannot be taken
        now: too many wait, or the sender is too fast. Hand it in again later.
        """

    async def deliver_payload(self, sender: str, conversation: str, payload: MessagePayload) -> bool:
        """Hand in something else than text; False where nothing is made of it, as with a picture."""

    @property
    def config(self) -> Mapping[str, Any]:
        """The settings of the plugin."""


@runtime_checkable
class ChannelAdapter(Protocol):
    """Connects people elsewhere with the agent."""

    @property
    def name(self) -> str: ...

    @property
    def deduplicates(self) -> bool:
        """Return whether the remote side drops a message whose `key` it has seen: then none is ever marked as a
        repeat."""

    def capabilities(self) -> ChannelCapabilities: ...

    async def start(self, host: ChannelHost, cancel: Cancel) -> None:
        """Receive messages until `cancel` is set. Ending before, or raising, is a failure: it is started again."""

    async def send(self, message: OutboundMessage) -> None:
        """Send a message.

        Raises: ChannelError if it was not sent; Unsupported where trying again does not help. Where nobody knows what
        became of it, a plain PluginError: what is sent again then is marked as a repeat.
        """

    async def send_payload(self, conversation: str, payload: MessagePayload) -> None:
        """Send something else than text. Raises: Unsupported, unless the channel says otherwise."""

    def is_running(self) -> bool:
        """Return whether it is connected."""


# --- Stages of the pipeline ------------------------------------------------------------------------------------------


class Phase(StrEnum):
    """The phases a stage can run in: between the stages classify, route, assemble, transport, score and learn."""

    PRE_ROUTE = "pre_route"
    PRE_ASSEMBLE = "pre_assemble"
    PRE_TRANSPORT = "pre_transport"
    POST_TRANSPORT = "post_transport"
    POST_SCORE = "post_score"


class PipelineContext(Struct):
    """The part of a turn that a plugin's stage sees, and may change.

    `request` has `text`, `model`, `agent`, `session`, `root`, `skill`, and what is new in a request: `system`,
    `messages`, `tools` (docs/plugins.md); `response` has `text` and `stop`; `metadata` passes values from stage to
    stage.
    """

    request: dict[str, Any]
    response: dict[str, Any] | None = None
    metadata: dict[str, Any] = {}


C = TypeVar("C", contravariant=True)


@runtime_checkable
class PipelineStage(Protocol, Generic[C]):
    """A stage that is inserted at a phase. What is built in works on the turn itself, a plugin's on a PipelineContext.

    A plugin's may change `text` before assemble and `model` before route, and before every request to a model the texts
    in `system`, `messages` and `tools`: those are what the model gets, and disk stays as it is. Then it looks on.
    """

    @property
    def name(self) -> str: ...

    @property
    def phase(self) -> Phase: ...

    def process(self, context: C, /) -> Awaitable[None] | None:
        """Look at a turn, and change it. Raises: PluginError to end the turn with that; all else is a failure."""


# --- Skills ----------------------------------------------------------------------------------------------------------


class SkillMetadata(Struct, frozen=True, omit_defaults=True):
    """A skill's description of itself."""

    name: str
    description: str
    version: str = "0.1.0"
    tags: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    execution: Literal["prompt", "wasm", "native", "shell"] = "prompt"


@runtime_checkable
class SkillProvider(Protocol):
    """A skill with tools of its own. The manifest's `skill_dirs` give what is known of skills without running anything;
    this does the tools of those with `execution: native`, and of those that are WebAssembly.
    """

    @property
    def metadata(self) -> SkillMetadata: ...

    @property
    def prompt_text(self) -> str: ...

    def tool_schemas(self) -> Sequence[Mapping[str, Any]]: ...

    def execute_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """As for ToolProvider."""


# --- Memory ----------------------------------------------------------------------------------------------------------

Metadata = Mapping[str, Any]


class MemoryResult(Struct, frozen=True):
    """One thing found. `score` is from 0 to 1, and higher is better."""

    key: str
    value: str
    score: float
    metadata: dict[str, Any] | None = None


@runtime_checkable
class MemoryBackend(Protocol):
    """A store for lasting facts. A value is text: it is what a model reads and what people edit.

    All methods are sync and may wait for a disk; call them from a thread.
    """

    @property
    def name(self) -> str: ...

    def store(self, key: str, value: str, metadata: Metadata | None = None) -> None:
        """Keep a value; one that was there is replaced. Raises: ClawftError."""

    def append(self, key: str, value: str) -> None:
        """Add a paragraph to a value. Two that do so at once both succeed. Raises: ClawftError."""

    def retrieve(self, key: str) -> str | None:
        """The value of exactly this key. Raises: ClawftError."""

    def search(self, query: str, limit: int) -> Sequence[MemoryResult]:
        """Find the entries that match a query, best first. Raises: ClawftError."""

    def delete(self, key: str) -> bool:
        """Forget a key; whether there was one. Raises: ClawftError."""

    def list_keys(self, prefix: str = "") -> Sequence[str]:
        """Every key that begins with `prefix`, in the order they stand. Raises: ClawftError."""


# --- Voice -----------------------------------------------------------------------------------------------------------


class VoiceHandler(Protocol):
    """Reserved. No host calls it yet; it stands here so that plugins which have one stay valid when it does."""

    def transcribe(self, audio: bytes, format: str) -> Awaitable[str]: ...

    def synthesize(self, text: str) -> Awaitable[bytes]: ...

    def supports_streaming(self) -> bool: ...
