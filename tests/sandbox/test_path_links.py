"""Links that a confined program makes in a folder of programs of the project: they open nothing of the machine."""

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
Box = Any


@pytest.fixture
def secret(box: Box) -> Path:
    box.env["PATH"] = f"{box.project}/.venv/bin:/usr/bin:/bin"
    folder: Path = box.home / "keys"
    folder.mkdir()
    (folder / "key").write_text("SECRET")
    return folder


async def test_a_link_to_a_file_elsewhere_opens_neither_it_nor_its_folder(box: Box, secret: Path) -> None:
    (box.project / ".venv" / "bin").mkdir(parents=True)
    await box.run(f"ln -s {secret}/key .venv/bin/zz")
    box.sandbox = box.open()
    assert "SECRET" not in await box.say(f"cat .venv/bin/zz {secret}/key")


async def test_a_folder_of_programs_that_is_a_link_opens_nothing(box: Box, secret: Path) -> None:
    (box.project / ".venv").mkdir()
    await box.run(f"ln -s {secret} .venv/bin")
    box.sandbox = box.open()
    assert "SECRET" not in await box.say(f"cat .venv/bin/key {secret}/key")


async def test_an_interpreter_of_a_toolchain_that_the_project_links_to_runs(box: Box, secret: Path) -> None:
    programs = box.home / ".pyenv" / "versions" / "3.99" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").write_text("#!/bin/sh\necho started\n")
    (programs / "python").chmod(0o755)
    (box.project / ".venv" / "bin").mkdir(parents=True)
    os.symlink(programs / "python", box.project / ".venv" / "bin" / "python")
    assert await box.say("python") == "started\n"
