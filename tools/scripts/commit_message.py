#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The form of a commit message (CONTRIBUTING.md). git runs this through tools/hooks/commit-msg.

    the first line     `area: what changes`, at most 72 characters
    the second         empty
    the rest           why

Usage: commit_message.py FILE    exits 1 if the message in FILE does not have this form
"""

import pathlib
import re
import sys
from collections.abc import Iterator

import usage

SUBJECT_LENGTH = 72
SUBJECT = re.compile(r"[\w./+,{}* -]+: \S")
MADE_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")


def problems(message: str) -> Iterator[str]:
    lines = [line for line in message.split("\n# ------------------------ >8")[0].splitlines()
             if not line.startswith("#")]
    subject, rest = (lines or [""])[0], lines[1:]
    if subject.startswith(MADE_BY_GIT):
        return
    if len(subject) > SUBJECT_LENGTH:
        yield f"the first line has {len(subject)} characters; at most {SUBJECT_LENGTH}"
    if not SUBJECT.match(subject):
        yield "the first line begins with an area: `sched/fair: a new task starts to the right`"
    if rest and rest[0].strip():
        yield "the second line is empty"


def main() -> None:
    message = pathlib.Path(*usage.words(__doc__, 1, 1)).read_text(encoding="utf-8")
    found = list(problems(message))
    for problem in found:
        print(f"commit message: {problem}", file=sys.stderr)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
