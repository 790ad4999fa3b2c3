"""The line of the memory is measured on as many entries as it says."""

from pathlib import Path

import pytest

from lines_memory import measure_memory_search


@pytest.mark.unmeasured
def test_search_among_memories_is_measured(tmp_path: Path) -> None:
    line = measure_memory_search(tmp_path, entries=60, queries=2)

    assert line.name == "memory-search"
    assert line.measured.startswith("a search among 60 memories")
    assert (line.limit, line.baseline_value, line.unit) == (1, 20, "ms")
    assert line.value > 0
    assert (tmp_path / "MEMORY.md").read_text().count("## ") == 60
