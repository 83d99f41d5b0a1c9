#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Is .editorconfig obeyed? Every property that it sets for a file is checked in that file.

Understood are the patterns that our .editorconfig uses (`*`, `{a,b}`, nested braces; without a slash the name of the
file is meant, with one its path) and the properties charset, end_of_line, insert_final_newline,
trim_trailing_whitespace, indent_style and max_line_length. indent_size is the width of a tab.
"""

import configparser
import fnmatch
import functools
import pathlib
import re
from collections.abc import Iterator

CONFIG = ".editorconfig"
TAB = 8
# property, its value, what must not be found then, and how to say it
PATTERNS = (
    ("end_of_line", "lf", re.compile(r"\r"), "a carriage return"),
    ("trim_trailing_whitespace", "true", re.compile(r"[ \t]+\r?$", re.MULTILINE), "blanks at the end of the line"),
    # Blanks before a backslash are the right margin of a macro.
    ("indent_style", "tab", re.compile(r"^\t* (?: {7}| *\t)(?!\s*\\$)", re.MULTILINE),
     "indented by blanks; tabs are expected"),
    ("indent_style", "space", re.compile(r"^ *\t", re.MULTILINE), "indented by a tab; blanks are expected"),
)


def expand_braces(pattern: str) -> list[str]:
    """The patterns without braces that @pattern stands for: innermost braces first."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    start, end = pattern[:match.start()], pattern[match.end():]
    return [name for part in match[1].split(",") for name in expand_braces(start + part + end)]


@functools.cache
def sections() -> list[tuple[list[str], dict[str, str]]]:
    """(patterns, properties) of each section, in order."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string("[ ]\n" + pathlib.Path(CONFIG).read_text(encoding="utf-8"))
    # configparser takes a header up to the last bracket of its line, so nested braces are safe.
    return [(expand_braces(name), dict(parser[name])) for name in parser.sections() if name.strip()]


def properties(path: pathlib.Path) -> dict[str, str]:
    """The properties of the file at @path: later sections override earlier ones."""
    found: dict[str, str] = {}
    for patterns, values in sections():
        if any(fnmatch.fnmatchcase(str(path) if "/" in pattern else path.name, pattern) for pattern in patterns):
            found |= values
    return found


def width_problems(text: str, longest: int) -> Iterator[tuple[int, str]]:
    """(position, what) of each line that is wider than @longest columns."""
    at = 0
    for line in text.split("\n"):
        if len(line) > longest or "\t" in line and len(line.expandtabs(TAB)) > longest:
            yield at, f"{len(line.expandtabs(TAB))} columns; at most {longest}"
        at += len(line) + 1


def problems(path: pathlib.Path, text: str) -> Iterator[tuple[int, str]]:
    """(line, what is wrong) of each place in the file at @path, which holds @text, where .editorconfig is not obeyed.

    Open the file with newline="", so that carriage returns are still there.
    """
    wanted = properties(path)
    for name, value, pattern, what in PATTERNS:
        if wanted.get(name) == value:
            for match in pattern.finditer(text):
                yield text.count("\n", 0, match.start()) + 1, what
    if "max_line_length" in wanted:
        for at, what in width_problems(text, int(wanted["max_line_length"])):
            yield text.count("\n", 0, at) + 1, what
    if wanted.get("insert_final_newline") == "true" and text and not text.endswith("\n"):
        yield text.count("\n") + 1, "no newline at the end of the file"
