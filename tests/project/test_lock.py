"""The lock files: exact, hashed, and free of where they were made."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text("utf-8"), re.MULTILINE))


def test_there_is_a_lock_file_for_each_purpose() -> None:
    assert [path.stem for path in LOCKS] == ["all", "build", "dev", "run", "uv"]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_lock_file_pins_every_package_with_hashes(path: Path) -> None:
    lines = path.read_text("utf-8").replace("\\\n", "").splitlines()
    for requirement in [line for line in lines if not line.startswith("#")]:
        assert re.fullmatch(r"[\w.-]+==[\w.]+( ; [^;]+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*", requirement)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_lock_file_names_no_address_index_or_local_path(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not re.search(r"https?:|://|--(extra-)?index-url|--find-links|--trusted-host|@ |\s/", text)


def test_lock_files_agree_on_versions() -> None:
    dev = pins(ROOT / "requirements" / "dev.txt")
    for name in ("run", "all", "build"):
        assert pins(ROOT / "requirements" / f"{name}.txt").items() <= dev.items()


def test_runtime_lock_has_what_the_daemon_mcp_durable_runs_and_the_hub_need() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]

    def names(lines: list[str]) -> set[str]:
        return {re.split(r"[^\w.-]", line)[0] for line in lines}

    locked = pins(ROOT / "requirements" / "run.txt").keys()
    for extra in ("mcp", "durable", "hub", "serve"):
        assert names([*project["dependencies"], *extras[extra]]) <= locked
    for extra in ("deno", "wasm", "keyring", "telemetry"):  # large, or of use to few: a hint says how to get them
        assert not names(extras[extra]) & locked
