"""What a plugin is given of the user's, and its log."""

from pathlib import Path
from typing import Any

from clawft.plugins.runtime import PluginLog
from clawft.plugins.settings import add_config_defaults


def test_defaults_are_filled_in_at_every_depth_and_nothing_is_overwritten() -> None:
    schema = {
        "properties": {
            "a": {"default": 1},
            "b": {"default": {"x": 1}, "properties": {"y": {"default": 2}}},
            "c": {"properties": {"d": {"properties": {"e": {"default": []}}}}},
            "f": {"properties": {"g": {"default": 1}, "h": {}}, "required": ["h"]},
            "i": {"default": None},
            "j": True,
        }
    }
    assert add_config_defaults({"a": 0, "z": 9}, schema) == {
        "a": 0, "z": 9, "b": {"x": 1, "y": 2}, "c": {"d": {"e": []}}, "i": None,
    }  # fmt: skip
    assert add_config_defaults({"f": {"h": 3}, "a": None}, schema)["f"] == {"h": 3, "g": 1}
    assert add_config_defaults({}, None) == {}


def test_a_default_is_not_shared() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"default": []}}}
    add_config_defaults({}, schema)["a"].append(1)
    assert add_config_defaults({}, schema) == {"a": []}


def test_a_log_stays_bounded_and_keeps_the_file_before(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "a.log"
    log = PluginLog(str(path), lambda text: text.replace("secret", "***"), max_bytes=500)
    for number in range(100):
        log.add(f"line {number} secret\n".encode())
    files = sorted(path.parent.iterdir())
    assert [one.name for one in files] in (["a.log", "a.log.1"], ["a.log.1"])
    assert sum(one.stat().st_size for one in files) < 1200
    whole = "".join(one.read_text() for one in reversed(files))
    assert "line 99 ***" in whole
    assert "secret" not in whole


def test_a_log_takes_lines_in_pieces_and_cuts_long_ones(tmp_path: Path) -> None:
    log = PluginLog(str(tmp_path / "a.log"), str)
    for piece in (b"on", b"e\ntw", b"\x1b[2J\xe2\x80\xaeo\n\xff\n", b"x" * 20_000, b"\nend"):
        log.add(piece)
    log.close()
    lines = [line[20:] for line in (tmp_path / "a.log").read_text().splitlines()]
    assert lines[:3] == ["one", "tw[2Jo", "\ufffd"]
    assert max(map(len, lines)) <= 8 * 1024
    assert lines[-1] == "end"


def test_a_log_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "a.log").symlink_to(tmp_path / "mine")
    PluginLog(str(tmp_path / "a.log"), str).add(b"theirs\n")
    assert (tmp_path / "mine").read_text() == "mine"
