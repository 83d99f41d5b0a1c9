# SPDX-License-Identifier: GPL-2.0-only
"""Coursework: hand-outs, references and wrong solutions get the grades that they should."""

import sys

import pytest

from fairground.lab.spec import all_labs
from tests.conftest import BUILD, drawn_seed


@pytest.mark.nightly("a lab whose hand-out does not build, or that grades otherwise than it says")
@pytest.mark.parametrize("number", [str(lab.number) for lab in all_labs()])
def test_lab(tap_program, number):
    tap_program([sys.executable, "-m", "fairground", "--build", BUILD, "lab", "check", "--lab", number, "--seed",
                 str(drawn_seed())], PYTHONPATH="tools")
