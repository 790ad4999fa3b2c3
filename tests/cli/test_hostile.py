"""A stranger's text on a terminal: nothing in it may move the cursor, set the title or turn the direction."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
Terminal = Callable[..., tuple[int, str]]

# Screen cleared, text concealed, title set, one line up, C1 forms of the same, direction turned, backspace, bell.
EVIL = r"\e[2J\e[8m\e]0;pwned\a\e[1A\u009b2J\u202e\u061coverride\u2066\b\a\x7f"
HOSTILE = f"""\
---
name: evil
display_name: "Evil {EVIL} Skill"
description: "Nice {EVIL} words.\\r\\nready\\tok"
when_to_use: "Now {EVIL}"
version: "{EVIL}1"
argument-hint: "{EVIL}"
homepage: "https://{EVIL}"
license: "{EVIL}"
"unknown {EVIL} key": 1
context: "{EVIL}"
tags: ["{EVIL}"]
allowed-tools: ["Read{EVIL}"]
metadata:
  openclaw:
    emoji: "{EVIL}"
    requires: {{bins: ["no{EVIL}such"], env: ["NO{EVIL}"]}}
    install: [{{kind: odd, label: "run {EVIL}", bins: ["no{EVIL}such"]}}]
---

Body.
"""
COLOUR = re.compile(r"\x1b\[(?:\d;)*(?:0|1|3[1-7])m")  # what we print ourselves
UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(autouse=True)
def skill(project: Path) -> None:
    """A skill and an agent whose every text is hostile."""
    folder = project / "skills" / "evil"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(HOSTILE)
    (project / "skills" / "named").mkdir()
    (project / "skills" / "named" / "SKILL.md").write_text(
        f'---\nname: "Named {EVIL}"\ndescription: d\n---\n\nx {EVIL}\n'
    )
    (project / ".clawft" / "agents").mkdir(parents=True)
    (project / ".clawft" / "agents" / "evil.yaml").write_text(
        f'name: evil\ndescription: "Nice {EVIL}"\nmodel: "{EVIL}"\ntools: ["{EVIL}"]\nsystem_prompt: "Say {EVIL}"\n'
    )


@pytest.mark.parametrize(
    "command",
    [
        "skills list",
        "skills show evil",
        "skills why evil",
        "skills validate",
        "skills validate --strict",
        "skills fix",
        "skills search nice",
        "skills render evil",
        "agents list",
        "agents show evil",
        "doctor",
    ],
)
def test_no_control_character_of_a_skill_reaches_the_terminal(terminal: Terminal, command: str) -> None:
    _, shown = terminal(*command.split())

    assert len(shown) > 20
    assert "Traceback" not in shown
    assert "\x1b[8m" not in shown
    assert UNSAFE.findall(COLOUR.sub("", shown)) == []


@pytest.mark.parametrize(
    "command", ["skills list", "skills show evil", "skills why evil", "skills validate", "skills search nice"]
)
def test_nor_does_it_reach_a_pipe(weft: Weft, command: str) -> None:
    done = weft(*command.split())

    assert done.stdout
    assert UNSAFE.findall(done.stdout + done.stderr) == []


@pytest.mark.parametrize("command", ["skills list", "skills show inner", "skills validate", "doctor"])
def test_no_control_character_of_a_folder_reaches_the_terminal(terminal: Terminal, project: Path, command: str) -> None:
    for folder in ("\x1b]0;pwned\x07\x1b[2J", "\x9b2Jgroup/inner"):
        (project / "skills" / folder).mkdir(parents=True)
        (project / "skills" / folder / "SKILL.md").write_text("---\nname: Inner\ndescription: d\n---\n")

    _, shown = terminal(*command.split())

    assert len(shown) > 20
    assert UNSAFE.findall(COLOUR.sub("", shown)) == []


def test_description_of_many_lines_stays_one_row(weft: Weft) -> None:
    done = weft("skills", "list", "--dir", "skills")

    rows = [line for line in done.stdout.splitlines() if "└" not in line]
    assert len(rows) == 3  # the heads, and a row for each skill
