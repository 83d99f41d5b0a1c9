# SPDX-License-Identifier: GPL-2.0-only
"""The reading path: what one reads to understand one decision, from wakeup to switch, under CFS.

docs/reading.md names its functions and structures, in tables by file, and under "Look away" the functions that they
call and that one may leave out, each with a sentence. The path is closed: each function of sched/ that one of its
functions calls is on it or under "Look away". It has at most LINES lines, with all comments.
"""

import pathlib
import re
from collections.abc import Iterator

from fairground.base.edit import definition

LINES = 2200
PAGE = pathlib.Path("docs/reading.md")
AWAY = "\n## Look away\n"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
ATTRIBUTE = re.compile(r"__attribute__\(\(.*?\)\)+")
HEAD = re.compile(r"^[A-Za-z_][^;{}=#]*?\n\{", re.MULTILINE)
CALL = re.compile(r"(?<![\w.>])([a-z_]\w*)\(")


def named() -> dict[pathlib.Path, list[str]]:
    """The parts of each file that are on the path: the rows `| [file](../file) | `name` ... |` of the page.

    A row that names nothing means the whole file.
    """
    found: dict[pathlib.Path, list[str]] = {}
    path, _, _ = PAGE.read_text(encoding="utf-8").partition(AWAY)
    for file, cell in re.findall(r"^\| \[[^]]+\]\(\.\./([^)]+)\) \|([^|]*)\|", path, re.MULTILINE):
        found.setdefault(pathlib.Path(file), []).extend(re.findall(r"`([^`]+)`", cell))
    return found


def looked_away() -> set[str]:
    """The functions that are named in the first column of the table under "Look away"."""
    _, _, away = PAGE.read_text(encoding="utf-8").partition(AWAY)
    cells = re.findall(r"^\| (`[^|]*)\|", away, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def functions(text: str) -> list[str]:
    """The names of the functions that the C source @text defines."""
    heads = (COMMENT.sub("", head.group()) for head in HEAD.finditer(text))
    calls = (re.search(r"\b(\w+)\(", ATTRIBUTE.sub("", head)) for head in heads)
    return [call[1] for call in calls if call]


def header_lines(text: str) -> int:
    """Lines of the comment at the top that says what the file is for, the licence line included."""
    match = re.match(r"/\*.*?\*/\n(?:/\*.*?\*/\n)?", text, re.S)
    return match.group().count("\n") if match else 0


def parts() -> Iterator[tuple[pathlib.Path, str, int]]:
    """(file, name, lines) of each part of the path; 0 lines: the file has no such definition.

    The comment at the top of a file is read with whatever is named in it.
    """
    for path, names in named().items():
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        yield path, "", header_lines(text) if names else text.count("\n")
        for name in names:
            place = definition(text, name)
            yield path, name, text.count("\n", *place) if place else 0


def length() -> int:
    return sum(size for *_, size in parts())


def calls() -> Iterator[tuple[str, str]]:
    """(function on the path, function of sched/ that it calls)."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(pathlib.Path("sched").rglob("*.[ch]"))}
    defined = {name for text in texts.values() for name in functions(text)}
    for path, names in named().items():
        for name in names or functions(texts.get(path, "")):
            place = definition(texts.get(path, ""), name)
            body = COMMENT.sub("", texts[path][slice(*place)]) if place else ""
            yield from ((name, callee) for callee in sorted(set(CALL.findall(body)) & defined - {name}))


def open_ends() -> Iterator[str]:
    """Why the path is not closed."""
    texts = {path: path.read_text(encoding="utf-8") for path in named() if path.exists()}
    on_path = {name for path, names in named().items() for name in names or functions(texts.get(path, ""))}
    away = looked_away()
    called: dict[str, str] = {}
    for caller, callee in calls():
        called.setdefault(callee, caller)
    for callee in sorted(called.keys() - on_path - away):
        yield f"{PAGE}:1: {called[callee]}() is on the reading path and calls {callee}(), which is not, nor looked away"
    for name in sorted(away & on_path):
        yield f"{PAGE}:1: {name}() is on the reading path and looked away"
    for name in sorted(away - called.keys()):
        yield f"{PAGE}:1: {name}() is looked away, but nothing on the reading path calls it"


def problems() -> Iterator[str]:
    missing = [(path, name) for path, name, size in parts() if not size]
    for path, name in missing:
        yield f"{PAGE}:1: the reading path names {name or 'a file'} in {path}, which is not there"
    if length() > LINES:
        yield f"{PAGE}:1: the reading path has {length()} lines; at most {LINES}"
    if not missing:
        yield from open_ends()


def table() -> Iterator[str]:
    yield f"{'reading path':<30} {'lines':>6}"
    by_file: dict[pathlib.Path, int] = {}
    for path, _, size in parts():
        by_file[path] = by_file.get(path, 0) + size
    for path, size in by_file.items():
        whole = path.read_text(encoding="utf-8").count("\n") if path.exists() else 0
        yield f"{str(path):<30} {size:>6,} of {whole:,}"
    yield f"{'all':<30} {length():>6,} of at most {LINES:,}"
