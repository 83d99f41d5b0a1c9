# SPDX-License-Identifier: GPL-2.0-only
"""The simulator as WebAssembly prints and writes what the native one does, byte for byte.

It is the same source, for a machine with 32-bit addresses, by clang and another libc: whatever depends on the size of a
long, on bytes between fields, or on the order of equals in a sort, differs here first.
"""

import itertools
import json
import os
import random
import shutil
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT

WASM = f"{BUILD}/schedsim.wasm"
PARTS = 5
POLICIES = ("cfs", "bore-cfs", "eevdf", "bore", "fdl")
MACHINES = ("--cpus 1", "--cpus 3", "--topology 2x2x2", "--topology nodes=2,llcs=2,cores=4+2,threads=2 --hz 1000",
            "--cpus 2 --hz 100 --skew 300us --clock 18446744072709551615", "--cpus 4 --preempt lazy --cost-switch 2000 "
            "--cost-wake 700 --cost-ipi 900 --cost-migration 5000",
            "--topology 1x2x2x2 --caches xeon5500,l2=100,footprint=90")
WORKLOADS = ("hogs:n=3 hogs:n=2,nice=5", "bursts:n=5,run=100us-2ms,sleep=1ms-4ms hogs:n=2",
             "forks:n=2 hogs:n=2,nice=3", "requests:workers=3 yielders:n=2", "pipes:groups=2,pairs=2",
             "pingpong:n=2 hogs:n=2,policy=batch",
             "groups:n=2,depth=2,tasks=2 bursts:n=2,run=1ms,sleep=2ms",
             "group:name=q,quota=5ms,period=20ms,burst=2ms hogs:n=3,group=q bursts:n=2",
             "periodic:n=2,period=7ms,run=1ms hogs:n=3",
             "periodic:n=1,policy=deadline,runtime=3ms,deadline=9ms hogs:n=3",
             "messages:n=1,workers=4,run=2ms", "jobs:n=3,run=3ms hotplug:after=20ms,off=20ms")
FILES = ("forkjoin", "groups", "periodic", "phases", "producer")
ERRORS = ("--sched none hogs", "--cpus 5000 hogs", "nothing", "--topology 2x hogs", "--hz 300 hogs", "missing.json",
          "--seed x hogs", "hogs:n=x", "--time 1y hogs", "--set nothing=1 hogs", "--features NOTHING hogs", "")
SEED = 20261


def command_lines():
    """{kind: command lines}, at least 200, some of each kind. {} in a word stands for a file that is written."""
    draw = random.Random(SEED)
    return {
        "trace.dat, each machine": [f"--sched {policy} {machine} --time 60ms {draw.choice(WORKLOADS)} --trace {{}}.dat"
                                    for policy, machine in itertools.product(POLICIES, MACHINES)],
        "decisions as JSON": [f"--sched {policy} {draw.choice(MACHINES)} --time 50ms {work} --decisions {{}}.json"
                              for policy, work in itertools.product(POLICIES, WORKLOADS)],
        "results as JSON, checked": [f"--sched {policy} {draw.choice(MACHINES)} --time 80ms {work} --json {{}}.json "
                                     "--check" for policy, work in itertools.product(POLICIES, WORKLOADS[::2])],
        "one decision explained": [f"--sched {policy} {draw.choice(MACHINES)} --explain 20ms {work}"
                                   for policy, work in itertools.product(POLICIES, WORKLOADS[1::3])],
        "rt-app files, schedstat": [f"--sched {policy} --cpus 2 --time 100ms {ROOT}/examples/{name}.json "
                                    "--schedstat {}" for policy, name in itertools.product(POLICIES, FILES)],
        "decisions as trace.dat": [f"--sched {policy} {draw.choice(MACHINES)} --time 40ms {work} --decisions {{}}.dat"
                                   for policy, work in itertools.product(POLICIES, WORKLOADS[::3])],
        "256 CPUs": [f"--topology 8x8x4 --sched {policy} --time 10ms hogs:n=300 pipes:groups=4"
                     for policy in POLICIES],
        "lists and mistakes": ["--list-policies", "--help", *ERRORS]}


def size_of(result):
    """Bytes of what a command printed and wrote."""
    _, out, err, files = result
    return len(out) + len(err) + sum(map(len, files))


def print_table(kinds, native, wasm):
    """What was compared: command lines and bytes of each kind, and how many lines are equal."""
    rows, at = [], 0
    for kind, lines in kinds.items():
        pairs = list(zip(native, wasm))[at:at + len(lines)]
        rows.append((kind, len(lines), sum(size_of(ours) for ours, _ in pairs), sum(a == b for a, b in pairs)))
        at += len(lines)
    rows.append(("all", *(sum(row[i] for row in rows) for i in (1, 2, 3))))
    print(f"\n{'command lines':<26} {'number':>6} {'bytes':>12} {'equal':>6}")
    for kind, number, size, equal in rows:
        print(f"{kind:<26} {number:>6} {size:>12,} {equal:>6}")


def results(lines, directory, run):
    """For each of @lines status, stdout, stderr, and the bytes of the file that it wrote. @run(words) runs all."""
    words = [line.format(f"{directory}/file{nr}").split() for nr, line in enumerate(lines)]
    statuses = run(words)
    found = []
    for nr, status in enumerate(statuses):
        texts = [(directory / f"{nr}.{end}").read_bytes().replace(bytes(directory), b"DIR") for end in ("out", "err")]
        written = sorted(directory.glob(f"file{nr}.*")) + sorted(directory.glob(f"file{nr}"))
        found.append((status, *texts, [each.read_bytes().replace(bytes(directory), b"DIR") for each in written]))
    return found


def run_native(directory):
    def run(words):
        statuses = []
        for nr, each in enumerate(words):
            with open(directory / f"{nr}.out", "wb") as out, open(directory / f"{nr}.err", "wb") as err:
                statuses.append(subprocess.run(["schedsim", *each], executable=f"{BUILD}/schedsim", stdout=out,
                                               stderr=err, check=False).returncode)
        return statuses
    return run


def run_wasm(directory):
    def run(words):
        done = subprocess.run(["node", f"{ROOT}/tests/tools/run_wasm.mjs", WASM, directory], input=json.dumps(words),
                              text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


@pytest.mark.sampled(8, "a command line whose bytes differ in WebAssembly")
@pytest.mark.parametrize("part", range(PARTS))
def test_every_byte_is_the_same(tmp_path, part):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    if not os.path.exists(WASM):
        pytest.skip("make wasm was not run")
    kinds = {kind: lines[part::PARTS] for kind, lines in command_lines().items()}
    lines = [line for each in kinds.values() for line in each]
    assert len(lines) >= 200 // PARTS
    places = [tmp_path / "a", tmp_path / "b"]  # names of one length: traces hold them
    for place in places:
        place.mkdir()
    native, wasm = (results(lines, place, run(place)) for place, run in zip(places, (run_native, run_wasm)))
    print_table(kinds, native, wasm)
    different = [line for line, ours, theirs in zip(lines, native, wasm) if ours != theirs]
    assert not different, f"{len(different)} of {len(lines)} differ: {different[:5]}"
    assert sum(status == 0 for status, *_ in native) > 160 // PARTS
    assert sum(bool(files) for *_, files in native) > 120 // PARTS
