"""The changes that `tools/mutants.py` makes to a module: one condition, number, statement or handler at a time."""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

__all__ = ["Mutant", "choose_mutants", "find_mutants"]

_MAX_NUMBER = 100  # a larger one is the size of a bound: tests pin that there is one, not which
_BITS = (ast.BitAnd, ast.BitOr, ast.LShift, ast.RShift)
_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATORS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_TWINS = {"any": "all", "all": "any", "min": "max", "max": "min"}


class Mutant(NamedTuple):
    """One change: `text` is the line it is in, `change` what becomes what."""

    module: str
    line: int
    text: str
    change: str
    make: Callable[[], str]

    @property
    def source(self) -> str:
        """The whole module, changed."""
        return self.make()

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.text, self.change


def find_mutants(source: str, module: str) -> list[Mutant]:
    """List every change that can be made to a module."""
    lines = source.splitlines()
    tree = ast.parse(source)
    conditions = set(map(id, _list_conditions(tree)))
    found: list[Mutant] = []
    alike: Counter[tuple[str, str]] = Counter()
    for node in _list_nodes(tree):
        for other in _change(node, is_condition=id(node) in conditions):
            change = f"{_show(node)} -> {_show(other)}"
            text = lines[node.lineno - 1].strip()
            alike[text, change] += 1
            if alike[text, change] > 1:
                change += f" ({alike[text, change]})"  # the same again in such a line
            found.append(Mutant(module, node.lineno, text, change, partial(_replace, tree, node, other)))
    return found


def choose_mutants(found: Sequence[Mutant], seed: int, limit: int) -> list[Mutant]:
    """Choose some, by their words: the same ones as long as their lines stay."""

    def draw(mutant: Mutant) -> bytes:
        return hashlib.sha256("\0".join((str(seed), *mutant.key)).encode()).digest()

    return sorted(sorted(found, key=draw)[:limit], key=lambda mutant: mutant.line)


def _list_nodes(tree: ast.AST) -> Iterator[ast.stmt | ast.expr | ast.ExceptHandler]:
    """List what may be changed, in the order of the text. Annotations, texts for people, bits, and what a class or
    function is made with are left alone."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(tree, ast.Call):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom) or _is_for_types(node):
                continue
            if isinstance(node, ast.Constant) and isinstance(tree, ast.BinOp) and isinstance(tree.op, _BITS):
                continue
            if isinstance(node, ast.stmt | ast.expr | ast.ExceptHandler):
                yield node
            if isinstance(node, ast.AST):
                yield from _list_nodes(node)


def _is_for_types(node: object) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _list_conditions(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


def _change(node: ast.AST, *, is_condition: bool) -> Iterator[ast.AST]:
    """List what a node may become."""
    if isinstance(node, ast.expr):
        yield from _change_expression(node)
        negatable = not isinstance(node, ast.UnaryOp) and not (isinstance(node, ast.Compare) and len(node.ops) == 1)
        if is_condition and negatable:  # else that is one of the changes above
            yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(node, ast.ExceptHandler):
        yield ast.ExceptHandler(node.type, node.name, [ast.Raise()])
    elif _is_removable(node):
        yield ast.Pass()
    elif isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))


def _is_removable(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Raise | ast.AugAssign | ast.Delete)


def _change_expression(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                yield ast.Compare(node.left, [*node.ops[:at], other(), *node.ops[at + 1 :]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for at in range(len(node.values)):
            left = [*node.values[:at], *node.values[at + 1 :]]
            yield ast.BoolOp(node.op, left) if len(left) > 1 else left[0]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TWINS:
        yield ast.Call(ast.Name(_TWINS[node.func.id]), node.args, node.keywords)
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _change_value(node.value))


def _change_value(value: object) -> list[bool | int | float | str]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value < _MAX_NUMBER else []
    if isinstance(value, float):
        return [value / 2]
    return ["mutant"] if value == "" else []


def _show(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node))
    return " ".join(text.split())


def _replace(tree: ast.AST, node: ast.AST, other: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree, {id(node): other})))
