"""The limits of texts that are not the user's own, kept in the session with each text that the model read.

A skill's list of tools holds until the person's next message. The limits here hold as long as the text is in the
conversation: other hosts than those it was approved with, tools of servers that it does not name, and writing to memory
are asked about. They come from the session record; from the skill only whether it is still approved as it was.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from clawft.errors import ClawftError
from clawft.render import Arguments
from clawft.sessions import SkillRecord, TextLimits
from clawft.tools.skillset import Activation
from clawft.trust.approvals import Approval, hash_bytes
from clawft.trust.cleared import AtWork

if TYPE_CHECKING:
    from clawft.run.conversation import Conversation
    from clawft.run.turn import Turn
    from clawft.sessions.opened import AboutSkill

__all__ = [
    "SkillTexts",
    "add_fork_limits",
    "add_hook_limits",
    "add_limits_above",
    "list_prompted",
    "list_text_limits",
    "record_pending_limits",
    "record_skill",
    "restrict_hosts",
]

_UNUSABLE = ("broken", "blocked", "untrusted", "disabled")


def list_text_limits(conversation: "Conversation") -> list[TextLimits]:
    """List the limits that bind a conversation now. A skill that is not approved any more is granted nothing."""
    approvals = _Approvals(conversation)
    return [one if approvals.hold(one) else structs.replace(one, hosts=(), tools=()) for one in _collect(conversation)]


def restrict_hosts(active: Sequence[AtWork], conversation: "Conversation") -> tuple[AtWork, ...]:
    """Take the hosts from active skills that are not approved any more."""
    if not any(one.stranger and one.hosts for one in active):
        return tuple(active)
    left = {(one.who, one.digest): one.hosts for one in list_text_limits(conversation)}
    return tuple(
        structs.replace(one, hosts=left.get((_name(one.name), one.digest), ())) if one.stranger else one
        for one in active
    )


def list_prompted(conversation: "Conversation") -> tuple[AtWork, ...]:
    """List the skills in the system prompt that are not the user's own, here or above."""
    own = (one.cleared.at_work("") for one in conversation.skills.prompted if one.cleared.stranger)
    return (*conversation.lineage.prompted, *own)


def _collect(conversation: "Conversation") -> list[TextLimits]:
    """Collect the limits as they were when each text was read, each once."""
    limits = [*conversation.lineage.heard]
    for record in conversation.session.skill_records:
        limits += _find_older(record, conversation) if record.limits is None else record.limits
    for _, about in conversation.pending_limits:
        limits += about["limits"] or ()
    for one in conversation.skills.prompted:
        limits += _limits_of_text(one)
    return list(dict.fromkeys(limits))


def _limits_of_text(activation: Activation) -> tuple[TextLimits, ...]:
    if not activation.cleared.stranger:
        return ()
    at_work, folder = activation.at_work, activation.standing.found.folder
    return (TextLimits(_name(activation.name), at_work.hosts, at_work.allowed_tools, folder, activation.digest),)


def _name(skill: str) -> str:
    return f"the skill '{skill}'"


class _Approvals:
    """The approvals that limits depend on, read once, and only if one does."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation
        self._known: tuple[Approval, ...] | None = None

    def hold(self, limits: TextLimits) -> bool:
        """Whether a text keeps what it was granted."""
        return not limits.folder or not (limits.hosts or limits.tools) or self._hold(limits)

    def _hold(self, limits: TextLimits) -> bool:
        """Whether the skill is there, usable, and approved with the digest that it had."""
        standings = self._conversation.skills.standings
        standing = next((one for one in standings if one.found.folder == limits.folder), None)
        if standing is None or standing.state in _UNUSABLE:
            return False
        try:
            if any((one.path, one.digest) == (limits.folder, limits.digest) for one in self._load()):
                return True
            return self._conversation.runtime.clear(standing.found).digest == limits.digest  # approved for this run
        except ClawftError:
            return False

    def _load(self) -> tuple[Approval, ...]:
        if self._known is None:
            self._known = tuple(one for one in self._conversation.runtime.approvals.load() if one.kind == "skill")
        return self._known


def _find_older(record: SkillRecord, conversation: "Conversation") -> tuple[TextLimits, ...]:
    """Find the limits of a line that an earlier version wrote, once for each."""
    if record not in conversation.older_limits:
        conversation.older_limits[record] = _judge_older(record, conversation)
    return conversation.older_limits[record]


def _judge_older(record: SkillRecord, conversation: "Conversation") -> tuple[TextLimits, ...]:
    """Judge such a line, which does not tell whose the skill was: all are limited but those surely the user's own."""
    if record.scope == "hook":  # whose hosts its digest names
        return (TextLimits(f"the {record.name}", tuple(record.digest.rpartition("\t")[2].split()), None),)
    if record.scope == "bundled" or _is_own(record, conversation):
        return ()
    try:
        known = [one for one in conversation.runtime.approvals.load() if one.kind == "skill"]
    except ClawftError:
        known = []
    who = _name(record.name)
    for approval in known:
        if record.digest and approval.digest == record.digest:
            return (TextLimits(who, approval.power.network, (), approval.path, record.digest),)
    return (TextLimits(who, ()),)


def _is_own(record: SkillRecord, conversation: "Conversation") -> bool:
    """Tell whether the skill that was read is still there with that digest, and the user's own."""
    for standing in conversation.skills.standings:
        if (standing.name, standing.found.location.scope) == (record.name, record.scope):
            try:
                cleared = conversation.runtime.clear(standing.found)
            except ClawftError:
                continue
            if not cleared.stranger and cleared.digest == record.digest:
                return True
    return False


def record_skill(turn: "Turn", activation: Activation, arguments: Arguments) -> None:
    """Record a skill's text, whole, and its limits in the session, before the text reaches the model."""
    turn.session.activate(
        activation.name,
        turn.runtime.secrets.mask(activation.text),
        turn.id,
        scope=activation.standing.found.location.scope,
        digest=activation.digest,
        arguments=_hash_arguments(arguments),
        limits=_limits_of_text(activation),
    )


def add_hook_limits(conversation: "Conversation", hook: str, hosts: tuple[str, ...]) -> None:
    """Limit a conversation whose model reads what somebody else's hook wrote."""
    limits = (TextLimits(f"the hook '{hook}'", hosts, None),)
    about: AboutSkill = {"scope": "hook", "digest": f"hook\t{hook}\t{' '.join(hosts)}", "limits": limits}
    conversation.pending_limits.append((f"hook '{hook}'", about))


def add_limits_above(conversation: "Conversation") -> None:
    """Limit a fork's session by what was read above it, for whoever goes on with that session alone."""
    if limits := conversation.lineage.heard:
        conversation.pending_limits.append(("what was read above", {"scope": "fork", "limits": limits}))


def add_fork_limits(child: "Conversation", parent: "Conversation") -> None:
    """Limit a parent by what its fork read: the result may repeat it."""
    known = set(_collect(parent))
    if new := tuple(one for one in _collect(child) if one not in known):
        parent.pending_limits.append((f"fork '{child.session.key}'", {"scope": "fork", "limits": new}))


def record_pending_limits(turn: "Turn") -> None:
    """Record in the session what limits it from the next message on, before that message is written."""
    conversation = turn.conversation
    pending = [*conversation.pending_limits]
    for one in conversation.skills.prompted:
        if limits := _limits_of_text(one):
            about: AboutSkill = {"scope": "prompt", "digest": one.digest, "limits": limits}
            pending.append((f"skill '{one.name}' in the prompt", about))
    known = {(one.name, one.limits) for one in turn.session.skill_records} if pending else set()
    for name, about in pending:
        if (name, about["limits"]) not in known:
            known.add((name, about["limits"]))
            turn.session.activate(name, "", turn.id, **about)
    conversation.pending_limits.clear()


class SkillTexts:
    """The texts of skills in a conversation, for the tool that loads them."""

    def __init__(self, conversation: "Conversation") -> None:
        self._conversation = conversation

    def find(self, activation: Activation, arguments: Arguments) -> str:
        """Find where a skill's text stands, as it is now and with these arguments; '' if it has to be sent."""
        session, given = self._conversation.session, _hash_arguments(arguments)
        prompted = ((one.name, one.digest) for one in self._conversation.skills.prompted)
        if not given and (activation.name, activation.digest) in prompted:
            return "in the system prompt"
        record = session.activated.get(activation.name)
        if record is None or not record.content:
            return ""
        if (record.digest, record.arguments, record.limits) != (activation.digest, given, _limits_of_text(activation)):
            return ""
        at = next((at for at, one in enumerate(session.messages) if record.content in (one.content or "")), None)
        if at is None:
            return ""
        return "in the summary at the beginning" if at == 0 and session.is_compacted else "above"

    def note(self, activation: Activation, arguments: Arguments) -> None:
        """Record a text that is about to be sent."""
        turn = self._conversation.running
        assert turn is not None  # tools are called by turns
        record_skill(turn, activation, arguments)


def _hash_arguments(arguments: Arguments) -> str:
    """Return what the same arguments are known by again; they may hold what must not be written down."""
    given = "\0".join((arguments.raw, *arguments.words))
    return hash_bytes(given.encode("utf-8", "surrogatepass")) if given else ""
