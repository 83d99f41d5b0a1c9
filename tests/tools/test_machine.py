# SPDX-License-Identifier: GPL-2.0-only
"""What machines and simulators that run side by side share."""

import os
import sys
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from fairground.machine import at_once  # noqa: E402


def test_a_pool_that_is_left_early_begins_nothing_more():
    """A signal ends `lab check` with hundreds of submissions to come."""
    begun = []

    def wait_for_the_end(nr):
        begun.append(nr)
        with pytest.raises(RuntimeError):  # a pool that ends takes nothing
            while True:
                pool.submit(int)
                time.sleep(0.01)

    with pytest.raises(SystemExit), at_once(1) as pool:
        first = pool.submit(wait_for_the_end, 0)
        for nr in range(1, 10):
            pool.submit(wait_for_the_end, nr)
        while not begun:
            time.sleep(0.01)
        sys.exit(1)
    first.result()
    assert begun == [0]
