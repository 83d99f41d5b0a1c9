# SPDX-License-Identifier: GPL-2.0-only
"""One of the seeded bugs, drawn by the number of commits: the test that it names must notice it.

`make mutants` plants all.
"""

import sys

SAMPLE = "1"


def test_sample(tap_program, pytestconfig):
    tap_program([sys.executable, "tools/scripts/mutants.py", "--sample", SAMPLE, "--seed",
                 str(pytestconfig.getoption("--drawn"))])
