# SPDX-License-Identifier: GPL-2.0-only
"""What one user may take of the kernel, and that others go on. The same checks pass on Linux."""

import re

import pytest

from tests.e2e.conftest import BUILD, on_linux

PASSED = re.compile(r"^[1-9]\d* passed, 0 failed$", re.MULTILINE)


def test_limits_on_linux():
    done = on_linux([f"{BUILD}/user/limitcheck"])
    assert PASSED.search(done.stdout), done.stdout


@pytest.mark.sampled(13, "a wrong limit on one size of machine")
@pytest.mark.parametrize("cpus", [1, 4])
def test_limits(guest, cpus):
    assert PASSED.search(guest("limitcheck", cpus=cpus))
