"""Faults in Python: another operator, another constant, an inverted condition, a missing statement."""

import ast
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from hack.mutants.trial import Mutant

_PAIRS = (
    (ast.Eq, ast.NotEq),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.BitOr, ast.BitAnd),
    (ast.And, ast.Or),
)
_OTHERS: dict[type[ast.AST], ast.AST] = {
    ast.Mult: ast.Add(),
    **{one: other() for one, other in _PAIRS},
    **{other: one() for one, other in _PAIRS},
}
# What waits, sends or starts has its tests with real servers.
_NOT_PURE = re.compile(
    r"^\s*(?:import|from) (?:asyncio|aiohttp|kubernetes|subprocess|click|socket|contextlib|threading|structlog)\b"
    r"|^\s*async def ",
    re.MULTILINE,
)


def is_pure(source: str) -> bool:
    """Return whether a module only computes."""
    return not _NOT_PURE.search(source)


def python_mutants(path: Path, source: str) -> Iterator[Mutant]:
    """Yield every candidate of a file, without annotations, docstrings, messages and code for type checkers."""
    starts = [0, *accumulate(len(line) for line in source.splitlines(keepends=True))]
    lines = source.splitlines(keepends=True)

    def place(row: int, column: int) -> int:
        # ast counts columns in bytes
        return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

    for node, new in _changes(ast.parse(source)):
        start = place(node.lineno, node.col_offset)
        end = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        yield Mutant(path, start, end, new, node.lineno)


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    for node in _computing(tree):
        match node:
            case ast.Compare(ops=[operator]) if type(operator) in _OTHERS:
                yield node, _text(node, "ops", [_OTHERS[type(operator)]])
            case ast.BoolOp(op=operator) | ast.BinOp(op=operator) if type(operator) in _OTHERS:
                yield node, _text(node, "op", _OTHERS[type(operator)])
            case ast.UnaryOp(op=ast.Not()):
                yield node, f"({ast.unparse(node.operand)})"
            case ast.Constant(value=bool(value)):
                yield node, str(not value)
            case ast.Constant(value=int(value)):
                yield node, str(value + 1)
            case ast.IfExp():
                yield node, f"({ast.unparse(node.body)})"
            case ast.Continue() | ast.Break() | ast.AugAssign():
                yield node, "pass"
            case ast.Expr(value=ast.Call()):
                yield node, "pass"


def _computing(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one, without annotations, raised errors, decorators and what is only for type checkers."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "exc", "type_params"}:
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _computing(child)


def _text(node: ast.expr, name: str, value: object) -> str:
    fields = {**dict(ast.iter_fields(node)), name: value}
    return f"({ast.unparse(type(node)(**fields))})"
