#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Rules of plain words that a program can check. Each finding is file:line: what is wrong.

    pages       prose lines of at most 120 columns; sentences of at most 40 words
    comments    none begins with a relative pronoun used as a noun: "Who waits ..." for "A task that waits ..."

Usage: prose.py [--wrap] [FILE...]    default: every page and source file; --wrap refills the pages' paragraphs first
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator

COLUMNS, WORDS = 120, 40
LITERAL = re.compile(r"^(```|\||#|<|!\[|    |\t|\s*$)")
ITEM = re.compile(r"^(\s*)([*-]|\d+\.)\s+")
# Words of a sentence: code, links and figures count as one each.
TOKEN = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\S+")
SENTENCE_END = re.compile(r"(?<=[.!?:;])[)\"'*_]*\s+(?=[A-Z0-9`\[(*_])")
NOUN = re.compile(r"(?:^|[.;:] )(Who|Whoever|Whom|Whose|Of those|Those that|Those who|One that|One who"
                  r"|What is (?:not )?\w+ed)\b")
SOURCE = {".c", ".h", ".S", ".def", ".py"}

Paragraph = tuple[int, list[str]]


def paragraphs(text: str) -> Iterator[Paragraph]:
    """(number of the first line, lines) of each paragraph or list item of prose; no code, tables or headings."""
    inside, start = False, 0
    lines: list[str] = []
    for number, line in enumerate(text.splitlines() + [""], 1):
        fence = line.lstrip().startswith("```")
        breaks = inside or fence or (LITERAL.match(line) and not (lines and line.startswith("  "))) or ITEM.match(line)
        if breaks and lines:
            yield start, lines
            lines = []
        if fence:
            inside = not inside
        elif not inside and (ITEM.match(line) or not LITERAL.match(line) or (lines and line.strip())):
            if not lines:
                start = number
            lines.append(line)


def wrapped(lines: list[str]) -> list[str]:
    """The paragraph, refilled if a line of it is too long."""
    if all(len(line) <= COLUMNS for line in lines):
        return lines
    item = ITEM.match(lines[0])
    first = item.group() if item else re.match(r"\s*", lines[0]).group()  # type: ignore[union-attr]
    text = " ".join([lines[0][len(first):]] + [line.strip() for line in lines[1:]])
    return textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=" " * len(first),
                         break_long_words=False, break_on_hyphens=False)


def wrap(text: str) -> str:
    out = text.splitlines()
    for start, lines in reversed(list(paragraphs(text))):
        out[start - 1:start - 1 + len(lines)] = wrapped(lines)
    return "\n".join(out) + "\n"


def sentences(lines: list[str]) -> Iterator[str]:
    text = re.sub(ITEM, "", " ".join(line.strip() for line in lines))
    yield from SENTENCE_END.split(text)


def page_findings(path: pathlib.Path, text: str) -> Iterator[str]:
    for start, lines in paragraphs(text):
        for offset, line in enumerate(lines):
            if len(line) > COLUMNS and " " in line.strip():
                yield f"{path}:{start + offset}: {len(line)} columns of prose; at most {COLUMNS}"
        for sentence in sentences(lines):
            words = len(TOKEN.findall(sentence))
            if words > WORDS:
                yield f"{path}:{start}: a sentence of {words} words, at most {WORDS}: {sentence[:60]}..."
            if NOUN.search(sentence):
                yield f"{path}:{start}: a pronoun as a noun: {sentence[:60]}..."


def comment_findings(path: pathlib.Path, text: str) -> Iterator[str]:
    pattern = r"/\*+\s*(?:\*\s*)?([^*]{0,80})" if path.suffix != ".py" else r"^\s*(?:#|\"\"\")\s*(.{0,80})"
    for match in re.finditer(pattern, text, re.MULTILINE):
        if NOUN.match(match[1].strip()):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: a pronoun as a noun: {match[1].strip()[:60]}"


def repository_files() -> list[pathlib.Path]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True, check=True)
    return [path for path in map(pathlib.Path, listed.stdout.splitlines()) if path.exists()]


def findings(paths: list[pathlib.Path]) -> Iterator[str]:
    for path in paths:
        if path.suffix == ".md":
            yield from page_findings(path, path.read_text(encoding="utf-8"))
        elif path.suffix in SOURCE:
            yield from comment_findings(path, path.read_text(encoding="utf-8"))


def main() -> None:
    words = sys.argv[1:]
    paths = [pathlib.Path(word) for word in words if word != "--wrap"] or repository_files()
    if "--wrap" in words:
        for path in paths:
            if path.suffix == ".md":
                path.write_text(wrap(path.read_text(encoding="utf-8")), encoding="utf-8")
    found = list(findings(paths))
    print("\n".join(found) if found else "plain")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
