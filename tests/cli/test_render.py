"""`weft skills render`: the prompt and nothing else on stdout."""

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]


def _skill(folder: Path, body: str, extra: str = "") -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: d\n{extra}---\n\n{body}\n")


@pytest.mark.parametrize(
    ("body", "arguments", "prompt"),
    [
        ("Just this.", [], "Just this."),
        ("Do $ARGUMENTS.", ["a b", "c"], "Do a b c."),
        ("From ${0} to ${1}.", ["x", "y z"], "From x to y z."),
        ("Costs $100.", ["now"], "Costs $100.\n\nARGUMENTS: now"),
        ("Do $ARGUMENTS.", ["--flag", "-n", "3"], "Do --flag -n 3."),
        ("Do $ARGUMENTS.", ["--", "--format", "json"], "Do --format json."),
    ],
)
def test_render_prints_the_prompt_and_nothing_else(
    weft: Weft, own: Path, body: str, arguments: list[str], prompt: str
) -> None:
    _skill(own / "one", body)

    done = weft("skills", "render", "one", *arguments)

    assert (done.returncode, done.stdout, done.stderr) == (0, prompt + "\n", "")


def test_render_fills_in_session_and_folder(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "one", "$SESSION_ID in {baseDir}")

    done = weft("skills", "render", "--session-id", "s-1", "one")

    assert done.stdout == f"s-1 in {project}/skills/one\n"


def test_render_of_an_ineligible_skill_warns_on_stderr_only(weft: Weft, own: Path) -> None:
    _skill(own / "poor", "Body.", "requires: {bins: [no-such-program]}\n")

    done = weft("skills", "render", "poor")

    assert (done.returncode, done.stdout) == (0, "Body.\n")
    assert "warning[requires-bin]" in done.stderr


def test_render_of_a_broken_skill_fails_with_its_problem(weft: Weft, project: Path) -> None:
    (project / "skills" / "broken").mkdir(parents=True)
    (project / "skills" / "broken" / "SKILL.md").write_text("---\nname: broken\n")

    done = weft("skills", "render", "broken")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[frontmatter-unterminated]")
    assert "SKILL.md:1" in done.stderr


def test_render_never_runs_a_command(weft: Weft, project: Path, own: Path) -> None:
    _skill(own / "sly", "!touch pwned\n\nSee !`touch pwned` too.")

    done = weft("skills", "render", "sly")

    assert done.stdout == "!touch pwned\n\nSee !`touch pwned` too.\n"
    assert "Nothing was run" in done.stderr
    assert not (project / "pwned").exists()
    assert not (own / "sly" / "pwned").exists()


def test_render_can_do_as_a_turn_does(weft: Weft, project: Path, own: Path) -> None:
    _skill(own / "sly", "Say !`printf %s $ARGUMENTS`\n!read notes.md")
    (own / "sly" / "notes.md").write_text("a note")
    weft("config", "set", "agents.defaults.mode", "ask")

    unset = weft("skills", "render", "--run", "sly", "$(id)")
    assert (unset.returncode, unset.stdout) == (0, "Say !`printf %s $ARGUMENTS`\na note\n\nARGUMENTS: $(id)\n")
    hint = unset.stderr.partition("To allow it: weft ")[2].partition("\n")[0]
    assert weft(*shlex.split(hint)).returncode == 0

    done = weft("skills", "render", "--run", "sly", "$(id)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Say $(id)\na note\n", "")


def test_render_of_a_command_that_is_not_allowed_is_refused(weft: Weft, project: Path, own: Path) -> None:
    _skill(own / "sly", "Say !`touch pwned`")
    weft("config", "set", "skills.security.allowed_command_prefixes", '["echo"]')

    done = weft("skills", "render", "--run", "sly")

    assert (done.returncode, done.stdout) == (3, "")
    assert "error[command-refused]" in done.stderr
    assert not (own / "sly" / "pwned").exists()


def test_render_of_a_skill_without_body_says_so(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "empty", "")

    done = weft("skills", "render", "empty")

    assert (done.returncode, done.stdout.strip()) == (0, "")
    assert "no instructions" in done.stderr


def test_body_over_the_limit_is_cut_and_said_on_stderr(weft: Weft, project: Path) -> None:
    _skill(project / "skills" / "long", "x" * 40_000)

    done = weft("skills", "render", "long")

    assert len(done.stdout) == 32 * 1024 + 1
    assert "warning[body-truncated]" in done.stderr


def test_json_of_render_holds_prompt_and_diagnostics(weft: Weft, own: Path) -> None:
    _skill(own / "one", "Do $ARGUMENTS.\n!ls")

    done = weft("skills", "render", "--format", "json", "one", "it")

    document = json.loads(done.stdout)
    assert done.stderr == ""
    assert (document["schema"], document["name"]) == ("clawft.skills.render.v1", "one")
    assert document["prompt"] == "Do it.\n!ls"
    assert [one["code"] for one in document["diagnostics"]] == ["dynamic-context"]


def test_render_of_a_folder_that_is_named(weft: Weft, tmp_path: Path) -> None:
    _skill(tmp_path / "stranger" / "gift", "Open me.")

    assert weft("skills", "render", "--dir", "../stranger", "gift").stdout == "Open me.\n"


def test_line_of_arguments_is_split_as_a_shell_would(weft: Weft, project: Path) -> None:
    folder = project / "skills" / "two-words"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: two-words\ndescription: d\n---\n[${0}] [${1}] [$ARGUMENTS]\n")
    assert weft("skills", "render", "two-words", "--args", 'a "b c"').stdout == '[a] [b c] [a "b c"]\n'
    assert weft("skills", "render", "two-words", "x", "--args", "y").returncode == 2
