"""The recorded tour shows what the terminal does today."""

from pathlib import Path

import pytest

import tour

pytestmark = pytest.mark.anyio


async def test_recorded_tour_is_up_to_date(tmp_path: Path) -> None:
    svg = tour.make_svg(await tour.record(tmp_path))
    assert tour.OUTPUT.read_text("utf-8") == svg, "run: make tour"
    assert str(tmp_path) not in svg
