# SPDX-License-Identifier: GPL-2.0-only
"""The unit tests of sched/ and lib/: programs with sanitizers, made with cmocka."""

import pathlib

import pytest

from tests.conftest import BUILD, ROOT

ENVIRONMENT = {"CMOCKA_MESSAGE_OUTPUT": "TAP", "ASAN_OPTIONS": "detect_leaks=0"}


@pytest.mark.parametrize("program", sorted(path.stem for path in pathlib.Path(ROOT, "tests/unit").glob("test_*.c")))
def test_program(tap_program, program):
    tap_program([f"{BUILD}/unit/{program}"], **ENVIRONMENT)
