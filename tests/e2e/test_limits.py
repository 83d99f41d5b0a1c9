# SPDX-License-Identifier: GPL-2.0-only
"""What one user may take of the kernel, and that others go on. The same checks pass on Linux."""

import re

import pytest

from tests.e2e.conftest import BUILD, PASSED, on_linux


def test_limits_on_linux():
    done = on_linux([f"{BUILD}/user/limitcheck"])
    assert PASSED.search(done.stdout), done.stdout


@pytest.mark.sampled(13, "a wrong limit on one size of machine")
@pytest.mark.parametrize("cpus", [1, 4])
def test_limits(guest, cpus):
    assert PASSED.search(guest("limitcheck", cpus=cpus))


KINDS = ["pipes", "sockets", "rings", "events", "texts", "watches", "inodes", "symlinks", "links", "files", "records",
         "memory", "mappings", "tables", "shared", "processes", "zombies", "threads", "signals", "timers"]


def test_exhausted_by_a_user(boot):
    """An ordinary user takes all that it gets of one thing. Root can still run a program, and gets the memory back.

    One machine for all kinds: what one kind leaves behind would be missed by the next.
    """
    console = boot("exhaust", cpus=2, mem=64).console
    for kind in KINDS:
        assert re.search(rf"^{kind}:.* root goes on, memory is back$", console, re.MULTILINE), f"{kind}:\n{console}"
    assert "no end" not in console and "(sh)" not in console, console
