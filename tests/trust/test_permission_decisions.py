"""Session, agent and skills to one decision: what beats what, and which rule is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.trust.modes import Mode, lower_mode
from clawft.trust.path_patterns import CheckedCall, PatternRoots, ToolTraits
from clawft.trust.patterns import parse_pattern
from clawft.trust.permissions import (
    CallAuthority,
    PermissionRule,
    PermissionRules,
    ToolDecision,
    ToolLimit,
    decide_call,
    find_closed,
    limit_read_text,
    limit_servers,
    make_limit,
)

HERE = PatternRoots("/project", "/project", "/home/me")
READ = CheckedCall("read_file", {"path": "a"}, HERE, ToolTraits(read_only=True))
WRITE = CheckedCall("write_file", {"path": "a"}, HERE)
FETCH = CheckedCall("web_fetch", {"url": "https://docs.example.org/"}, HERE, ToolTraits(read_only=True, fetches=True))
RUN = CheckedCall("exec_shell", {"command": "git push"}, HERE, ToolTraits(judges_itself=True))
SERVER = CheckedCall("github__get", {}, HERE, ToolTraits(server=True))
OBSCURE = CheckedCall("exec_shell", {"command": "git 'x"}, HERE, ToolTraits(judges_itself=True))
CALLS = (
    READ,
    WRITE,
    FETCH,
    RUN,
    SERVER,
    OBSCURE,
    CheckedCall("memory_write", {}, HERE, ToolTraits(lasts=True)),
    CheckedCall("Skill", {"name": "x"}, HERE, ToolTraits(judges_itself=True)),
)


def rules(**texts: str) -> PermissionRules:
    def of(kind: str) -> tuple[PermissionRule, ...]:
        text = texts.get(kind)
        return (PermissionRule(kind, parse_pattern(text), "config"),) if text else ()  # type: ignore[arg-type]

    return PermissionRules(of("deny"), of("ask"), of("allow"))


@pytest.mark.parametrize(
    ("mode", "read", "write", "fetch", "run", "server"),
    [
        (Mode.PLAN, "pass", "deny", "pass", "pass", "deny"),  # a command is judged by the stricter policy
        (Mode.ASK, "pass", "ask", "ask", "pass", "ask"),
        (Mode.AUTO_EDIT, "pass", "pass", "pass", "pass", "pass"),
        (Mode.FULL, "allow", "allow", "allow", "allow", "allow"),
    ],
)
def test_mode_alone(mode: Mode, read: str, write: str, fetch: str, run: str, server: str) -> None:
    authority = CallAuthority(mode)
    found = [decide_call(one, authority).decision for one in (READ, WRITE, FETCH, RUN, SERVER)]
    assert found == [read, write, fetch, run, server]


def test_deny_beats_ask_beats_allow() -> None:
    every = rules(deny="Bash(git push:*)", ask="Bash(git:*)", allow="Bash")
    assert decide_call(RUN, CallAuthority(rules=every)).rule == "rule deny Bash(git push:*) in [permissions]"
    assert decide_call(RUN, CallAuthority(rules=rules(ask="Bash(git:*)", allow="Bash"))) == ToolDecision(
        "ask", "rule ask Bash(git:*) in [permissions]"
    )
    assert decide_call(RUN, CallAuthority(rules=rules(allow="Bash"))).decision == "allow"


def test_allow_rule_answers_what_the_mode_asks_and_lifts_no_plan() -> None:
    allowed = rules(allow="Edit(**)")
    assert decide_call(WRITE, CallAuthority(Mode.ASK, allowed)).decision == "allow"
    assert decide_call(WRITE, CallAuthority(Mode.PLAN, allowed)) == ToolDecision(
        "deny", "mode plan", "A person can choose another: /mode, or --mode"
    )
    assert (
        decide_call(FETCH, CallAuthority(Mode.ASK, rules(allow="WebFetch(domain:docs.example.org)"))).decision
        == "allow"
    )


def test_full_asks_nothing_and_keeps_what_is_denied() -> None:
    assert decide_call(RUN, CallAuthority(Mode.FULL, rules(ask="Bash"))) == ToolDecision("allow", "mode full")
    assert decide_call(RUN, CallAuthority(Mode.FULL, rules(allow="Bash"))).rule == "rule allow Bash in [permissions]"
    assert decide_call(RUN, CallAuthority(Mode.FULL, rules(deny="Bash(git:*)"))).decision == "deny"


def test_skill_is_named_with_what_it_allows() -> None:
    limit = make_limit("the skill 'x'", ["Bash(git log:*)", "Bash(ls)", "Read"])
    assert decide_call(RUN, CallAuthority(limits=(limit,))).rule == (
        "the skill 'x' allows exec_shell only for Bash(git log:*), Bash(ls)"
    )
    assert (
        decide_call(WRITE, CallAuthority(limits=(limit,))).rule == "the skill 'x' does not allow the tool 'write_file'"
    )
    assert decide_call(READ, CallAuthority(limits=(limit,))).decision == "pass"


def test_whoever_is_refused_reads_how_long_that_holds_and_where_the_rule_is() -> None:
    by_skill = decide_call(WRITE, CallAuthority(limits=(make_limit("the skill 'x'", ["Read"]),)))
    assert by_skill.hint == "Do without it; this holds until the person's next message"
    by_agent = decide_call(WRITE, CallAuthority(limits=(make_limit("the agent 'x'", ["Read"]),)))
    assert by_agent.hint == "Do without it"
    denied = parse_pattern("Write")
    sourced = PermissionRules((PermissionRule("deny", denied, "config"),), (), ())
    assert decide_call(WRITE, CallAuthority(rules=sourced)).hint == "See: weft permissions list (config)"
    unsourced = PermissionRules((PermissionRule("deny", denied),), (), ())
    assert decide_call(WRITE, CallAuthority(rules=unsourced)).hint == ""


STRANGER = ToolLimit("the skill 'x'", hosts=("docs.example.org",))
NOWHERE = ToolLimit("the skill 'y'", hosts=())
LASTING = CheckedCall("memory_write", {}, HERE, ToolTraits(lasts=True))
HOST = "the skill 'y' was not approved for the host 'docs.example.org'"
LASTS = "every later conversation would hear it, and the skill 'y' is a stranger's"


@pytest.mark.parametrize("mode", [Mode.AUTO_EDIT, Mode.ASK, Mode.FULL])
def test_what_a_strangers_skill_was_not_approved_for_is_asked_in_every_mode(mode: Mode) -> None:
    for heard, limits in (((NOWHERE,), ()), ((), (NOWHERE,)), ((STRANGER, NOWHERE), ())):
        authority = CallAuthority(mode, limits=limits, read_limits=heard)
        assert decide_call(FETCH, authority) == ToolDecision("ask", HOST)
    assert decide_call(LASTING, CallAuthority(mode, read_limits=(NOWHERE,))) == ToolDecision("ask", LASTS)
    assert decide_call(READ, CallAuthority(mode, read_limits=(NOWHERE,))) == decide_call(READ, CallAuthority(mode))
    assert decide_call(FETCH, CallAuthority(mode, read_limits=(STRANGER,))) == decide_call(FETCH, CallAuthority(mode))
    assert decide_call(FETCH, CallAuthority(mode, read_limits=(ToolLimit("the skill 'own'"),))) == decide_call(
        FETCH, CallAuthority(mode)
    )
    assert decide_call(LASTING, CallAuthority(mode, read_limits=(ToolLimit("the skill 'own'"),))) == decide_call(
        LASTING, CallAuthority(mode)
    )


def test_a_rule_that_allows_answers_for_a_strangers_skill_and_one_that_asks_does_not() -> None:
    heard = (NOWHERE,)
    fetch = "WebFetch(domain:docs.example.org)"
    assert decide_call(FETCH, CallAuthority(rules=rules(allow=fetch), read_limits=heard)).decision == "allow"
    assert decide_call(FETCH, CallAuthority(rules=rules(ask=fetch), read_limits=heard)) == ToolDecision("ask", HOST)
    assert decide_call(FETCH, CallAuthority(rules=rules(deny=fetch), read_limits=heard)).decision == "deny"
    assert decide_call(LASTING, CallAuthority(Mode.PLAN, read_limits=heard)).decision == "deny"


@pytest.mark.parametrize("mode", [Mode.AUTO_EDIT, Mode.ASK, Mode.FULL])
def test_a_tool_of_a_server_that_a_text_read_before_does_not_name_is_asked_in_every_mode(mode: Mode) -> None:
    def judge(tools: tuple[str, ...] | None) -> ToolDecision:
        return decide_call(SERVER, CallAuthority(mode, read_limits=(limit_read_text("the skill 'x'", (), tools),)))

    assert judge(()) == ToolDecision(
        "ask", "the skill 'x' does not name github__get, and its text is in this conversation"
    )
    assert judge(("*", "Read", "github__put")).decision == "ask"
    assert judge(("github__get",)) == judge(("github__*",)) == judge(None) == decide_call(SERVER, CallAuthority(mode))
    heard = (limit_read_text("the skill 'x'", (), ()),)
    assert decide_call(WRITE, CallAuthority(mode, read_limits=heard)) == decide_call(WRITE, CallAuthority(mode))
    assert decide_call(SERVER, CallAuthority(mode, rules(allow="github__get"), read_limits=heard)).decision == "allow"
    assert decide_call(SERVER, CallAuthority(mode, rules(deny="github__get"), read_limits=heard)).decision == "deny"


def test_a_limit_leaves_what_it_does_not_speak_of() -> None:
    assert decide_call(SERVER, CallAuthority(limits=(ToolLimit("the agent 'a'"),))).decision == "pass"
    assert decide_call(WRITE, CallAuthority(limits=(limit_servers("the skill 'x'", ["Read"]),))).decision == "pass"
    assert decide_call(SERVER, CallAuthority(limits=(limit_servers("the skill 'x'", ["Read"]),))).rule == (
        "the skill 'x' does not name github__get: "
        "a stranger's skill gets only those tools of servers and plugins that it names"
    )
    assert (
        decide_call(SERVER, CallAuthority(limits=(limit_servers("the skill 'x'", ["github__get"]),))).decision == "pass"
    )


def test_no_rule_of_the_user_gives_a_skill_more_than_it_asked_for() -> None:
    limit = make_limit("the skill 'x'", ["Read"])
    assert decide_call(WRITE, CallAuthority(Mode.FULL, rules(allow="*"), (limit,))).decision == "deny"


def test_folder_of_a_skill_is_always_open_to_it() -> None:
    reading = CheckedCall("skill_read", {"name": "x", "path": "a"}, HERE, ToolTraits(read_only=True))
    assert decide_call(reading, CallAuthority(limits=(make_limit("the skill 'x'", ["!*"]),))).decision == "pass"
    own = make_limit("the skill 'x'", ["Read"], own=frozenset({"count"}))
    other = make_limit("the skill 'y'", ["Read"])
    count = CheckedCall("count", {}, HERE)
    assert decide_call(count, CallAuthority(limits=(own,))).decision == "pass"
    assert decide_call(count, CallAuthority(limits=(own, other))).decision == "deny"


def test_text_that_cannot_be_read_is_asked_about_where_something_forbids() -> None:
    denies = decide_call(OBSCURE, CallAuthority(rules=rules(deny="Bash(rm:*)")))
    limits = decide_call(OBSCURE, CallAuthority(limits=(make_limit("the skill 'x'", ["Bash(git:*)"]),)))

    assert (denies.decision, limits.decision) == ("ask", "ask")
    assert "Bash(rm:*)" in denies.rule
    assert decide_call(OBSCURE, CallAuthority()).decision == "pass"
    assert decide_call(OBSCURE, CallAuthority(rules=rules(allow="Bash"))).decision == "allow"


@pytest.mark.parametrize("text", ["make", "ls | xargs rm2", "sh x.sh", "git -c alias.x=!y x", ". ./x", "eval $X"])
def test_what_starts_other_programs_is_asked_about_where_something_forbids(text: str) -> None:
    call = CheckedCall("exec_shell", {"command": text}, HERE)

    assert decide_call(call, CallAuthority(rules=rules(deny="Bash(rm:*)"))).decision == "ask"
    assert decide_call(call, CallAuthority(Mode.FULL, rules(ask="Bash(rm:*)"))).decision == "allow"
    assert decide_call(call, CallAuthority()).decision == "pass"


@pytest.mark.parametrize(
    ("allowed", "gets"),
    [
        (None, False),  # no list is not all of them
        (["*"], False),
        (["git*"], False),
        (["mcp__*"], False),
        (["__*"], False),
        (["mcp__github__g*"], False),
        (["mcp__git"], False),
        (["github"], False),  # without the prefix that is a tool, not a server
        (["github__ge"], False),
        (["mcp__github__ge"], False),
        (["git__*"], False),
        (["mcp__github"], True),
        (["mcp__github__*"], True),
        (["github__*"], True),
        (["github__get"], True),
        (["mcp__github__get"], True),
        (["*", "github__get"], True),
    ],
)
def test_strangers_skill_gets_only_the_servers_that_it_names(allowed: list[str] | None, gets: bool) -> None:
    limit = make_limit("the skill 'x'", allowed, untrusted=True)
    assert (decide_call(SERVER, CallAuthority(limits=(limit,))).decision == "pass") is gets
    own = make_limit("the skill 'x'", allowed)
    if allowed is None or allowed == ["*"]:
        assert decide_call(SERVER, CallAuthority(limits=(own,))).decision == "pass"


@pytest.mark.parametrize(
    ("denied", "closed"),
    [
        ("Read(secret/**)", True),
        ("Edit(secret/**)", False),  # it may be read
        ("Bash(cat:*)", False),
        ("WebFetch(domain:secret.org)", False),
        ("Read", False),  # the tool is not there at all
    ],
)
def test_only_a_pattern_of_paths_that_denies_reading_closes_them(denied: str, closed: bool) -> None:
    by_rule = find_closed(CallAuthority(rules=rules(deny=denied)))
    by_skill = find_closed(CallAuthority(limits=(make_limit("the skill 'x'", None, [denied]),)))

    for paths in (by_rule, by_skill):
        assert [one.forbids("/project/secret/a", HERE) for one in paths] == [True] * closed


def test_a_tool_that_is_named_is_no_other_whose_name_goes_on() -> None:
    longer = CheckedCall("github__get__all", {}, HERE, ToolTraits(server=True))
    for named, decision in (("mcp__github__get", "deny"), ("github__get", "deny"), ("mcp__github", "pass")):
        limit = make_limit("the skill 'x'", ["*", named], untrusted=True)
        assert decide_call(longer, CallAuthority(limits=(limit,))).decision == decision


TEXTS = st.sampled_from(
    ["*", "Bash", "Bash(git:*)", "Bash(rm:*)", "Read", "Read(src/**)", "Write", "Edit(**)", "github__*", "!*", "Bash(",
     "WebFetch(domain:docs.example.org)", "Skill", "memory_write"]
)  # fmt: skip
LIMITS = st.builds(
    make_limit, st.just("the skill 'x'"), st.none() | st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=2)
)
RULES = st.fixed_dictionaries({}, optional={"deny": TEXTS, "ask": TEXTS, "allow": TEXTS})
_POWER = ("deny", "ask", "pass", "allow")


@given(st.sampled_from(CALLS), st.sampled_from(list(Mode)), RULES, st.lists(LIMITS, max_size=2), LIMITS)
def test_another_limit_never_gives_power(
    call: CheckedCall, mode: Mode, texts: dict[str, str], limits: list[ToolLimit], more: ToolLimit
) -> None:
    less = decide_call(call, CallAuthority(mode, rules(**texts), (*limits, more)))
    assert less.decision == "deny" or less == decide_call(call, CallAuthority(mode, rules(**texts), tuple(limits)))


@given(st.sampled_from(CALLS), st.sampled_from(list(Mode)), st.sampled_from(list(Mode)), RULES)
def test_lower_mode_never_gives_power(call: CheckedCall, one: Mode, other: Mode, texts: dict[str, str]) -> None:
    low = lower_mode(one, other)
    high = other if low is one else one
    given = [decide_call(call, CallAuthority(mode, rules(**texts))).decision for mode in (low, high)]
    # An `ask` rule speaks in every mode but `full`, so a rule that allows may answer for a lower one.
    assert _POWER.index(given[0]) <= _POWER.index(given[1]) or texts.get("allow")


@given(st.sampled_from(CALLS), st.sampled_from(list(Mode)), RULES, TEXTS)
def test_what_is_denied_is_denied_in_every_mode(
    call: CheckedCall, mode: Mode, texts: dict[str, str], denied: str
) -> None:
    if parse_pattern(denied).touches(call):
        assert decide_call(call, CallAuthority(mode, rules(**(texts | {"deny": denied})))).decision == "deny"
