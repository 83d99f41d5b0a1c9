# SPDX-License-Identifier: GPL-2.0-only
"""A wrong change of the source as a row of TOML: a seeded bug (tests/mutants), a wrong solution of a lab.

    [a_name]
    file = "sched/rt/rt.c"    the file that changes
    function = "rt_pick"      the definition in which it does, or `struct NAME`; without this key, anywhere in the file
    before = 'a < b'          a text that is there once
    after = 'a <= b'          the text that takes its place
    [[a_name.also]]           a further change, with the same keys

Each row has keys of its kind beside these. A row stays true while other lines of its function change.
"""

import pathlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .tomlfile import KeyPath, TomlFile

KEYS = {"file": str, "function": str, "before": str, "after": str}
REQUIRED = ("file", "before", "after")


class EditError(Exception):
    """Why a change cannot be made. One line."""


@dataclass(frozen=True)
class Edit:
    """In @function of @file, @before becomes @after."""

    file: str
    before: str
    after: str
    function: str = ""

    def apply(self, text: str) -> str:
        """@text, which is the file's, with the change. Raises EditError."""
        first, end = 0, len(text)
        if self.function:
            place = definition(text, self.function)
            if not place:
                raise EditError(f"{self.file} has no {self.function}")
            first, end = place
        times = text.count(self.before, first, end)
        if times != 1:
            line = self.before.strip().partition("\n")[0]
            raise EditError(f"{times} times in {self.function or 'the file'} of {self.file}, not once: {line}")
        at = text.index(self.before, first, end)
        return text[:at] + self.after + text[at + len(self.before):]


@dataclass(frozen=True)
class Row:
    """@where it stands (file and line), the keys of its kind, and its changes."""

    name: str
    where: str
    fields: dict[str, str]
    edits: tuple[Edit, ...]


def definition(text: str, name: str) -> tuple[int, int] | None:
    """First index and end of the function or `struct NAME` in the C source @text, with the comment before it."""
    if name.startswith("struct "):
        start = re.search(rf"^{name} \{{", text, re.MULTILINE)
    else:
        start = re.search(rf"^[A-Za-z_][^;{{}}=#/]*?\b{name}\([^;{{}}]*\)[^;{{}}]*\n\{{", text, re.MULTILINE)
    if not start:
        return None
    end = re.compile(r"^\}.*\n?", re.MULTILINE).search(text, start.end())
    before = text[:start.start()].rstrip("\n")
    commented = before.endswith("*/") and text[len(before):start.start()] == "\n"
    return before.rindex("/*") if commented else start.start(), end.end() if end else len(text)


def _edit(file: TomlFile, where: KeyPath, table: dict[str, Any]) -> Edit:
    file.check_keys(where, table, KEYS, REQUIRED)
    return Edit(**table)


def read_rows(path: pathlib.Path, kind: Mapping[str, type]) -> list[Row]:
    """The rows in @path, each of which has the keys @kind, too. Raises UsageError with file and line."""
    file = TomlFile(path)
    rows = []
    for name, table in file.data.items():
        file.check_keys((name,), table, {**kind, **KEYS, "also": list}, tuple(kind))
        edits = [_edit(file, (name,), {key: value for key, value in table.items() if key in KEYS})]
        edits += [_edit(file, (name, "also", number), more) for number, more in enumerate(table.get("also", []))]
        rows.append(Row(name, f"{path}:{file.lines[(name,)]}", {key: table[key] for key in kind}, tuple(edits)))
    return rows


def changed(edits: tuple[Edit, ...], read: Callable[[str], str]) -> dict[str, str]:
    """{file: its text with the changes}. @read returns the text of a file. Raises EditError."""
    texts: dict[str, str] = {}
    for edit in edits:
        text = texts[edit.file] if edit.file in texts else read(edit.file)
        texts[edit.file] = edit.apply(text)
    return texts


def plant(edits: tuple[Edit, ...], tree: str | pathlib.Path) -> None:
    """Make the changes in @tree: all, or none and EditError."""
    root = pathlib.Path(tree)
    try:
        texts = changed(edits, lambda name: (root / name).read_text(encoding="utf-8"))
    except OSError as error:
        raise EditError(f"{error.filename}: {error.strerror}") from error
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")
