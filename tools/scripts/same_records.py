#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Do two builds of the simulator record the same bytes? One short run under each policy, with decisions of all kinds.

The head of a file, which says what run it is, is not compared: the builds may be of different commits.

Usage: same_records.py SCHEDSIM SCHEDSIM    exits 1 if they differ
"""

import os
import subprocess
import sys
import tempfile

from fairground.decisions.decision_file import BINARY_HEAD
from fairground.base.settings import SCHEDULERS

import usage

RUN = ("--cpus 4 --time 100ms --decisions d.bin hogs:n=3 hogs:nice=5 bursts:n=4 groups:n=2,tasks=2 forks "
       "bursts:n=2,run=1ms,sleep=4ms,policy=rr,prio=3 periodic:policy=deadline,period=10ms,run=1ms").split()


def records(program: str, sched: str) -> bytes:
    """The records of the run under @sched, without the head of the file."""
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        subprocess.run([os.path.abspath(program), "--sched", sched, *RUN], cwd=directory, stdout=subprocess.DEVNULL,
                       check=True)
        with open(os.path.join(directory, "d.bin"), "rb") as f:
            data = f.read()
    return data[BINARY_HEAD.size + BINARY_HEAD.unpack_from(data)[2]:]


def main() -> int:
    programs = usage.words(__doc__, 2, 2)
    differ = False
    for sched in SCHEDULERS:
        one, two = (records(program, sched) for program in programs)
        place = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))
        same = one == two
        differ |= not same
        print(f"{sched:9} {len(one):8} bytes  " + ("the same" if same else f"differ from byte {place} on"))
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
