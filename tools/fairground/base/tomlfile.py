# SPDX-License-Identifier: GPL-2.0-only
"""TOML with the numbers of lines, so that a mistake in a file is told where it is."""

import re
import tomllib
from pathlib import Path
from typing import Any

from .errors import FileError, reading
from .names import nearest
from .settings import UsageError

NO_TEXT = "this is no text in UTF-8"
KeyPath = tuple[str | int, ...]
HEADER = re.compile(r"^\s*\[(\[)?\s*([^\]]+?)\s*\]")
KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
PART = re.compile(r"""[\w-]+|"([^"]*)"|'([^']*)'""")
STRINGS = re.compile(r'''"""(?:[^"\\]|\\.|"(?!""))*"""|''' r"'''.*?'''|" r'''"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*''',
                     re.DOTALL)


def parts(text: str) -> tuple[str, ...]:
    return tuple(match[1] or match[2] or match[0] for match in PART.finditer(text))


def without_strings(text: str) -> str:
    """@text with the same lines, where strings of several lines and brackets in strings are gone. Keys remain."""
    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return "\n" * found.count("\n") if "\n" in found or found.startswith("#") else re.sub(r"[\[\]{}]", " ", found)
    return STRINGS.sub(blank, text)


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line on which each table and each key of a TOML text stands; keys of inline tables are not there."""
    found: dict[KeyPath, int] = {(): 1}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    depth = 0
    for number, line in enumerate(without_strings(text).split("\n"), 1):
        header, key = HEADER.match(line), KEY.match(line)
        if depth == 0 and header and not key:
            *outer, last = parts(header[2])
            table = ()
            for part in outer:
                table = (*table, part)
                if table in counts:
                    table = (*table, counts[table] - 1)
            table = (*table, last)
            if header[1]:
                counts[table] = counts.get(table, 0) + 1
                table = (*table, counts[table] - 1)
            found[table] = number
            continue
        if depth == 0 and key:
            found[(*table, *parts(key[1]))] = number
        depth += sum(map(line.count, "[{")) - sum(map(line.count, "]}"))
    return found


class TomlFile:
    """A file, its data, and where they stand."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        with reading(path, UsageError, NO_TEXT):
            self.text = path.read_text(encoding="utf-8") if text is None else text
            self.data = self._tables()
        self.lines = lines_of(self.text)

    def _tables(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise FileError(str(error)) from None
        except RecursionError as error:
            raise FileError("its brackets are nested too deeply") from error

    def wrong(self, where: KeyPath, message: str) -> UsageError:
        """The error @message at @where, or at the nearest table around it whose line is known."""
        while where not in self.lines:
            where = where[:-1]
        return UsageError(f"{self.path}:{self.lines[where]}: {message}")

    def check_keys(self, where: KeyPath, table: Any, known: dict[str, Any], required: tuple[str, ...] = ()) -> None:
        """UsageError unless @table is a table with keys and kinds of values that are @known, and has the @required."""
        name = ".".join(str(part) for part in where if isinstance(part, str)) or "the file"
        if not isinstance(table, dict):
            raise self.wrong(where, f"{name} is a table")
        for key, value in table.items():
            if key not in known:
                meant = nearest(key, known.keys())
                raise self.wrong((*where, key), f"unknown key {key} in {name}" + (f"; is {meant} meant?" if meant else
                                                                                   f": {', '.join(known)}"))
            if not isinstance(value, known[key]) or isinstance(value, bool) and known[key] is not bool:
                kinds = known[key] if isinstance(known[key], tuple) else (known[key],)
                raise self.wrong((*where, key), f"{key} in {name} is {' or '.join(KINDS[kind] for kind in kinds)}")
        for key in required:
            if key not in table:
                raise self.wrong(where, f"{name} lacks the key {key}")


KINDS = {str: "a text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
