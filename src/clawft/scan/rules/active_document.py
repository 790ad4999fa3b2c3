"""An office file or a PDF that acts when it is opened."""

from collections.abc import Iterator

from clawft.scan.facts import Kind
from clawft.scan.rule import Hit, Rule
from clawft.scan.subject import Subject

__all__ = ["RULE"]


def check_active_document(subject: Subject) -> Iterator[Hit]:
    for fact in subject.of(Kind.HIDDEN, Kind.HOOK, Kind.FETCH, Kind.EXEC):
        acts = fact.target == "pdf-action" or fact.target.startswith("office:") or fact.via.startswith("a field that")
        if acts or (fact.kind is Kind.FETCH and fact.via.startswith("a remote ")):
            yield Hit(fact, f"{fact.document.path} acts when it is opened: {fact.via}", 0.7)


RULE = Rule(
    id="active-document",
    title="A document that acts when it is opened",
    severity="high",
    category="execution",
    what="An office file with macros that start by themselves, a remote template or a field that runs a program; a PDF "
    "with scripts or actions.",
    why="Opening a document should show it, not run it.",
    example="report.docx fetches its template from another host",
    counter_example="report.docx with text and pictures",
    fix="Save the document without macros, scripts and remote parts.",
    check=check_active_document,
    owasp="AST01",
    atlas="AML.T0011",
)
