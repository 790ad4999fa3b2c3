"""What binds a conversation since it read texts that are not the user's own: kept in its session, text by text.

A skill's list of tools holds until the person's next message. The hosts that it was approved with, the tools of servers
that it names, and the question before long-term memory is written hold as long as its text is in the conversation,
whatever becomes of the skill: nothing is looked up again but whether it is still approved as it was.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from clawft.errors import ClawftError
from clawft.render import Arguments
from clawft.sessions import Heard, SkillRecord
from clawft.tools.skillset import Activation
from clawft.trust.approvals import Approval, hash_bytes
from clawft.trust.cleared import AtWork

if TYPE_CHECKING:
    from clawft.run.conversation import Conversation
    from clawft.run.turn import Turn
    from clawft.sessions.opened import AboutSkill

__all__ = [
    "SkillTexts",
    "hear_above",
    "hear_fork",
    "hear_hook",
    "list_heard",
    "list_prompted",
    "note_skill",
    "note_unwritten",
    "restrict_hosts",
]

_UNUSABLE = ("broken", "blocked", "untrusted", "disabled")


def list_heard(conversation: "Conversation") -> list[Heard]:
    """Everything that binds a conversation now. Of a skill that is not approved any more nothing is granted."""
    approvals = _Approvals(conversation)
    return [one if approvals.hold(one) else structs.replace(one, hosts=(), tools=()) for one in _collect(conversation)]


def restrict_hosts(active: Sequence[AtWork], conversation: "Conversation") -> tuple[AtWork, ...]:
    """Skills at work as they may be used now: those that are not approved any more have no hosts."""
    if not any(one.stranger and one.hosts for one in active):
        return tuple(active)
    left = {(one.who, one.digest): one.hosts for one in list_heard(conversation)}
    return tuple(
        structs.replace(one, hosts=left.get((_name(one.name), one.digest), ())) if one.stranger else one
        for one in active
    )


def list_prompted(conversation: "Conversation") -> tuple[AtWork, ...]:
    """Skills that are not the user's own and whose text is in the system prompt from the start, here or above."""
    own = (one.cleared.at_work("") for one in conversation.skills.prompted if one.cleared.stranger)
    return (*conversation.lineage.prompted, *own)


def _collect(conversation: "Conversation") -> list[Heard]:
    """The same as it was granted then, each once."""
    heard = [*conversation.lineage.heard]
    for record in conversation.session.skill_records:
        heard += _find_older(record, conversation) if record.heard is None else record.heard
    for about in conversation.unwritten.values():
        heard += about["heard"] or ()
    for one in conversation.skills.prompted:
        heard += _heard_of(one)
    return list(dict.fromkeys(heard))


def _heard_of(activation: Activation) -> tuple[Heard, ...]:
    if not activation.cleared.stranger:
        return ()
    at_work, folder = activation.at_work, activation.standing.found.folder
    return (Heard(_name(activation.name), at_work.hosts, at_work.allowed_tools, folder, activation.digest),)


def _name(skill: str) -> str:
    return f"the skill '{skill}'"


class _Approvals:
    """Which approvals are still there; they are read once, and only if something depends on them."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._known: tuple[Approval, ...] | None = None

    def hold(self, heard: Heard) -> bool:
        """Whether what was heard keeps what it was granted."""
        return not heard.folder or not (heard.hosts or heard.tools) or self._hold(heard)

    def _hold(self, heard: Heard) -> bool:
        """Whether the skill is there, usable, and approved with the digest that it had."""
        standings = self._conversation.skills.standings
        standing = next((one for one in standings if one.found.folder == heard.folder), None)
        if standing is None or standing.state in _UNUSABLE:
            return False
        try:
            if any((one.path, one.digest) == (heard.folder, heard.digest) for one in self._load()):
                return True
            return self._conversation.runtime.clear(standing.found).digest == heard.digest  # approved for this run
        except ClawftError:
            return False

    def _load(self) -> tuple[Approval, ...]:
        if self._known is None:
            self._known = tuple(one for one in self._conversation.runtime.approvals.load() if one.kind == "skill")
        return self._known


def _find_older(record: SkillRecord, conversation: "Conversation") -> tuple[Heard, ...]:
    """What a line of an earlier version binds, found out once."""
    if record not in conversation.older:
        conversation.older[record] = _judge_older(record, conversation)
    return conversation.older[record]


def _judge_older(record: SkillRecord, conversation: "Conversation") -> tuple[Heard, ...]:
    """The line does not tell whose the skill was: all bind but those that are surely the user's own."""
    if record.scope == "hook":  # whose hosts its digest names
        return (Heard(f"the {record.name}", tuple(record.digest.rpartition("\t")[2].split()), None),)
    if record.scope == "bundled" or _is_own(record, conversation):
        return ()
    try:
        known = [one for one in conversation.runtime.approvals.load() if one.kind == "skill"]
    except ClawftError:
        known = []
    who = _name(record.name)
    for approval in known:
        if record.digest and approval.digest == record.digest:
            return (Heard(who, approval.power.network, (), approval.path, record.digest),)
    return (Heard(who, ()),)


def _is_own(record: SkillRecord, conversation: "Conversation") -> bool:
    """Whether a skill that was read is there as it was, and the user's own."""
    for standing in conversation.skills.standings:
        if (standing.name, standing.found.location.scope) == (record.name, record.scope):
            try:
                cleared = conversation.runtime.clear(standing.found)
            except ClawftError:
                continue
            if not cleared.stranger and cleared.digest == record.digest:
                return True
    return False


# writing it down


def note_skill(turn: "Turn", activation: Activation, arguments: Arguments) -> None:
    """Write down that a skill's text is about to reach the model, whole, so that it survives compaction."""
    turn.session.activate(
        activation.name,
        turn.runtime.secrets.mask(activation.text),
        turn.id,
        scope=activation.standing.found.location.scope,
        digest=activation.digest,
        arguments=_hash_arguments(arguments),
        heard=_heard_of(activation),
    )


def hear_hook(conversation: "Conversation", hook: str, hosts: tuple[str, ...]) -> None:
    """The model reads what somebody else's hook wrote: hosts that it was not approved with are asked about since."""
    about: AboutSkill = {"scope": "hook", "digest": f"hook\t{hook}\t{' '.join(hosts)}"}
    about["heard"] = (Heard(f"the hook '{hook}'", hosts, None),)
    conversation.unwritten[f"hook '{hook}'"] = about


def hear_above(conversation: "Conversation") -> None:
    """A fork's task comes of what was read above it: that binds whoever goes on with its session, too."""
    if heard := conversation.lineage.heard:
        conversation.unwritten["what was read above"] = {"scope": "fork", "heard": heard}


def hear_fork(child: "Conversation", parent: "Conversation") -> None:
    """What a fork tells its parent may be the words of what it has read itself."""
    known = set(_collect(parent))
    if new := tuple(one for one in _collect(child) if one not in known):
        parent.unwritten[f"fork '{child.session.key}'"] = {"scope": "fork", "heard": new}


def note_unwritten(turn: "Turn") -> None:
    """Write down what binds the conversation from the message on that is about to be added to it."""
    conversation = turn.conversation
    told = dict(conversation.unwritten)
    for one in conversation.skills.prompted:
        if heard := _heard_of(one):
            told[f"skill '{one.name}' in the prompt"] = {"scope": "prompt", "digest": one.digest, "heard": heard}
    known = {(one.name, one.heard) for one in turn.session.skill_records} if told else set()
    for name, about in told.items():
        if (name, about["heard"]) not in known:
            turn.session.activate(name, "", turn.id, **about)
        conversation.unwritten.pop(name, None)


class SkillTexts:
    """Which texts of skills stand in a conversation; for the tool that loads them."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation

    def find(self, activation: Activation, arguments: Arguments) -> str:
        """Where a skill's text stands, as it is now and with these arguments; '' if it has to be sent."""
        session, given = self._conversation.session, _hash_arguments(arguments)
        prompted = ((one.name, one.digest) for one in self._conversation.skills.prompted)
        if not given and (activation.name, activation.digest) in prompted:
            return "in the system prompt"
        record = session.activated.get(activation.name)
        if record is None or not record.content:
            return ""
        if (record.digest, record.arguments, record.heard) != (activation.digest, given, _heard_of(activation)):
            return ""
        at = next((at for at, one in enumerate(session.messages) if record.content in (one.content or "")), None)
        if at is None:
            return ""
        return "in the summary at the beginning" if at == 0 and session.is_compacted else "above"

    def note(self, activation: Activation, arguments: Arguments) -> None:
        """Write down what is about to be sent."""
        turn = self._conversation.running
        assert turn is not None  # tools are called by turns
        note_skill(turn, activation, arguments)


def _hash_arguments(arguments: Arguments) -> str:
    """By which the same arguments are known again: they may hold what must not be written down."""
    given: Iterable[str] = (arguments.raw, *arguments.words)
    return hash_bytes(msgspec.json.encode(list(given))) if any(given) else ""
