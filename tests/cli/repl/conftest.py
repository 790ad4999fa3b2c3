"""What tests of the REPL share: a world, and a terminal in it."""

from functools import partial
from pathlib import Path

import pytest

from terminal import Open, open_terminal
from world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def terminal(world: World) -> Open:
    """`async with terminal(columns=40) as t:` is the REPL at its prompt; `world.replies` are the answers."""
    return partial(open_terminal, world)
