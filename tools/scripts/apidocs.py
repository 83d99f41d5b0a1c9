# SPDX-License-Identifier: GPL-2.0-only
"""docs/api.md: the Python interface, from the signatures and texts of tools/fairground/api.py, which is not loaded."""

import ast
import pathlib
import re
import textwrap
from collections.abc import Iterator

SOURCE = "tools/fairground/api.py"
INTRO = '''# The Python interface
<!-- Made from tools/fairground/api.py by tools/scripts/gendocs.py; change that and run `make generated`. -->

In a notebook or a program, after `pip install` ([command.md](command.md#installed)) or with `PYTHONPATH=tools` in a
clone. Tables are of pandas; with `form="arrow"` of pyarrow, with `form="columns"` lists by name, which need no package.
[examples/results.ipynb](../examples/results.ipynb) is a notebook of it.

```
>>> import fairground as fg
>>> run = fg.simulate("hogs:n=2", "bursts:run=2ms,sleep=10ms", sched="eevdf", time="100ms", trace="run.dat")
>>> (run.trace.runs().groupby("comm").run_ns.sum() / 1e6).round(3)
comm
burst    12.0
hog      84.0
Name: run_ns, dtype: float64
>>> (run.trace.waits().groupby("comm").wait_ns.max() / 1e6).round(3)
comm
burst    8.0
hog      8.0
Name: wait_ns, dtype: float64
>>> fg.Trace("tests/sim/linux-6.1.dat").tasks(form="columns")["task"][:3]
['kthreadd', 'ksoftirqd/0', 'rcu_preempt']
>>> fg.Trace("README.md")
Traceback (most recent call last):
...
fairground.machine.image.TraceError: README.md: this is not a trace.dat file, nor a perf.data
```

`fairground.API` is the version of these names, %s: its first number changes when a program that uses them may have to
change, its second when something is new. `fairground.__version__` is the project's. All else in the package may change
with each release. Every error is a `fairground.Error`, whose text is one sentence; a wrong type is Python's TypeError.
'''


def unfolded(node: ast.ClassDef | ast.FunctionDef) -> str:
    """The documentation of @node in one line, for a cell."""
    text = " ".join((ast.get_docstring(node) or "").split()).replace("|", "\\|").replace("<NA>", "`<NA>`")
    return re.sub(r"@(\w+)", r"`\1`", text)


def is_property(node: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(each) for each in node.decorator_list)


def signature(node: ast.FunctionDef, name: str) -> str:
    """The name with its parameters, without `self` and types."""
    if is_property(node):
        return f"`{name}`"
    of, shown = node.args, []
    positional = [arg.arg for arg in of.args if arg.arg != "self"]
    defaults = [ast.unparse(each) for each in of.defaults]
    for place, arg in enumerate(positional, len(defaults) - len(positional)):
        shown.append(arg if place < 0 else f"{arg}={defaults[place]}")
    shown += [f"*{of.vararg.arg}"] if of.vararg else []
    for only, default in zip(of.kwonlyargs, of.kw_defaults):
        shown.append(only.arg if default is None else f"{only.arg}={ast.unparse(default)}")
    shown += [f"**{of.kwarg.arg}"] if of.kwarg else []
    return f"`{name}({', '.join(shown)})`"


def members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            yield signature(each, f".{each.name}"), unfolded(each)


def table(rows: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> str:
    return "\n".join(["| name | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)])


def page() -> str:
    """The page."""
    body = ast.parse(pathlib.Path(SOURCE).read_text(encoding="utf-8")).body
    version = next(ast.literal_eval(each.value) for each in body if isinstance(each, ast.Assign)
                   and ast.unparse(each.targets[0]) == "API")
    parts, errors, functions = [INTRO % version], [], []
    for each in body:
        if isinstance(each, ast.ClassDef) and each.name.endswith("Error"):
            errors.append((f"`{each.name}`", unfolded(each)))
        elif isinstance(each, ast.ClassDef):
            text = textwrap.fill(unfolded(each), 120, break_long_words=False, break_on_hyphens=False)
            parts.append(f"## {each.name}\n\n{text}\n\n{table(members(each))}\n")
        elif isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            functions.append((signature(each, each.name), unfolded(each)))
    imported = [("`Error`", "Every error is one."), ("`TraceError`", "A file is no trace, or is damaged."),
                ("`DecisionError`", "A file has no decisions that can be read."),
                ("`UsageError`", "An argument makes no sense."),
                ("`MissingPackage`", "A Python package is not there; the text says what brings it."), *errors]
    parts.append(f"## Functions\n\n{table(functions)}\n")
    parts.append(f"## Errors\n\n{table(imported)}\n")
    return "\n".join(parts)
