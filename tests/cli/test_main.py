"""`weft` itself: help, version, aliases, exit codes, streams, pipes, and odd surroundings."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from clawft.cli.output import width_of

Weft = Callable[..., subprocess.CompletedProcess[str]]
Terminal = Callable[..., tuple[int, str]]


COMMANDS = [
    ("skills", "list"),
    ("skills", "show"),
    ("skills", "why"),
    ("skills", "render"),
    ("skills", "validate"),
    ("skills", "fix"),
    ("skills", "search"),
    ("agents", "list"),
    ("agents", "show"),
    ("config", "path"),
    ("doctor",),
    ("demo",),
]


def _skill(folder: Path, description: str = "A skill.") -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {description}\n---\n\nDo it.\n")


def test_version_is_that_of_the_package(weft: Weft) -> None:
    done = weft("--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"weft {version('clawft')}\n", "")


@pytest.mark.parametrize("command", [(), ("skills",), ("agents",), ("config",)], ids=" ".join)
def test_help_of_groups_lists_their_commands(weft: Weft, command: tuple[str, ...]) -> None:
    done = weft(*command, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: weft {' '.join(command)}".rstrip())
    listed = {line.split()[0] for line in done.stdout.partition("Commands:\n")[2].splitlines() if line.strip()}
    assert {
        one[len(command)] for one in COMMANDS if one[: len(command)] == command and len(one) > len(command)
    } <= listed


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_commands_tells_what_they_do(weft: Weft, command: tuple[str, ...]) -> None:
    done = weft(*command, "-h")

    assert (done.returncode, done.stderr) == (0, "")
    usage, _, text = done.stdout.partition("\n\n")
    assert usage.startswith(f"Usage: weft {' '.join(command)}")
    assert text.strip()
    assert command == ("demo",) or "--format" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("skils",),
        ("skills", "lst"),
        ("skills", "list", "--nope"),
        ("skills", "list", "--format", "xml"),
        ("skills", "list", "--scope", "moon"),
        ("skills", "list", "extra"),
        ("skills", "show"),
        ("skills", "search"),
        ("skills", "search", "--limit", "0", "x"),
        ("skills", "list", "--dir"),
        ("agents", "show"),
        (),
        ("skills",),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_2_with_nothing_on_stdout(weft: Weft, arguments: tuple[str, ...]) -> None:
    done = weft(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: weft" in done.stderr or "Error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("typed", "meant"), [("skils", "skills"), ("docter", "doctor")])
def test_mistyped_command_gets_the_close_match(weft: Weft, typed: str, meant: str) -> None:
    assert f"Did you mean '{meant}'?" in weft(typed).stderr


@pytest.mark.parametrize("command", ["show", "why", "render", "validate", "fix"])
def test_unknown_skill_exits_1_with_the_close_match_on_stderr(weft: Weft, project: Path, command: str) -> None:
    _skill(project / "skills" / "research")

    done = weft("skills", command, "reserch")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error[skill-not-found]: No skill 'reserch'\nhint: did you mean 'research'? Run: weft skills list\n"
    )


def test_unknown_agent_exits_1_with_the_close_match_on_stderr(weft: Weft) -> None:
    done = weft("agents", "show", "plannr")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error[agent-not-found]: No agent 'plannr'\nhint: did you mean 'planner'? Run: weft agents list\n"
    )


@pytest.mark.parametrize(
    ("alias", "command"),
    [
        (("skill", "list"), ("skills", "list")),
        (("skills", "info", "one"), ("skills", "show", "one")),
        (("skill", "info", "one"), ("skills", "show", "one")),
        (("agents", "info", "coder"), ("agents", "show", "coder")),
    ],
    ids=" ".join,
)
def test_aliases_do_the_same(weft: Weft, project: Path, alias: tuple[str, ...], command: tuple[str, ...]) -> None:
    _skill(project / "skills" / "one")

    assert weft(*alias).stdout == weft(*command).stdout != ""


@pytest.mark.parametrize(
    "command",
    ["skills list", "skills show one", "skills why one", "skills render one", "skills validate", "skills fix",
     "skills search skill", "agents list", "agents show coder", "config path", "doctor"],
)  # fmt: skip
def test_json_is_one_document_on_stdout_with_its_schema_first(weft: Weft, project: Path, command: str) -> None:
    _skill(project / "skills" / "one")

    done = weft(*command.split(), "--format", "json")

    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    first = next(iter(document))
    assert first == "schema"
    assert document["schema"].startswith("clawft.")
    assert document["schema"].endswith(".v1")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "error"),
    [
        (
            ("skills", "show", "reserch", "--format", "json"),
            1,
            {
                "code": "skill-not-found",
                "message": "No skill 'reserch'",
                "hint": "did you mean 'research'? Run: weft skills list",
            },
        ),
        (("skills", "show", "--format=json"), 2, {"code": "usage", "message": "Missing argument 'NAME'."}),
        (
            ("agent", "--format", "json", "-m", " "),
            2,
            {"code": "usage", "message": "The message is empty: weft agent -m TEXT"},
        ),
    ],
    ids=["not-found", "usage", "stream"],
)
def test_with_format_json_an_error_is_one_line_of_json_too(
    weft: Weft, project: Path, arguments: tuple[str, ...], exit_code: int, error: dict[str, str]
) -> None:
    _skill(project / "skills" / "research")

    done = weft(*arguments)

    assert done.returncode == exit_code
    assert error["message"] in done.stderr
    nothing = {"path": "", "line": None, "hint": None, "fixable": False}
    expected = {"schema": "clawft.error.v1", "error": {"severity": "error", **nothing, **error}}
    assert [json.loads(line) for line in done.stdout.splitlines()] == [expected]


def test_an_error_in_json_says_where_it_is(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "home" / ".clawft").mkdir()
    (tmp_path / "home" / ".clawft" / "config.toml").write_text("[skills\n")

    error = json.loads(weft("skills", "list", "--format", "json").stdout)["error"]

    assert (error["code"], error["line"]) == ("config-invalid", 1)
    assert error["path"].endswith("config.toml")


def test_what_follows_two_dashes_asks_for_no_format(weft: Weft) -> None:
    assert weft("skills", "show", "--", "--format", "json").stdout == ""


def test_module_and_command_are_the_same(weft: Weft, project: Path, child_env: dict[str, str]) -> None:
    done = subprocess.run(
        ["python", "-m", "clawft", "skills", "list"],
        cwd=project,
        env=child_env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout == weft("skills", "list").stdout


@pytest.mark.parametrize("format_", ["table", "json"])
def test_reader_that_closes_the_pipe_early_causes_no_traceback(
    project: Path, child_env: dict[str, str], format_: str
) -> None:
    for number in range(200):
        _skill(project / "skills" / f"skill-{number}", "words " * 30)

    process = subprocess.Popen(
        ["weft", "skills", "list", "--format", format_],
        cwd=project,
        env=child_env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.wait(timeout=60)
    process.stderr.close()

    assert "Traceback" not in errors
    assert "BrokenPipeError" not in errors


def test_interrupt_exits_130_without_a_traceback(project: Path, child_env: dict[str, str]) -> None:
    for number in range(300):
        _skill(project / "skills" / f"skill-{number}", "words " * 100)

    process = subprocess.Popen(
        ["weft", "skills", "list"],
        cwd=project,
        env={**child_env, "COLUMNS": "500"},  # more than a pipe holds, so that it waits for its reader
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_without_a_terminal_there_is_no_colour(weft: Weft, project: Path) -> None:
    (project / "skills" / "bad").mkdir(parents=True)
    (project / "skills" / "bad" / "SKILL.md").write_text("---\nname: bad\n")

    done = weft("skills", "validate")

    assert done.returncode == 1
    assert "\x1b" not in done.stdout + done.stderr


def test_on_a_terminal_severities_have_colour(terminal: Terminal, project: Path) -> None:
    (project / "skills" / "bad").mkdir(parents=True)
    (project / "skills" / "bad" / "SKILL.md").write_text("---\nname: bad\n")

    code, shown = terminal("skills", "validate")

    assert code == 1
    assert "\x1b[31merror[frontmatter-unterminated]\x1b[0m" in shown


def test_a_long_error_is_broken_between_words_on_a_terminal(terminal: Terminal) -> None:
    code, shown = terminal("skills", "show", "a-name-that-nobody-has", COLUMNS="40")

    assert code == 1
    assert click.unstyle(shown).splitlines()[:2] == ["error[skill-not-found]: No skill", "  'a-name-that-nobody-has'"]


@pytest.mark.parametrize("columns", ["20", "40", "80", "200", "0", "-5", "wide", ""])
def test_any_width_of_the_terminal_is_coped_with(weft: Weft, own: Path, columns: str) -> None:
    _skill(own / "one", "Words 漢字 and é " * 20)

    done = weft("skills", "list", COLUMNS=columns)

    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("✓  one "))
    if columns in ("20", "40"):  # too narrow for a column of descriptions: they stand below
        assert row.split() == ["✓", "one", "ready"]
        assert max(map(width_of, done.stdout.splitlines())) <= int(columns)
    else:
        assert "…" in row
        assert row.split()[-2:] == ["user", "SKILL.md"]


def test_wide_enough_terminal_is_never_overrun(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "one", "Words and words " * 20)

    done = weft("skills", "list", "--dir", "skills", COLUMNS="60")

    assert all(len(line) <= 60 for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    "command",
    ["skills list", "skills show one", "skills why one", "skills render one", "skills validate",
     "skills search skill", "agents list", "config path", "doctor"],
)  # fmt: skip
def test_everything_works_with_a_home_that_is_not_there(weft: Weft, project: Path, command: str) -> None:
    _skill(project / "skills" / "one")
    (project / "file").touch()

    done = weft(*command.split(), HOME=str(project / "file" / "nobody"))

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout or "nothing to say" in done.stderr


def test_everything_works_with_a_home_that_cannot_be_written_to(
    project: Path, child_env: dict[str, str], unprivileged: list[str]
) -> None:
    _skill(project / "skills" / "one")
    home = Path(child_env["HOME"])
    _skill(home / ".claude" / "skills" / "two")
    home.chmod(0o555)
    try:
        done = {
            command: subprocess.run(
                [*unprivileged, "weft", *command.split()],
                cwd=project,
                env=child_env,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            for command in ("skills list", "doctor")
        }
    finally:
        home.chmod(0o755)

    assert [one.returncode for one in done.values()] == [0, 0]
    assert " two " in done["skills list"].stdout
    assert done["skills list"].stderr.endswith("skills: 5 ready, 1 untrusted\n")
    assert "cannot be written to" in done["doctor"].stdout
    assert not (home / ".clawft").exists()


@pytest.mark.parametrize("command", ["skills list", "skills validate", "skills fix", "agents list", "doctor"])
def test_everything_works_in_an_empty_project(weft: Weft, command: str) -> None:
    done = weft(*command.split())

    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_project_and_user_folder_are_named_by_the_environment(weft: Weft, project: Path, tmp_path: Path) -> None:
    _skill(project / "skills" / "not-here")
    _skill(tmp_path / "elsewhere" / ".clawft" / "skills" / "from-project")
    _skill(tmp_path / "moved" / "skills" / "from-user")

    done = weft(
        "skills", "list", "--format", "json",
        CLAWFT_PROJECT=str(tmp_path / "elsewhere"), CLAWFT_HOME=str(tmp_path / "moved"),
    )  # fmt: skip

    skills = {one["name"]: one["scope"] for one in json.loads(done.stdout)["skills"] if one["scope"] != "bundled"}
    assert skills == {"from-project": "project", "from-user": "user"}


def test_bad_config_is_an_error_with_its_place(weft: Weft, project: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / ".clawft").mkdir()
    (tmp_path / "home" / ".clawft" / "config.toml").write_text("[skills\n")

    done = weft("skills", "list")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[config-invalid]: ")
    assert "config.toml:1" in done.stderr


def test_what_nobody_foresaw_is_called_a_bug_in_a_few_lines(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("an odd\x1b[2J number")

    monkeypatch.setattr("os.mkdir", fail)
    done = weft("skills", "new", "tides", "--dir", ".", CLAWFT_DEBUG="")

    assert (done.returncode, done.stdout) == (1, "")
    first, place, hint = done.stderr.splitlines()
    assert first == "error[bug]: This is a bug in weft: ValueError: an odd\ufffd[2J number"
    assert re.fullmatch(r"  --> clawft/(?:\w+/)+\w+\.py:[0-9]+", place)
    assert hint.startswith(f"hint: Please report it, with what you typed: weft {version('clawft')}, Python 3.")
    assert hint.endswith("With CLAWFT_DEBUG=1 it tells all it knows")


def test_a_bug_is_raised_as_it_is_where_that_is_asked_for(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("odd")

    monkeypatch.setattr("os.mkdir", fail)
    with pytest.raises(ValueError, match="odd"):
        weft("skills", "new", "tides", "--dir", ".")
