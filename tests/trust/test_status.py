"""The state of a skill and why: every state, every reason, the first that fits."""

from pathlib import Path

import pytest

from clawft.config import EnvValue, SecretRef, SkillEntry, SkillsSettings
from clawft.errors import Diagnostic
from clawft.scanner.screening import Objection, Screening
from clawft.skills.discovery import Catalog, DiscoveredSkill, LocalMachine, Location
from clawft.skills.discovery.agents import BUILTIN_AGENTS, DiscoveredAgent
from clawft.skills.parse.model import Agent, Skill, SkillRequirements
from clawft.trust.overrides import ScreenedSkills
from clawft.trust.status import HOOK_STATES, STATES, SkillStatus, is_copy, judge_agents, judge_skills
from clawft.trust.tools import known_tool_names

HOST = LocalMachine("linux", {"PATH": ""}, {}, known_tool_names())
NEEDY = SkillRequirements(bins=("no-such-program",))


def _found(skill: Skill, scope: str = "project", layer: str = "skills") -> DiscoveredSkill:
    folder = f"/{scope}/{layer}/{skill.name}"
    return DiscoveredSkill(Location(scope, layer, f"/{scope}/{layer}"), folder, f"{folder}/SKILL.md", skill)


def _broken(name: str, scope: str = "project") -> DiscoveredSkill:
    folder = f"/{scope}/skills/{name}"
    problem = Diagnostic("frontmatter-unterminated", "error", "It never ends", f"{folder}/SKILL.md", 1)
    return DiscoveredSkill(Location(scope, "skills", f"/{scope}/skills"), folder, f"{folder}/SKILL.md", problem=problem)


def _judge(
    *found: DiscoveredSkill, settings: SkillsSettings | None = None, host: LocalMachine = HOST
) -> tuple[SkillStatus, ...]:
    return judge_skills(Catalog(found), settings or SkillsSettings(), host)


def _codes(standing: SkillStatus) -> list[str]:
    return [one.code for one in standing.reasons]


def test_every_state_has_a_meaning() -> None:
    assert {"broken", "shadowed", "disabled", "ineligible", "manual", "ready"} <= set(STATES)
    assert all(STATES.values())


def test_a_hook_has_the_states_of_a_skill_but_for_what_only_a_person_starts() -> None:
    assert HOOK_STATES.keys() == STATES.keys() - {"manual"}
    assert all(HOOK_STATES.values())


def test_skill_that_nothing_speaks_against_is_ready_without_reasons() -> None:
    (standing,) = _judge(_found(Skill(name="a", description="d")))

    assert (standing.name, standing.state, standing.reasons) == ("a", "ready", ())
    assert standing.offered
    assert standing.user_may_invoke


def test_skill_that_cannot_be_read_is_broken_with_the_problem_as_reason() -> None:
    (standing,) = _judge(_broken("a"))

    assert standing.state == "broken"
    assert _codes(standing) == ["frontmatter-unterminated"]
    assert not standing.offered
    assert not standing.user_may_invoke


@pytest.mark.parametrize(
    ("settings", "scope", "words"),
    [
        (SkillsSettings(enabled=False), "project", "skills.enabled = false"),
        (SkillsSettings(entries={"a": SkillEntry(enabled=False)}), "user", "skills.entries.a.enabled = false"),
        (SkillsSettings(allow_bundled=("other",)), "bundled", "skills.allow_bundled"),
        (SkillsSettings(allow_bundled=()), "bundled", "skills.allow_bundled"),
    ],
)
def test_config_that_turns_a_skill_off_is_named(settings: SkillsSettings, scope: str, words: str) -> None:
    (standing,) = _judge(_found(Skill(name="a", description="d"), scope), settings=settings)

    assert standing.state == "disabled"
    assert _codes(standing) == ["disabled"]
    assert words in standing.reasons[0].message
    assert not standing.offered
    assert not standing.user_may_invoke


@pytest.mark.parametrize(
    ("settings", "scope"),
    [
        (SkillsSettings(allow_bundled=None), "bundled"),
        (SkillsSettings(allow_bundled=("a",)), "bundled"),
        (SkillsSettings(allow_bundled=()), "user"),
        (SkillsSettings(entries={"a": SkillEntry(), "b": SkillEntry(enabled=False)}), "project"),
    ],
)
def test_config_that_speaks_of_others_leaves_a_skill_alone(settings: SkillsSettings, scope: str) -> None:
    (standing,) = _judge(_found(Skill(name="a", description="d"), scope), settings=settings)

    assert standing.state == "ready"


def test_entry_is_found_by_the_key_a_skill_gives_itself() -> None:
    settings = SkillsSettings(entries={"the-key": SkillEntry(enabled=False)})

    (standing,) = _judge(_found(Skill(name="a", description="d", skill_key="the-key")), settings=settings)

    assert standing.state == "disabled"


def test_missing_requirement_is_ineligible_with_every_unmet_one_as_reason() -> None:
    requires = SkillRequirements(bins=("no-such-program",), env=("NO_SUCH_VARIABLE",))

    (standing,) = _judge(_found(Skill(name="a", description="d", requires=requires)))

    assert standing.state == "ineligible"
    assert _codes(standing) == ["requires-bin", "requires-env"]
    assert all(one.path == "/project/skills/a/SKILL.md" for one in standing.reasons)
    assert not standing.offered
    assert standing.user_may_invoke  # with a warning


def test_skill_that_only_a_person_may_start_is_manual() -> None:
    (standing,) = _judge(_found(Skill(name="a", description="d", disable_model_invocation=True)))

    assert (standing.state, _codes(standing)) == ("manual", ["manual"])
    assert not standing.offered
    assert standing.user_may_invoke


def test_skill_without_description_is_manual_with_a_warning() -> None:
    (standing,) = _judge(_found(Skill(name="a")))

    assert standing.state == "manual"
    assert [(one.code, one.severity) for one in standing.reasons] == [("manual", "warning")]


def test_skill_that_no_person_may_start_is_still_offered() -> None:
    (standing,) = _judge(_found(Skill(name="a", description="d", user_invocable=False)))

    assert standing.state == "ready"
    assert standing.offered
    assert not standing.user_may_invoke


def test_first_state_that_fits_wins() -> None:
    off = SkillsSettings(entries={"a": SkillEntry(enabled=False)})
    everything = Skill(name="a", requires=NEEDY, disable_model_invocation=True)

    assert _judge(_broken("a"), settings=off)[0].state == "broken"
    assert _judge(_found(everything), settings=off)[0].state == "disabled"
    assert _judge(_found(everything))[0].state == "ineligible"
    assert _judge(_found(Skill(name="a", disable_model_invocation=True)))[0].state == "manual"


@pytest.mark.parametrize(
    "winner",
    [
        Skill(name="a", description="d"),
        Skill(name="a", description="d", disable_model_invocation=True),
        Skill(name="a", description="d", requires=NEEDY),
    ],
    ids=["ready", "manual", "ineligible"],
)
def test_usable_skill_hides_the_lower_one_of_its_name(winner: Skill) -> None:
    high, low = _judge(_found(winner, "project"), _found(Skill(name="a", description="low"), "user"))

    assert high.state != "shadowed"
    assert low.state == "shadowed"
    (reason,) = low.reasons
    assert (reason.code, reason.path, reason.line) == ("shadowed", "/project/skills/a/SKILL.md", 0)
    assert "project (skills)" in reason.message
    assert reason.hint == "Name it as user:a"
    assert not low.offered
    assert low.user_may_invoke


def test_skill_that_takes_the_place_of_another_says_so() -> None:
    high, _ = _judge(_found(Skill(name="a", description="d"), "project"), _found(Skill(name="a"), "user"))

    assert [(one.code, one.severity, one.path) for one in high.reasons] == [
        ("overrides", "warning", "/project/skills/a/SKILL.md")
    ]
    assert "user" in high.reasons[0].message
    assert "/user/skills/a/SKILL.md" in high.reasons[0].hint


def test_broken_skill_hides_nothing_and_says_what_stays_in_use() -> None:
    high, low = _judge(_broken("a", "project"), _found(Skill(name="a", description="d"), "user"))

    assert (high.state, low.state) == ("broken", "ready")
    assert low.reasons == ()
    assert [(one.code, one.severity) for one in high.reasons] == [
        ("frontmatter-unterminated", "error"),
        ("not-hiding", "warning"),
    ]
    assert "user" in high.reasons[-1].message
    assert high.reasons[-1].path == "/user/skills/a/SKILL.md"


def test_disabled_skill_hides_nothing() -> None:
    settings = SkillsSettings(entries={"key": SkillEntry(enabled=False)})
    off = _found(Skill(name="a", description="d", skill_key="key"), "project")

    high, low = _judge(off, _found(Skill(name="a", description="d"), "user"), settings=settings)

    assert (high.state, low.state) == ("disabled", "ready")
    assert _codes(high) == ["disabled", "not-hiding"]


def test_broken_skill_below_a_usable_one_stays_broken() -> None:
    high, low = _judge(_found(Skill(name="a", description="d"), "project"), _broken("a", "user"))

    assert (high.state, low.state) == ("ready", "broken")
    assert high.reasons == ()


def test_only_the_first_usable_of_many_is_in_use() -> None:
    standings = _judge(
        _broken("a", "project"),
        _found(Skill(name="a", description="1"), "project", ".claude/skills"),
        _found(Skill(name="a", description="2"), "user"),
        _broken("a", "plugin"),
        _found(Skill(name="a", description="3"), "bundled", "bundled"),
        _found(Skill(name="b", description="4"), "bundled", "bundled"),
    )

    assert [one.state for one in standings] == ["broken", "ready", "shadowed", "broken", "shadowed", "ready"]
    assert _codes(standings[1]) == ["overrides", "overrides"]


def test_twins_in_one_layer_are_told_to_be_renamed() -> None:
    twin = Skill(name="a", description="d")

    first, second = _judge(_found(twin), _found(twin))

    assert (first.state, second.state) == ("ready", "shadowed")
    assert second.reasons[0].hint == "Rename one"
    assert [(one.code, one.severity) for one in first.reasons] == [("overrides", "note")]


def test_user_skill_that_takes_the_place_of_a_bundled_one_is_noted() -> None:
    high, _ = _judge(_found(Skill(name="a", description="d"), "user"), _found(Skill(name="a"), "bundled", "bundled"))

    assert [(one.code, one.severity, one.line) for one in high.reasons] == [("overrides", "note", 0)]


def test_skill_of_a_stranger_is_untrusted_whatever_else_it_is_but_what_is_worse() -> None:
    why = Diagnostic("untrusted", "warning", "Nobody approved it", "/a")
    found = (
        _found(Skill(name="a", description="d")),
        _found(Skill(name="b", description="d", requires=NEEDY)),
        _broken("c"),
        _found(Skill(name="d", description="d")),
        _found(Skill(name="e", description="d"), "user"),
    )
    settings = SkillsSettings(entries={"d": SkillEntry(enabled=False)})

    standings = judge_skills(
        Catalog(found), settings, HOST, distrust=lambda one: why if one.location.scope == "project" else None
    )

    assert [one.state for one in standings] == ["untrusted", "untrusted", "broken", "disabled", "ready"]
    assert [one.reasons for one in standings[:2]] == [(why,), (why,)]
    assert not any(one.usable for one in standings[:4])


CRITICAL = Objection("SEC-1", "critical", "It steals keys", "run.sh", 3, 1, "m1")
HIGH = Objection("SEC-2", "high", "It may", "run.sh", 4, 1, "m2")


def test_what_the_scanner_found_blocks_or_is_said_beside_the_state() -> None:
    attack, odd = Screening("malicious", (CRITICAL,)), Screening("suspicious", (HIGH,))
    why = Diagnostic("untrusted", "warning", "Nobody approved it", "/a")
    names = ("bad", "odd", "clean", "off", "manual", "strange")
    found = tuple(_found(Skill(name=name, description="d" * (name != "manual"))) for name in names)
    scanned = ScreenedSkills((attack, odd, None, attack, odd, odd, attack))
    settings = SkillsSettings(entries={"off": SkillEntry(enabled=False)})

    standings = judge_skills(
        Catalog((*found, _broken("broken"))),
        settings,
        HOST,
        scanned,
        lambda one: why if one.name == "strange" else None,
    )

    assert [one.state for one in standings] == [
        "blocked", "ready", "ready", "disabled", "manual", "untrusted", "broken"
    ]  # fmt: skip
    codes = [_codes(one) for one in standings]
    assert [one.startswith("scan-") for one in codes[0]] == [True]
    assert codes[1] == codes[4][1:] == codes[5][1:]
    assert codes[1][0].startswith("scan-")
    assert (codes[2], codes[3], codes[4][0], codes[5][0]) == ([], ["disabled"], "manual", "untrusted")
    assert codes[6] == ["frontmatter-unterminated"]


def _served(skill: Skill, server: str) -> DiscoveredSkill:
    return _found(skill, "mcp", server)


def test_skill_of_a_server_takes_the_place_of_no_other_servers() -> None:
    first, second = _judge(_served(Skill(name="a", description="1"), "one"), _served(Skill(name="a"), "two"))

    assert (first.state, second.state) == ("shadowed", "shadowed")
    assert (first.reasons[0].hint, second.reasons[0].hint) == ("Name it as one:a", "Name it as two:a")
    assert [one.reasons[0].line for one in (first, second)] == [0, 0]
    assert [one.reasons[0].path for one in (first, second)] == ["/mcp/two/a/SKILL.md", "/mcp/one/a/SKILL.md"]


def test_skill_of_a_server_takes_no_place_of_one_that_cannot_be_used_now_and_that_one_stays_as_it_is() -> None:
    broken, served = _judge(_broken("a", "user"), _served(Skill(name="a", description="d"), "one"))

    assert (broken.state, served.state) == ("broken", "shadowed")
    assert _codes(broken) == ["frontmatter-unterminated"]
    assert served.reasons[0].path == "/user/skills/a/SKILL.md"


def test_two_of_a_name_from_one_server_leave_each_other_alone() -> None:
    twin = _served(Skill(name="a", description="d"), "one")

    assert [one.state for one in _judge(twin, twin)] == ["ready", "ready"]


def _place(root: Path, layer: str, name: str, *, kind: str = "skills", scope: str = "project") -> DiscoveredSkill:
    """The skill `a` in a folder, or a command in a file, that really are there."""
    folder = root / layer / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: a\n---\nDo it.\n")
    location = Location(scope, layer, str(root / layer), kind)  # type: ignore[arg-type]
    return DiscoveredSkill(location, str(folder), str(folder / "SKILL.md"), Skill(name="a", description="d"))


def test_same_skill_in_the_folders_of_two_clients_is_a_copy_and_nothing_else_is(tmp_path: Path) -> None:
    first = _place(tmp_path, "skills", "a")
    copy = _place(tmp_path, ".claude/skills", "a")
    assert is_copy(copy, first)
    assert [_codes(one) for one in _judge(first, copy)] == [[], ["skill-copy"]]

    why = Diagnostic("untrusted", "warning", "Nobody approved it", "/a")
    judged = judge_skills(
        Catalog((first, copy)), SkillsSettings(), HOST, distrust=lambda one: why if one is copy else None
    )
    assert [one.state for one in judged] == ["ready", "untrusted"]

    assert not is_copy(_place(tmp_path, "other", "b"), first)
    assert not is_copy(_place(tmp_path, "home", "a", scope="user"), first)
    assert not is_copy(_place(tmp_path, "commands", "a", kind="commands"), first)
    changed = _place(tmp_path, "changed", "a")
    Path(changed.folder, "more.txt").write_text("x")
    assert not is_copy(changed, first)
    gone = _place(tmp_path, "gone", "a")
    for file in Path(gone.folder).iterdir():
        file.unlink()
    Path(gone.folder).rmdir()
    assert not is_copy(gone, gone)


def test_skills_of_each_name_are_held_against_each_other_whatever_came_of_other_names() -> None:
    names = {"alone": ("user",), "broken": ("project", "user"), "twice": ("project", "user")}
    standings = _judge(
        *(
            _broken(name, scope) if name == "broken" else _found(Skill(name=name, description="d"), scope)
            for name, scopes in names.items()
            for scope in scopes
        )
    )

    assert [(one.name, one.state) for one in standings] == [
        ("alone", "ready"),
        ("broken", "broken"),
        ("broken", "broken"),
        ("twice", "ready"),
        ("twice", "shadowed"),
    ]


def test_when_all_of_a_name_are_unusable_none_is_shadowed() -> None:
    standings = _judge(_broken("a", "project"), _broken("a", "user"))

    assert [one.state for one in standings] == ["broken", "broken"]
    assert [_codes(one) for one in standings] == [["frontmatter-unterminated"]] * 2


def test_always_makes_a_skill_ready_without_its_programs_but_not_on_another_system() -> None:
    requires = SkillRequirements(
        bins=("no-such-program",), any_bins=("nor-this",), env=("NOR_THIS",), config=("nor.this",)
    )
    always = Skill(name="a", description="d", always=True, requires=requires)
    elsewhere = Skill(name="b", description="d", always=True, requires=SkillRequirements(os=("darwin",)))
    toolless = Skill(name="c", description="d", always=True, requires=SkillRequirements(tools=("telepathy",)))

    a, b, c = _judge(_found(always), _found(elsewhere), _found(toolless))

    assert (a.state, b.state, c.state) == ("ready", "ineligible", "ineligible")


def test_always_does_not_undo_what_the_config_turns_off() -> None:
    settings = SkillsSettings(entries={"a": SkillEntry(enabled=False)})

    (standing,) = _judge(_found(Skill(name="a", description="d", always=True)), settings=settings)

    assert standing.state == "disabled"


def test_entries_of_the_config_satisfy_variables() -> None:
    skill = Skill(name="a", description="d", primary_env="KEY", requires=SkillRequirements(env=("KEY", "OTHER")))
    entry = SkillEntry(env={"OTHER": EnvValue(literal="o")}, api_key=SecretRef(literal="k"))

    assert _judge(_found(skill))[0].state == "ineligible"
    assert _judge(_found(skill), settings=SkillsSettings(entries={"a": entry}))[0].state == "ready"


def test_settings_and_tools_are_requirements_too(tmp_path: Path) -> None:
    host = LocalMachine("linux", {}, {"channels": {"slack": {"token": "t"}}}, known_tool_names())
    met = SkillRequirements(config=("channels.slack.token",), tools=("Bash(git:*)", "web_search", "Read"))
    unmet = SkillRequirements(config=("channels.discord",), tools=("telepathy",))

    a, b = _judge(
        _found(Skill(name="a", description="d", requires=met)),
        _found(Skill(name="b", description="d", requires=unmet)),
        host=host,
    )

    assert (a.state, b.state) == ("ready", "ineligible")
    assert _codes(b) == ["requires-tool", "requires-config"]


def test_no_skills_give_no_states() -> None:
    assert _judge() == ()


def test_agents_are_ready_shadowed_or_broken() -> None:
    problem = Diagnostic("yaml-invalid", "error", "no mapping", "/p/bad.yaml", 1)
    found = (
        DiscoveredAgent("project", "/p/bad.yaml", problem=problem),
        DiscoveredAgent("project", "/p/coder.yaml", Agent(name="coder", description="mine")),
        DiscoveredAgent("user", "/u/coder.yaml", Agent(name="coder", description="yours")),
        *(DiscoveredAgent("built-in", agent=agent) for agent in BUILTIN_AGENTS),
    )

    standings = judge_agents(found)

    assert [(one.found.scope, one.found.name, one.state) for one in standings] == [
        ("project", "bad", "broken"),
        ("project", "coder", "ready"),
        ("user", "coder", "shadowed"),
        ("built-in", "default", "ready"),
        ("built-in", "explore", "ready"),
        ("built-in", "coder", "shadowed"),
        ("built-in", "planner", "ready"),
    ]
    assert standings[0].reasons == (problem,)
    assert [(one.code, one.path) for one in standings[2].reasons] == [("shadowed", "/p/coder.yaml")]
    assert "project" in standings[2].reasons[0].message


def test_agent_that_takes_the_place_of_another_says_so_and_a_projects_is_warned_of() -> None:
    standings = judge_agents(
        (
            DiscoveredAgent("project", "/p/coder.yaml", Agent(name="coder")),
            DiscoveredAgent("user", "/u/coder.yaml", Agent(name="coder")),
            DiscoveredAgent("user", "/u/helper.yaml", Agent(name="helper")),
            DiscoveredAgent("built-in", agent=Agent(name="coder")),
            DiscoveredAgent("built-in", agent=Agent(name="helper")),
        )
    )

    assert [(one.code, one.severity, one.path) for one in standings[0].reasons] == [
        ("overrides", "warning", "/p/coder.yaml")
    ] * 2
    assert ["user" in one.message for one in standings[0].reasons] == [True, False]
    assert [(one.code, one.severity, one.path) for one in standings[2].reasons] == [
        ("overrides", "note", "/u/helper.yaml")
    ]


def test_agent_that_is_not_trusted_says_why_and_hides_nothing() -> None:
    why = Diagnostic("untrusted", "warning", "Nobody approved it", "/p/coder.yaml")
    found = (
        DiscoveredAgent("project", "/p/coder.yaml", Agent(name="coder")),
        DiscoveredAgent("user", "/u/coder.yaml", Agent(name="coder")),
    )

    untrusted, ready = judge_agents(found, lambda one: why if one.scope == "project" else None)

    assert (untrusted.state, untrusted.reasons) == ("untrusted", (why,))
    assert (ready.state, ready.reasons) == ("ready", ())


def test_broken_agent_hides_nothing() -> None:
    problem = Diagnostic("yaml-invalid", "error", "no mapping", "/p/coder.yaml", 1)

    broken, ready = judge_agents(
        (
            DiscoveredAgent("project", "/p/coder.yaml", problem=problem),
            DiscoveredAgent("user", "/u/c.yaml", Agent(name="coder")),
        )
    )

    assert (broken.state, ready.state) == ("broken", "ready")
