"""Session, agent and skills to one decision: what beats what, and which rule is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.trust.call import Call, Where
from clawft.trust.decide import (
    Authority,
    Decision,
    Limit,
    decide,
    find_closed,
    limit_read_text,
    limit_servers,
    make_limit,
)
from clawft.trust.modes import Mode, lower_mode
from clawft.trust.patterns import parse_pattern
from clawft.trust.rules import Rule, Rules

HERE = Where("/project", "/project", "/home/me")
READ = Call("read_file", {"path": "a"}, HERE, read_only=True)
WRITE = Call("write_file", {"path": "a"}, HERE)
FETCH = Call("web_fetch", {"url": "https://docs.example.org/"}, HERE, read_only=True)
RUN = Call("exec_shell", {"command": "git push"}, HERE)
SERVER = Call("github__get", {}, HERE, server=True)
OBSCURE = Call("exec_shell", {"command": "git $(x)"}, HERE)
CALLS = (READ, WRITE, FETCH, RUN, SERVER, OBSCURE, Call("memory_write", {}, HERE), Call("Skill", {"name": "x"}, HERE))


def rules(**texts: str) -> Rules:
    def of(kind: str) -> tuple[Rule, ...]:
        text = texts.get(kind)
        return (Rule(kind, parse_pattern(text), "config"),) if text else ()  # type: ignore[arg-type]

    return Rules(of("deny"), of("ask"), of("allow"))


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
    authority = Authority(mode)
    found = [decide(one, authority).decision for one in (READ, WRITE, FETCH, RUN, SERVER)]
    assert found == [read, write, fetch, run, server]


def test_deny_beats_ask_beats_allow() -> None:
    every = rules(deny="Bash(git push:*)", ask="Bash(git:*)", allow="Bash")
    assert decide(RUN, Authority(rules=every)).rule == "rule deny Bash(git push:*) in [permissions]"
    assert decide(RUN, Authority(rules=rules(ask="Bash(git:*)", allow="Bash"))) == Decision(
        "ask", "rule ask Bash(git:*) in [permissions]"
    )
    assert decide(RUN, Authority(rules=rules(allow="Bash"))).decision == "allow"


def test_allow_rule_answers_what_the_mode_asks_and_lifts_no_plan() -> None:
    allowed = rules(allow="Edit(**)")
    assert decide(WRITE, Authority(Mode.ASK, allowed)).decision == "allow"
    assert decide(WRITE, Authority(Mode.PLAN, allowed)) == Decision(
        "deny", "mode plan", "A person can choose another: /mode, or --mode"
    )
    assert decide(FETCH, Authority(Mode.ASK, rules(allow="WebFetch(domain:docs.example.org)"))).decision == "allow"


def test_full_asks_nothing_and_keeps_what_is_denied() -> None:
    assert decide(RUN, Authority(Mode.FULL, rules(ask="Bash"))) == Decision("allow", "mode full")
    assert decide(RUN, Authority(Mode.FULL, rules(allow="Bash"))).rule == "rule allow Bash in [permissions]"
    assert decide(RUN, Authority(Mode.FULL, rules(deny="Bash(git:*)"))).decision == "deny"


def test_skill_is_named_with_what_it_allows() -> None:
    limit = make_limit("the skill 'x'", ["Bash(git log:*)", "Bash(ls)", "Read"])
    assert decide(RUN, Authority(limits=(limit,))).rule == (
        "the skill 'x' allows exec_shell only for Bash(git log:*), Bash(ls)"
    )
    assert decide(WRITE, Authority(limits=(limit,))).rule == "the skill 'x' does not allow the tool 'write_file'"
    assert decide(READ, Authority(limits=(limit,))).decision == "pass"


def test_whoever_is_refused_reads_how_long_that_holds_and_where_the_rule_is() -> None:
    by_skill = decide(WRITE, Authority(limits=(make_limit("the skill 'x'", ["Read"]),)))
    assert by_skill.hint == "Do without it; this holds until the person's next message"
    by_agent = decide(WRITE, Authority(limits=(make_limit("the agent 'x'", ["Read"]),)))
    assert by_agent.hint == "Do without it"
    denied = parse_pattern("Write")
    sourced = Rules((Rule("deny", denied, "config"),), (), ())
    assert decide(WRITE, Authority(rules=sourced)).hint == "See: weft permissions list (config)"
    assert decide(WRITE, Authority(rules=Rules((Rule("deny", denied, ""),), (), ()))).hint == ""


STRANGER = Limit("the skill 'x'", hosts=("docs.example.org",))
NOWHERE = Limit("the skill 'y'", hosts=())
LASTING = Call("memory_write", {}, HERE)
HOST = "the skill 'y' was not approved for the host 'docs.example.org'"
LASTS = "every later conversation would hear it, and the skill 'y' is a stranger's"


@pytest.mark.parametrize("mode", [Mode.AUTO_EDIT, Mode.ASK, Mode.FULL])
def test_what_a_strangers_skill_was_not_approved_for_is_asked_in_every_mode(mode: Mode) -> None:
    for heard, limits in (((NOWHERE,), ()), ((), (NOWHERE,)), ((STRANGER, NOWHERE), ())):
        authority = Authority(mode, limits=limits, heard=heard)
        assert decide(FETCH, authority) == Decision("ask", HOST)
    assert decide(LASTING, Authority(mode, heard=(NOWHERE,))) == Decision("ask", LASTS)
    assert decide(READ, Authority(mode, heard=(NOWHERE,))) == decide(READ, Authority(mode))
    assert decide(FETCH, Authority(mode, heard=(STRANGER,))) == decide(FETCH, Authority(mode))
    assert decide(FETCH, Authority(mode, heard=(Limit("the skill 'own'"),))) == decide(FETCH, Authority(mode))
    assert decide(LASTING, Authority(mode, heard=(Limit("the skill 'own'"),))) == decide(LASTING, Authority(mode))


def test_a_rule_that_allows_answers_for_a_strangers_skill_and_one_that_asks_does_not() -> None:
    heard = (NOWHERE,)
    fetch = "WebFetch(domain:docs.example.org)"
    assert decide(FETCH, Authority(rules=rules(allow=fetch), heard=heard)).decision == "allow"
    assert decide(FETCH, Authority(rules=rules(ask=fetch), heard=heard)) == Decision("ask", HOST)
    assert decide(FETCH, Authority(rules=rules(deny=fetch), heard=heard)).decision == "deny"
    assert decide(LASTING, Authority(Mode.PLAN, heard=heard)).decision == "deny"


@pytest.mark.parametrize("mode", [Mode.AUTO_EDIT, Mode.ASK, Mode.FULL])
def test_a_tool_of_a_server_that_a_text_read_before_does_not_name_is_asked_in_every_mode(mode: Mode) -> None:
    def judge(tools: tuple[str, ...] | None) -> Decision:
        return decide(SERVER, Authority(mode, heard=(limit_read_text("the skill 'x'", (), tools),)))

    assert judge(()) == Decision("ask", "the skill 'x' does not name github__get, and its text is in this conversation")
    assert judge(("*", "Read", "github__put")).decision == "ask"
    assert judge(("github__get",)) == judge(("github__*",)) == judge(None) == decide(SERVER, Authority(mode))
    heard = (limit_read_text("the skill 'x'", (), ()),)
    assert decide(WRITE, Authority(mode, heard=heard)) == decide(WRITE, Authority(mode))
    assert decide(SERVER, Authority(mode, rules(allow="github__get"), heard=heard)).decision == "allow"
    assert decide(SERVER, Authority(mode, rules(deny="github__get"), heard=heard)).decision == "deny"


def test_a_limit_leaves_what_it_does_not_speak_of() -> None:
    assert decide(SERVER, Authority(limits=(Limit("the agent 'a'"),))).decision == "pass"
    assert decide(WRITE, Authority(limits=(limit_servers("the skill 'x'", ["Read"]),))).decision == "pass"
    assert decide(SERVER, Authority(limits=(limit_servers("the skill 'x'", ["Read"]),))).rule == (
        "the skill 'x' does not name github__get: "
        "a stranger's skill gets only those tools of servers and plugins that it names"
    )
    assert decide(SERVER, Authority(limits=(limit_servers("the skill 'x'", ["github__get"]),))).decision == "pass"


def test_no_rule_of_the_user_gives_a_skill_more_than_it_asked_for() -> None:
    limit = make_limit("the skill 'x'", ["Read"])
    assert decide(WRITE, Authority(Mode.FULL, rules(allow="*"), (limit,))).decision == "deny"


def test_folder_of_a_skill_is_always_open_to_it() -> None:
    reading = Call("skill_read", {"name": "x", "path": "a"}, HERE, read_only=True)
    assert decide(reading, Authority(limits=(make_limit("the skill 'x'", ["!*"]),))).decision == "pass"
    own = make_limit("the skill 'x'", ["Read"], own=frozenset({"count"}))
    other = make_limit("the skill 'y'", ["Read"])
    count = Call("count", {}, HERE)
    assert decide(count, Authority(limits=(own,))).decision == "pass"
    assert decide(count, Authority(limits=(own, other))).decision == "deny"


def test_line_that_is_not_understood_is_left_to_the_command_policy() -> None:
    assert decide(OBSCURE, Authority(rules=rules(deny="Bash(rm:*)"))).decision == "pass"
    assert decide(OBSCURE, Authority(rules=rules(allow="Bash"))).decision == "pass"
    assert decide(OBSCURE, Authority(limits=(make_limit("the skill 'x'", ["Bash(git:*)"]),))).decision == "deny"


@pytest.mark.parametrize(
    ("allowed", "gets"),
    [
        (None, False),  # R118: no list is not all of them
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
    limit = make_limit("the skill 'x'", allowed, stranger=True)
    assert (decide(SERVER, Authority(limits=(limit,))).decision == "pass") is gets
    own = make_limit("the skill 'x'", allowed)
    if allowed is None or allowed == ["*"]:
        assert decide(SERVER, Authority(limits=(own,))).decision == "pass"


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
    by_rule = find_closed(Authority(rules=rules(deny=denied)))
    by_skill = find_closed(Authority(limits=(make_limit("the skill 'x'", None, [denied]),)))

    for paths in (by_rule, by_skill):
        assert [one.forbids("/project/secret/a", HERE) for one in paths] == [True] * closed


def test_a_tool_that_is_named_is_no_other_whose_name_goes_on() -> None:
    longer = Call("github__get__all", {}, HERE, server=True)
    for named, decision in (("mcp__github__get", "deny"), ("github__get", "deny"), ("mcp__github", "pass")):
        limit = make_limit("the skill 'x'", ["*", named], stranger=True)
        assert decide(longer, Authority(limits=(limit,))).decision == decision


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
    call: Call, mode: Mode, texts: dict[str, str], limits: list[Limit], more: Limit
) -> None:
    less = decide(call, Authority(mode, rules(**texts), (*limits, more)))
    assert less.decision == "deny" or less == decide(call, Authority(mode, rules(**texts), tuple(limits)))


@given(st.sampled_from(CALLS), st.sampled_from(list(Mode)), st.sampled_from(list(Mode)), RULES)
def test_lower_mode_never_gives_power(call: Call, one: Mode, other: Mode, texts: dict[str, str]) -> None:
    low = lower_mode(one, other)
    high = other if low is one else one
    given = [decide(call, Authority(mode, rules(**texts))).decision for mode in (low, high)]
    # An `ask` rule speaks in every mode but `full`, so a rule that allows may answer for a lower one.
    assert _POWER.index(given[0]) <= _POWER.index(given[1]) or texts.get("allow")


@given(st.sampled_from(CALLS), st.sampled_from(list(Mode)), RULES, TEXTS)
def test_what_is_denied_is_denied_in_every_mode(call: Call, mode: Mode, texts: dict[str, str], denied: str) -> None:
    if parse_pattern(denied).touches(call) and not call.is_obscure:
        assert decide(call, Authority(mode, rules(**(texts | {"deny": denied})))).decision == "deny"
