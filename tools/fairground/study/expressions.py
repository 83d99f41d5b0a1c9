# SPDX-License-Identifier: GPL-2.0-only
"""Small expressions in the files of experiments: numbers from names, `@{...}` in texts, and loops over values.

An expression is a part of Python's: names, numbers, texts, lists, subscripts, arithmetic, comparisons, `a if b else c`,
generators, and calls of the functions that are named below or that the experiment brings. It has no attributes and no
other built-in names, so it reaches nothing that it was not given.
"""

import ast
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..base.errors import FileError

Scope = Mapping[str, Any]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "max": max, "min": min, "sum": sum, "len": len, "round": round, "range": range, "list": list,
    "float": float, "int": int, "str": str, "sorted": sorted, "zip": zip, "enumerate": enumerate,
    "mean": lambda values: sum(found := list(values)) / len(found),
    "product": lambda values: math.prod(values),
    "join": lambda separator, values: separator.join(map(str, values)),
    "signed": "{:+g}".format, "to_json": json.dumps,
}
NODES = (ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Store, ast.Subscript, ast.Slice, ast.Tuple, ast.List,
         ast.Dict, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.GeneratorExp, ast.ListComp,
         ast.comprehension, ast.Starred, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
HOLE = re.compile(r"@\{((?:[^{}]|\{[^{}]*\})*)\}")


class BadExpression(FileError):
    """An expression that makes no sense. The text is a part of a sentence."""


def parse(text: str) -> ast.Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadExpression(f"{text!r} is no expression: {getattr(error, 'msg', error)}") from None
    for node in ast.walk(tree):
        if not isinstance(node, NODES) or isinstance(node, ast.Name) and node.id.startswith("_"):
            raise BadExpression(f"{text!r} has a part that expressions do not have: {ast.unparse(node)}")
    return tree


def free_names(text: str) -> set[str]:
    """The names of the expression @text that it does not make itself."""
    nodes = [node for node in ast.walk(parse(text)) if isinstance(node, ast.Name)]
    made = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    return {node.id for node in nodes} - made


def evaluate(text: str, scope: Scope) -> Any:
    """The value of the expression @text."""
    code = compile(parse(text), text, "eval")
    try:
        return eval(code, {"__builtins__": {}, **FUNCTIONS, **scope})
    except NameError as error:
        raise BadExpression(f"{text!r}: {error}") from None


def holes(value: Any) -> Iterator[str]:
    """The expressions in the texts of @value, which may be a tree of tables and lists."""
    if isinstance(value, str):
        yield from HOLE.findall(value)
    elif isinstance(value, dict):
        for key, of_key in value.items():
            yield from holes(key)
            yield from holes(of_key)
    elif isinstance(value, list):
        for each in value:
            yield from holes(each)


def fill(value: Any, scope: Scope) -> Any:
    """@value with each `@{expression}` replaced by what it is. A text that is nothing else becomes that value."""
    if isinstance(value, str):
        if (whole := HOLE.fullmatch(value)) and value.count("@{") == 1:
            return evaluate(whole[1], scope)
        return HOLE.sub(lambda match: str(evaluate(match[1], scope)), value)
    if isinstance(value, dict):
        return {fill(key, scope): fill(of_key, scope) for key, of_key in value.items()}
    return [fill(each, scope) for each in value] if isinstance(value, list) else value


def names_of_loop(key: str) -> list[str]:
    """The names that a loop sets: `case`, or several, `case, published`."""
    return [name.strip() for name in key.split(",")]


def loop(table: Mapping[str, Any], scope: Scope) -> Iterator[dict[str, Any]]:
    """The names that `for` sets, once for each combination; the last name changes first. An empty table: once."""
    ranges = [evaluate(values, scope) if isinstance(values, str) else fill(values, scope) for values in table.values()]
    for chosen in itertools.product(*ranges):
        found: dict[str, Any] = {}
        for key, value in zip(table, chosen):
            names = names_of_loop(key)
            found.update(zip(names, value, strict=True) if len(names) > 1 else ((key, value),))
        yield found
