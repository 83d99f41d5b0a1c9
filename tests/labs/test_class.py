# SPDX-License-Identifier: GPL-2.0-only
"""A class of sixty on two workers, hostile students among them: nobody's grade is another than alone."""

import collections
import os
import pathlib
import subprocess

import pytest

from fairground.lab import grade, handout, regions, roster, spec, submission
from fairground.lab.workshop import Workshop
from tests.conftest import BUILD

ROOT = pathlib.Path(__file__).parents[2]
STUDENTS, SEED = 60, 11
FILTER = "labs/01-schedule/schedule.py"
SECRET = "not for the eyes of others"
HEAD = "pid run_ns waits wait_ns preempted share"
HOSTILE = {
    "threads": ("import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(99,)).start()\n",
                "it was ended for a system call"),
    "flood": (f"print('{HEAD}')\nfor _ in range(300_000):\n    print('9' * 1000)\n", "is not 6 whole numbers"),
    "kill": ("import os\nos.kill(-1, 9)\n", "it was ended for a system call"),
    "forks": ("import os\nwhile True:\n    os.fork()\n", "it was ended for a system call"),
    "files": ("import glob, os, sys\nread = []\n"
              "for name in glob.glob('{others}/**', recursive=True) + glob.glob('{tree}/**', recursive=True):\n"
              "    if os.path.isfile(name):\n        read.append(open(name).read())\n"
              "try:\n    open('{others}/s00/mine', 'w')\nexcept OSError as error:\n    read.append(error.errno)\n"
              "sys.exit(f'of others there is: {read}')\n", "of others there is: [13]"),
    "memory": ("kept = []\nwhile True:\n    kept.append(bytearray(1 << 24))\n", "MemoryError"),
}
WRONG = ("idling_is_a_task", "one_clock_for_all_cpus", "only_the_kernels_preemptions_count", "share_of_all_cpus",
         "the_end_is_forgotten", "times_are_floating_point", "waits_begin_at_switches_only")


def handed_in(lab, to):
    """Sixty submissions below @to: {student: the kind of what they wrote}."""
    codes = {"reference": regions.read(handout.texts(lab), lab), "stub": regions.stubs(lab)}
    codes |= {name: submission.wrong_code(lab, spec.wrong_solution(lab, name)) for name in WRONG}
    kinds = list(codes)
    codes |= {name: {"filter": code.replace("{others}", str(to)).replace("{tree}", str(ROOT))}
              for name, (code, _) in HOSTILE.items()}
    hostile = dict(zip(range(5, STUDENTS, STUDENTS // len(HOSTILE)), HOSTILE))
    students = {f"s{number:02}": hostile.get(number, kinds[number % len(kinds)]) for number in range(STUDENTS)}
    for student, kind in students.items():
        (to / student / FILTER).parent.mkdir(parents=True)
        (to / student / FILTER).write_text(codes[kind]["filter"] + f"# {SECRET}\n", encoding="utf-8")
    return students


@pytest.mark.nightly("a submission that loses, changes or reads another's, or that a busy host makes worse")
def test_sixty_students_and_hostile_ones_are_graded_as_alone(tmp_path):
    lab, others = spec.find("1"), tmp_path / "in"
    students = handed_in(lab, others)
    assert set(HOSTILE) < set(students.values())
    with subprocess.Popen(["sleep", "3600"]) as bystander:
        found, passed_over = roster.submissions(others)
        rows = list(roster.rows(lab, found, pathlib.Path(BUILD).resolve(), SEED, ["simulator"], 2))
        assert bystander.poll() is None
        bystander.kill()
    assert not passed_over and collections.Counter(row.student for row in rows) == dict.fromkeys(students, 1)
    assert sorted(os.listdir(others)) == sorted(students) and not list(others.rglob("mine"))

    alone = {}
    bench = Workshop(pathlib.Path(BUILD).resolve(), 1)
    for student, kind in students.items():
        if kind not in alone:
            alone[kind] = grade.of_submission(lab, others / student, bench, SEED, ["simulator"])
    for row in rows:
        kind = students[row.student]
        assert grade.digest(row.grade) == grade.digest(alone[kind]), (row.student, kind, row.sentence)
        assert SECRET not in grade.text(row.grade)
    assert alone["reference"].score == 60
    for kind, (_, said) in HOSTILE.items():
        assert alone[kind].score == 0 and all(said in message for message in alone[kind].sentences()), kind
    for kind in WRONG:
        assert alone[kind].score < 60
