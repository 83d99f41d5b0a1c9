"""The same run twice is the same run: console and trace are equal to the bit, on one CPU and on four."""

import pytest

from conftest import settings
from fairground.repeat import repeat

# Everything that could differ: processes on all CPUs, pipes, migration, sleeping and waking by timer, idle CPUs.
EXPERIMENT = "hack -g 1 -f 4 -l 20 & burst -r 200us -s 700us -n 10 & hog -n 3 -t 10ms; wait; cat /proc/schedstat"


def identical_runs(runs, **how):
    """How many of the runs agree. One in ten (at least one) may have been disturbed by a busy host and made again."""
    outcome, seen = repeat(settings(EXPERIMENT, icount=True, **how), runs)
    assert outcome.status == 0, outcome.console
    print(f"{how}: " + ", ".join(f"{times} x {digest[:16]}" for digest, times in seen))
    return seen[0][1]


@pytest.mark.parametrize("cpus, runs", [(1, 3), (2, 5), (4, 20), (16, 3)])
def test_runs_are_identical(cpus, runs):
    assert identical_runs(runs, cpus=cpus) == runs


def test_the_seed_is_part_of_the_run():
    digests = {repeat(settings("head -c 32 /dev/urandom | md5sum", icount=True, seed=seed), 1)[1][0][0]
               for seed in (1, 2)}
    assert len(digests) == 2
