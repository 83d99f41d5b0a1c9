#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How large the source is, by directory and against its budget, and what the objects weigh.

Usage: size.py [BUILD]. Exits 1 if a budget is exceeded.
"""

import pathlib
import re
import subprocess
import sys

# Lines of code: what one reader can still hold in the head (docs/adr/006-budgets-count-code.md).
BUDGETS = {"sched": 11500, "kernel arch": 26000}
FILE_LINES = 600
POLICY_LINES = 350  # a file of a fair policy: sched/fair/ without the core that they share
SOURCE = {".c", ".h", ".S", ".def"}


def lines(path):
    with open(path, "rb") as f:
        return sum(1 for _ in f)


def code_lines(path):
    """Lines that are neither blank nor only comment."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment.group().count("\n"), text, flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip())


def total_code(directories):
    return sum(code_lines(path) for directory in directories.split() for path in sources(directory))


def sources(directory):
    return sorted(p for p in pathlib.Path(directory).rglob("*") if p.suffix in SOURCE)


def budget_of(path):
    """Most lines that the file at @path may have."""
    policy = path.is_relative_to("sched/fair") and not path.is_relative_to("sched/fair/core")
    return POLICY_LINES if policy else FILE_LINES


def file_problems():
    for directory in ("lib", "sched", "sim", "kernel", "arch", "user", "tools", "tests"):
        for path in sources(directory):
            if lines(path) > budget_of(path):
                yield f"{path}:{budget_of(path)}: {lines(path)} lines; a file has at most {budget_of(path)}"


def budget_problems():
    for directories, budget in BUDGETS.items():
        total = total_code(directories)
        if total > budget:
            yield (f"{directories.split()[0]}:1: {' + '.join(directories.split())} has {total} lines of code; "
                   f"the budget is {budget}")


def object_sizes(build, directory):
    """(code, data) bytes of the objects of @directory, or None if there are none."""
    objects = [str(p) for p in pathlib.Path(build, "kernel", directory).rglob("*.o")]
    if not objects:
        return None
    out = subprocess.run(["size", "-t", *objects], capture_output=True, text=True, check=True).stdout
    text, data, bss = map(int, out.splitlines()[-1].split()[:3])
    return text, data + bss


def table(build):
    yield f"{'':<10} {'files':>6} {'lines':>7} {'of code':>8} {'longest':>8} {'text':>9} {'data':>9}"
    for directory in ("lib", "sched", "sim", "kernel", "arch", "user", "tests"):
        files = sources(directory)
        if not files:
            continue
        sizes = object_sizes(build, directory)
        bytes_ = "".join(f" {n:>9,}" for n in sizes) if sizes else ""
        yield (f"{directory:<10} {len(files):>6} {sum(map(lines, files)):>7,} {sum(map(code_lines, files)):>8,} "
               f"{max(map(lines, files)):>8}{bytes_}")
    for directories, budget in BUDGETS.items():
        yield f"{' + '.join(directories.split())}: {total_code(directories):,} of at most {budget:,} lines of code"


def main():
    print("\n".join(table(sys.argv[1] if len(sys.argv) > 1 else "build")))
    found = [*file_problems(), *budget_problems()]
    print("\n".join(found) if found else "every file and budget fits")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
