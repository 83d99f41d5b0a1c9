#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Digests of what the scheduler decides. They are equal before and after a change that changes no decision.

Each line is the SHA-256 of what schedsim writes for one workload under one policy: its tables, its figures as JSON and
its trace with every event of the scheduler. The last line is the digest of all lines. The commit is left out, so two
versions of the source can be compared:

    make digest > before; (change something); make digest | diff before -

Usage: digest.py [POLICY...]     environment: B (build directory)
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from fairground.base.settings import SCHEDULERS

import usage

WORKLOADS = {
    "shares": "--cpus 1 --time 2s hogs:n=2 hogs:n=2,nice=5 bursts:n=3,run=2ms,sleep=6ms hogs:n=1,policy=idle",
    "batch": "--cpus 2 --time 1s hogs:n=3,policy=batch bursts:n=4,run=1ms-3ms,sleep=1ms-9ms hogs:slice=1ms",
    "wakeups": "--cpus 8 --time 300ms pipes:groups=2 bursts:n=6,run=100us-3ms,sleep=1ms-5ms forks:n=2 hogs:n=3,nice=2",
    "caches": "--topology 2x2x4x2 --time 200ms messages:n=4,workers=12 requests pipes:groups=2 hogs:n=9",
    "real-time": "--cpus 4 --time 500ms periodic:n=6,policy=fifo periodic:n=4,policy=rr,prio=20 hogs:n=6 bursts:n=5",
    "groups": "--cpus 4 --time 500ms groups:n=3,depth=2,tasks=3 "
              "group:name=q,quota=20ms,period=50ms hogs:n=4,group=q hogs:n=2",
    "burst": "--cpus 4 --time 500ms group:name=q,quota=30ms,period=50ms,burst=30ms "
             "bursts:n=8,run=1ms-9ms,group=q hogs:n=2",
    "hotplug": "--cpus 6 --time 500ms hotplug:times=3 hogs:n=8 bursts:n=8 periodic:n=3,policy=fifo pipes",
    "shared": "--topology 4x4 --features SHARED_RUNQ --features SHARED_RUNQ_STEAL --time 300ms "
              "pipes:groups=3 bursts:n=20",
    "yields": "--cpus 2 --time 200ms yielders:n=3 pingpong:n=2 jobs",
    "costs": "--cpus 4 --time 300ms --cost-switch 700ns --cost-ipi 2us --cost-migration 5us --skew 50us pipes hogs:n=5",
}
OPERATIONS = "40000"


COMMIT = re.compile(rb"schedsim(?:, commit)? ([\w-]+):")
# In a trace: the option that says what run it is, and from there to the first page of events. The size of both depends
# on the commit.
ABOUT = re.compile(rb"\x09\x00.{4}schedsim [^\0]*\0", re.DOTALL)
PAGES = re.compile(rb"flyrecord\0(.{8})", re.DOTALL)


def run(build: str, words: list[str]) -> bytes:
    """The output of schedsim."""
    done = subprocess.run([f"{build}/schedsim", *words], capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def trace_without_commit(trace: bytes) -> bytes:
    """What a trace says of formats and names, and its events."""
    pages = PAGES.search(trace)
    assert pages
    return ABOUT.sub(b"", trace[:pages.start()]) + trace[int.from_bytes(pages[1], "little"):]


def workload_digest(build: str, policy: str, text: str) -> str:
    with tempfile.TemporaryDirectory() as directory:
        names = [pathlib.Path(directory, name) for name in ("r.json", "t.dat")]
        out = run(build, ["--sched", policy, "--json", str(names[0]), "--trace", str(names[1]), *text.split()])
        parts = [out, names[0].read_bytes(), trace_without_commit(names[1].read_bytes())]
    match = COMMIT.match(out)
    commit = match[1] if match else b""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update((part.replace(commit, b"COMMIT") if commit else part).replace(directory.encode(), b"DIRECTORY"))
    return hasher.hexdigest()


def operations_digest(build: str, policy: str, seed: str) -> str:
    out = run(build, ["--sched", policy, "--seed", seed, "--ops", OPERATIONS, "--verbose"])
    return hashlib.sha256(COMMIT.sub(b"", out)).hexdigest()


Job = tuple[Callable[..., str], str, str, str]  # a function and its arguments


def main() -> None:
    build, policies = os.environ.get("B", "build"), usage.words(__doc__) or list(SCHEDULERS)
    jobs: dict[str, Job] = {f"{policy:<9} {name}": (workload_digest, build, policy, text)
            for policy in policies for name, text in WORKLOADS.items()}
    jobs |= {f"{policy:<9} operations": (operations_digest, build, policy, "11") for policy in policies}
    with ThreadPoolExecutor(2) as pool:
        digests = pool.map(lambda job: job[0](*job[1:]), jobs.values())
        lines = [f"{digest[:32]}  {name}" for name, digest in zip(jobs, digests)]
    table = "\n".join(lines)
    print(table)
    print(f"{hashlib.sha256(table.encode()).hexdigest()[:32]}  all")


if __name__ == "__main__":
    main()
