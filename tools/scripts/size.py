#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How large the source is: by directory, room by room, and along the reading path.

    reading path   what one reads to understand one decision (reading_path.py)
    rooms          each directory of sched/, sim/, kernel/ and arch/; its lines of code without comments
    files          at most FILE_LINES lines, a fair policy POLICY_LINES

The reasons are in docs/adr/013-reading-path-and-ratchets.md.

Usage: size.py     prints the tables, and the sizes of the objects in B; exits 1 if a limit is exceeded
       environment: B (build directory)
"""

import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

import circles
import reading_path
import usage

FILE_LINES = 600
POLICY_LINES = 350  # of a file of a fair policy, which is one in sched/fair/ but not in its core/
ROOMY = ("sched", "sim", "kernel", "arch")
SOURCE = {".c", ".h", ".S", ".def"}
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def lines(path: pathlib.Path) -> int:
    with open(path, "rb") as f:
        return sum(1 for _ in f)


def code_lines(path: pathlib.Path) -> int:
    """Lines that are neither blank nor only comment."""
    text = COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), path.read_text(encoding="utf-8"))
    return sum(1 for line in text.splitlines() if line.strip())


def sources(directory: str) -> list[pathlib.Path]:
    return sorted(p for p in pathlib.Path(directory).rglob("*") if p.suffix in SOURCE)


# --- files --------------------------------------------------------------------------------------


def limit_of(path: pathlib.Path) -> int:
    """How many lines the file at @path may have."""
    policy = path.is_relative_to("sched/fair") and not path.is_relative_to("sched/fair/core")
    return POLICY_LINES if policy else FILE_LINES


def file_problems() -> Iterator[str]:
    for directory in ("lib", "sched", "sim", "kernel", "arch", "user", "tools", "tests"):
        for path in sources(directory):
            if lines(path) > limit_of(path):
                yield f"{path}:{limit_of(path)}: {lines(path)} lines; a file has at most {limit_of(path)}"


# --- rooms --------------------------------------------------------------------------------------


def rooms() -> dict[str, int]:
    """Lines of code of each directory that holds source files itself."""
    found: dict[str, int] = {}
    for top in ROOMY:
        for path in sources(top):
            room = str(path.parent)
            found[room] = found.get(room, 0) + code_lines(path)
    return dict(sorted(found.items()))


# --- tables -----------------------------------------------------------------------------------------


def object_sizes(build: str, directory: str) -> tuple[int, int] | None:
    """(code, data) bytes of the objects of @directory, or None if there are none."""
    objects = [str(p) for p in pathlib.Path(build, "kernel", directory).rglob("*.o")]
    if not objects:
        return None
    out = subprocess.run(["size", "-t", *objects], capture_output=True, text=True, check=True).stdout
    text, data, bss = map(int, out.splitlines()[-1].split()[:3])
    return text, data + bss


def directory_table(build: str) -> Iterator[str]:
    yield f"{'':<18} {'files':>6} {'lines':>7} {'of code':>8} {'longest':>8} {'text':>9} {'data':>9}"
    for directory in ("lib", "sched", "sim", "kernel", "arch", "user", "tests"):
        files = sources(directory)
        if not files:
            continue
        sizes = object_sizes(build, directory)
        bytes_ = "".join(f" {n:>9,}" for n in sizes) if sizes else ""
        yield (f"{directory:<18} {len(files):>6} {sum(map(lines, files)):>7,} {sum(map(code_lines, files)):>8,} "
               f"{max(map(lines, files)):>8}{bytes_}")


def room_table() -> Iterator[str]:
    yield f"{'room':<18} {'of code':>8}"
    for room, size in rooms().items():
        yield f"{room:<18} {size:>8,}"


def problems() -> Iterator[str]:
    yield from file_problems()
    yield from reading_path.problems()


def main() -> None:
    usage.words(__doc__, 0, 0)
    build = os.environ.get("B", "build")
    tables: list[Iterable[str]] = [directory_table(build), room_table(),
                                   reading_path.table(), circles.table(f"{build}/kernel/sched")]
    print("\n\n".join("\n".join(table) for table in tables) + "\n")
    found = list(problems())
    print("\n".join(found) if found else "every file and the reading path fit")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
