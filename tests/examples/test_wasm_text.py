"""The example in WebAssembly: its checked-in text is assembled and run, and it counts as Python does."""

import hashlib
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawft.contracts import Permissions
from clawft.plugins.host import Plugins
from clawft.plugins.runtime import PluginFailed
from report import ROOT
from wasm_yard import WasmYard

pytestmark = pytest.mark.anyio
EXAMPLE = ROOT / "examples/plugins/wasm-text"
ID = "org.clawft.text-facts"


@pytest.fixture
def yard(tmp_path: Path) -> WasmYard:
    return WasmYard(tmp_path)


def add_example(yard: WasmYard, grant: Permissions | None = None) -> None:
    folder = yard.user_dir / "plugins" / ID
    shutil.copytree(EXAMPLE, folder)
    yard.add_folder(folder, grant)


async def ask(plugins: Plugins, **arguments: Any) -> dict[str, Any]:
    output = await plugins.call(ID, "execute_tool", name="text_facts", arguments=arguments)
    assert not output.is_error, output.content
    answer: dict[str, Any] = json.loads(output.content)
    return answer


async def refuse(plugins: Plugins, **arguments: Any) -> str:
    output = await plugins.call(ID, "execute_tool", name="text_facts", arguments=arguments)
    assert output.is_error
    return str(output.content)


def expect(text: str, words_per_minute: int = 200) -> dict[str, Any]:
    """The same, counted by Python."""
    data = text.encode()
    lines = text.split("\n")
    words = len([one for one in text.translate({ord(blank): " " for blank in "\t\n\v\f\r"}).split(" ") if one])
    return {
        "bytes": len(data),
        "characters": len(text),
        "words": words,
        "lines": len(lines) - (not lines[-1]),
        "longest_line": max(map(len, lines)),
        "reading_minutes": -(-words // words_per_minute),
        "crc32": f"{zlib.crc32(data):08x}",
        "sha256": hashlib.sha256(data).hexdigest(),
    }


async def test_it_counts_a_text_and_a_file_of_the_project(yard: WasmYard) -> None:
    add_example(yard)
    text = 'Grüße aus "Köln",\n\twhere\u2028it 🌧 rains\\\n\n'
    for name in ("notes.txt", "README.md"):  # it has a README.md of its own
        (yard.project / name).write_text(text)
    async with yard.open() as plugins:
        assert await ask(plugins, text=text) == expect(text)
        for path in ("notes.txt", "README.md", f"{yard.project}/notes.txt"):
            assert await ask(plugins, path=path) == expect(text)


async def test_texts_of_every_length_around_a_block_have_the_right_checksum(yard: WasmYard) -> None:
    add_example(yard)
    async with yard.open() as plugins:
        for length in (0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 100_000):
            text = "ab\n"[: length % 3] + "x" * (length - length % 3)
            assert await ask(plugins, text=text) == expect(text)


async def test_any_text_is_counted_as_python_does(yard: WasmYard) -> None:
    add_example(yard)
    async with yard.open() as plugins:
        cases: list[str] = []

        @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(st.text(st.characters(codec="utf-8"), max_size=200))
        def collect(text: str) -> None:
            cases.append(text)

        collect()
        for text in cases:
            assert await ask(plugins, text=text) == expect(text)


async def test_settings_are_read_at_its_start(yard: WasmYard) -> None:
    add_example(yard)
    async with yard.open({"entries": {ID: {"config": {"words_per_minute": 2}}}}) as plugins:
        assert (await ask(plugins, text="one two three"))["reading_minutes"] == 2


async def test_what_it_cannot_do_it_says(yard: WasmYard) -> None:
    add_example(yard)
    async with yard.open() as plugins:
        assert await refuse(plugins) == "Give either `text` or `path`"
        assert await refuse(plugins, text="a", path="b") == "Give either `text` or `path`"
        assert await refuse(plugins, path="none.txt") == "There is no 'project:none.txt'"
        assert "There is no" in await refuse(plugins, path="plugin:README.md")
        assert "granted" in await refuse(plugins, path="/etc/passwd")


async def test_granted_nothing_it_still_counts_texts(yard: WasmYard) -> None:
    add_example(yard, Permissions())
    (yard.project / "notes.txt").write_text("a")
    async with yard.open() as plugins:
        assert (await ask(plugins, text="a b"))["words"] == 2
        assert "nothing that was granted" in await refuse(plugins, path="notes.txt")


async def test_a_text_that_is_too_long_for_its_memory_ends_the_call_and_not_the_plugin(yard: WasmYard) -> None:
    add_example(yard)
    async with yard.open({"wasm": {"memory_mb": 2}}) as plugins:
        with pytest.raises(PluginFailed):
            await ask(plugins, text="x" * 3_000_000)
        assert (await ask(plugins, text="a b"))["words"] == 2


def test_the_text_of_the_component_was_built_from_its_sources() -> None:
    sources = b"".join(one.read_bytes() for one in sorted((EXAMPLE / "src").iterdir()))
    written = (EXAMPLE / "sources.sha256").read_text().strip()
    assert hashlib.sha256(sources).hexdigest() == written, "run build.sh"
