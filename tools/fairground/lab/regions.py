# SPDX-License-Identifier: GPL-2.0-only
"""The regions of the source that students write.

In the trunk a region is the function below a comment that begins `Lab 5, search: ` and says what the function must do.
A hand-out has a stub in its place and a line that ends the region, so that a student may add functions of their own
before it. What lies outside of the regions is the trunk's, whatever a submission has there. Of a `whole` hole all of
the file is the region.
"""

import re
from collections.abc import Iterable

from .spec import Hole, Lab, LabError

COMMENT_ENDS = re.compile(r"\*/[ \t]*\n")
BODY_ENDS = re.compile(r"^(?:\}|END\(\w+\))\n", re.MULTILINE)  # of a function in C, or in assembly


class RegionError(Exception):
    """A file of a submission lacks a region. One sentence for the student."""


def end_line(lab: Lab, hole: Hole) -> str:
    return f"/* End of lab {lab.number}, {hole.name}. */\n"


def _begin(text: str, lab: Lab, hole: Hole) -> int:
    """Where the region of @hole begins: after its comment."""
    begin = re.compile(rf"^/\*(?:\n \*)? Lab {lab.number}, {re.escape(hole.name)}: ", re.MULTILINE)
    found = list(begin.finditer(text))
    end = COMMENT_ENDS.search(text, found[0].end()) if found else None
    if len(found) != 1 or not end:
        raise RegionError(f"{hole.file}: the comment \"Lab {lab.number}, {hole.name}: ...\" is there "
                          f"{len(found)} times; it must stay where it is, once, because your code is found by it")
    return end.end()


def _span(text: str, lab: Lab, hole: Hole) -> tuple[int, int]:
    """Where the region of @hole is in @text, which may be the trunk's or a student's."""
    if hole.whole:
        return 0, len(text)
    start = _begin(text, lab, hole)
    mark = end_line(lab, hole)
    if text.count(mark) > 1:
        raise RegionError(f"{hole.file}: the line \"{mark.strip()}\" is there more than once")
    end = text.find(mark, start)
    if end >= 0:
        return start, end
    if mark in text:
        raise RegionError(f"{hole.file}: the line \"{mark.strip()}\" stands before its region")
    body = BODY_ENDS.search(text, start)
    if not body:
        raise RegionError(f"{hole.file}: the line \"{mark.strip()}\" is gone, so your code has no end")
    return start, body.end()


def read(texts: dict[str, str], lab: Lab) -> dict[str, str]:
    """{name of a hole: code} of files {path: text}."""
    found = {}
    for hole in lab.holes:
        start, end = _span(texts[hole.file], lab, hole)
        found[hole.name] = texts[hole.file][start:end]
    return found


def _replace(texts: dict[str, str], lab: Lab, code: dict[str, str], mark: bool) -> dict[str, str]:
    changed = dict(texts)
    for hole in lab.holes:
        text = changed[hole.file]
        start, end = _span(text, lab, hole)
        ends = end_line(lab, hole) if mark and not hole.whole and not text.startswith(end_line(lab, hole), end) else ""
        changed[hole.file] = text[:start] + code[hole.name] + ends + text[end:]
    return changed


def put(texts: dict[str, str], lab: Lab, code: dict[str, str]) -> dict[str, str]:
    """@texts with other code in the regions."""
    return _replace(texts, lab, code, mark=False)


def stubs(lab: Lab) -> dict[str, str]:
    return {hole.name: hole.stub for hole in lab.holes}


def cut(texts: dict[str, str], lab: Lab) -> dict[str, str]:
    """@texts as the hand-out has them: stubs, and a line where each region ends."""
    return _replace(texts, lab, stubs(lab), mark=True)


def outside(texts: dict[str, str], lab: Lab) -> dict[str, str]:
    """@texts with nothing in the regions: what a student has no reason to change."""
    return _replace(texts, lab, {hole.name: "" for hole in lab.holes}, mark=True)


def trunk_texts(lab: Lab, read_file: "Iterable[tuple[str, str]]") -> dict[str, str]:
    """The files of the trunk, of which each has its regions."""
    texts = dict(read_file)
    try:
        read(texts, lab)
    except RegionError as error:
        raise LabError(f"lab {lab.number}: {error}") from error
    return texts
