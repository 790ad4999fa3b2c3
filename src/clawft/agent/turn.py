"""One turn: the value that every stage of the pipeline works on, and the moments at which others may join in."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_origin

from msgspec import Struct, structs

from clawft.agent.catalog import CatalogText
from clawft.agent.ledger import Price
from clawft.agent.providers.request import ModelRequest, ModelTool, Provider
from clawft.agent.text_limits import record_pending_limits
from clawft.agent.tools.skillset import Activation
from clawft.agent.tools.tool import ToolRegistry
from clawft.config.redaction import Secrets
from clawft.contracts import Phase
from clawft.messages import Ending, Event, Image, Message, Noticed, SkillActivated, Usage
from clawft.skills.discovery.instructions import Instructions
from clawft.skills.parse.model import Agent
from clawft.trust.status import SkillStatus

if TYPE_CHECKING:
    from clawft.agent.conversation import Conversation


S = TypeVar("S", bound=Struct)


class MessageSource(Struct, frozen=True):
    """The origin of a message from a channel: the channel, and what it says of the message."""

    channel: str
    sender: str
    conversation: str
    message: str


class TurnRequest(Struct, frozen=True):
    """The request of a person, a job or a program. With `skill`, that skill is started, and `text` are its arguments;
    `words` are the same, where a shell has split them already."""

    text: str
    images: tuple[Image, ...] = ()
    model: str = ""
    skill: str = ""
    words: tuple[str, ...] = ()
    more_skills: tuple[str, ...] = ()  # started with it, without arguments
    added: str = ""  # what hooks wrote beside it, marked as theirs
    source: MessageSource | None = None


class Turn:
    """The context of one turn: what was asked, what the stages found out, and what came of it."""

    def __init__(self, conversation: "Conversation", request: TurnRequest, send: Callable[[Event], None]) -> None:
        self.conversation = conversation
        self.runtime = conversation.runtime
        self.session = conversation.session
        self.skills = conversation.skills
        self.agent: Agent = conversation.agent
        self.request = request
        self.id = self.session.next_turn
        self._send = send
        self._noticed: set[tuple[str, str]] = set()
        self.is_preview = False  # nothing was sent, so no message hook runs
        self.is_received = False  # hooks heard of the message, so they hear of the answer
        self.added = request.added  # what hooks wrote beside the message
        self.held = 0  # how often a hook had the model go on that was done
        self.metadata: dict[str, Any] = {}  # for inserted stages, to tell each other something
        # classify
        self.complexity = 0.0
        # route
        self.model = ""
        self.bare_model = ""
        self.provider: Provider | None = None
        self.price: Price | None = None
        self.context_window: int | None = None
        # assemble
        self.invoked: Activation | None = None
        self.forking: SkillStatus | None = None  # a skill that the person started, and that answers from its own fork
        self.instructions: list[Instructions] = []
        self.system = ""
        self.extra_sections: list[str] = []  # what inserted stages add to the system prompt
        self.catalog = CatalogText()
        self.registry = ToolRegistry(())
        self.specs: tuple[ModelTool, ...] = ()
        # transport
        self.began = False  # something of it is on record
        self.outgoing: ModelRequest | None = None  # what a model is about to be sent; stages before that may change it
        self.partial = ""  # of an answer that is still coming
        self.text = ""
        self.stop: Ending = "done"
        self.usage = Usage()
        self.calls = 0
        self.failed_calls = 0
        self.refused = 0
        self.shortened: dict[str, str] = {}  # tool results that are sent in short, by call
        self.scale = 1.0  # tokens that were counted to tokens that were estimated
        # score
        self.score = 0.0

    def emit(self, event: Event) -> None:
        """Send an event: stamped, and without any secret."""
        masked = _mask(self.runtime.secrets, event)
        if isinstance(masked, Noticed):
            self._noticed.add((masked.code, masked.message))
        if isinstance(masked, SkillActivated):
            skill, digest, session = masked.name, masked.digest, self.session.key
            audit = self.runtime.audit
            audit.tell("skill", skill, decision="loaded", rule=masked.by, skill=skill, digest=digest, session=session)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._send(structs.replace(masked, at=now, session=self.session.key))

    def forward(self, event: Event) -> None:
        """Send an event of a fork as that stamped it."""
        self._send(event)

    def notice(self, event: Noticed) -> None:
        """Say something once a turn."""
        if not self.has_noticed(event):
            self.emit(event)

    def has_noticed(self, event: Noticed) -> bool:
        """Return whether this turn said the same already."""
        return (event.code, event.message) in self._noticed

    def append(self, message: Message) -> None:
        """Make a message part of the conversation, on disk too; first what binds that since."""
        record_pending_limits(self)
        self.session.append(_mask(self.runtime.secrets, message), self.id)
        self.began, self.partial = True, ""

    def messages(self) -> tuple[Message, ...]:
        """The messages to send to the model: the system prompt, and the conversation so far."""
        messages = self.session.messages
        if self.shortened:
            messages = tuple(
                structs.replace(message, content=self.shortened[message.tool_call_id])
                if message.role == "tool" and message.tool_call_id in self.shortened
                else message
                for message in messages
            )
        return (Message("system", self.system), *messages)


def _mask(secrets: Secrets, value: S) -> S:
    """The same value without any secret."""
    if not secrets:
        return value
    changed = {name: _mask_field(secrets, getattr(value, name)) for name in _list_audited_fields(type(value))}
    return structs.replace(value, **changed)


@cache
def _list_audited_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields that may hold a secret; words of our own do not."""
    return tuple(field.name for field in structs.fields(kind) if get_origin(field.type) is not Literal)


def _mask_field(secrets: Secrets, value: Any) -> Any:
    if isinstance(value, Struct):
        return _mask(secrets, value)
    if isinstance(value, tuple):
        return tuple(_mask_field(secrets, part) for part in value)
    return secrets.mask_value(value)


Stage = Callable[[Turn], Awaitable[None]]


class Insertion(Struct, frozen=True):
    """A stage that is inserted at a phase: a `contracts.PipelineStage` that works on the turn itself.

    What is inserted before the transport is asked for every request to a model, which it finds in `turn.outgoing`.
    """

    phase: Phase
    name: str
    process: Stage


async def run_inserted(turn: Turn, phase: Phase | None) -> None:
    """Run the insertions of a phase, each once, even if insertions are added or removed meanwhile."""
    before: set[str] = set()  # those that ran when it changed who is there
    while phase is not None:
        now, ran = turn.runtime.insertions, set[str]()
        for insertion in now:
            if insertion.phase == phase and insertion.name not in before:
                ran.add(insertion.name)
                await insertion.process(turn)
                if turn.runtime.insertions is not now:
                    before |= ran
                    break
        else:
            return
