# SPDX-License-Identifier: GPL-2.0-only
"""A unit test of which the code under test changes the memory is not believed: the record of its checks is another."""

import os
import pathlib
import socket
import subprocess

import pytest

from fairground.lab import regions, spec, tiers, workshop
from tests.conftest import BUILD

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM, TEST = "eevdf_pick", "the_choice_is_that_of_brute_force"


@pytest.mark.nightly("code that overwrites what a unit test expects, and has its points")
def test_a_right_answer_is_one_of_the_reference():
    lab = spec.find("5")
    attack, = (one for one in spec.attacks() if one.name == "expected_is_overwritten")
    bench = workshop.Workshop(pathlib.Path(BUILD), 2)
    program = workshop.unit_program(PROGRAM)
    bench.learn_checks(lab)
    bench.put(lab, regions.stubs(lab) | attack.code)
    bench.build([program])
    tests, = (tests for tests in lab.unit if tests.program == PROGRAM)
    ended = tiers._report(bench, program, TEST, 1, tests)
    assert not ended.status and f"ok 1 - {TEST}" in ended.text, ended.text[-2000:]
    passed, why, _ = tiers._run_test(lab, bench, tests, TEST, 1)
    assert not passed and "it found other numbers equal" in why


DRAWN = {"3": ("weight", "a_conversion_keeps_32_bits"), "5": (PROGRAM, TEST),
         "6": ("pelt", "averages_are_what_tasks_did"), "7": ("quota_borders", "the_accountant_agrees_at_every_border"),
         "9": ("wakeup", "a_wakeup_goes_where_the_definition_says")}


@pytest.mark.nightly("a unit test of a lab that asks the same each time, so that a table answers it")
@pytest.mark.parametrize("number", DRAWN)
def test_each_seed_of_the_grading_draws_other_questions(number):
    lab, (program, test) = spec.find(number), DRAWN[number]
    bench = workshop.Workshop(pathlib.Path(BUILD), 2)
    bench.learn_checks(lab)
    tests, = (tests for tests in lab.unit if tests.program == program)
    program = workshop.of_reference(workshop.unit_program(program), lab)
    once, again, other = (tiers._report(bench, program, test, seed, tests) for seed in (1, 1, 2))
    assert not once.status and not other.status
    assert tiers._record(once) == tiers._record(again) != tiers._record(other)


def test_a_record_is_written_line_by_line():
    """So that no message of a test, which goes another way, stands amid a line, where the grader overlooks it."""
    name, test = DRAWN["9"]
    program = pathlib.Path(BUILD, f"unit/test_{name}")
    make = [os.environ.get("MAKE", "make"), "-s", os.path.relpath(program, ROOT), f"B={os.path.relpath(BUILD, ROOT)}"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True, timeout=300)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # each write is received by itself
    environment = {"UNIT_TEST": test, "UNIT_RECORD": "1", "ASAN_OPTIONS": "detect_leaks=0"}
    with ours, subprocess.Popen([program], stdout=theirs, stderr=subprocess.DEVNULL, env=environment):
        theirs.close()
        written = list(iter(lambda: ours.recv(1 << 16), b""))
    assert sum(map(len, written)) > 1 << 14 and all(part.endswith(b"\n") for part in written)
