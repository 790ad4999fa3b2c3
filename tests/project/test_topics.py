"""No command, option, setting or topic lacks its text, and no text names what is not there."""

import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from clawft.cli.help_topics import get_topic_summary, list_topics, load_topic, render_topic
from clawft.cli.repl.commands import COMMANDS
from clawft.cli.root import weft
from clawft.cli.settings_reference import find_settings, settings_of
from clawft.config.listing import get_path
from clawft.config.loader import SECTIONS
from clawft.config.schema import walk_sections
from clawft.errors import NotFound
from docs import walk_commands

ROOT = Path(__file__).resolve().parents[2]
TOPICS = ROOT / "src" / "clawft" / "cli" / "help_topics"
PAGES = [*sorted(TOPICS.glob("*.md")), ROOT / "README.md", ROOT / "docs" / "agent.md"]
ALL_COMMANDS = dict(walk_commands(weft, "weft"))
_MENTION = re.compile(r"(?<![\w./~])weft( [^`\n]*)")
_SETTING = re.compile(rf"(?<![/\w])(?:{'|'.join(SECTIONS)})(?:\.[a-z_]+)+")
page_by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pytest.mark.parametrize("path", ALL_COMMANDS)
def test_every_command_and_option_has_its_text(path: str) -> None:
    command = ALL_COMMANDS[path]

    assert command.help
    bare = [one.name for one in command.params if isinstance(one, click.Option) and not one.help]
    assert bare == []


def test_every_setting_has_its_text() -> None:
    sections = dict(walk_sections())
    bare = [
        f"{path}.{name}"
        for path, kind in sections.items()
        for name in kind.__struct_fields__
        if name not in {one for one, *_ in settings_of(kind)}
        and not any(f"{other}.".startswith(f"{path}.{name}.") for other in sections)
    ]
    assert bare == []


def test_every_topic_is_a_file_and_every_file_a_topic() -> None:
    assert sorted(list_topics()) == [path.stem for path in sorted(TOPICS.glob("*.md"))]
    assert {"skills", "agents", "commands", "config", "memory", "tools", "workspace"} <= set(list_topics())


@pytest.mark.parametrize("topic", list_topics())
def test_topic_is_a_short_text_whose_first_sentence_tells_what_it_is(topic: str) -> None:
    text = load_topic(topic)

    assert 10 < len(text.splitlines()) < 80
    assert max(map(len, text.splitlines())) <= 80  # a pipe gets the lines as they are
    assert 20 < len(get_topic_summary(topic)) <= 110
    assert get_topic_summary(topic).endswith(".")
    assert "\t" not in text
    assert "|--" not in text  # tables do not fit narrow terminals
    assert [line for line in text.splitlines() if line.count("`") % 2] == []  # what is in backticks stays together


@pytest.mark.parametrize("slash", COMMANDS, ids=lambda slash: slash.name)
def test_every_slash_command_has_its_text(slash: object) -> None:
    name, usage, description = (getattr(slash, field) for field in ("name", "usage", "description"))

    assert re.fullmatch(rf"/{name}( .*)?", usage)
    assert description


def test_unknown_topic_gets_the_close_match() -> None:
    with pytest.raises(NotFound, match="No topic 'skils'") as caught:
        load_topic("skils")

    assert (caught.value.code, caught.value.hint) == ("topic-not-found", "did you mean 'skills'? Run: weft help")


@pytest.mark.parametrize("name", ["", "..", "../errors", "skills.md", "/etc/passwd", "zzzz"])
def test_only_topics_are_read(name: str) -> None:
    for read in (load_topic, get_topic_summary):
        with pytest.raises(NotFound):
            read(name)


def test_marks_are_filled_in() -> None:
    shown = render_topic("commands", {"commands": "    /one  Does it"})

    assert "Commands:\n\n    /one  Does it\n\n" in shown
    assert "<!--" not in shown


@page_by_name
def test_page_names_only_commands_and_options_that_exist(page: Path) -> None:
    wrong = [text for text in _mentions(page) if not _exists(text)]

    assert wrong == []


@page_by_name
def test_page_names_only_slash_commands_that_exist(page: Path) -> None:
    known = {name for slash in COMMANDS for name in (slash.name, *slash.aliases)}
    bundled = {path.name for path in (ROOT / "src" / "clawft" / "skills" / "bundled" / "skills").iterdir()}
    named = set(re.findall(r"(?:`|^ {4})/([a-z-]+)(?=[ `\n])", page.read_text("utf-8"), re.MULTILINE))

    assert named <= known | bundled


@page_by_name
def test_page_names_only_settings_that_exist(page: Path) -> None:
    spans = re.findall(r"`([^`\n]+)`", page.read_text("utf-8"))

    for key in (key for span in spans for key in _SETTING.findall(span) if " " not in span):
        get_path(key)


def test_topics_send_nobody_to_a_topic_that_is_not_there() -> None:
    for page in PAGES:
        for text in _mentions(page):
            if text.startswith("help ") and not text.split()[1].isupper():
                assert _is_explained(text.split()[1:]), f"{page.name}: weft {text}"


def test_wheel_holds_the_topics(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        timeout=120,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")

    assert {f"clawft/cli/help_topics/{topic}.md" for topic in list_topics()} <= set(zipfile.ZipFile(wheel).namelist())


def _mentions(page: Path) -> Iterator[str]:
    """What follows `weft` wherever a page names it as a command."""
    for match in _MENTION.finditer(page.read_text("utf-8")):
        text = re.split(r" {2,}| # |; | 2>", match[1])[0].strip()
        if re.match(r"[a-z-]", text):
            yield text


def _exists(text: str) -> bool:
    """Whether the words before the first argument are a command, and the options are its own."""
    words = _split(text)
    path = "weft"
    while words and f"{path} {words[0]}" in ALL_COMMANDS:
        path = f"{path} {words.pop(0)}"
    if path == "weft scan":  # `weft scan PATH` is `weft scan path PATH`
        path = "weft scan path"
    command = ALL_COMMANDS[path]
    known = {"--help", "--version", *(name for one in command.params for name in one.opts)}
    if isinstance(command, click.Group) and words and re.fullmatch(r"[a-z]+", words[0]):
        return False
    free = command.context_settings.get("allow_interspersed_args") is False  # what follows belongs to a skill
    return free or all(word.partition("=")[0] in known for word in words if re.match(r"--?[a-z]", word))


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _is_explained(words: list[str]) -> bool:
    path = f"weft {' '.join(words)}"
    return words[0] in list_topics() or path in ALL_COMMANDS or bool(find_settings(words[-1]))
