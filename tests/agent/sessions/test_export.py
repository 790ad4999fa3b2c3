"""A session as Markdown and as a page."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.agent.sessions import SessionStore, Transcript
from clawft.agent.sessions.export import render_html, render_markdown
from clawft.messages import Image, Message, ToolCall, Usage

HOSTILE = "</pre></details><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[2J"
VOID = {"meta", "img"}


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    """One of everything."""
    store = SessionStore(str(tmp_path), clock=lambda: 1_790_000_000)
    call = ToolCall("c1", "exec_shell", {"command": "ls"})
    with store.open("cli:main", cwd="/work") as session:
        session.append(Message("user", "List it\n# please", images=(Image("image/png", "aGk="),)), 1)
        session.activate("files", "How to list files.", 1)
        session.append(Message("assistant", "Now.", (call, ToolCall("c2", "web_search", malformed="{oops"))), 1)
        session.append(Message("tool", "a.txt\n```\nb.txt\n", tool_call_id="c1", name="exec_shell"), 1)
        session.append(Message("tool", "no network", tool_call_id="c2", name="web_search", is_error=True), 1)
        session.append(Message("assistant", "There are **two**."), 1)
        session.finish_turn(1, usage=Usage(1200, 34), model="local/small")
        session.compact("They listed files.", 1)
        session.append(Message("user", "Thanks"), 2)
        session.finish_turn(2, status="cancelled")
    return store.read("cli:main")


def test_markdown_tells_all_of_it(transcript: Transcript) -> None:
    assert render_markdown(transcript) == (
        "# Session cli:main\n\n"
        "- Started: 2026-09-21T14:13:20.000Z\n- Folder: /work\n- Turns: 2\n- Messages: 6\n- Models: local/small\n"
        "- Tokens: 1200 in, 34 out\n\n"
        "## Turn 1\n\n"
        "### User\n\n> List it\n> # please\n\n*(1 images)*\n\n"
        "*Skill files was loaded.*\n\n"
        "### Assistant\n\nNow.\n\n"
        '**Called exec\\_shell**\n\n```json\n{\n  "command": "ls"\n}\n```\n\n'
        "**Called web\\_search**\n\n```json\n{oops\n```\n\n"
        "**Result of exec\\_shell**\n\n````\na.txt\n```\nb.txt\n````\n\n"
        "**Error of web\\_search**\n\n```\nno network\n```\n\n"
        "### Assistant\n\nThere are **two**.\n\n"
        "*turn 1 finished, local/small, 1200 tokens in, 34 out*\n\n"
        "*4 earlier messages were summarised:*\n\n> They listed files.\n\n"
        "## Turn 2\n\n### User\n\n> Thanks\n\n*turn 2 cancelled*\n"
    )


class Page(HTMLParser):
    """What a browser would make of a page: its elements, which must be closed in order, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page_holds_everything_and_folds_what_tools_did(transcript: Transcript) -> None:
    page = Page(render_html(transcript))
    for text in (
        "Session cli:main",
        "List it\n# please",
        "How to list files.",
        "{oops",
        "They listed files.",
        "Thanks",
    ):
        assert text in page.text
    assert page.tags.count("details") == page.tags.count("summary") == 6
    assert page.tags.count("h2") == 2
    assert ("src", "data:image/png;base64,aGk=") in page.attributes


def test_page_loads_nothing_and_runs_nothing(transcript: Transcript) -> None:
    text = render_html(transcript)
    page = Page(text)
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert not re.search(r"https?://|url\(|@import", text)
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    store = SessionStore(str(tmp_path))
    call = ToolCall(HOSTILE, HOSTILE, {HOSTILE: [HOSTILE]})
    with store.open(HOSTILE[:40], cwd=HOSTILE) as session:
        pictures = (Image("image/svg+xml", "aGk="), Image("image/png", '"><script>'))
        session.append(Message("user", HOSTILE, images=pictures), 1)
        session.append(Message("assistant", HOSTILE, (call,)), 1)
        session.append(Message("tool", HOSTILE, tool_call_id=HOSTILE, name=HOSTILE, is_error=True), 1)
        session.activate(HOSTILE, HOSTILE, 1)
        session.finish_turn(1, model=HOSTILE)
        session.compact(HOSTILE, 0)
    text = render_html(store.read(HOSTILE[:40]))
    page = Page(text)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert "\x1b" not in text
    assert "\x1b" not in render_markdown(store.read(HOSTILE[:40]))


@given(st.text(), st.text(alphabet="`~\n> #x", max_size=30))
def test_no_text_breaks_out_of_its_place(tmp_path_factory: pytest.TempPathFactory, text: str, marks: str) -> None:
    store = SessionStore(str(tmp_path_factory.mktemp("any")))
    with store.open("k") as session:
        session.append(Message("user", text), 1)
        session.append(Message("assistant", None, (ToolCall("c", text, {text: marks}),)), 1)
        session.append(Message("tool", marks, tool_call_id="c", name=marks), 1)
        session.append(Message("user", marks), 2)
    transcript = store.read("k")
    Page(render_html(transcript))
    headings, fence = [], ""
    for line in render_markdown(transcript).split("\n"):
        run = re.match("`{3,}", line)
        if fence:
            fence = "" if line == fence else fence
        elif run:
            fence = run[0]
        elif line.startswith("#"):
            headings.append(line)
    assert headings == ["# Session k", "## Turn 1", "### User", "### Assistant", "## Turn 2", "### User"]
