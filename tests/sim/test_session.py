# SPDX-License-Identifier: GPL-2.0-only
"""A run in steps (sim/session.h), as the page in the browser makes it, decides byte for byte what the program does."""

import itertools
import json
import os
import shutil
import subprocess

import pytest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.abspath(os.environ.get("B", "build"))
WASM = f"{BUILD}/session.wasm"
POLICIES = ("cfs", "eevdf", "bore-cfs", "bore", "fdl")
WORK = ("--cpus 1 hogs:n=2 bursts:n=2,run=1ms,sleep=3ms", "--cpus 4 --hz 1000 requests:workers=3 yielders:n=2",
        "--cpus 2 --cost-switch 2000 group:name=q,quota=5ms,period=20ms hogs:n=3,group=q hogs:n=1",
        "--topology 2x2x2 messages:n=1,workers=4,run=2ms", "--opp juno forks:n=2 hogs:n=2,nice=3",
        f"--cpus 2 {ROOT}/examples/groups.json")
AT_NS = 30_000_000


def sessions(runs, directory):
    done = subprocess.run(["node", f"{ROOT}/tests/tools/run_session.mjs", WASM, directory], input=json.dumps(runs),
                          text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(autouse=True)
def needed():
    if not shutil.which("node") or not os.path.exists(WASM):
        pytest.skip("needs node and make wasm")


def test_steps_and_forks_change_nothing(tmp_path):
    runs = [{"words": f"--sched {policy} --time 60ms {work}".split(), "step": 5 + nr % 3, "at": AT_NS,
             "policy": POLICIES[POLICIES.index(policy) - 1], "files": [word for word in work.split() if "/" in word]}
            for nr, (policy, work) in enumerate(itertools.product(POLICIES, WORK))]
    steps = sessions(runs, tmp_path)
    assert not [nr for nr in steps if not isinstance(nr, int)]
    assert sum(steps) > 10 * len(steps)
    for nr, run in enumerate(runs):
        subprocess.run(["schedsim", *run["words"], "--decisions", "decisions.json"], executable=f"{BUILD}/schedsim",
                       cwd=tmp_path, check=True, capture_output=True)
        native = (tmp_path / "decisions.json").read_bytes()
        assert (tmp_path / f"{nr}.run").read_bytes() == native, run
        assert (tmp_path / f"{nr}.fork").read_bytes() == native, run
        past, future = split((tmp_path / f"{nr}.other").read_bytes())
        assert split(native)[0] == past, run
        assert future[-1]["time"] > AT_NS and future != split(native)[1], run


def split(content):
    """The decisions before the fork, and those after it."""
    lines = [json.loads(line) for line in content.splitlines()[1:-1]]
    return ([line for line in lines if line["time"] < AT_NS], [line for line in lines if line["time"] >= AT_NS])


@pytest.mark.parametrize("words, sentence", [
    ("--sched none hogs", "no such policy"), ("--sched all hogs", "of one policy"), ("hogs:n=x", "n=x"),
    ("--trace a.dat hogs", "writes decisions and nothing else"), ("--cpus 5000 hogs", "from 1 to 4096"),
    ("hogs:n=2000000", "is not a number from 1 to")])
def test_mistakes_are_named(tmp_path, words, sentence):
    assert sentence in sessions([{"words": words.split(), "step": 0, "at": 1, "policy": "cfs"}], tmp_path)[0]
