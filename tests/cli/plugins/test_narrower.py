"""Less than a plugin asks for: one host of many, a folder in a folder, or only to read."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
Plugin = Callable[..., Path]
Held = Callable[..., dict[str, list[str]]]
ASKS = {"network": ["*:993", "*.example.com"], "filesystem": ["~/Mail"]}
IMAP = "imap.example.com:993"


@pytest.fixture
def held(weft: Weft) -> Held:
    """What the plugin has after `weft plugins grant`."""

    def load(*args: str) -> dict[str, list[str]]:
        done = weft("plugins", "grant", "weather", *args, "--format", "json")
        assert done.returncode == 0, done.stderr
        granted: dict[str, list[str]] = json.loads(done.stdout)["granted"]
        return granted

    return load


def lines_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_part_is_granted_in_the_place_of_the_whole(weft: Weft, plugin: Plugin, held: Held) -> None:
    plugin(permissions=ASKS)
    weft("plugins", "enable", "weather", "--yes")

    assert held("--network", "IMAP.example.com:993")["network"] == [IMAP, "*.example.com"]
    assert held("--network", "b.example.org:993")["network"] == ["b.example.org:993", IMAP, "*.example.com"]
    assert held("--revoke", "--network", "*:993")["network"] == ["*.example.com"]
    assert held("--network", IMAP, "--network", "*:993")["network"] == ["*:993", "*.example.com"]
    for narrow in ("~/Mail/work", "~/Mail/work/a:ro"):
        assert held("--filesystem", narrow)["filesystem"] == [narrow]
    assert held("--filesystem", "~/Mail")["filesystem"] == ["~/Mail"]
    assert held("--filesystem", "~/Mail:ro")["filesystem"] == ["~/Mail:ro"]


def test_a_path_that_the_shell_made_absolute_is_granted_as_it_was_meant(
    weft: Weft, plugin: Plugin, held: Held, user_dir: Path
) -> None:
    plugin(permissions=ASKS)
    weft("plugins", "enable", "weather", "--yes")

    assert held("--filesystem", f"{user_dir.parent}/Mail/work:ro")["filesystem"] == ["~/Mail/work:ro"]
    assert held("--revoke", "--filesystem", f"{user_dir.parent}/Mail")["filesystem"] == []


def test_what_is_not_covered_is_refused_and_changes_nothing(
    weft: Weft, plugin: Plugin, held: Held, user_dir: Path
) -> None:
    plugin(permissions=ASKS)
    (user_dir.parent / "Mail").mkdir()
    (user_dir.parent / "Mail" / "away").symlink_to("/etc")
    weft("plugins", "enable", "weather", "--yes")
    before = held()
    for option, value in (
        ("--network", "imap.example.com:143"),
        ("--network", "example.com"),
        ("--network", "*"),
        ("--network", "!imap.example.com:993"),
        ("--filesystem", "~/Mail/../.ssh"),
        ("--filesystem", "~/Mail/.env"),
        ("--filesystem", "~/Mail/away"),
        ("--filesystem", "~"),
    ):
        done = weft("plugins", "grant", "weather", option, value)
        assert (done.returncode, "error[plugin-not-asked]" in done.stderr) == (1, True), value
        assert "does not ask for" in done.stderr
    part = weft("plugins", "grant", "weather", "--revoke", "--network", IMAP)
    assert "'imap.example.com:993' is only a part of '*:993'" in part.stderr
    assert held() == before


def test_a_person_types_less_where_they_are_asked(
    weft: Weft, plugin: Plugin, held: Held, answer: Callable[..., None]
) -> None:
    plugin(permissions=ASKS)
    answer("y", "~/Mail/work:ro", "evil.example", f"{IMAP}, b.example.org:993", "n")
    done = weft("plugins", "enable", "weather", "--choose")

    assert "Error: evil.example is no part of *:993" in done.stderr
    assert (held()["network"], held()["filesystem"]) == (["b.example.org:993", IMAP], ["~/Mail/work:ro"])
    assert "It asks for *.example.com, which it was not granted; for ~/Mail, of which it was granted" in done.stderr
    answer("", "", "y")
    weft("plugins", "grant", "weather")
    assert (held()["network"], held()["filesystem"]) == (
        ["b.example.org:993", IMAP, "*.example.com"],
        ["~/Mail/work:ro"],
    )


def test_what_a_person_chose_is_what_other_programs_are_told(
    weft: Weft, plugin: Plugin, answer: Callable[..., None]
) -> None:
    plugin(permissions={"network": ["*:993"]})
    answer("y", IMAP)
    done = weft("plugins", "enable", "weather", "--choose", "--format", "json")

    (told,) = json.loads(done.stdout)["granted"]
    assert (told["asked"]["network"], told["granted"]["network"]) == (["*:993"], [IMAP])


def test_an_upgrade_that_asks_for_the_same_keeps_the_narrower_grant(weft: Weft, plugin: Plugin, held: Held) -> None:
    plugin(permissions=ASKS)
    weft("plugins", "enable", "weather", "--yes")
    held("--network", IMAP, "--filesystem", "~/Mail:ro")
    more = ASKS | {"network": [*ASKS["network"], "new.example"]}
    plugin(permissions=more, version="2.0.0", code="return 'Rain'")
    again = weft("plugins", "enable", "weather", "--yes")

    lines = lines_of(again.stderr)
    assert f"may reach every host of the internet at port 993 (granted only {IMAP}, and still)" in lines
    assert "may reach every host below example.com (granted before)" in lines
    assert "may reach new.example NEW" in lines
    assert (held()["network"], held()["filesystem"]) == ([IMAP, "*.example.com", "new.example"], ["~/Mail:ro"])
    shown = lines_of(weft("plugins", "show", "weather").stdout)
    assert f"may reach every host of the internet at port 993 granted only {IMAP}" in shown
    assert "may read and change ~/Mail granted only ~/Mail:ro" in shown


def test_an_upgrade_that_asks_for_more_around_a_grant_is_told_as_new(weft: Weft, plugin: Plugin, held: Held) -> None:
    plugin(permissions={"network": [IMAP]})
    weft("plugins", "enable", "weather", "--yes")
    plugin(permissions={"network": ["*:993"]}, version="2.0.0")
    again = weft("plugins", "enable", "weather", "--yes")

    assert "may reach every host of the internet at port 993 NEW" in lines_of(again.stderr)
    plugin(permissions={"network": ["b.example:993", "*:143"]}, version="3.0.0")
    fewer = lines_of(weft("plugins", "enable", "weather", "--yes").stderr)
    assert "may reach b.example:993 (granted before)" in fewer
    assert "may reach every host of the internet at port 143 NEW" in fewer
