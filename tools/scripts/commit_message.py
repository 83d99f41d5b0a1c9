#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The form of a commit message (CONTRIBUTING.md). git runs this through tools/hooks/commit-msg.

    the first line     `area: what changes`, at most 72 characters
    the second         empty
    the rest           why; a commit that raises a room's number in budgets.toml names the room there

Usage: commit_message.py FILE    exits 1 if the message in FILE does not have this form
"""

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import size

BUDGETS = "tools/scripts/budgets.toml"
SUBJECT_LENGTH = 72
SUBJECT = re.compile(r"[\w./+,{}* -]+: \S")
MADE_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")


def budgets_at(version: str) -> dict[str, int]:
    """The numbers in a version of budgets.toml: "HEAD:" and so on, ":" is the index; empty if it has none."""
    done = subprocess.run(["git", "show", f"{version}{BUDGETS}"], capture_output=True, text=True, check=False)
    return {} if done.returncode else size.parse_budgets(done.stdout)


def raised(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """The rooms whose number rises. A room that is new has no number to raise."""
    return [room for room, number in after.items() if room in before and number > before[room]]


def unnamed(rooms: list[str], body: str) -> list[str]:
    """The rooms that @body does not name; "every room" names them all."""
    if "every room" in body:
        return []
    return [room for room in rooms if not re.search(rf"(?<![\w/]){re.escape(room)}(?![\w/])", body)]


def unexplained_raise() -> Iterator[str]:
    """For tidy: the newest commit that touches budgets.toml gave a reason for what it raised."""
    done = subprocess.run(["git", "log", "-1", "--format=%H%n%B", "--", BUDGETS], capture_output=True, text=True,
                          check=False)
    commit, _, message = done.stdout.partition("\n")
    if commit:
        for room in unnamed(raised(budgets_at(f"{commit}^:"), budgets_at(f"{commit}:")), message):
            yield f"{BUDGETS}:1: commit {commit[:10]} raises {room}, and its message does not name it and say why"


def problems(message: str, raises: list[str]) -> Iterator[str]:
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
    for room in unnamed(raises, "\n".join(rest)):
        yield f"the commit raises the budget of {room}: the body names the room and says why"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    message = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    found = list(problems(message, raised(budgets_at("HEAD:"), budgets_at(":"))))
    for problem in found:
        print(f"commit message: {problem}", file=sys.stderr)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
