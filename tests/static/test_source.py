# SPDX-License-Identifier: GPL-2.0-only
"""Rules of the source, its types, its sizes, and other compilers and levels of optimisation."""

import os
import subprocess
import sys

import pytest

from tests.conftest import BUILD, ROOT

MAKE = os.environ.get("MAKE", "make")
B = os.path.relpath(BUILD, ROOT)
OTHER = "clang" if "clang" not in os.environ.get("CC", "gcc") else "gcc"


def check(*words):
    done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("target", ["tidy", "types", "size"])
def test_target(target):
    check(MAKE, target)


def test_compile_commands():
    check(MAKE, "compdb", "ARGS=--check")


@pytest.mark.parametrize("level", "13")
def test_other_levels_of_optimisation(level):
    """gcc warns, and so fails, elsewhere than at -O2."""
    objects = [f"{B}-O{level}/kernel/kernel/{name}.c.o" for name in ("fs/pipe", "trace/record")]
    check(MAKE, *objects, f"OPTIMIZE={level}", f"B={B}-O{level}", "DEBUG=0")


def test_golden_numbers(tap_program):
    """Those of the unit tests are what their model computes."""
    tap_program([sys.executable, "tests/model/golden.py"])


@pytest.mark.nightly("an error or a warning of the other compiler about the kernel, and code that it makes differently "
                     "for the host; for wasm32 clang compiles sched/ and sim/ every day, and its bytes are compared")
def test_the_other_compiler():
    """It builds kernel and simulator, and its simulator records the same bytes."""
    check(MAKE, "kernel", "sim", f"CC={OTHER}", f"B={B}-{OTHER}")
    check(sys.executable, "tools/scripts/same_records.py", f"{B}/schedsim", f"{B}-{OTHER}/schedsim")
