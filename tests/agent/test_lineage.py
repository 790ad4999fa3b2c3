"""What a fork inherits, as a value: the same limits as in memory, and never more than those above have."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct, structs

from clawft.agent.conversation import lineage_of, make_conversation, open_conversation
from clawft.agent.lineage import Lineage, get_agent_permissions
from clawft.agent.prompt import choose_tools
from clawft.agent.runtime import Conversation, Runtime
from clawft.agent.sessions import TextLimits
from clawft.agent.tool_permission import authority_of, list_active, name_question
from clawft.agent.tools.skillset import Activation
from clawft.errors import Refused
from clawft.messages import ApprovalNeeded
from clawft.scanner.findings import Power
from clawft.skills.parse.model import Agent, Skill
from clawft.trust.approvals import make_approval
from clawft.trust.modes import Mode
from clawft.trust.path_patterns import CheckedCall, PatternRoots, ToolTraits
from clawft.trust.permissions import ToolDecision, UsableSkill, decide_call
from world import World

pytestmark = pytest.mark.anyio

NAMES = ("alpha", "beta", "gamma")
PATTERNS = (
    "*",
    "Read",
    "Read(src/**)",
    "Read(${CLAUDE_SKILL_DIR}/**)",
    "Read(~/notes/*.md)",
    "Write(${CLAUDE_PROJECT_DIR}/docs/**)",
    "Edit(*.md)",
    "Bash",
    "Bash(git:*)",
    "Bash(${CLAUDE_SKILL_DIR}/run.sh:*)",
    "Bash(ls *), Bash(cat *)",
    "Bash(",
    "WebFetch",
    "WebFetch(domain:*.example.org)",
    "mcp__hub",
    "hub__get",
    "Skill(alpha)",
    "delegate",
    "memory_write",
)
HOSTS = ("docs.example.org", "api.example.com:8443", "*.example.net")
USES: dict[str, list[dict[str, Any]]] = {
    "read_file": [{"path": one} for one in ("src/a.py", "README.md", "SKILLS/beta/SKILL.md", "/etc/passwd", "")],
    "write_file": [{"path": one} for one in ("docs/a.md", "src/a.py", "../out")],
    "exec_shell": [
        {"command": one}
        for one in ("git status", "git log; rm -r x", "ls src | cat", "SKILLS/alpha/run.sh x", "sh -c 'git x'", "$(x)")
    ],
    "web_fetch": [{"url": f"https://{one}/"} for one in ("docs.example.org", "api.example.com:8443", "a.example.net")],
    "Skill": [{"name": "alpha"}, {"name": "gamma"}],
    "delegate": [{"task": "x"}],
    "memory_write": [{"key": "k", "content": "v"}],
    "skill_read": [{"name": "alpha", "path": "x"}],
    "hub__get": [{}],
    "hub__put": [{"x": 1}],
}
RANK = {"allow": 0, "pass": 1, "ask": 2, "deny": 3}

some_patterns = st.lists(st.sampled_from(PATTERNS), max_size=3).map(tuple)
some_hosts = st.lists(st.sampled_from(HOSTS), max_size=2, unique=True).map(tuple)
agents = st.builds(
    Agent,
    name=st.sampled_from(("one", "two")),
    tools=st.none() | some_patterns,
    disallowed_tools=some_patterns,
    permission_mode=st.sampled_from(("", "default", "plan", "acceptEdits", "bypassPermissions")),
)
usable = st.builds(
    UsableSkill,
    skill=st.builds(Skill, name=st.sampled_from(NAMES), allowed_tools=some_patterns, disallowed_tools=some_patterns),
    digest=st.just("sha256:0"),
    is_untrusted=st.booleans(),
    granted=st.none() | some_hosts.map(lambda hosts: Power(network=hosts)),
)


class Talk(Struct, frozen=True):
    """What a conversation has come to when it forks."""

    agent: Agent
    mode: Mode
    active: list[UsableSkill]
    prompted: list[UsableSkill]
    heard: dict[str, tuple[str, ...]]


talks = st.builds(
    Talk,
    agents,
    st.sampled_from(Mode),
    st.lists(usable, max_size=2),
    st.lists(usable, max_size=1),
    st.dictionaries(st.sampled_from(("the skill 'x'", "the skill 'y'")), some_hosts, max_size=1),
)


def grow(conversation: Conversation, talk: Talk, *, chosen: bool = False) -> Conversation:
    """A conversation as far as a talk has come; a person may have `chosen` its mode."""
    conversation.mode = talk.mode if chosen else conversation.mode
    folders = {one.name: one for one in conversation.skills.statuses}
    conversation.skills.active = [Activation(folders[one.skill.name], one, "text") for one in talk.active]
    conversation.skills.prompted = [Activation(folders[one.skill.name], one, "") for one in talk.prompted]
    limits = [TextLimits(who, hosts) for who, hosts in talk.heard.items()]
    for one in conversation.skills.active:
        who, place = f"the skill '{one.name}'", one.skill_status.found.folder
        limits.append(TextLimits(who, one.at_work.hosts, one.at_work.allowed_tools, place, one.digest))
    conversation.pending_limits.append(("read", {"limits": tuple(limits)}))
    return conversation


def carry(lineage: Lineage) -> Lineage:
    """A lineage as another process reads it."""
    carried = msgspec.json.decode(msgspec.json.encode(lineage), type=Lineage)
    assert carried == lineage
    return carried


def calls(runtime: Runtime) -> list[CheckedCall]:
    where = PatternRoots(runtime.workspace.project, runtime.workspace.project, runtime.workspace.home)
    skills = f"{runtime.workspace.user_dir}/skills"
    found = []
    for tool, uses in USES.items():
        for use, read_only in product(uses, (False, True)):
            meant = {name: str(value).replace("SKILLS", skills) for name, value in use.items()}
            judges = tool in ("exec_shell", "delegate", "Skill", "message")
            traits = ToolTraits(
                tool.startswith("hub__"), read_only, judges, tool == "web_fetch", tool == "memory_write"
            )
            found.append(CheckedCall(tool, meant, where, traits))
    return found


def judge(conversation: Conversation, every: list[CheckedCall]) -> list[ToolDecision]:
    authority = authority_of(conversation)
    return [decide_call(call, authority) for call in every]


@contextmanager
def in_one_session(runtime: Runtime) -> Iterator[Any]:
    with runtime.sessions.open("test", cwd=runtime.workspace.cwd) as session:
        yield lambda agent, **above: make_conversation(runtime, session, agent, **above)


def prepare(world: World) -> None:
    for name in NAMES:
        world.add_skill(name)
    world.config = (
        "[permissions]\n"
        'allow = ["Bash(git status)", "Write(docs/**)", "WebFetch(domain:docs.example.org)"]\n'
        'deny = ["Read(README.md)", "hub__put"]\nask = ["memory_write"]\n'
    )


async def test_a_lineage_decides_as_a_parent_in_memory_does_and_never_more_than_it(world: World) -> None:
    prepare(world)
    async with world.open() as runtime:
        every = calls(runtime)
        folders = [f"{world.user_dir}/skills/{name}" for name in NAMES]
        runtime.approvals.record(make_approval("skill", folder, "sha256:0") for folder in folders)
        with in_one_session(runtime) as talk_with:

            @settings(max_examples=60)
            @given(first=talks, second=talks, third=talks)
            def check(first: Talk, second: Talk, third: Talk) -> None:
                top = grow(talk_with(first.agent), first, chosen=True)
                beside = grow(talk_with(second.agent, parent=top), second)
                apart = grow(talk_with(second.agent, lineage=carry(lineage_of(top))), second)
                assert carry(lineage_of(beside)) == lineage_of(apart)
                below = grow(talk_with(third.agent, parent=beside), third)
                far = grow(talk_with(third.agent, lineage=carry(lineage_of(apart))), third)
                decided = judge(far, every)
                assert decided == judge(below, every)
                assert list_active(far) == list_active(below), "whose hosts programs get, and whose names the audit log"
                assert choose_tools(far).names == choose_tools(below).names
                chain = [[RANK[one.decision] for one in judge(one, every)] for one in (top, apart, far)]
                assert all(a <= b <= c for a, b, c in zip(*chain, strict=True))

            check()


async def test_the_calls_of_the_test_are_decided_in_every_way(world: World) -> None:
    prepare(world)
    async with world.open() as runtime:
        with in_one_session(runtime) as talk_with:
            free = judge(talk_with(Agent(name="one")), calls(runtime))
            bound = judge(talk_with(Agent(name="one", tools=("Read(src/**)",))), calls(runtime))
    assert {one.decision for one in free} == {"allow", "pass", "ask", "deny"}
    assert {one.decision for one in bound} == {"allow", "pass", "deny"} - {"allow"}


async def test_an_agent_above_counts_as_its_file_was(world: World) -> None:
    agent = Agent(name="reader", tools=("Read(src/**)",), disallowed_tools=("Bash",), permission_mode="plan")
    async with world.open() as runtime:
        with in_one_session(runtime) as talk_with:
            lineage = carry(lineage_of(talk_with(agent)))
            child = talk_with(structs.replace(agent, tools=None, disallowed_tools=()), lineage=lineage)
            rules = {one.decision: one.rule for one in judge(child, calls(runtime))}
    assert (lineage.mode, lineage.above) == (Mode.PLAN, (get_agent_permissions(agent),))
    assert "the agent 'reader'" in rules["deny"]


async def test_answers_for_the_session_come_along_without_their_words(world: World) -> None:
    asked = ApprovalNeeded(call="c", tool="exec_shell", question="Run: deploy --token hunter2", reason="")
    async with world.open() as runtime:
        with in_one_session(runtime) as talk_with:
            top = talk_with(Agent(name="one"))
            top.approved.add(name_question(asked))
            text = msgspec.json.encode(lineage_of(top))
            child = talk_with(Agent(name="one"), lineage=msgspec.json.decode(text, type=Lineage))
    assert child.approved == {name_question(asked)}
    assert b"hunter2" not in text


@pytest.mark.parametrize("lost", [one.encode_name for one in structs.fields(Lineage) if one.required])
async def test_a_lineage_that_lost_a_limit_is_none(world: World, lost: str) -> None:
    async with world.open() as runtime:
        with in_one_session(runtime) as talk_with:
            written = msgspec.to_builtins(lineage_of(talk_with(Agent(name="one"))))
    for changed in ({key: value for key, value in written.items() if key != lost}, written | {"more": 1}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(changed, Lineage)


async def test_a_lineage_of_another_project_is_refused(world: World) -> None:
    agent = Agent(name="one")
    async with world.open() as runtime:
        with in_one_session(runtime) as talk_with:
            lineage = structs.replace(lineage_of(talk_with(agent)), project="/elsewhere")
        with pytest.raises(Refused) as raised:
            async with open_conversation(runtime, agent, lineage=lineage):
                pass
    assert (raised.value.code, "/elsewhere" in str(raised.value)) == ("fork-changed", True)
