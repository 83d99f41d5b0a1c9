#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The sessions that the pages show: run them again, and put what they print now in place of what they printed.

A fenced block is a session: its lines with "$ " are commands, and the others are what they print ("..." leaves out
something); without such lines all are commands. A block that begins with "cd /sys" is typed into the machine.

A session is exact if its time is counted instructions or simulated: a command with ICOUNT=1, `make bench`, `make
repeat`, schedsim, hosted, python3 -c, and any command that reads the file that one of them wrote. `make docs` renews
what such a session shows, and tests/e2e/test_docs.py compares it to the digit. A picture that a session of the book
draws ("-o NAME.svg") is docs/book/img/NAME.svg: it is renewed, and compared, with the session. Digits depend on the
compiler: they are those of Debian 12's. All other sessions are compared by the shape of their lines.

Usage: docblocks.py [PAGE...]    renews the pages; a line that nothing like it is printed for is an error
       environment: B (build directory)
"""

import glob
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import usage

PAGES = ["README.md", "user/README.md", "sched/README.md", "sim/README.md", "docs/*.md", "docs/book/*.md",
         "docs/term/*.md", "docs/term/slides/*.md"]
PROGRAMS = ("make bench", "make run", "make trace", "make latency", "make repeat", "make profile", "make sim",
            "make plugin", "make scx", "trace-cmd", "build/schedsim", "build/unit/hosted", "python3 -c")
EXACT = ("ICOUNT=1", "make bench", "make repeat", "make profile", "make plugin", "make scx", "build/schedsim",
         "build/unit/hosted", "python3 -c")
READS_A_FILE = ("trace-cmd", "make latency", "make graph", "make decisions", "make why")
RUNNABLE = PROGRAMS + READS_A_FILE
MADE = re.compile(r"(?<![\w./-])(?=[\w-]+\.(?:json|bin|dat|csv|svg)\b)")  # before the name of a session's own file
DRAWN = re.compile(r"-o ([\w-]+\.svg)\b")

Block = tuple[int, list[str]]
Step = tuple[str, list[tuple[int, str]]]


def blocks(path: str) -> list[Block]:
    """(number of the first line of it, lines) of each fenced block of the page."""
    inside = False
    found: list[Block] = []
    with open(path, encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            if line.startswith("```"):
                inside = not inside
                if inside:
                    found.append((number + 1, []))
            elif inside:
                found[-1][1].append(line.rstrip("\n"))
    return found


def is_open(command: str) -> bool:
    """True if a quote goes on in the next line."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False


def session(lines: list[str]) -> list[Step]:
    """[(command, [(place in the block, a line that it prints)])]"""
    marked = any(line.startswith("$ ") for line in lines)
    steps: list[Step] = []
    for at, line in enumerate(lines):
        if steps and is_open(steps[-1][0]):
            steps[-1] = (steps[-1][0] + "\n" + line, [])
        elif line.startswith("$ ") or not marked:
            steps.append((line.removeprefix("$ "), []))
        elif steps:
            steps[-1][1].append((at, line))
    return steps


def tested(path: str) -> Iterator[tuple[int, list[Step]]]:
    """(first line, steps) of each block of the page @path that tests/e2e/test_docs.py runs."""
    for first, lines in blocks(path):
        steps = session(lines)
        if lines and lines[0].startswith("cd /sys"):
            yield first, [("\n".join(lines), [])]
        elif steps and steps[0][0].startswith(PROGRAMS):
            yield first, steps


def is_exact(steps: list[Step], at: int) -> bool:
    """True if what step @at prints is a function of the source alone."""
    command = steps[at][0]
    if command.startswith(READS_A_FILE):
        return any(is_exact(steps, before) for before in range(at))
    return any(word in command for word in EXACT)


def pages(root: str) -> list[str]:
    return [path for pattern in PAGES for path in sorted(glob.glob(os.path.join(root, pattern)))]


def run(command: str, root: str, build: str, directory: object) -> subprocess.CompletedProcess[str]:
    """Run a line of a page with the programs of @build. The files that it makes go to @directory."""
    command = MADE.sub(f"{directory}/", command)
    command = re.sub(r"(?<![\w./-])build/", f"{build}/", command).replace("| less", "")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=root, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, text=True, errors="replace",
                          env=environment(B=os.path.relpath(build, root)))
    done.stdout = done.stdout.replace(f"{directory}/", "")
    done.stderr = done.stderr.replace(f"{directory}/", "")
    return done


def environment(**more: str) -> dict[str, str]:
    """Of programs that are run: nothing of the make that runs us."""
    kept = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "V")}
    return {**kept, "KVM": "0", **more}


def shape(line: str) -> str:
    """The line without what changes with the source: figures, digests, states, bars, and the width of columns."""
    line = re.sub(r"\|[.# ]+\|", "bars", line)
    line = re.sub(r"\b[A-Z]\+? ==>", "S ==>", line)
    line = re.sub(r" (?:yes|no)$", " yes", line)
    line = re.sub(r"\b[0-9a-f]{7,16}\b|[-+]?\d[\d.,]*", "#", line)
    return re.sub(r"(# ?)+", "#", re.sub(r"\s+|-{3,}", " ", line)).strip()


def is_elision(line: str) -> bool:
    return not line.strip() or line.strip() == "..."


def drawn(path: str, steps: list[Step]) -> list[str]:
    """The names of the pictures that a session of the page @path draws, if it is one of the book's."""
    return DRAWN.findall(" ".join(command for command, _ in steps)) if "/book/" in path else []


def kept_picture(path: str, name: str) -> str:
    """The picture @name of the page @path, in the tree."""
    return os.path.join(os.path.dirname(path), "img", name)


def align(shown: list[tuple[int, str]], printed: list[str]) -> list[tuple[int, str, str | None]]:
    """For each line shown, the line printed that it stands for, in order: the first of the same shape after the last.

    Returns [(place, line shown, line printed or None)] without what is left out.
    """
    found: list[tuple[int, str, str | None]] = []
    at = 0
    for place, line in shown:
        if is_elision(line):
            continue
        here = next((i for i in range(at, len(printed)) if printed[i].rstrip() == line.rstrip()), None)
        if here is None:
            here = next((i for i in range(at, len(printed)) if shape(printed[i]) == shape(line)), None)
        found.append((place, line, None if here is None else printed[here].rstrip()))
        at = at if here is None else here + 1
    return found


def run_once(command: str, root: str, build: str, directory: object, *,
             done: dict[str, subprocess.CompletedProcess[str]] = {}) -> subprocess.CompletedProcess[str]:
    """As run(), but a machine that two pages show boots once, unless it leaves or reads a file."""
    if MADE.search(command) or command.startswith(READS_A_FILE):
        return run(command, root, build, directory)
    if command not in done:
        done[command] = run(command, root, build, directory)
    return done[command]


def renew_block(root: str, build: str, path: str, first: int, lines: list[str]) -> tuple[list[str], list[str]]:
    """(lines as they ought to be, complaints)"""
    steps, name = session(lines), os.path.relpath(path, root)
    complaints: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        for at, (command, shown) in enumerate(steps):
            last = max((i for i in range(len(steps)) if steps[i][1]), default=-1)
            if at > last or not command.startswith(RUNNABLE) or not is_exact(steps, at):
                continue
            done = run_once(command, root, build, directory)
            if done.returncode not in (0, 141):  # 141: head had enough
                complaints.append(f"{name}:{first}: `{command}` ended with {done.returncode}: {done.stderr[-300:]}")
                continue
            for place, line, printed in align(shown, (done.stdout + done.stderr).splitlines()):
                if printed is None:
                    complaints.append(f"{name}:{first + place}: nothing like this is printed: {line}")
                else:
                    lines[place] = printed
        for picture in drawn(path, steps):
            if os.path.exists(os.path.join(directory, picture)):
                os.makedirs(os.path.dirname(kept_picture(path, picture)), exist_ok=True)
                shutil.copyfile(os.path.join(directory, picture), kept_picture(path, picture))
    return lines, complaints


def renew(root: str, build: str, paths: list[str]) -> list[str]:
    """Write the pages anew. Returns complaints."""
    jobs = [(path, first, lines) for path in paths for first, lines in blocks(path)]
    results: list[tuple[str, str, str]] = []  # (path, block, block as it ought to be)

    def job(item: tuple[str, int, list[str]]) -> list[str]:
        path, first, lines = item
        name = os.path.relpath(path, root)
        before, began = list(lines), time.monotonic()
        if not any(is_exact(steps, at) and steps[at][1] for steps in [session(before)] for at in range(len(steps))):
            return []
        lines, complaints = renew_block(root, build, path, first, lines)
        if lines != before:
            results.append((path, "\n".join(before), "\n".join(lines)))
        what = "renewed" if lines != before else "the same"
        print(f"{name}:{first}: {what}, {time.monotonic() - began:.0f} s", flush=True)
        return complaints

    with ThreadPoolExecutor(2) as pool:
        complaints = [text for found in pool.map(job, jobs) for text in found]
    for path, before, after in results:
        with open(path, encoding="utf-8") as page:  # read again: somebody may be writing it
            text = page.read()
        with open(path, "w", encoding="utf-8") as page:
            page.write(text.replace(before, after))
    return complaints


def main() -> None:
    chosen, root = usage.words(__doc__), os.getcwd()
    complaints = renew(root, os.environ.get("B", "build"), chosen or pages(root))
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
