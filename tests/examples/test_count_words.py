"""The example of a skill in WebAssembly, as a user would have it: put among their skills, and used in a turn."""

import shutil
from pathlib import Path

import pytest
from wasmtime import wat2wasm

from programs import Person, confine, output, results
from wire import call, say
from world import World

pytestmark = pytest.mark.anyio
EXAMPLE = Path(__file__).parents[2] / "examples/skills/count-words"


async def test_a_model_has_words_counted(tmp_path: Path) -> None:
    world = confine(World(tmp_path), "bubblewrap")
    shutil.copytree(EXAMPLE, world.user_dir / "skills/count-words")
    texts = ["", "one", '  "Two",\twords\n', "a\\b \\ é\n\nü " * 300]
    counts = [call("count_words", {"text": one}) for one in texts]
    world.replies = [call("Skill", {"name": "count-words"}), *counts, say("done")]
    found = results(await world.run(approve=Person("session")), "count_words")
    assert [output(one) for one in found] == [f'{{"words": {len(one.split())}}}' for one in texts]


def test_the_module_is_built_from_its_source() -> None:
    built = (EXAMPLE / "scripts/count_words.wasm").read_bytes()
    assert built == bytes(wat2wasm((EXAMPLE / "count_words.wat").read_text()))
