# SPDX-License-Identifier: GPL-2.0-only
"""What the text of a module says, without loading the module and all that it needs."""

import ast
import pathlib
from typing import Any


def parsed(path: pathlib.Path) -> list[ast.stmt]:
    """The statements of the module @path."""
    return ast.parse(path.read_bytes()).body


def assigned(module: list[ast.stmt], name: str) -> ast.expr | None:
    """What @module assigns to @name, or None."""
    for part in module:
        match part:
            case ast.Assign(targets=[ast.Name(id=found)]) if found == name:
                return part.value
    return None


def constant(module: list[ast.stmt], name: str, default: Any = None) -> Any:
    """The constant @name of @module, or @default."""
    value = assigned(module, name)
    return default if value is None else ast.literal_eval(value)


def arguments(call: ast.expr | None) -> dict[str, Any]:
    """The named arguments of @call, constants."""
    assert isinstance(call, ast.Call)
    return {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}


def documentation(module: list[ast.stmt], function: str) -> str:
    """The first line of documentation of @function, or ""."""
    for part in module:
        if isinstance(part, ast.FunctionDef) and part.name == function:
            return (ast.get_docstring(part) or "").partition("\n")[0]
    return ""
