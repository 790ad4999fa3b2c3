"""Facts of program text, for all code languages: one lexer, one parser and one evaluation, driven by tables.

It follows names to their values, folds constants and lets values flow to where they go. It is not a compiler:
text that is broken, or a fragment, gives the facts that can still be seen.
"""

from collections.abc import Iterable, Mapping

from clawft.scanner.facts import Analysis, Document, Fact, make_child
from clawft.scanner.languages.code.commands import COMMAND_EFFECTS
from clawft.scanner.languages.code.encodings import ENCODING_EFFECTS
from clawft.scanner.languages.code.evaluator import ProgramEvaluator
from clawft.scanner.languages.code.execution import EXECUTION_EFFECTS
from clawft.scanner.languages.code.files import FILE_EFFECTS
from clawft.scanner.languages.code.flow import PASSING_EFFECTS, SOURCE_EFFECTS
from clawft.scanner.languages.code.lexer import tokenize
from clawft.scanner.languages.code.machine import Module
from clawft.scanner.languages.code.network import CURL_EFFECTS, NETWORK_EFFECTS, SINGLE_LANGUAGE_EFFECTS
from clawft.scanner.languages.code.parser import parse
from clawft.scanner.languages.code.relevance import is_whole, may_act, shorten
from clawft.scanner.languages.code.values import DraftFact, Effect

__all__ = ["analyse", "analyse_together"]

EFFECTS: dict[str, Effect] = {
    **SOURCE_EFFECTS, **FILE_EFFECTS, **COMMAND_EFFECTS, **EXECUTION_EFFECTS, **ENCODING_EFFECTS, **NETWORK_EFFECTS,
    **CURL_EFFECTS, **PASSING_EFFECTS, **SINGLE_LANGUAGE_EFFECTS,
}  # fmt: skip
TOO_MUCH = "It does more than is followed to the end"
NOT_READ = "It could not be read to its end"
NOT_WHOLE = "It is long: only the lines around calls that matter were analysed"


def analyse(document: Document) -> Analysis:
    """The facts of a program, and the commands and code that it carries as text."""
    return analyse_together({"": document})


def analyse_together(documents: Mapping[str, Document]) -> Analysis:
    """The facts of programs that use each other, each by the name that the others know it by."""
    language = next(iter(documents.values())).language
    if not may_act((document.text for document in documents.values()), language):
        return Analysis([], [])
    modules = {name: _read(document) for name, document in documents.items()}
    evaluator = ProgramEvaluator(modules, EFFECTS)
    evaluator.run()
    children = [child for module in modules.values() for child in _children(module)]
    gaps = [NOT_WHOLE] if any(not is_whole(document.text) for document in documents.values()) else []
    if not all(module.whole for module in modules.values()):
        gaps.append(NOT_READ)
    if evaluator.overflow:
        gaps.append(TOO_MUCH)
    return Analysis(_freeze(evaluator.marks.values()), children, gaps)


def _read(document: Document) -> Module:
    """A text as statements; they are kept with it, for it may be looked at again together with others."""
    cached = document.__dict__.get("statements")
    if cached is None:
        part = shorten(document.text)
        cached = document.__dict__["statements"] = (*parse(tokenize(part.text, document.language)), part.place)
    statements, whole, place = cached
    module = Module(document, statements, place)
    module.whole = whole
    return module


def _children(module: Module) -> list[Document]:
    found = module.children.items()
    return [make_child(module.document, text, language, how, module.place(at)) for (text, language, how), at in found]


def _freeze(marks: Iterable[DraftFact]) -> list[Fact]:
    """Marks as facts, sources first; a circle is cut where it closes."""
    made: dict[DraftFact, Fact] = {}
    marks = list(marks)
    facts = {(mark.kind, mark.offset, id(mark.module)) for mark in marks if mark.target}
    for root in marks:
        if not root.target and (root.kind, root.offset, id(root.module)) in facts:
            continue  # the same call, with what it acts on not known
        stack: list[tuple[DraftFact, bool]] = [(root, False)]
        path: set[DraftFact] = set()
        while stack:
            mark, ready = stack.pop()
            if mark in made:
                continue
            if ready:
                made[mark] = _fact(mark, made)
            elif mark not in path:
                path.add(mark)
                stack.append((mark, True))
                stack.extend(
                    (source, False) for source in mark.sources if isinstance(source, DraftFact) and source not in path
                )
    return list(made.values())


def _fact(mark: DraftFact, made: Mapping[DraftFact, Fact]) -> Fact:
    sources = [source if isinstance(source, Fact) else made.get(source) for source in mark.sources]
    document: Document = mark.module.document
    line = document.line_at(mark.module.place(mark.offset))
    return Fact(
        mark.kind, mark.target, document, line, mark.via, tuple(source for source in sources if source is not None)
    )
