"""A scenario card in the kernel: the others run by `make scenarios HOST=kernel`."""

import os
import subprocess
import sys

BUILD = os.environ.get("B", "build")


def test_a_card_keeps_its_bounds_in_the_kernel():
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "scenarios", "--host", "kernel",
                           "--scheds", "eevdf", "F-04"], text=True, capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": "tools"})
    assert done.returncode == 0 and "# 2 passed, 0 failed" in done.stdout, done.stdout + done.stderr
