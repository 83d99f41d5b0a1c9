# SPDX-License-Identifier: GPL-2.0-only
"""A unit test of which the code under test changes the memory is not believed: the record of its checks is another."""

import pathlib

import pytest

from fairground.lab import regions, spec, tiers, workshop
from tests.conftest import BUILD

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
    ended = tiers._report(bench, program, TEST)
    assert not ended.status and f"ok 1 - {TEST}" in ended.text, ended.text[-2000:]
    passed, why, _ = tiers._run_test(lab, bench, program, TEST)
    assert not passed and "it found other numbers equal" in why
