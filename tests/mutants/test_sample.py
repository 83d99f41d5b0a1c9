# SPDX-License-Identifier: GPL-2.0-only
"""One of the seeded bugs, drawn by the commit: the test that it names must notice it. `make mutants` plants all."""

import sys

from tests.conftest import commit_seed

SAMPLE = "1"


def test_sample(tap_program):
    tap_program([sys.executable, "tools/scripts/mutants.py", "--sample", SAMPLE, "--seed", str(commit_seed())])
