# SPDX-License-Identifier: GPL-2.0-only
"""What the pages tell the reader to type works as written, and prints lines of the shape that they show.

A fenced block is a session: its lines with "$ " are commands and the others what they print ("..." leaves out
something); without such lines all are commands. A block that begins with "cd /sys" is typed into the machine.
"""

import glob
import os
import re
import shlex
import subprocess

import pytest

from conftest import BUILD, ROOT, TIMEOUT_S

PAGES = ["README.md", "user/README.md", "sched/README.md", "docs/*.md", "docs/book/*.md"]
PROGRAMS = ("make run", "make trace", "make latency", "make repeat", "make sim", "trace-cmd", "build/schedsim")
# Tested by name elsewhere, or too long for every day.
ELSEWHERE = ("--ops", "--exhaustive", "SMP=255")


def blocks(path):
    """(number of the line, lines) of each fenced block."""
    inside, start, found = False, 0, []
    with open(path, encoding="utf-8") as page:
        for number, line in enumerate(page, 1):
            if line.startswith("```"):
                inside, start = not inside, number
                if inside:
                    found.append((start, []))
            elif inside:
                found[-1][1].append(line.rstrip("\n"))
    return found


def is_open(command):
    """A quote goes on in the next line."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False


def session(lines):
    """[(command, what it prints)]"""
    marked = any(line.startswith("$ ") for line in lines)
    steps = []
    for line in lines:
        if steps and is_open(steps[-1][0]):
            steps[-1] = (steps[-1][0] + "\n" + line, [])
        elif line.startswith("$ ") or not marked:
            steps.append((line.removeprefix("$ "), []))
        elif steps:
            steps[-1][1].append(line)
    return steps


def cases():
    for page in PAGES:
        for path in sorted(glob.glob(os.path.join(ROOT, page))):
            for number, lines in blocks(path):
                name = f"{os.path.relpath(path, ROOT)}:{number}"
                steps = session(lines)
                if lines and lines[0].startswith("cd /sys"):
                    yield pytest.param([("\n".join(lines), [])], id=name)
                elif steps and steps[0][0].startswith(PROGRAMS):
                    yield pytest.param(steps, id=name)


def shape(line):
    """The line without what changes from commit to commit: figures, digests, states, and the width of columns."""
    line = re.sub(r"\b[A-Z]\+? ==>", "S ==>", line)
    line = re.sub(r"\b[0-9a-f]{7,16}\b|[-+]?\d[\d.,]*", "#", line)
    return re.sub(r"(# ?)+", "#", re.sub(r"\s+|-{3,}", " ", line)).strip()


def shorter(command):
    """The same for a part of the time, which is enough to see whether it works."""
    return re.sub(r"-n \d{3,}\b", "-n 50", re.sub(r"-t \d+s\b", "-t 1s", command))


def run(command, directory):
    """Run a line of a page. Traces go to @directory."""
    command = shorter(command)
    command = re.sub(r"(\bOUT=|trace-cmd report |--trace )(?=\w)", rf"\1{shlex.quote(str(directory))}/", command)
    command = command.replace("build/schedsim", shlex.quote(f"{BUILD}/schedsim")).replace("| less", "")
    return subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT_S, check=False, text=True, errors="replace",
                          env={**os.environ, "B": os.path.relpath(BUILD, ROOT), "KVM": "0", "TIMEOUT": str(TIMEOUT_S)})


@pytest.mark.parametrize("steps", list(cases()))
def test_page(steps, guest, tmp_path):
    if steps[0][0].startswith("cd /sys"):
        # timeout ends with what it stopped.
        text = re.sub("^timeout", "! timeout", shorter(steps[0][0]), flags=re.MULTILINE)
        guest("set -e\n" + text, cpus=2, icount=True)
        return
    for command, shown in steps:
        if not command.startswith(PROGRAMS) or any(word in command for word in ELSEWHERE):
            continue
        # Whose output is not shown need not run the demonstration.
        done = run(command if shown or "CMD=" in command else f"CMD=true {command}", tmp_path)
        assert done.returncode in (0, 141), f"{command}\n{done.stdout}{done.stderr}"  # 141: head had enough
        printed = {shape(line.replace(f"{tmp_path}/", "")) for line in (done.stdout + done.stderr).splitlines()}
        missing = [line for line in shown if shape(line) not in printed | {"", "..."}]
        assert not missing, f"{command}\n{done.stdout}{done.stderr}"
