"""Facts of program text, for all code languages: one lexer, one parser and one evaluation, driven by tables.

It follows names to what they stand for, folds constants and lets values flow to where they go. It is not a compiler:
text that is broken, or a fragment, gives the facts that can still be seen.
"""

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Analysis, Fact
from clawft.scan.languages.code.evaluate import Evaluator, Module
from clawft.scan.languages.code.lexer import tokenize
from clawft.scan.languages.code.parser import parse
from clawft.scan.languages.code.values import Mark

__all__ = ["analyse"]


def analyse(document: Document) -> Analysis:
    """The facts of a program, and the commands and code that it carries as text."""
    module = Module(document, parse(tokenize(document.text, document.language)))
    evaluator = Evaluator({"": module})
    evaluator.run()
    return Analysis(_freeze(evaluator.marks.values()), _children(module))


def _children(module: Module) -> list[Document]:
    return [
        make_child(module.document, text, language, how, offset)
        for (text, language, how), offset in module.children.items()
    ]


def _freeze(marks: object) -> list[Fact]:
    """Marks as facts, sources first; a circle is cut where it closes."""
    made: dict[Mark, Fact] = {}
    for root in marks:  # type: ignore[attr-defined]
        stack, path = [(root, False)], set()
        while stack:
            mark, ready = stack.pop()
            if mark in made:
                continue
            if ready:
                path.discard(mark)
                sources = tuple(
                    one if isinstance(one, Fact) else made[one]
                    for one in mark.sources
                    if isinstance(one, Fact) or one in made
                )
                document = mark.module.document
                made[mark] = Fact(mark.kind, mark.target, document, document.line_at(mark.offset), mark.via, sources)
                continue
            if mark in path:
                continue
            path.add(mark)
            stack.append((mark, True))
            stack.extend(
                (one, False) for one in mark.sources if isinstance(one, Mark) and one not in made and one not in path
            )
    return list(made.values())
