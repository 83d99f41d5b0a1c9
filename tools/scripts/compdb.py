#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write compile_commands.json, from which clangd and other tools learn how each file is compiled.

The commands are make's own: `make -Bn` prints every one of them without running any. A file of the scheduler is
compiled three times (kernel, simulator, tests); the first command counts, and that is the kernel's. User programs are
compiled by musl-gcc, a wrapper that clang does not know, so their commands name musl's headers instead.

Usage: compdb.py            write compile_commands.json; environment: B (build directory), MAKE
       compdb.py --check    the same; then clang compiles one file of each room by its command in that file
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys

import usage

DATABASE = "compile_commands.json"
TARGETS = ("image", "sim", "unit-programs", "prop-programs")
COMPILERS = ("gcc", "clang")  # ends of their names: x86_64-linux-gnu-gcc, musl-gcc
# One file of each room that has C files, for --check.
SAMPLES = ("lib/string.c", "sched/core/move.c", "sched/fair/cfs/cfs.c", "sim/main.c", "kernel/task/*.c", "arch/x86/*.c",
           "user/bin/*.c", "tests/guest/*.c", "tests/unit/test_cfs.c", "tests/prop/*.c", "tests/kernel/*.c")


def make_commands(build: str) -> list[list[str]]:
    """The words of every compiler command that make would run for everything there is to compile."""
    words = [os.environ.get("MAKE", "make"), "-Bn", "--no-print-directory", "V=1", f"B={build}", *TARGETS]
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "V")}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"compdb.py: {' '.join(words)}: {done.stderr.strip()}")
    lines = (line for line in done.stdout.replace("\\\n", " ").splitlines() if " -c " in line)
    return [words for words in map(shlex.split, lines) if words[0].endswith(COMPILERS)]


def for_clang(words: list[str]) -> list[str]:
    """The command as clang understands it: musl-gcc becomes a clang that has musl's headers only; no .d files. What gcc
    gives variables that have no value changes nothing for a reader, and older clangs refuse it.
    """
    words = [word for word in words if word not in ("-MMD", "-MP") and "auto-var-init" not in word]
    if os.path.basename(words[0]) == "musl-gcc":
        target, rest = f"{os.uname().machine}-linux-musl", words[1:]
    elif words[1] == "-specs":  # a cross compiler with musl's specs: /usr/lib/TARGET/musl-gcc.specs
        target, rest = pathlib.Path(words[2]).parent.name, words[3:]
    else:
        return words
    return ["clang", f"--target={target}", "-nostdlibinc", "-isystem", f"/usr/include/{target}", *rest]


def entries(build: str) -> list[dict[str, object]]:
    """One entry for each C file, by the first command that compiles it."""
    found: dict[str, dict[str, object]] = {}
    for words in make_commands(build):
        source = next((word for word in words if word.endswith(".c")), None)
        if source:
            found.setdefault(source, {"directory": os.getcwd(), "file": source, "arguments": for_clang(words)})
    return list(found.values())


def problems() -> list[str]:
    """clang's complaints about one file of each room, compiled by its command in the database."""
    commands = {entry["file"]: entry["arguments"] for entry in json.loads(pathlib.Path(DATABASE).read_text())}
    found = []
    for pattern in SAMPLES:
        path = str(min(pathlib.Path().glob(pattern), default=pattern))
        if path not in commands:
            found.append(f"{path}:1: not in {DATABASE}")
            continue
        words = ["clang", "-fsyntax-only", *commands[path][1:]]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            found.append(f"{path}:1: clang refuses its command in {DATABASE}: {done.stderr.strip()}")
    return found


def main() -> None:
    words = usage.words(__doc__, 0, 0, ("--check",))
    all_entries = entries(os.environ.get("B", "build"))
    pathlib.Path(DATABASE).write_text(json.dumps(all_entries, indent=1) + "\n", encoding="utf-8")
    print(f"{DATABASE}: {len(all_entries)} files")
    if words:
        found = problems()
        print("\n".join(found) or f"clang compiles one file of each of {len(SAMPLES)} rooms by {DATABASE}")
        sys.exit(bool(found))


if __name__ == "__main__":
    main()
