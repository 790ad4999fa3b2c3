"""The limits of texts that are not the user's own, kept in the session with each text that the model read.

A skill's list of tools holds until the person's next message. The limits here hold as long as the text is in the
conversation: other hosts than those it was approved with, tools of servers that it does not name, and writing to memory
are asked about. They come from the session record; from the skill only whether it is still approved as it was.
"""

from collections.abc import Sequence

from msgspec import structs

from clawft.agent.runtime import Conversation, Turn, mask_struct
from clawft.agent.sessions import SkillRecord, TextLimits
from clawft.agent.sessions.session import AboutSkill
from clawft.agent.tools.skillset import Activation
from clawft.errors import ClawftError
from clawft.messages import Message
from clawft.skills.render.template import PromptArguments
from clawft.trust.approvals import Approval, hash_bytes
from clawft.trust.permissions import ActiveSkill, UsableSkill

_UNUSABLE = ("broken", "blocked", "untrusted", "disabled")


def list_text_limits(conversation: Conversation) -> list[TextLimits]:
    """List the limits that bind a conversation now. A skill that is not approved any more is granted nothing."""
    approvals = _Approvals(conversation)
    return [
        limits if approvals.hold(limits) else structs.replace(limits, hosts=(), tools=())
        for limits in _collect(conversation)
    ]


def is_bound(conversation: Conversation, folder: str, usable: UsableSkill) -> bool:
    """Tell whether a conversation has the limits of a skill as it is now; the user's own has none."""
    bound = ((limits.folder, limits.digest) for limits in _collect(conversation))
    return not usable.is_untrusted or (folder, usable.digest) in bound


def restrict_hosts(active: Sequence[ActiveSkill], conversation: Conversation) -> tuple[ActiveSkill, ...]:
    """Take the hosts from active skills that are not approved any more."""
    if not any(skill.is_untrusted and skill.hosts for skill in active):
        return tuple(active)
    left = {(limit.who, limit.digest): limit.hosts for limit in list_text_limits(conversation)}
    return tuple(
        structs.replace(skill, hosts=left.get((_name(skill.name), skill.digest), ())) if skill.is_untrusted else skill
        for skill in active
    )


def list_prompted(conversation: Conversation) -> tuple[ActiveSkill, ...]:
    """List the skills in the system prompt that are not the user's own, here or above."""
    own = (
        activation.usable.at_work("") for activation in conversation.skills.prompted if activation.usable.is_untrusted
    )
    return (*conversation.lineage.prompted, *own)


def _collect(conversation: Conversation) -> list[TextLimits]:
    """Collect the limits as they were when each text was read, each once."""
    limits = [*conversation.lineage.read_texts]
    for record in conversation.session.skill_records:
        limits += _find_older(record, conversation) if record.limits is None else record.limits
    for _, about in conversation.pending_limits:
        limits += about["limits"] or ()
    for activation in conversation.skills.prompted:
        limits += _limits_of_text(activation)
    return list(dict.fromkeys(limits))


def _limits_of_text(activation: Activation) -> tuple[TextLimits, ...]:
    if not activation.usable.is_untrusted:
        return ()
    at_work, folder = activation.at_work, activation.skill_status.found.folder
    return (TextLimits(_name(activation.name), at_work.hosts, at_work.allowed_tools, folder, activation.digest),)


def _name(skill: str) -> str:
    return f"the skill '{skill}'"


class _Approvals:
    """The approvals that limits depend on, read once, and only if one does."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._known: tuple[Approval, ...] | None = None

    def hold(self, limits: TextLimits) -> bool:
        """Return whether a text keeps what it was granted."""
        return not limits.folder or not (limits.hosts or limits.tools) or self._hold(limits)

    def _hold(self, limits: TextLimits) -> bool:
        """Return whether the skill is there, usable, and approved with the digest that it had."""
        statuses = self._conversation.skills.statuses
        status = next((status for status in statuses if status.found.folder == limits.folder), None)
        if status is None or status.state in _UNUSABLE:
            return False
        try:
            if any((approval.path, approval.digest) == (limits.folder, limits.digest) for approval in self._load()):
                return True
            return (
                self._conversation.runtime.skills.load_usable(status.found).digest == limits.digest
            )  # approved for this run
        except ClawftError:
            return False

    def _load(self) -> tuple[Approval, ...]:
        if self._known is None:
            self._known = tuple(
                approval for approval in self._conversation.runtime.approvals.load() if approval.kind == "skill"
            )
        return self._known


def _find_older(record: SkillRecord, conversation: Conversation) -> tuple[TextLimits, ...]:
    """Find the limits of a line that an earlier version wrote, once for each."""
    if record not in conversation.older_limits:
        conversation.older_limits[record] = _judge_older(record, conversation)
    return conversation.older_limits[record]


def _judge_older(record: SkillRecord, conversation: Conversation) -> tuple[TextLimits, ...]:
    """Judge such a line, which does not tell whose the skill was: all are limited but those surely the user's own."""
    if record.scope == "hook":  # whose hosts its digest names
        return (TextLimits(f"the {record.name}", tuple(record.digest.rpartition("\t")[2].split()), None),)
    if record.scope == "bundled" or _is_own(record, conversation):
        return ()
    try:
        known = [entry for entry in conversation.runtime.approvals.load() if entry.kind == "skill"]
    except ClawftError:
        known = []
    who = _name(record.name)
    for approval in known:
        if record.digest and approval.digest == record.digest:
            return (TextLimits(who, approval.power.network, (), approval.path, record.digest),)
    return (TextLimits(who, ()),)


def _is_own(record: SkillRecord, conversation: Conversation) -> bool:
    """Tell whether the skill that was read is still there with that digest, and the user's own."""
    for status in conversation.skills.statuses:
        if (status.name, status.found.location.scope) == (record.name, record.scope):
            try:
                usable = conversation.runtime.skills.load_usable(status.found)
            except ClawftError:
                continue
            if not usable.is_untrusted and usable.digest == record.digest:
                return True
    return False


def record_skill(turn: Turn, activation: Activation, arguments: PromptArguments) -> None:
    """Record a skill's text, whole, and its limits in the session, before the text reaches the model."""
    turn.session.activate(
        activation.name,
        turn.runtime.secrets.mask(activation.text),
        turn.id,
        scope=activation.skill_status.found.location.scope,
        digest=activation.digest,
        arguments=_hash_arguments(arguments),
        limits=_limits_of_text(activation),
    )


def add_hook_limits(conversation: Conversation, hook: str, hosts: tuple[str, ...]) -> None:
    """Limit a conversation whose model reads text of a hook that is not the user's own."""
    limits = (TextLimits(f"the hook '{hook}'", hosts, None),)
    about: AboutSkill = {"scope": "hook", "digest": f"hook\t{hook}\t{' '.join(hosts)}", "limits": limits}
    conversation.pending_limits.append((f"hook '{hook}'", about))


def add_limits_above(conversation: Conversation) -> None:
    """Limit a fork's session by the texts read above it, for when that session is continued alone."""
    if limits := conversation.lineage.read_texts:
        conversation.pending_limits.append(("what was read above", {"scope": "fork", "limits": limits}))


def add_fork_limits(child: Conversation, parent: Conversation) -> None:
    """Limit a parent by what its fork read: the result may repeat it."""
    known = set(_collect(parent))
    if new := tuple(limits for limits in _collect(child) if limits not in known):
        parent.pending_limits.append((f"fork '{child.session.key}'", {"scope": "fork", "limits": new}))


def append_message(turn: Turn, message: Message) -> None:
    """Make a message part of the conversation, on disk too; first what limits it since."""
    _record_pending_limits(turn)
    turn.session.append(mask_struct(turn.runtime.secrets, message), turn.id)
    turn.began, turn.partial = True, ""


def _record_pending_limits(turn: Turn) -> None:
    """Record in the session what limits it from the next message on, before that message is written."""
    conversation = turn.conversation
    pending = [*conversation.pending_limits]
    for activation in conversation.skills.prompted:
        if limits := _limits_of_text(activation):
            about: AboutSkill = {"scope": "prompt", "digest": activation.digest, "limits": limits}
            pending.append((f"skill '{activation.name}' in the prompt", about))
    known = (
        {(skill_record.name, skill_record.limits) for skill_record in turn.session.skill_records} if pending else set()
    )
    for name, about in pending:
        if (name, about["limits"]) not in known:
            known.add((name, about["limits"]))
            turn.session.activate(name, "", turn.id, **about)
    conversation.pending_limits.clear()


def find_text(conversation: Conversation, activation: Activation, arguments: PromptArguments) -> str:
    """Find where a skill's text stands, as it is now and with these arguments; '' if it has to be sent."""
    session, arguments_hash = conversation.session, _hash_arguments(arguments)
    prompted = ((skill.name, skill.digest) for skill in conversation.skills.prompted)
    if not arguments_hash and (activation.name, activation.digest) in prompted:
        return "in the system prompt"
    record = session.activated.get(activation.name)
    if record is None or not record.content:
        return ""
    recorded = (record.digest, record.arguments, record.limits)
    if recorded != (activation.digest, arguments_hash, _limits_of_text(activation)):
        return ""
    at = next((at for at, message in enumerate(session.messages) if record.content in (message.content or "")), None)
    if at is None:
        return ""
    return "in the summary at the beginning" if at == 0 and session.is_compacted else "above"


def _hash_arguments(arguments: PromptArguments) -> str:
    """Return what the same arguments are known by again; they may hold what must not be written down."""
    joined = "\0".join((arguments.raw, *arguments.words))
    return hash_bytes(joined.encode("utf-8", "surrogatepass")) if joined else ""
