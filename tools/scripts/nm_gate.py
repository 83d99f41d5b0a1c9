#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check that the scheduler asks its host for nothing but the seam, and keeps no state of its own.

Links the objects given (kernel or hosted builds of sched/ and lib/) and compares the names that stay undefined with the
functions that sched/host.h declares. There is no writable data either, because all state is in one struct sched.

Usage: nm_gate.py OBJECT...
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import usage

COMPILER_CALLS = {"memcpy", "memset", "memmove", "memcmp"}  # lib/string.c in the kernel, libc elsewhere
WRITABLE = "dDbBC"


def seam() -> set[str]:
    """Names of the functions that sched/host.h declares."""
    with open("sched/host.h", encoding="utf-8") as f:
        return set(re.findall(r"^[\w ]+?\**\b(host_\w+)\(", f.read(), re.MULTILINE))


def symbols(objects: list[str]) -> list[tuple[str, str]]:
    """(kind, name) of the objects linked together."""
    prefix = os.environ.get("CROSS_COMPILE", "")
    with tempfile.NamedTemporaryFile(suffix=".o") as linked:
        subprocess.run([prefix + "ld", "-r", "-o", linked.name, *objects], check=True)
        out = subprocess.run([prefix + "nm", linked.name], capture_output=True, text=True, check=True).stdout
    return [(kind, name) for *_, kind, name in map(str.split, out.splitlines())]


def problems(objects: list[str]) -> Iterator[str]:
    found = symbols(objects)
    undefined = {name for kind, name in found if kind == "U"}
    for name in sorted(undefined - seam() - COMPILER_CALLS):
        yield f"{name} is used by the scheduler but sched/host.h does not declare it"
    for name in sorted(seam() - undefined):
        yield f"{name} is declared in sched/host.h but nothing calls it"
    for name in sorted(name for kind, name in found if kind in WRITABLE):
        yield f"{name} is writable data; state belongs in struct sched"


def main() -> None:
    found = list(problems(usage.words(__doc__, 1)))
    for problem in found:
        print(f"sched/host.h:1: {problem}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
