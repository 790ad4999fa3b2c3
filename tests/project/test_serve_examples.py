"""The examples of how the daemon is run name what there is."""

import configparser
import re
import shlex
from pathlib import Path

from clawft.cli.serve import command
from clawft.config.serve import ServeSettings

EXAMPLES = Path(__file__).parents[2] / "examples" / "serve"


def options_of(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


def test_the_unit_starts_the_daemon_with_options_that_it_has() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(EXAMPLES / "weft-serve.service")
    words = shlex.split(unit["Service"]["ExecStart"])
    known = {one for option in command.params for one in option.opts}
    assert words[0].endswith("/weft")
    assert words[1] == "serve"
    assert options_of(words) <= known
    assert float(unit["Service"]["TimeoutStopSec"]) > ServeSettings().drain_s


def test_the_container_starts_the_daemon_on_the_port_it_opens_and_asks_after() -> None:
    text = (EXAMPLES / "Dockerfile").read_text()
    words = re.search(r"^CMD \[(.*)\]$", text, re.MULTILINE)
    assert words is not None
    known = {one for option in command.params for one in option.opts}
    assert options_of(re.findall(r'"([^"]+)"', words[1])) <= known
    ports = set(re.findall(r"(?:EXPOSE |127\.0\.0\.1:)(\d+)", text))
    assert ports == {str(ServeSettings().port)}
    for folder in re.findall(r"^COPY (?!--from)(?:\S+ )*?(\S+) \S+$", text, re.MULTILINE):
        assert (EXAMPLES.parents[1] / folder).exists()
