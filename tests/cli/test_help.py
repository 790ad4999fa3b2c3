"""`weft help`: topics, commands and settings as plain text, at any width."""

import re
import subprocess
from collections.abc import Callable

import pytest

from clawft.cli.help import render_help, topic_text
from clawft.cli.help_topics import get_topic_summary, list_topics
from clawft.cli.output import width_of
from clawft.cli.repl.commands import COMMANDS
from clawft.cli.settings_reference import find_settings, list_sections, settings_of

Weft = Callable[..., subprocess.CompletedProcess[str]]
Terminal = Callable[..., tuple[int, str]]

SECTIONS = list_sections()


def test_help_alone_is_that_of_weft_and_the_topics(weft: Weft) -> None:
    done = weft("help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(weft("--help").stdout)
    for topic in list_topics():
        assert re.search(rf"^    {topic} +{re.escape(get_topic_summary(topic))}$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("topic", list_topics())
def test_topic_is_printed_as_plain_text(weft: Weft, topic: str) -> None:
    done = weft("help", topic)

    assert (done.returncode, done.stderr) == (0, "")
    assert " ".join(done.stdout.split()).startswith(get_topic_summary(topic)[:-1])
    assert "<!--" not in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("group", ["", "skills", "audit", "permissions", "scan"])
def test_no_sentence_of_a_command_is_cut_off(weft: Weft, group: str) -> None:
    listed = weft(*group.split(), "--help").stdout.partition("Commands:\n")[2]
    assert listed
    assert "..." not in listed


def test_topic_skills_tells_what_was_asked_for(weft: Weft) -> None:
    shown = weft("help", "skills").stdout

    for line in (
        "Skills are reusable prompts that teach the agent specialized behaviors.",
        "Locations (highest priority first):",
        "1. `.clawft/skills/` (project-level)",
        "2. `~/.clawft/skills/` (personal)",
        "3. `~/.clawft/workspace/skills/` (workspace)",
        "- `SKILL.md` with YAML frontmatter (recommended)",
        "- `skill.json` + `prompt.md` (legacy)",
        "    /skills                List all skills",
        "    /skills <name>         Show skill details",
        "    /skill <name> [args]   Invoke a skill",
        "    /<skill-name> [args]   Direct invocation (if user-invocable)",
    ):
        assert line in shown


def test_topic_tools_shows_patterns_for_the_tools_of_mcp_servers(weft: Weft) -> None:
    shown = weft("help", "tools").stdout

    assert {"- rvf__*", "- slack__*", "- github__list_issues"} <= set(map(str.strip, shown.splitlines()))


def test_topic_commands_lists_every_slash_command(weft: Weft) -> None:
    shown = weft("help", "commands").stdout

    for slash in COMMANDS:
        assert re.search(rf"^    {re.escape(slash.usage)} +{re.escape(slash.description)}$", shown, re.MULTILINE)


def test_topic_config_names_every_setting(weft: Weft) -> None:
    shown = weft("help", "config").stdout

    for path, kind in SECTIONS.items():
        assert f"- `{path}`: {', '.join(name for name, *_ in settings_of(kind))}\n" in shown


@pytest.mark.parametrize("path", ["skills run", "config set", "doctor", "cron add", "agent", "skill list"])
def test_path_of_a_command_prints_its_help(weft: Weft, path: str) -> None:
    done = weft("help", *path.split())

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == weft(*path.split(), "--help").stdout


@pytest.mark.parametrize("path", SECTIONS)
def test_section_of_the_config_tells_what_its_settings_mean(path: str) -> None:
    shown = find_settings(path.removesuffix("[]"))

    for name, _, text in settings_of(SECTIONS[path]):
        assert re.search(rf"^- `{name}`.*: {re.escape(text)}$", shown, re.MULTILINE)


@pytest.mark.parametrize("path", ["memory", "tools.exec", "providers.work", "agents.routing.tiers"])
def test_section_of_the_config_is_printed(weft: Weft, path: str) -> None:
    done = weft("help", "config", path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.rstrip("\n") == find_settings(path)


def test_one_setting_is_explained_alone(weft: Weft) -> None:
    done = weft("help", "config", "agents.defaults.agent")

    assert done.stdout == weft("help", "agents.defaults.agent").stdout
    assert done.stdout == (
        '## [agents.defaults]\n\n- `agent` (default `"default"`): The agent that is used when none is named.\n'
    )


def test_setting_of_a_table_that_the_user_names_is_explained_too(weft: Weft) -> None:
    assert "- `default_model`" in weft("help", "providers.work.default_model").stdout


@pytest.mark.parametrize("slash", COMMANDS, ids=lambda slash: slash.name)
def test_slash_command_is_explained(weft: Weft, slash: object) -> None:
    name, usage, description = (getattr(slash, field) for field in ("name", "usage", "description"))
    done = weft("help", f"/{name}")

    assert done.returncode == 0
    assert usage in done.stdout
    assert description in done.stdout


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("skils", "skills"), ("workspce", "workspace"), ("skills rum", "skills run"), ("docter", "doctor")],
)
def test_unknown_topic_exits_1_with_the_close_match(weft: Weft, asked: str, meant: str) -> None:
    done = weft("help", *asked.split())

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error[topic-not-found]: No topic or command '{asked}'\nhint: did you mean '{meant}'? Run: weft help\n"
    )


@pytest.mark.parametrize(
    ("asked", "topic"),
    [
        ("untrusted", "security"),
        ("modes", "permissions"),
        ("fork", "writing"),
        ("shell", "tools"),
        ("lock", "install"),
        ("sync", "install"),
        ("sources", "install"),
        ("sign", "publishing"),
        ("requires", "needs"),
    ],
)
def test_words_that_are_explained_elsewhere_lead_there(weft: Weft, asked: str, topic: str) -> None:
    done = weft("help", asked)

    assert (done.returncode, done.stdout) == (0, weft("help", topic).stdout)
    assert done.stderr == f"'{asked}' is explained here: weft help {topic}\n\n"


@pytest.mark.parametrize("asked", ["publishers", "registries"])
def test_what_has_a_help_of_its_own_names_the_topic_too(weft: Weft, asked: str) -> None:
    assert weft("help", asked).stdout.endswith("\nSee also: `weft help publishing`.\n")


def test_settings_of_the_sandbox_lead_to_what_it_is(weft: Weft) -> None:
    assert weft("help", "sandbox").stdout.endswith("See also: `weft help security`.\n")


@pytest.mark.parametrize(
    "asked",
    ["zzzzzz", "", "../skills", "/nothing", "agents.nothing", "skills.", "doctor now", "config nothing", "config x.y"],
)
def test_what_is_nothing_exits_1_and_says_where_to_look(weft: Weft, asked: str) -> None:
    done = weft("help", *(asked.split() or [""]))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[topic-not-found]: ")
    assert done.stderr.endswith("Run: weft help\n")


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
@pytest.mark.parametrize("topic", list_topics())
def test_text_fits_the_terminal(topic: str, columns: int) -> None:
    shown = render_help(topic_text(topic), columns, colour=False).splitlines()

    prose = [re.sub(r"^(• |\d\. )", "", line) for line in shown if not line.startswith("  ")]
    assert [line for line in prose if width_of(line) > columns and " " in line] == []


def test_two_columns_become_one_below_the_other_where_there_is_no_room(weft: Weft) -> None:
    shown = weft("help", "skills", COLUMNS="40").stdout

    assert "  /skills <name>\n      Show skill details\n" in shown
    assert all(len(line) <= 40 for line in shown.partition("Writing one")[0].splitlines())


def test_on_a_terminal_headings_stand_out(terminal: Terminal) -> None:
    code, shown = terminal("help", "skills")

    assert code == 0
    assert re.search(r"^\x1b\[[0-9;]*mStates\x1b\[", shown, re.MULTILINE)
    assert "\x1b" not in terminal("help", "skills", NO_COLOR="1")[1]
