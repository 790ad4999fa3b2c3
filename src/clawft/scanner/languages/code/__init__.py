"""Facts of program text, for all code languages: one lexer, one parser and one evaluation, driven by tables.

It follows names to what they stand for, folds constants and lets values flow to where they go. It is not a compiler:
text that is broken, or a fragment, gives the facts that can still be seen.
"""

from collections.abc import Iterable, Mapping

from clawft.scan.documents import Document, make_child
from clawft.scan.facts import Analysis, Fact
from clawft.scan.languages.code.evaluate import Evaluator, Module
from clawft.scan.languages.code.lexer import tokenize
from clawft.scan.languages.code.parser import parse
from clawft.scan.languages.code.relevance import may_act
from clawft.scan.languages.code.values import Mark
from clawft.scan.languages.code.windows import is_whole, shorten

__all__ = ["analyse", "analyse_together"]

TOO_MUCH = "It does more than is followed to the end"
NOT_READ = "It could not be read to its end"
NOT_WHOLE = "It is long: only the lines around calls that matter were analysed"


def analyse(document: Document) -> Analysis:
    """The facts of a program, and the commands and code that it carries as text."""
    return analyse_together({"": document})


def analyse_together(documents: Mapping[str, Document]) -> Analysis:
    """The facts of programs that use each other, each by the name that the others know it by."""
    language = next(iter(documents.values())).language
    if not may_act((one.text for one in documents.values()), language):
        return Analysis([], [])
    modules = {name: _read(document) for name, document in documents.items()}
    evaluator = Evaluator(modules)
    evaluator.run()
    children = [child for one in modules.values() for child in _children(one)]
    gaps = [NOT_WHOLE] if any(not is_whole(one.text) for one in documents.values()) else []
    if not all(one.whole for one in modules.values()):
        gaps.append(NOT_READ)
    if evaluator.overflow:
        gaps.append(TOO_MUCH)
    return Analysis(_freeze(evaluator.marks.values()), children, gaps)


def _read(document: Document) -> Module:
    """A text as statements; they are kept with it, for it may be looked at again together with others."""
    kept = document.__dict__.get("statements")
    if kept is None:
        part = shorten(document.text)
        kept = document.__dict__["statements"] = (*parse(tokenize(part.text, document.language)), part.place)
    statements, whole, place = kept
    module = Module(document, statements, place)
    module.whole = whole
    return module


def _children(module: Module) -> list[Document]:
    found = module.children.items()
    return [make_child(module.document, text, language, how, module.place(at)) for (text, language, how), at in found]


def _freeze(marks: Iterable[Mark]) -> list[Fact]:
    """Marks as facts, sources first; a circle is cut where it closes."""
    made: dict[Mark, Fact] = {}
    marks = list(marks)
    told = {(one.kind, one.offset, id(one.module)) for one in marks if one.target}
    for root in marks:
        if not root.target and (root.kind, root.offset, id(root.module)) in told:
            continue  # the same call, with what it acts on not known
        stack: list[tuple[Mark, bool]] = [(root, False)]
        path: set[Mark] = set()
        while stack:
            mark, ready = stack.pop()
            if mark in made:
                continue
            if ready:
                made[mark] = _fact(mark, made)
            elif mark not in path:
                path.add(mark)
                stack.append((mark, True))
                stack.extend((one, False) for one in mark.sources if isinstance(one, Mark) and one not in path)
    return list(made.values())


def _fact(mark: Mark, made: Mapping[Mark, Fact]) -> Fact:
    sources = [one if isinstance(one, Fact) else made.get(one) for one in mark.sources]
    document: Document = mark.module.document
    line = document.line_at(mark.module.place(mark.offset))
    return Fact(mark.kind, mark.target, document, line, mark.via, tuple(one for one in sources if one is not None))
