# SPDX-License-Identifier: GPL-2.0-only
"""A run is a function of its command line: the same bytes again, and other bytes for another seed."""

import subprocess

from conftest import BUILD, ROOT

BUSY = "--cpus 8 --time 300ms pipes:groups=2 bursts:n=6,run=100us-3ms,sleep=1ms-5ms forks:n=2 hogs:n=3,nice=2".split()


def outputs(directory, *words):
    """Everything that schedsim writes."""
    names = [directory / "r.json", directory / "t.dat"]
    done = subprocess.run([f"{BUILD}/schedsim", "--json", names[0], "--trace", names[1], *words], cwd=ROOT,
                          capture_output=True, check=True)
    return [done.stdout] + [name.read_bytes() for name in names]


def test_same_seed_same_bytes(tmp_path):
    assert outputs(tmp_path, "--seed", "7", *BUSY) == outputs(tmp_path, "--seed", "7", *BUSY)


def test_another_seed_another_run(tmp_path):
    first, second = outputs(tmp_path, "--seed", "7", *BUSY), outputs(tmp_path, "--seed", "8", *BUSY)
    assert all(a != b for a, b in zip(first, second))


def test_checking_and_recording_change_nothing(sim):
    """Invariant checks, traces and the tables of several policies see the same run."""
    words = "--cpus 4 --time 200ms pipes bursts:n=6,run=100us-3ms"
    plain, checked = sim(words), sim("--check " + words)
    assert plain.result() == checked.result()
    both = sim("--sched all " + words)
    assert both.result(plain.result()["sched"]) == plain.result()
