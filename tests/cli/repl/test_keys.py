"""Keys outside of prompts, and pastes as they come in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from clawft.cli.repl.reader import MAX_TYPED, KeyWatch, read_quickly

pytestmark = pytest.mark.anyio


def read_in_pieces(text: str, cuts: list[int]) -> list[KeyPress]:
    """The keys of a text that arrives in pieces."""
    with create_pipe_input() as source:
        read_quickly(source)
        pressed = []
        ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
        for start, end in zip([0, *ends], ends, strict=False):
            source.send_text(text[start:end])
            pressed += source.read_keys()
        return pressed + source.flush_keys()


@given(st.text(st.characters(exclude_characters="\x1b", exclude_categories=["Cs"])), st.lists(st.integers(0, 60)))
def test_paste_is_whole_however_it_is_cut(pasted: str, cuts: list[int]) -> None:
    pressed = read_in_pieces(f"a\x1b[200~{pasted}\x1b[201~b", cuts)
    assert [one.data for one in pressed] == ["a", pasted, "b"]
    assert pressed[1].key == Keys.BracketedPaste


def test_two_pastes_and_keys_between_them_stay_in_order() -> None:
    pressed = read_in_pieces("\x1b[200~one\x1b[201~x\x1b[200~two\x1b[201~\x03", [3, 9, 14, 20])
    assert [one.key for one in pressed] == [Keys.BracketedPaste, "x", Keys.BracketedPaste, Keys.ControlC]


async def test_typed_text_is_kept_and_actions_are_run() -> None:
    stopped = []
    with create_pipe_input() as source:
        watch = KeyWatch(source, DummyOutput(), lambda text: f"<{text}>")
        with watch.watching({Keys.ControlC: lambda: stopped.append("stop")}, lambda: None):
            source.send_text("one\x7f\x7f2\x1b[A\r\x1b[200~pasted\x1b[201~\x03")
            watch.drain()
        assert watch.take_typed() == "o2\n<pasted>"
        assert watch.take_typed() == ""
        assert stopped == ["stop"]


async def test_what_is_kept_is_bounded() -> None:
    with create_pipe_input() as source:
        watch = KeyWatch(source, DummyOutput(), lambda text: text)
        for _ in range(4):
            source.send_text("x" * 40_000)
            watch.drain()
        assert len(watch.take_typed()) == MAX_TYPED
