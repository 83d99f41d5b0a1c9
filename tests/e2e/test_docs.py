# SPDX-License-Identifier: GPL-2.0-only
"""What the pages tell the reader to type works as written, and prints what they show.

Sessions whose time is counted instructions or simulated are compared to the digit (tools/scripts/docblocks.py; `make
docs` renews them), all others by the shape of their lines.
"""

import os
import re

import pytest

from tests.e2e.conftest import BUILD, ROOT

from docblocks import (RUNNABLE, align, drawn, is_elision, is_exact, kept_picture, pages, run, shape,
                       tested)

# Part of the first command of a session that takes a minute.
LONG = ("make run SCHED=eevdf ICOUNT=1", "swapstorm -n 1000", "make bench", "for p in cfs bore-cfs bore eevdf",
        "hosted --seed 1 --programs 1000")
# Tested by name elsewhere, or too long for every day.
ELSEWHERE = ("--ops", "--exhaustive", "SMP=255", "make mutants", "make prop")


def cases():
    for path in pages(ROOT):
        for first, steps in tested(path):
            name = f"{os.path.relpath(path, ROOT)}:{first}"
            is_long = any(part in steps[0][0] for part in LONG)
            marks = pytest.mark.nightly("figures of a long session") if is_long else ()
            yield pytest.param(path, steps, id=name, marks=marks)


@pytest.mark.parametrize("part", LONG)
def test_a_long_session_is_one_that_is_there(part):
    assert any(part in steps[0][0] for path in pages(ROOT) for _, steps in tested(path))


def shorter(command):
    """The same for a part of the time, which is enough to see whether it works."""
    return re.sub(r"-n \d{3,}\b", "-n 50", re.sub(r"-t \d+s\b", "-t 1s", command))


def test_a_commit_is_printed_in_the_same_time_as_any_other():
    with open(os.path.join(BUILD, "fairground.elf"), "rb") as image:
        assert re.search(rb"Fairground [^\0]{24} x86_64\0", image.read())


def without_version(path):
    """The picture @path without the version of matplotlib."""
    with open(path, encoding="utf-8") as picture:
        return re.sub(r"Matplotlib v[\d.]+", "Matplotlib", picture.read())


@pytest.mark.sampled(14, "a page that says what is not so; every change of a page runs its own")
@pytest.mark.parametrize("path, steps", list(cases()))
def test_page(path, steps, guest, tmp_path):
    if steps[0][0].startswith("cd /sys"):
        # timeout ends with what it stopped.
        text = re.sub("^timeout", "! timeout", shorter(steps[0][0]), flags=re.MULTILINE)
        guest("set -e\n" + text, cpus=2, icount=True)
        return
    for at, (command, shown) in enumerate(steps):
        if not command.startswith(RUNNABLE) or any(word in command for word in ELSEWHERE):
            continue
        to_the_digit = is_exact(steps, at) and any(later for _, later in steps[at:])
        # Whose output is not shown need not run the demonstration.
        text = command if shown or "CMD=" in command else f"CMD=true {command}"
        done = run(text if to_the_digit else shorter(text), ROOT, BUILD, tmp_path)
        assert done.returncode in (0, 141), f"{command}\n{done.stdout}{done.stderr}"  # 141: head had enough
        printed = (done.stdout + done.stderr).splitlines()
        if to_the_digit:
            wrong = [f"{line}\n  now: {now}" for _, line, now in align(shown, printed) if line.rstrip() != now]
        else:
            shapes = {shape(line) for line in printed}
            wrong = [line for _, line in shown if not is_elision(line) and shape(line) not in shapes]
        assert not wrong, f"{command}: `make docs` renews figures\n" + "\n".join(wrong)
    for name in drawn(path, steps):
        assert without_version(tmp_path / name) == without_version(kept_picture(path, name)), f"{name}: `make docs`"
