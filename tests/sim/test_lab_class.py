# SPDX-License-Identifier: GPL-2.0-only
"""Labs, a class at a time: every submission ends in a score and a sentence; policies of one's own, and leaderboards."""

import csv
import dataclasses
import json
import pathlib
import signal
import subprocess
import sys
import zipfile

import pytest

from tests.sim.conftest import BUILD

ROOT = pathlib.Path(__file__).parents[2]

from fairground.lab import contest, grade, handout, reading, regions, roster, spec, submission, workshop
from fairground.lab.results import Measure, Result, drawn
from fairground.trace.tracefile import TraceFile


@pytest.fixture(name="lab", scope="module")
def lab_5():
    return spec.find("5")


def row(student, points, **measures):
    results = [Result("simulator", name, 10, 10, measure=Measure(name, value, "ms")) for name, value in
               measures.items()]
    rest = Result("simulator", "a run", points, 80, "it went wrong")
    return roster.Row(student, grade.Grade(spec.find("10"), 1, ["simulator"], [*results, rest]))


# --- a class ----------------------------------------------------------------------------------------------------


def test_whatever_is_handed_in_has_a_line(lab, tmp_path):
    handed_in = tmp_path / "in"
    (handed_in / "nothing").mkdir(parents=True)
    zipfile.ZipFile(handed_in / "empty.zip", "w").close()
    (handed_in / "text.zip").write_text("no archive", encoding="utf-8")
    (handed_in / "cut.tar.gz").write_bytes(b"\x1f\x8b\x08\x00")
    with zipfile.ZipFile(handed_in / "big.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("eevdf.c", "w", force_zip64=True) as f:
            for _ in range(1024):
                f.write(bytes(1 << 20))
    (handed_in / "essay.pdf").write_text("it is late", encoding="utf-8")
    (handed_in / ".hidden").write_text("", encoding="utf-8")
    found, passed_over = roster.submissions(handed_in)
    assert passed_over == ["essay.pdf"]
    done = list(roster.rows(lab, found, tmp_path / "build", 1, list(spec.TIERS), 2))
    roster.write_csv(done, tmp_path / "grades.csv")
    with open(tmp_path / "grades.csv", encoding="utf-8", newline="") as f:
        lines = {line["student"]: line for line in csv.DictReader(f)}
    assert list(lines) == ["big", "cut", "empty", "nothing", "text"]
    assert all(line["score"] == "0" and line["of"] == "100" and len(line["first message"]) > 10
               for line in lines.values())
    assert "too big" in lines["big"]["first message"] and "empty" in lines["nothing"]["first message"]


def test_two_submissions_of_one_name_are_both_graded(tmp_path):
    for name in ("ann", "ben", "cyd.zip"):
        (tmp_path / "in" / name).mkdir(parents=True)
    for name in ("ann.zip", "ben.zip.zip", "cyd.tar", "dan.zip", "eve.zip", "eve.tgz"):
        (tmp_path / "in" / name).write_bytes(b"")
    (tmp_path / "in/grades.csv").write_text("", encoding="utf-8")
    found, passed_over = roster.submissions(tmp_path / "in")
    assert {name: path.name for name, path in found.items()} == {
        "ann": "ann", "ann.zip": "ann.zip", "ben": "ben", "ben.zip": "ben.zip.zip", "cyd": "cyd.tar",
        "cyd.zip": "cyd.zip", "dan": "dan.zip", "eve.tgz": "eve.tgz", "eve.zip": "eve.zip"}
    assert passed_over == ["grades.csv"]
    with pytest.raises(spec.LabError, match="no submission"):
        roster.submissions(tmp_path / "in/ann")
    with pytest.raises(spec.LabError, match="no directory"):
        roster.submissions(tmp_path / "absent")


def test_a_name_is_a_line_and_no_formula(tmp_path):
    done = [row(name, 80) for name in ("=1+1", "-x", "+x", "@x", "\t=1", "a\nb\x1b[2J", "\udcff", "Zoë")]
    roster.write_csv(done, tmp_path / "grades.csv")
    with open(tmp_path / "grades.csv", encoding="utf-8", newline="") as f:
        names = {line["student"] for line in csv.DictReader(f)}
    assert names == {"'=1+1", "'-x", "'+x", "'@x", "'\\t=1", "a\\nb\\x1b[2J", "\\udcff", "Zoë"}
    roster.write_page(spec.find("10"), 1, done, tmp_path / "board.html")
    assert "Zoë" in (tmp_path / "board.html").read_text(encoding="utf-8")


def test_the_board_orders_by_score_then_by_places(tmp_path):
    done = [row("slow", 80, latency=9.0, energy=1.0), row("<quick>", 80, latency=1.0, energy=1.0),
            row("wrong", 10, latency=0.5, energy=2.0), row("none", 0)]
    heads, lines = roster.board(done)
    assert heads == ["", "policy", "score", "latency ms", "energy ms", "first message"]
    assert [line[1] for line in lines] == ["<quick>", "slow", "wrong", "none"]
    assert lines[0][3:5] == ["1 (2)", "1 (1)"] and lines[3][3:] == ["-", "-", "it went wrong"]
    roster.write_page(spec.find("10"), 1, done, tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert "&lt;quick&gt;" in page and "<quick>" not in page


def test_what_students_wrote_is_exported_and_nothing_else(lab, tmp_path):
    handed_in, to = tmp_path / "in", tmp_path / "out"
    for name, text in regions.cut(handout.texts(lab), lab).items():
        for student in ("ann", "ben"):
            path = handed_in / student / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("everybody is eligible", student), encoding="utf-8")
    (handed_in / "cyd").mkdir()
    written, left_out = roster.export(lab, roster.submissions(handed_in)[0], to)
    assert written == 2 and len(left_out) == 1 and left_out[0].startswith("cyd: ")
    files = {str(path.relative_to(to)) for path in to.rglob("*") if path.is_file()}
    assert files == {f"{place}/{name}" for place in ("base", "submissions/ann", "submissions/ben")
                     for name in ("is_past.h", "search.c", "best.c")}
    assert "ann: that is wrong" in (to / "submissions/ann/is_past.h").read_text(encoding="utf-8")


# --- compilers that come to no end ------------------------------------------------------------------------------


BOMB = "int x;\n#define A0 x + x\n" + "".join(f"#define A{n} A{n - 1} + A{n - 1}\n" for n in range(1, 40))
TOO_LONG = "int x;\nint f(void) { return A39; }\n"


@pytest.mark.parametrize("code, limits, said", [
    (BOMB + TOO_LONG, {"cpu_s": 1}, "the compiler did not end: sched/a.c took more than 1 s"),
    (BOMB + TOO_LONG, {"memory_mb": 200}, "the compiler needs too much memory for sched/a.c"),
    ("int f(void) { return " + "(" * 100_000 + "1" + ")" * 100_000 + "; }\n", {},
     "the compiler breaks down at sched/a.c (internal compiler error): is something in it nested very deeply?"),
    ("char all_of_it[1ull << 36] = { 1 };\n", {}, "the compiler makes more than 256 MiB of sched/a.c"),
    ("int f(void) { return 1 }\n", {}, "sched/a.c:1: expected ';' before '}' token"),
], ids=["time", "memory", "depth", "size", "error"])
def test_a_compiler_that_is_stopped_is_not_tried_again(tmp_path, monkeypatch, code, limits, said):
    monkeypatch.setattr(workshop, "BUILD_LIMITS", dataclasses.replace(workshop.BUILD_LIMITS, **limits))
    place = workshop.Workshop(tmp_path, 1)
    (place.tree / "build/sim/sched").mkdir(parents=True)
    (place.tree / "sched").mkdir()
    (place.tree / "sched/a.c").write_text(code, encoding="utf-8")
    (place.tree / "Makefile").write_text("WARN := -Wall\nbuild/sim/%.o: %\n\t@echo >>runs\n"
                                         "\t@LC_ALL=C gcc -c $< -o $@\n", encoding="utf-8")
    with pytest.raises(workshop.BuildFailed) as caught:
        place.build(["build/sim/sched/a.c.o"])
    assert str(caught.value) == said
    assert (place.tree / "runs").read_text(encoding="utf-8") == "\n" * (1 if said.startswith("the compiler") else 2)


# --- policies of one's own --------------------------------------------------------------------------------------


def test_a_whole_file_is_handed_out_without_the_solution(tmp_path):
    lab = spec.find("10")
    handout.write(lab, tmp_path / "student")
    text = (tmp_path / "student/labs/10-tournament/mine.c").read_text(encoding="utf-8")
    assert text == lab.holes[0].stub and "starves" in text
    got = submission.read(lab, tmp_path / "student")
    assert got.code == {"policy": lab.holes[0].stub} and not got.changed


def test_a_policy_includes_the_scheduler_only_and_stays_small():
    lab = spec.find("10")
    code = lab.holes[0].stub
    submission.check_code(lab, {"policy": code})
    for bad, why in ((code + "#include <stdio.h>\n", "includes"), (code + '#include "/etc/passwd"\n', "includes"),
                     (code + '#include "sched/../secret.h"\n', "includes"), (code + "\n" * 350, "at most 350")):
        with pytest.raises(submission.Refused, match=why):
            submission.check_code(lab, {"policy": bad})


def test_a_number_is_drawn_by_the_seed():
    words = [drawn("hogs:n={2-9} seed={seed}", seed) for seed in range(50)]
    assert words == [drawn("hogs:n={2-9} seed={seed}", seed) for seed in range(50)]
    assert {word.split()[0] for word in words} == {f"hogs:n={n}" for n in range(2, 10)}
    assert words[7].endswith("seed=7")


def test_a_leaderboard_of_gradescope_has_the_measures():
    assert grade.leaderboard(row("ann", 80, latency=2.5).grade) == {"leaderboard": [
        {"name": "score", "value": 90}, {"name": "latency ms", "value": 2.5, "order": "asc"}]}
    assert not grade.leaderboard(row("ann", 80).grade)


def test_disciplines_read_a_report_of_the_simulator(sim):
    done = sim("--cpus", "2", "--time", "500ms", "--cost-switch", "10us", "--opp", "juno-a53", "hogs:n=5",
               "bursts:n=2,run=1ms,sleep=5ms")
    report = done.result()
    waits = next(row for row in report["tasks"] if row["name"] == "burst")["wakeup_ns"]
    assert contest.DISCIPLINES["latency"].of(report) == waits["mean"] / 1e6 > 0
    assert contest.DISCIPLINES["throughput"].of(report) >= report["switches"] * 0.01 * 0.9
    assert 0 < contest.DISCIPLINES["fairness"].of(report) < 100
    assert contest.DISCIPLINES["energy"].of(report) > 0


# --- filters of one's own ---------------------------------------------------------------------------------------


@pytest.fixture(name="trace", scope="module")
def a_trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "run.dat"
    words = ["--cpus", "2", "--time", "200ms", "--trace", path, "--json", path.with_suffix(".json"), "hogs:n=3",
             "yielders:n=1", "bursts:n=1,run=1ms,sleep=3ms"]
    subprocess.run([f"{BUILD}/schedsim", "--sched", "eevdf", *words], check=True, stdout=subprocess.DEVNULL)
    return path


def test_what_is_right_of_a_trace_is_what_the_simulator_counts(trace):
    right, names = reading.truth(TraceFile(trace).events())
    rows = json.loads(trace.with_suffix(".json").read_text(encoding="utf-8"))["results"][0]["tasks"]
    for row in rows:
        own = [right[pid] for pid in right if names[pid] == row["name"]]
        assert len(own) == row["tasks"]
        assert sum(numbers["waits"] for numbers in own) == row["runs"]
        assert sum(numbers["run_ns"] for numbers in own) == pytest.approx(row["cpu_ns"], abs=len(own) * 4_000_000)
    of = {name: [right[pid]["preempted"] for pid in right if names[pid] == name] for name in names.values()}
    assert of["yield"][0] > 5 and of["burst"] == [0] and min(of["hog"]) > 5  # Linux's record says R of a yield, too


def test_each_column_is_judged_by_itself(trace):
    right, names = reading.truth(TraceFile(trace).events())
    assert reading.compare(right, right, names) == (5, [])
    wrong = {pid: dict(numbers) for pid, numbers in right.items()}
    wrong[1]["waits"] += 1
    good, sentences = reading.compare(wrong, right, names)
    assert good == 4 and sentences[0].startswith(f"waits of hog-1: you say {right[1]['waits'] + 1}, ")
    assert "no line for hog-1" in reading.compare({}, right, names)[1][0]
    assert "pid 0" in reading.compare({**right, 0: right[1]}, right, names)[1][0]


def test_a_part_of_a_trace_begins_and_ends_amid_runs(trace):
    events = list(TraceFile(trace).events())
    places = reading.part(events)
    moved = {event.time for event in events if event.format.name in ("sched_switch", "sched_wakeup")}
    assert 0 < places[0] and places[-1] < len(events) - 1
    assert not moved & {events[places[0]].time, events[places[-1]].time}
    right, _ = reading.truth(events[place] for place in places)
    length = events[places[-1]].time - events[places[0]].time
    assert 0.9 * length < sum(numbers["run_ns"] for numbers in right.values()) < 2 * length  # not all of two CPUs' time


def test_a_table_that_cannot_be_read_is_explained():
    head = "pid run_ns waits wait_ns preempted share\n"
    assert reading.parse(head + "1 2 3 4 5 6\n") == ({1: {"run_ns": 2, "waits": 3, "wait_ns": 4, "preempted": 5,
                                                          "share": 6}}, "")
    for printed, why in (("", "first line"), ("score 100\n", "first line"), (head + "1 2 3\n", "line 2"),
                         (head + "1 2 3 4 5 6.5\n", "whole numbers"), (head + "1 2 3 4 5 6\n" * 2, "two lines")):
        assert why in reading.parse(printed)[1]


def test_a_filter_is_python():
    lab = spec.find("1")
    submission.check_code(lab, {"filter": "import re\nimport sys\nprint(re.compile('x'), sys.stdin)\n"})
    with pytest.raises(submission.Refused, match="no Python"):
        submission.check_code(lab, {"filter": "print(\n"})


@pytest.mark.parametrize("code, says", [
    ("import os; os.fork()", "SIGSYS"), ("import os; os.execv('/bin/sh', ['sh'])", "SIGSYS"),
    ("import os; os.unlink('filter.py')", "SIGSYS"), ("import os; os.kill(1, 9)", "SIGSYS"),
    ("import socket; socket.socket()", "SIGSYS"),
    ("import threading; threading.Thread(target=print).start()", "SIGSYS"),
    ("open('/etc/passwd')", "FileNotFoundError"), ("open('mine', 'w')", "PermissionError"),
    ("open('labs')", "FileNotFoundError"),
    ("import typing\ndef f(a: \"__import__('os').system('id')\"): pass\ntyping.get_type_hints(f)", "SIGSYS"),
    ("sys.modules['_imp'].create_builtin(__import__('importlib.util').util.spec_from_loader('_posixsubprocess', "
     "sys.modules['_frozen_importlib'].BuiltinImporter)).fork_exec()", "Error")])
def test_a_filter_that_runs_reaches_no_further(tmp_path, code, says):
    """Whatever the names are that it goes by."""
    (tmp_path / "filter.py").write_text("import sys\n" + code + "\nprint('reached')\n", encoding="utf-8")
    ended = reading.run_filter("filter.py", tmp_path)
    by_signal = signal.Signals(-ended.status).name if ended.status < 0 else ""
    assert ended.status and "reached" not in ended.text and says in ended.text + by_signal


def test_a_filter_may_use_what_it_needs(tmp_path):
    path, text = tmp_path / "filter.py", tmp_path / "in.txt"
    path.write_text("import collections, dataclasses, enum, re, sys, typing\n"
                    "Pair = collections.namedtuple('Pair', 'a b')\n"
                    "class Row(typing.NamedTuple):\n    a: int\n"
                    "@dataclasses.dataclass(frozen=True)\nclass Task:\n    pid: int = 0\n"
                    "class Kind(enum.Enum):\n    RUN = 1\n"
                    "if __name__ == '__main__':\n    for line in sys.stdin:\n"
                    "        print(re.sub('a', 'b', line), Pair(1, 2), Row(3), Task(4), Kind.RUN, input())\n",
                    encoding="utf-8")
    text.write_text("a line\nanother\n", encoding="utf-8")
    ended = reading.run_filter("filter.py", tmp_path, text)
    assert not ended.status and ended.text.startswith("b line"), ended.text


def test_a_filter_that_fails_says_why(tmp_path):
    (tmp_path / "filter.py").write_text("x = 1\nx.missing\n", encoding="utf-8")
    ended = reading.run_filter("filter.py", tmp_path)
    assert ended.status and ended.text.strip().endswith("AttributeError: 'int' object has no attribute 'missing'")
