# SPDX-License-Identifier: GPL-2.0-only
"""Unit host and simulator write the same bytes of the same decisions: one scheduler, two hosts."""

import os
import struct
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT, policies

PROGRAM = os.path.join(os.path.relpath(BUILD, ROOT), "unit/test_bytes")
LOAD = ["--cpus", "1", "--time", "300ms", "hogs:n=2", "hogs:n=1,nice=5", "bursts:run=1300us,sleep=7100us"]
END = struct.Struct("<QHHI")


@pytest.fixture(scope="module")
def unit_host(tmp_path_factory):
    """The directory with the bytes that the unit host recorded, by policy."""
    directory = tmp_path_factory.mktemp("unit")
    make = [os.environ.get("MAKE", "make"), "-s", PROGRAM, f"B={os.path.relpath(BUILD, ROOT)}"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True, timeout=300)
    env = dict(os.environ, RECORD_BYTES=str(directory), ASAN_OPTIONS="detect_leaks=0")
    subprocess.run([os.path.join(ROOT, PROGRAM)], env=env, check=True, capture_output=True, timeout=120)
    return directory


def events(data):
    """(time, type, bytes) of each event."""
    at, found = 0, []
    while at < len(data):
        time, kind, size, _ = END.unpack_from(data, at)
        found.append((time, kind, data[at + 8:at + 8 + size]))
        at += 8 + size
    return found


@pytest.mark.parametrize("sched", policies())
def test_the_unit_host_records_the_same_bytes(sim, tmp_path, unit_host, sched):
    path = tmp_path / "a.bin"
    sim("", "--decisions", path, "--sched", sched, *LOAD)
    data = path.read_bytes()
    simulated = events(data[16 + int.from_bytes(data[12:16], "little"):-END.size])
    recorded = events((unit_host / f"{sched}.bytes").read_bytes())
    for number, (ours, theirs) in enumerate(zip(recorded, simulated)):
        assert ours == theirs, number
    assert len(recorded) == len(simulated) == END.unpack_from(data, len(data) - END.size)[0] > 1000
    assert {kind for _, kind, _ in recorded} >= set(range(400, 407))
