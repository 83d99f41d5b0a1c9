# SPDX-License-Identifier: GPL-2.0-only
"""Right solutions in the machine: under each seed, and so in each order of the kernel's code, they get all points."""

import pathlib

import pytest

from fairground.lab import grade, handout, regions, spec
from fairground.lab.workshop import Workshop
from tests.conftest import BUILD, drawn_seed

BOOTED = [lab for lab in spec.all_labs() if lab.kernel]


@pytest.mark.nightly("a judge that holds the order of the kernel's code against a right solution")
@pytest.mark.parametrize("lab", BOOTED, ids=lambda lab: lab.directory.name)
def test_right_solutions_get_all_points_of_the_machine(lab):
    bench, reference = Workshop(pathlib.Path(BUILD).resolve(), 1), regions.read(handout.texts(lab), lab)
    for name, code in {"reference": {}, **spec.right_solutions(lab)}.items():
        for seed in (drawn_seed(), drawn_seed() + 1):
            got = grade.of_code(lab, reference | code, bench, seed, ["kernel"])
            assert got.most and got.score == got.most, f"{name}: {grade.text(got)}"
