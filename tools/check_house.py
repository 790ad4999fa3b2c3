"""Fails when the source becomes harder to find one's way in: more files, private words, cycles, repeated class names.

Each measure has a limit in tools/house.toml that may only fall. `--show` prints all measures, `--list MEASURE` what is
counted, `--update` lowers the limits to what there is.
"""

import argparse
import ast
import re
import statistics
import sys
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "clawft"
SETTINGS = ROOT / "tools" / "house.toml"

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTION_P95 = 30


@dataclass
class Module:
    """One file of the source, parsed."""

    name: str
    path: Path
    text: str
    tree: ast.Module
    comments: list[tuple[int, str]] = field(default_factory=list)
    nodes: list[ast.AST] = field(init=False)
    docstrings: list[tuple[int, str]] = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = list(ast.walk(self.tree))
        documented = [node for node in self.nodes if isinstance(node, ast.Module | ast.ClassDef | Function)]
        self.docstrings = [(node.body[0].lineno, text) for node in documented if (text := ast.get_docstring(node))]


def load_modules(source: Path = SOURCE) -> list[Module]:
    """Parse every Python file below the package."""
    modules = []
    for path in sorted(source.rglob("*.py")):
        if "templates" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(source.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name, path, text, ast.parse(text), list(_read_comments(path))))
    return modules


def _read_comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


class House:
    """The measures, each a list of what is counted."""

    def __init__(self, modules: Sequence[Module], settings: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self._modules = modules
        self._names = frozenset(settings["names"]["banned"])
        self._fixed = frozenset(settings["names"]["fixed"])
        self._texts = re.compile(rf"\b(?:{'|'.join(settings['texts']['banned'])})\b", re.IGNORECASE)
        self._openings = re.compile(rf"(?:{'|'.join(settings['texts']['openings'])})\b")
        self._citations = re.compile("|".join(settings["texts"]["citations"]))

    def list_all(self) -> dict[str, list[str]]:
        """Every countable measure with its places."""
        return {
            "top_level_entries": sorted(
                {module.name.split(".")[1] for module in self._modules if "." in module.name} - {"__main__"}
            ),
            "files": [module.name for module in self._modules],
            "repeated_class_names": list(self._list_repeated_classes()),
            "banned_names": list(self._list_banned_names()),
            "loops_over_one": list(self._list_loops_over_one()),
            "banned_words_in_texts": list(self._list_texts(self._texts)),
            "docstring_openings": list(self._list_openings()),
            "citations": list(self._list_texts(self._citations)),
            "imports_in_functions": list(self._list_inner_imports()),
            "import_cycles": list(self._list_cycles()),
        }

    def measure(self) -> dict[str, int]:
        """All measures as numbers, with the sizes that are not lists."""
        sizes = sorted(module.text.count("\n") for module in self._modules)
        counts = {name: len(places) for name, places in self.list_all().items()}
        return counts | {"lines": sum(sizes)}

    def function_p95(self) -> int:
        lengths = sorted(_measure_functions(self._modules))
        return lengths[int(len(lengths) * 0.95)]

    def file_median(self) -> int:
        return int(statistics.median(module.text.count("\n") for module in self._modules))

    def _list_repeated_classes(self) -> Iterator[str]:
        places = defaultdict(list)
        for module in self._modules:
            for node in module.nodes:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(f"{module.name}:{node.lineno}")
        for name, where in sorted(places.items()):
            if len(where) > 1 and name not in self._fixed:
                yield f"{name}: {', '.join(where)}"

    def _list_banned_names(self) -> Iterator[str]:
        for module in self._modules:
            for word in self._find_banned(module.name.rpartition(".")[2]):
                yield f"{module.name}: module ({word})"
            for name, line in _list_names(module):
                if f"{module.name}: {name}" in self._fixed:
                    continue
                for word in self._find_banned(name):
                    yield f"{module.name}:{line}: {name} ({word})"

    def _find_banned(self, name: str) -> set[str]:
        words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
        return {word.lower() for word in words} & self._names

    def _list_loops_over_one(self) -> Iterator[str]:
        for module in self._modules:
            loops = (node for node in module.nodes if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension))
            for loop in loops:
                if any(isinstance(name, ast.Name) and name.id == "one" for name in ast.walk(loop.target)):
                    yield f"{module.name}:{loop.target.lineno}"

    def _list_openings(self) -> Iterator[str]:
        for module in self._modules:
            for line, text in module.docstrings:
                if self._openings.match(text):
                    yield f"{module.name}:{line}: {text.partition(chr(10))[0]}"

    def _list_texts(self, pattern: re.Pattern[str]) -> Iterator[str]:
        """Docstrings and comments that hold a word of a pattern."""
        for module in self._modules:
            for line, text in (*module.docstrings, *module.comments):
                if found := pattern.search(text):
                    yield f"{module.name}:{line}: {found[0]}"

    def _list_inner_imports(self) -> Iterator[str]:
        for module in self._modules:
            functions = [node for node in module.nodes if isinstance(node, Function)]
            inner = (found for node in functions for found in ast.walk(node))
            lines = {found.lineno for found in inner if isinstance(found, ast.Import | ast.ImportFrom)}
            yield from (f"{module.name}:{line}" for line in sorted(lines))

    def _list_cycles(self) -> Iterator[str]:
        """Groups of modules that import each other when they are loaded, and for types alone."""
        names = {module.name for module in self._modules}
        edges = {module.name: _list_imports(module, names) for module in self._modules}
        for group in _find_components(edges):
            if len(group) > 1:
                yield " ".join(sorted(group))


def _measure_functions(modules: Sequence[Module]) -> Iterator[int]:
    for module in modules:
        for node in module.nodes:
            if isinstance(node, Function):
                yield (node.end_lineno or node.lineno) - node.lineno + 1


def _list_names(module: Module) -> Iterator[tuple[str, int]]:
    """Every name that is defined: classes, functions, arguments, variables, fields."""
    for node in module.nodes:
        if isinstance(node, ast.ClassDef | Function):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def _list_imports(module: Module, names: set[str]) -> set[str]:
    """Modules of ours that this one imports at its top level, also for type checkers alone."""
    found = set()
    for node in module.tree.body:
        for statement in node.body if isinstance(node, ast.If) else [node]:
            if isinstance(statement, ast.ImportFrom) and statement.module:
                for alias in statement.names:
                    full = f"{statement.module}.{alias.name}"
                    found.add(full if full in names else statement.module)
            elif isinstance(statement, ast.Import):
                found |= {alias.name for alias in statement.names}
    return (found & names) - {module.name}


def _find_components(edges: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Strongly connected components, by Tarjan's algorithm without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for start in edges:
        if start in index:
            continue
        work = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            name, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(edges[target]))))
                    break
                if target in on_stack:
                    low[name] = min(low[name], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    cut = stack.index(name)
                    group, stack[cut:] = stack[cut:], []
                    on_stack -= set(group)
                    yield group


def find_excess(measures: Mapping[str, int], limits: Mapping[str, int]) -> list[str]:
    """Return a line for each measure above its limit, or without one."""
    return [
        f"{name}: {value}, at most {limits.get(name, 0)} allowed; see them with: tools/check_house.py --list {name}"
        for name, value in measures.items()
        if value > limits.get(name, 0)
    ]


def update_limits(text: str, measures: Mapping[str, int], limits: Mapping[str, int]) -> str:
    """Return the settings with each limit lowered to what there is."""
    lines = [f"{name} = {min(value, limits.get(name, value))}" for name, value in measures.items()]
    return re.sub(r"(\[limits\]\n)(?:\w+ = \d+\n)*", lambda found: found[1] + "\n".join(lines) + "\n", text, count=1)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print every measure")
    parser.add_argument("--list", metavar="MEASURE", help="print what is counted")
    parser.add_argument("--update", action="store_true", help="lower the limits to what there is")
    given = parser.parse_args(arguments)
    text = SETTINGS.read_text(encoding="utf-8")
    settings = tomllib.loads(text)
    house = House(load_modules(), settings)
    if given.list:
        print("\n".join(house.list_all()[given.list]))
        return 0
    measures = house.measure()
    if given.show:
        for name, value in {**measures, "file_p50": house.file_median(), "function_p95": house.function_p95()}.items():
            print(f"{name:24} {value}")
        return 0
    if given.update:
        SETTINGS.write_text(update_limits(text, measures, settings["limits"]), encoding="utf-8")
        return 0
    excess = find_excess(measures, settings["limits"])
    if (longest := house.function_p95()) > _FUNCTION_P95:
        excess.append(f"functions: the 95th percentile is {longest} lines, at most {_FUNCTION_P95}")
    print("\n".join(excess))
    return bool(excess)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
