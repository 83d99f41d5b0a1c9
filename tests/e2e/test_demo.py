# SPDX-License-Identifier: GPL-2.0-only
"""The picture with which the demonstration ends: as text it is what the trace of the same run says, and the SVG beside
it is the same. Then come three things to try."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("B", "build")

from fairground.machine.demo_picture import rows_of, save
from fairground.trace.timeline import Timeline

NAMES = ["nice 0", "nice 5", "2 ms of 12"]
MS = 1_000_000


def fairground(*words):
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, *map(str, words)], cwd=ROOT,
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=300,
                          env={**os.environ, "PYTHONPATH": "tools", "KVM": "0"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def letters(line, pid, start, nr):
    """Of each ms from @start on: '#', '.' or ' ', by what most of it was, and how much that was."""
    found = []
    for at in range(start, start + nr * MS, MS):
        ran, waited = (sum(max(0, min(end, at + MS) - max(begin, at)) for of, begin, end in rows if of == pid)
                       for rows in (zip(line.runs.pid, line.runs.start, line.runs.end),
                                    zip(line.waits.pid, line.waits.start, line.waits.end)))
        parts = {"#": ran, ".": waited, " ": MS - ran - waited}
        found.append(max(parts.items(), key=lambda part: part[1]))
    return found


@pytest.mark.nightly("a picture of the demonstration that is not its trace")
def test_the_picture_is_what_the_trace_says(tmp_path):
    text = fairground("trace", "--smp", "1", "--icount", "1", "--cmd", "demo", "--events", "sched:sched_switch sched:"
                      "sched_wakeup".replace(" ", ","), "--out", tmp_path / "demo.dat")
    rows = rows_of(text)
    assert [name for name, _ in rows] == NAMES and {len(columns) for _, columns in rows} == {60}
    line = Timeline(tmp_path / "demo.dat")
    pids = sorted(pid for pid, comm in line.comms.items() if comm == "demo")[-3:]  # the last that were born
    woken = [max(start for pid, start, _, by in zip(*line.waits) if pid == of and by) for of in pids[:2]]
    start = min(woken)  # hogs sleep once, until all begin
    assert max(woken) - start < MS // 10
    for (name, columns), pid in zip(rows, pids):
        judged = letters(line, pid, start, 60)
        sure = [(ours, letter) for ours, (letter, part) in zip(columns, judged) if part > MS * 0.7]
        assert len(sure) > 45 and all(ours == letter for ours, letter in sure), name
    assert all(sum(columns[at] == "#" for _, columns in rows) <= 1 for at in range(60))  # it is one CPU
    assert all(columns.count("#") > 3 for _, columns in rows) and " " in rows[2][1] and "." in rows[1][1]


@pytest.mark.nightly("a row of the demonstration that waits for others")
@pytest.mark.exact
def test_rows_appear_when_they_are_known():
    """Headings come before the time that is measured, and of the third table, with half a second a row, each row."""
    looks = {"1": 1, "2": 2.5, "3": 3.9, "4": 4.2}  # name -> s after the begin
    wait = "; ".join(f"sleep {at - before:.1f}; echo at {name}; cat /tmp/rows"
                     for (name, at), before in zip(looks.items(), (0, *looks.values())))
    text = fairground("run", "--smp", "1", "--icount", "1", "--cmd", f"demo >/tmp/rows & {wait}; wait")
    parts = re.split(r"^at \d\n", text.replace("\r", ""), flags=re.MULTILINE)[1:]
    seen = [part.partition("\nat ")[0].strip().split("\n") for part in parts]
    assert [lines[-1].split()[0] for lines in seen[:2]] == ["task", "tasks"]  # the headings of the first and the second
    assert sum(line.startswith("  hog ") for line in seen[1]) == 4
    third = [[line for line in lines if line.startswith(("  alone", "  1 hog per CPU"))] for lines in seen[2:]]
    assert [len(rows) for rows in third] == [1, 2] and third[1][0] == third[0][0]


@pytest.mark.nightly("a demonstration that ends without its picture")
def test_it_ends_with_the_picture_and_three_things_to_try(tmp_path):
    text = fairground("run", "--smp", "1")
    path = re.search(r"The demonstration's picture is (\S+)", text)[1]
    tries = re.findall(r"^  (make .*)$", text.partition("Three things to try:")[2], re.MULTILINE)
    assert len(tries) == 3
    for words in tries:
        made = subprocess.run(["sh", "-c", words.replace("make ", "make -n ")], cwd=ROOT, capture_output=True,
                              text=True, check=False, env={**os.environ, "B": BUILD})
        assert made.returncode == 0, made.stderr
    root = ElementTree.parse(ROOT / path).getroot()
    bars = [each for each in root.iter("{http://www.w3.org/2000/svg}rect") if each.get("height") == "20"]
    rows = rows_of(text)
    assert len(bars) == sum(len(re.findall("#+", columns)) for _, columns in rows) > 10
    assert sum(int(bar.get("width")) for bar in bars) == 12 * sum(columns.count("#") for _, columns in rows)
    assert {name for name, _ in rows} <= {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}


def test_no_picture_without_a_demonstration(tmp_path):
    assert save("no rows here\n  a |#|\n", str(tmp_path)) == "" and not list(tmp_path.iterdir())
