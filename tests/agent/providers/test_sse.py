"""Server-sent events: every way of cutting and ending lines, and bounds."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.providers.http import SseParser
from clawft.agent.providers.request import ProviderError

_LINES = st.sampled_from(
    ["data: a", "data:b", "data: ünï 😀", "data", ": comment", "event: x", "id: 1", "", "", "datax: no"]
)
_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def parse(*chunks: bytes) -> list[str]:
    parser = SseParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return events + parser.finish()


@given(st.lists(_LINES, max_size=12), _ENDS, st.lists(st.integers(0, 200), max_size=10), st.booleans())
def test_any_cutting_of_the_bytes_gives_the_same_events(lines: list[str], end: str, cuts: list[int], bom: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + "".join(line + end for line in lines).encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[start:stop] for start, stop in pairwise(places)]
    assert parse(*chunks) == parse(data)


@given(st.lists(_LINES, max_size=12), _ENDS)
def test_every_way_of_ending_lines_gives_the_same_events(lines: list[str], end: str) -> None:
    assert parse("".join(line + end for line in lines).encode()) == parse("".join(f"{x}\n" for x in lines).encode())


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(data: bytes) -> None:
    assert all(isinstance(event, str) for event in parse(data))


def test_lines_of_data_are_joined_and_comments_left_out() -> None:
    assert parse(b": hi\nevent: x\ndata: a\ndata:  b\n\ndata: c\n\n") == ["a\n b", "c"]


def test_event_without_its_blank_line_is_given_at_the_end() -> None:
    parser = SseParser()
    assert parser.feed(b"data: [DONE]") == []
    assert parser.finish() == ["[DONE]"]


def test_character_that_is_cut_in_two_is_put_together() -> None:
    first, second = b"data: \xf0\x9f", b"\x98\x80\n\n"
    assert parse(first, second) == ["😀"]


def test_line_without_an_end_is_refused_at_the_limit() -> None:
    parser = SseParser(max_event_bytes=100)
    parser.feed(b"data: " + b"x" * 90)
    with pytest.raises(ProviderError, match="over 100 bytes") as caught:
        parser.feed(b"xxxxx")
    assert caught.value.code == "provider-bad-answer"


def test_event_of_many_short_lines_is_refused_at_the_limit() -> None:
    parser = SseParser(max_event_bytes=100)
    with pytest.raises(ProviderError, match="over 100 bytes"):
        parser.feed(b"data: x\n" * 60)


def test_comments_without_end_cost_no_memory() -> None:
    parser = SseParser(max_event_bytes=100)
    for _ in range(100):
        assert parser.feed(b": still here\n\n") == []
    assert parser.lines == 200
