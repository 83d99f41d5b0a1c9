# SPDX-License-Identifier: GPL-2.0-only
"""Programs for sched_ext as WebAssembly (web/program.mjs) decide byte for byte what they do as native code."""

import itertools
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT
from tests.sim.test_scx import DIVIDES, load

SESSION = f"{BUILD}/session.wasm"
# Programs with their constants, the workload for each, and the length of the run, ms.
PROGRAMS = {"fifo,slice_ns=4000000": ("hogs:n=5 bursts:n=2,run=1ms,sleep=3ms", 60),
            "vtime": ("hogs:n=3,nice=3 hogs:n=2 bursts:n=2,run=1ms,sleep=3ms", 90),
            "central": ("hogs:n=6 bursts:n=3,run=500us,sleep=5ms", 90),
            "llc,cpus_per_llc=2,steals=false": ("hogs:n=5 bursts:n=4,run=1ms,sleep=3ms", 60),
            "group": ("group:name=a,shares=2048 hogs:n=3,group=a bursts:n=2,group=a/b hogs:n=3", 90),
            "wake": ("forks:n=2 hogs:n=2,nice=3 bursts:n=2,run=1ms,sleep=3ms", 60),
            "stall": ("hogs:n=7", 5000)}
MACHINES = ("--cpus 1", "--topology 2x2x1 --hz 1000")
AT_MS = 30
CRASHES = """#include <scx/common.bpf.h>
const volatile u32 way;
static volatile u64 zero, *wild = (u64 *)0xfffffff8;
static u64 __noinline deep(u64 n)
{
    volatile u64 much[64] = { n };
    return n ? deep(n + 1) + much[n % 64] : 0;
}
void BPF_STRUCT_OPS(crash_enqueue, struct task_struct *p, u64 enq_flags)
{
    if (way == 0)
        *wild = 1;
    if (way == 1) {
        volatile s32 least = 1 << 31;
        zero = least / ((s32)zero - 1);
    }
    if (way == 2)
        zero = deep(1);
    if (way == 3)
        scx_bpf_error("task %d, %llu", p->pid, 1ULL << 40);
    scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
}
SCX_OPS_DEFINE(crash_ops, .enqueue = (void *)crash_enqueue, .name = "crash");
"""


@pytest.fixture(autouse=True, scope="module")
def needed():
    if not shutil.which("node") or not os.path.exists(SESSION):
        pytest.skip("needs node and make wasm")


def put(places, source):
    """The program @source as native code and as a module, by one name."""
    name = pathlib.Path(load(source)).stem
    for end, place in places.items():
        shutil.copy(f"{BUILD}/scx/{name}.{end}", place / name)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """{"so": folder, "wasm": folder} with the examples."""
    found = {end: tmp_path_factory.mktemp(end) for end in ("so", "wasm")}
    for spec in PROGRAMS:
        put(found, f"examples/scx/{spec.split(',')[0]}.bpf.c")
    return found


def sessions(place, runs):
    done = subprocess.run(["node", f"{ROOT}/tests/tools/run_session.mjs", SESSION, place], input=json.dumps(runs),
                          text=True, capture_output=True, check=False, cwd=place)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def session(words, name, ms=AT_MS):
    return {"words": words.split(), "step": 500, "at": ms * 1_000_000, "policy": "eevdf", "files": [name]}


def native(place, *words):
    done = subprocess.run(["schedsim", *words, "--decisions", "decisions.json"], executable=f"{BUILD}/schedsim",
                          cwd=place, check=True, capture_output=True, text=True)
    return (place / "decisions.json").read_bytes(), done.stderr


def test_each_example_decides_the_same(places):
    asked = [(spec, machine, f"--scx {spec} {machine} --time {ms}ms {work}")
             for (spec, (work, ms)), machine in itertools.product(PROGRAMS.items(), MACHINES)]
    told = sessions(places["wasm"], [session(words, spec.split(",")[0]) for spec, _, words in asked])
    for nr, (spec, machine, words) in enumerate(asked):
        assert isinstance(told[nr], int), (spec, told[nr])
        ours, said = native(places["so"], *words.split())
        assert b'"policy": "ext"' in ours and ("failed to run" in said) == (spec == "stall"), spec
        for name in "run", "fork":
            assert (places["wasm"] / f"{nr}.{name}").read_bytes() == ours, (spec, machine, name)
        # From then on the fair class has all tasks.
        swapped, said = native(places["so"], "--swap", f"{AT_MS}ms/eevdf", *words.split())
        future = (places["wasm"] / f"{nr}.other").read_bytes().splitlines()[1:]
        assert future == swapped.splitlines()[1:] and future != ours.splitlines()[1:], (spec, machine)
        policies = {each.get("policy") for each in map(json.loads, future[:-1]) if each["time"] > AT_MS * 1_000_000}
        assert "eevdf" in policies and "ext" not in policies and not said, (spec, policies, said)


def test_divided_by_zero_is_zero_and_the_rest_is_all(places, tmp_path):
    """As of BPF (RFC 9669), and as of native code; a result that is another ends the scheduler."""
    (tmp_path / "divides.bpf.c").write_text(DIVIDES)
    put(places, str(tmp_path / "divides.bpf.c"))
    words = "--scx divides --time 60ms hogs:n=3"
    assert isinstance(sessions(places["wasm"], [session(words, "divides")])[0], int)
    ours, said = native(places["so"], *words.split())
    assert (places["wasm"] / "0.run").read_bytes() == ours and b'"policy": "ext"' in ours and not said


def test_mistakes_are_named(places):
    (places["wasm"] / "text").write_text("hello")
    (places["wasm"] / "other").write_bytes(bytes.fromhex("0061736d01000000"))
    bad = {"none": "there is no such file", "text": "it is no WebAssembly module",
           "other": "it is no program of make scx", "fifo,slice=1": "no constant (const volatile) is called slice",
           "fifo,slice_ns=x": "not a number"}
    told = sessions(places["wasm"], [session(f"--scx {spec} hogs", spec.split(",")[0]) | (
        {"files": []} if spec == "none" else {}) for spec in bad])
    for (spec, sentence), error in zip(bad.items(), told, strict=True):
        assert str(error).startswith(f"schedsim: --scx {spec.split(',')[0]}: ") and sentence in error, error


@pytest.mark.parametrize("way, sentence", [
    (0, "enqueue on CPU 0 crashed"), (1, "enqueue on CPU 0 crashed"), (2, "enqueue on CPU 0 crashed"),
    (3, "task 1, 1099511627776")])
def test_a_crash_ends_the_scheduler_alone(places, tmp_path, way, sentence):
    (tmp_path / "crash.bpf.c").write_text(CRASHES)
    put(places, str(tmp_path / "crash.bpf.c"))
    asked = session(f"--scx crash,way={way} --time 60ms hogs:n=3", "crash")
    assert isinstance(sessions(places["wasm"], [asked])[0], int)
    assert sentence in (places["wasm"] / "0.err").read_text()
    last = json.loads((places["wasm"] / "0.run").read_text().splitlines()[-2])
    assert last["policy"] == "cfs" and last["time"] > AT_MS * 1_000_000
