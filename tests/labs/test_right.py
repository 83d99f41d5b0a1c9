# SPDX-License-Identifier: GPL-2.0-only
"""Right solutions under other seeds, and so in other orders of the kernel's code: they get all points."""

import pathlib

import pytest

from fairground.lab import grade, handout, regions, spec
from fairground.lab.workshop import Workshop
from tests.conftest import BUILD, drawn_seed

BOOTED = [lab for lab in spec.all_labs() if lab.kernel]


def all_get_all(lab, tier, seeds):
    """The reference of @lab and all other right solutions, under as many @seeds."""
    bench, reference = Workshop(pathlib.Path(BUILD).resolve(), 1), regions.read(handout.texts(lab), lab)
    for name, code in {"reference": {}, **spec.right_solutions(lab)}.items():
        for seed in range(drawn_seed(), drawn_seed() + seeds):
            got = grade.of_code(lab, reference | code, bench, seed, [tier])
            assert got.most and got.score == got.most, f"{name}: {grade.text(got)}"


@pytest.mark.nightly("a judge that holds the order of the kernel's code against a right solution")
@pytest.mark.parametrize("lab", BOOTED, ids=lambda lab: lab.directory.name)
def test_right_solutions_get_all_points_of_the_machine(lab):
    all_get_all(lab, "kernel", 2)


@pytest.mark.nightly("a tolerance that is too narrow for a right solution")
@pytest.mark.parametrize("number", ["10", "13"])
def test_right_solutions_stay_within_the_tolerances(number):
    """Lab 10 compares with another policy's numbers; lab 13's judge allows for what a trace does not put in order."""
    all_get_all(spec.find(number), "simulator", 5)
