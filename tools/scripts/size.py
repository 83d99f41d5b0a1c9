#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How large the source is: by directory, room by room, and along the reading path.

    reading path   the functions and structures that docs/reading.md names, which are what one reads to understand one
                   decision from wakeup to switch under CFS; their lines with all comments: at most PATH_LINES
    rooms          each directory of sched/, sim/, kernel/ and arch/; its lines of code without comments
    files          at most FILE_LINES lines, a fair policy POLICY_LINES

Usage: size.py [BUILD]     print the tables, and the sizes of the objects in BUILD; exit 1 if a limit is exceeded
The reasons are in docs/adr/013-reading-path-and-ratchets.md.
"""

import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

import circles
from fairground.base.edit import definition

FILE_LINES = 600
POLICY_LINES = 350  # a file of a fair policy: sched/fair/ without the core that they share
PATH_LINES = 3000
PATH_PAGE = pathlib.Path("docs/reading.md")
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


# --- the reading path ------------------------------------------------------------------------------


def named_on_path() -> dict[pathlib.Path, list[str]]:
    """The parts of each file that are on the reading path: the rows `| [file](../file) | `name` ... |` of the page.

    A row that names nothing means the whole file.
    """
    found: dict[pathlib.Path, list[str]] = {}
    for path, cell in re.findall(r"^\| \[[^]]+\]\(\.\./([^)]+)\) \|([^|]*)\|",
                                 PATH_PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(pathlib.Path(path), []).extend(re.findall(r"`([^`]+)`", cell))
    return found


def header_lines(text: str) -> int:
    """Lines of the comment at the top that says what the file is for, the licence line included."""
    match = re.match(r"/\*.*?\*/\n(?:/\*.*?\*/\n)?", text, re.S)
    return match.group().count("\n") if match else 0


def path_parts() -> Iterator[tuple[pathlib.Path, str, int]]:
    """(file, name, lines) of each part of the reading path; 0 lines: the file has no such definition.

    The comment at the top of a file is read with whatever is named in it.
    """
    for path, names in named_on_path().items():
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        yield path, "", header_lines(text) if names else text.count("\n")
        for name in names:
            place = definition(text, name)
            yield path, name, text.count("\n", *place) if place else 0


def path_lines() -> int:
    return sum(size for *_, size in path_parts())


def path_problems() -> Iterator[str]:
    for path, name, size in path_parts():
        if not size:
            yield f"{PATH_PAGE}:1: the reading path names {name or 'a file'} in {path}, which is not there"
    if path_lines() > PATH_LINES:
        yield f"{PATH_PAGE}:1: the reading path has {path_lines()} lines; at most {PATH_LINES}"


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


def path_table() -> Iterator[str]:
    yield f"{'reading path':<30} {'lines':>6}"
    by_file: dict[pathlib.Path, int] = {}
    for path, _, size in path_parts():
        by_file[path] = by_file.get(path, 0) + size
    for path, size in by_file.items():
        yield f"{str(path):<30} {size:>6,} of {lines(path) if path.exists() else 0:,}"
    yield f"{'all':<30} {path_lines():>6,} of at most {PATH_LINES:,}"


def problems() -> Iterator[str]:
    yield from file_problems()
    yield from path_problems()


def main() -> None:
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    tables: list[Iterable[str]] = [directory_table(build), room_table(),
                                   path_table(), circles.table(f"{build}/kernel/sched")]
    print("\n\n".join("\n".join(table) for table in tables) + "\n")
    found = list(problems())
    print("\n".join(found) if found else "every file and the reading path fit")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
