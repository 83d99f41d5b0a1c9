# SPDX-License-Identifier: GPL-2.0-only
"""`fairground compare`: every kind of side, workloads, pairs, commits that are built aside, traces, and bad input."""

import json
import os
import shutil
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT
from fairground.__main__ import main
from fairground.base import tree
from fairground.base.settings import Settings
from fairground.study import built, compare, recorded, side
from fairground.trace.tracefile import Lost

FEW = ("--seeds", "1..3", "--time", "20ms")


def compared(capsys, *words):
    assert main(["--build", BUILD, "compare", *words]) == 0
    return capsys.readouterr().out


def rows(capsys, *words):
    """The object of a comparison, and its rows by sides and metric."""
    found = json.loads(compared(capsys, *words, "--json"))
    return found, {(*row["policies"], row["metric"]): row for row in found["rows"]}


def refused(capsys, *words):
    """The one sentence that a comparison is refused with."""
    assert main(["--build", BUILD, "compare", *words]) in (1, 2, 125)
    told = capsys.readouterr()
    assert len(told.err.splitlines()) == 1 and not told.out
    return told.err


def test_policies_are_compared(capsys):
    words = ("cfs", "eevdf", "shares", "--seeds", "1..10", "--time", "200ms")
    told = compared(capsys, *words)
    assert told == compared(capsys, *words)
    assert "\nworkload shares: topology=1x1x2x1+hogs:n=3+hogs:n=2,nice=5\n" in told and told.count("nice=5") == 1
    line = next(line for line in told.splitlines() if line.startswith("switches"))
    assert line.endswith("higher") and " 0.0" in line


def test_a_file_of_examples_is_told_from_here(capsys, monkeypatch):
    """Its path is relative, so two checkouts print the same."""
    for place, path in ((compare.ROOT, "examples/periodic.json"), (compare.ROOT / "docs", "../examples/periodic.json")):
        monkeypatch.chdir(place)
        compare.known_workloads.cache_clear()
        assert f"\nworkload periodic: topology=1x1x4x1+{path}\n" in compared(capsys, "cfs", "bore", "periodic", *FEW)
    compare.known_workloads.cache_clear()


@pytest.mark.parametrize("a, b, workload, metric", [
    ("eevdf", "eevdf+base_slice_ns=9000000", "cpus=1+hogs:n=3", "switches"),
    ("cfs", "cfs+NO_WAKEUP_PREEMPTION", "cpus=1+hogs:n=2+bursts:n=2", "mean wait, ms"),
    ("topology=1x1x2x1", "topology=1x1x4x1", "hogs:n=3", "CPU time of tasks, ms"),
    ("cpus=2", "cpus=3", "hogs:n=6", "CPU time of tasks, ms"),
    ("opp=none", "opp=juno+governor=powersave", "topology=1x1x6x1+jobs:n=4,run=2ms", "switches"),
    ("hz=250", "hz=1000", "cpus=1+hogs:n=3", "switches"),
    ("cfs", os.path.join(ROOT, "examples/policies/strides.policy"), "cpus=1+hogs:n=3", "switches"),
    ("preempt=full+eevdf", "preempt=lazy+eevdf", "cpus=1+hogs:n=2+bursts:n=3,run=1ms,sleep=3ms", "mean wait, ms"),
    ("cost-wake=1us", "cost-wake=90us", "cpus=1+hogs:n=2+bursts:n=2", "switches"),
])
def test_each_kind_of_side_changes_its_runs(capsys, a, b, workload, metric):
    """Wherever the two sides' words are lost, the runs are the same."""
    found, by_metric = rows(capsys, a, b, workload, "--seeds", "1..3", "--time", "60ms")
    assert by_metric[a, b, metric]["shift"] != 0 and list(found["samples"]) == ["1", "2", "3"]


@pytest.mark.parametrize("make, source, text", [
    ("plugin", "examples/policies/stride.c", "{}/plugins/stride.so"),
    ("scx", "examples/scx/fifo.bpf.c", "scx:{}/scx/fifo.so,slice_ns=9000000"),
    ("scx", "examples/scx/fifo.bpf.c", "scx:fifo,slice_ns=9000000"),
])
def test_own_code_is_a_side(capsys, make, source, text):
    subprocess.run(["make", "-s", "-C", ROOT, make, f"SRC={source}", f"B={BUILD}"], check=True,
                   env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")})
    name = text.format(BUILD)
    _, by_metric = rows(capsys, "cfs", name, "cpus=1+hogs:n=3", "--seeds", "1..2", "--time", "60ms")
    assert by_metric["cfs", name, "p99 of wakeups, ms"]["shift"] != 0


def test_a_policy_has_the_name_that_its_text_says(capsys, tmp_path):
    own = tmp_path / "mine.policy"
    shutil.copy(os.path.join(ROOT, "examples/policies/strides.policy"), own)
    _, by_metric = rows(capsys, str(own), os.path.join(ROOT, "examples/policies/strides.policy"), "hogs:n=9", *FEW)
    assert {row["verdict"] for row in by_metric.values()} == {"equal"}


def test_a_known_difference_of_one_percent_is_found(capsys):
    """99 CPUs do 1 % less than 100. Seeds are pairs, so 20 show it to a tenth."""
    a, b = "cpus=100", "cpus=99"
    _, by_metric = rows(capsys, a, b, "hogs:n=120", "--seeds", "1..20", "--time", "20ms")
    row = by_metric[a, b, "CPU time of tasks, ms"]
    assert row["verdict"] == "lower" and row["low"] < row["high"] < 0
    assert row["shift"] / row["a"]["median"] == pytest.approx(-0.01, rel=0.1)


def test_a_policy_differs_from_itself_in_nothing(capsys):
    """The default's own value is a side, too, and every pair is the same."""
    _, by_metric = rows(capsys, "cfs", "cfs+wakeup_granularity_ns=1000000", "cpus=1+hogs:n=2+bursts:n=2", *FEW)
    assert {row["verdict"] for row in by_metric.values()} == {"equal"}


def test_few_seeds_give_no_verdict_and_json_has_every_sample(capsys):
    found, by_metric = rows(capsys, "cfs", "eevdf", "cpus=2+hogs:n=3", "--seeds", "1..3", "--time", "200ms")
    assert list(found["samples"]) == ["1", "2", "3"]
    assert {row["verdict"] for row in by_metric.values()} <= {"too few seeds", "equal"}
    assert by_metric["cfs", "eevdf", "switches"]["more_seeds"] > 3


def test_ticks_come_as_often_as_hz_says(capsys):
    words = ("cfs", "eevdf", "cpus=1+hogs:n=3", "--seeds", "1..3", "--time", "1s")
    found = {hz: rows(capsys, *words, *hz)[0] for hz in ((), ("--hz", "250"), ("--hz", "1000"))}
    assert [one["hz"] for one in found.values()] == [250, 250, 1000]
    samples = [one["samples"] for one in found.values()]
    assert samples[0] == samples[1] != samples[2]


def test_what_differs_in_several_things_is_said(capsys):
    told = compared(capsys, "cfs", "cfs+hz=1000+NO_HRTICK", "eevdf", "cpus=1+hogs:n=2", *FEW)
    assert told.count("differs from") == 1
    assert "cfs+hz=1000+NO_HRTICK differs from cfs in 2 things, hz, feature HRTICK" in told


def test_long_sides_have_letters_in_the_table(capsys):
    told = compared(capsys, "eevdf", "eevdf+base_slice_ns=9000000", "cpus=1+hogs:n=2", *FEW)
    assert "\nA: eevdf\nB: eevdf+base_slice_ns=9000000\n" in told and "B is" in told


@pytest.mark.parametrize("words, message", [
    ("cfs", "two or more sides are expected"), ("cfs pipes", "two or more sides"), ("cfs cfs shares", "the same side"),
    ("eevdf base_slice_ns=1+eevdf cfs cfs", "cfs and cfs are the same side"), ("cfs o1", "o1: a policy, NAME=VALUE"),
    ("cfs eevdff shares", "is eevdf meant?"), ("cfs bore shares eevdf", "sides come before the workloads"),
    ("cfs bore hogz", "is hogs meant?"),
    ("cfs scx:fifth hogs", "scx:fifth: FILE.so of make scx is expected, or an example: central, fifo, "),
    ("cfs cfs+eevdf shares", "policy is set twice"),
    ("cfs latency_nsx=3 shares", "is latency_ns meant?"), ("cfs eevdf hogs:n=z", "n=z is not a number"),
    ("cfs none.policy shares", "none.policy: cannot be read"), ("cfs eevdf none.json", "none.json: No such file"),
    ("cfs eevdf none.sh", "none.sh"), ("kernel: cfs hogs:n=2", "the kernel runs NAME.sh"),
    ("kernel:+eevdf kernel:+cost-tick=1us shares", "cost-tick is of the simulator only"),
    ("kernel: kernel:+none.policy shares", "runs in the simulator only"), ("commit:nope cfs shares", "no such commit"),
    ("linux:5.10 cfs shares", "one of linux:6.1, linux:6.12, linux:7.2 is expected"),
    ("linux:6.1 linux:6.12+cfs shares", "Linux has its own policy"),
    ("linux:6.1 cfs hogs:n=2", "the kernel runs NAME.sh"),
    ("linux:6.1 linux:6.12+topology=1x2x2x1 shares", "of a machine Linux takes cpus=N"),
    ("linux:6.1 linux:6.12+hz=1000 shares", "of a machine Linux takes"), ("commit: cfs shares", "no such commit"),
    ("commit:--help cfs shares", "no such commit"),
    ("cfs eevdf --seeds none", "--seeds none"), ("cfs eevdf --within x", "--within x"),
    ("cfs eevdf hogs:n=2 --seeds 1..1001 --time 1us", "at most 1000"),
])
def test_bad_comparisons_are_one_sentence(capsys, words, message):
    assert message in refused(capsys, *words.split())


def test_a_workload_of_the_kernel_alone_is_refused_in_the_simulator(capsys, tmp_path):
    (tmp_path / "work.sh").write_text("hog -n 2 -t {time}\n")
    assert "commands of the kernel's shell" in refused(capsys, "cfs", "eevdf", str(tmp_path / "work.sh"))


def test_what_the_kernel_is_told():
    """A side's boot parameters, and the commands that set what is set while it runs."""
    text = "kernel:+eevdf+opp=juno+topology=1x1x6x1+base_slice_ns=5+NO_HRTICK"
    one = side.Side(text, side.parts_of(text))
    work = side.Workload("w", kernel="hog -t {time}", machine={"topology": "1x1x2x1"})
    boot = one.boot(work, Settings(), 7)
    assert boot["sched"] == "eevdf" and boot["smp"] == "6" and boot["seed"] == "7"
    assert sorted(boot["append"].split()) == ["opp=juno", "topology=1x1x6x1"]
    command = one.command(work, 7, "1s")
    assert "echo 5 > /sys/kernel/debug/sched/base_slice_ns" in command and "hog -t 1s" in command
    assert "echo NO_HRTICK > /sys/kernel/debug/sched/features" in command


def test_a_program_for_sched_ext_is_a_side_in_the_kernel(capsys):
    """Slices of 5 ms make more switches than those of 50 ms."""
    a, b = "kernel:+scx:fifo,slice_ns=50000000", "kernel:+scx:fifo,slice_ns=5000000"
    _, by_metric = rows(capsys, a, b, "shares", "--seeds", "1..1", "--time", "100ms")
    assert by_metric[a, b, "switches"]["shift"] > 0


@pytest.mark.nightly("a kernel's side whose words do not reach the kernel")
def test_sides_in_the_kernel(capsys):
    a, b = "kernel:+cfs", "kernel:+eevdf"
    _, by_metric = rows(capsys, a, b, "shares", "--seeds", "1..2", "--time", "100ms")
    assert by_metric[a, b, "switches"]["shift"] > 0
    _, by_metric = rows(capsys, "sim:", "kernel:", "shares", "--seeds", "1..2", "--time", "100ms")
    assert by_metric["sim:", "kernel:", "CPU time of tasks, ms"]["shift"] / 200 == pytest.approx(0, abs=0.05)


# --- commits ----------------------------------------------------------------------------------------------------------

MAKEFILE = """sim:
\tmkdir -p $(B) && cp {} $(B)/schedsim
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of two commits, of which the second does not build."""
    root = tmp_path / "project"
    root.mkdir()

    def git(*words):
        subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                       stdout=subprocess.DEVNULL)

    git("init", "-q")
    for tag, text in (("good", MAKEFILE.format(os.path.abspath(f"{BUILD}/schedsim"))),
                      ("bad", "sim:\n\t@echo 'x.c:1: error: no such thing'; false\n")):
        (root / "Makefile").write_text(text)
        git("add", "Makefile")
        git("commit", "-q", "-m", tag)
        git("tag", tag)
    (root / "VERSION").write_text("1\n")
    monkeypatch.setattr(tree, "ROOT", root)
    return root


def test_a_commit_is_built_aside_once(project, capsys, tmp_path):
    build = tmp_path / "build"
    (build).mkdir()
    shutil.copy(f"{BUILD}/schedsim", build)
    found = built.build_of("good", str(build), "sim")
    assert os.access(f"{found}/schedsim", os.X_OK) and found.startswith(str(build / "commits"))
    assert not list((build / "commits").glob("*.tree"))
    made = os.stat(f"{found}/schedsim").st_mtime_ns
    assert built.build_of("good", str(build), "sim") == found and os.stat(f"{found}/schedsim").st_mtime_ns == made
    assert main(["--build", str(build), "compare", "cfs", "cfs+commit:good", "hogs:n=2", *FEW, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["verdict"] for row in found["rows"]} == {"equal"} and len(found["rows"]) == 8


def test_a_commit_that_does_not_build_is_one_sentence(project, capsys, tmp_path):
    shutil.copy(f"{BUILD}/schedsim", tmp_path)
    assert main(["--build", str(tmp_path), "compare", "cfs", "commit:bad", "hogs:n=2", *FEW]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told == ["fairground: commit:bad does not build: make sim: x.c:1: error: no such thing"]
    assert not list((tmp_path / "commits").glob("*.tree"))


# --- traces -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def traces(tmp_path):
    """Folders with a trace of each of four seeds, of cfs and of eevdf."""
    for policy in ("cfs", "eevdf"):
        (tmp_path / policy).mkdir()
        for seed in "1234":
            simulate(tmp_path / policy / f"{seed}.dat", policy, seed)
    return tmp_path


def simulate(path, policy, seed, *more, workload=("hogs:n=3", "bursts:n=2")):
    subprocess.run([f"{BUILD}/schedsim", "--sched", policy, "--seed", seed, "--vary", seed, "--time", "100ms",
                    "--trace", path, *more, *workload], check=True, stdout=subprocess.DEVNULL)


def test_folders_of_traces_are_pairs_by_their_seeds(traces, capsys):
    a, b = str(traces / "cfs"), str(traces / "eevdf")
    found, by_metric = rows(capsys, a, b)
    assert list(found["samples"]) == ["1", "2", "3", "4"] and found["sched"] == "cfs,eevdf"
    row = by_metric[a, b, "switches"]
    assert row["a"]["nr"] == 4 and row["shift"] > 0
    os.rename(f"{b}/4.dat", traces / "apart.dat")
    assert "are no pairs: one side alone has the seeds 4" in refused(capsys, a, b)


def test_what_else_differs_between_traces_is_said(traces, capsys):
    a, b = traces / "one.dat", traces / "other.dat"
    simulate(a, "cfs", "1")
    simulate(b, "cfs", "1", "--hz", "1000", "--cpus", "2")
    told = compared(capsys, str(a), str(b))
    assert "the runs differ in HZ, too: 250, 1000" in told and "the runs differ in topology, too" in told
    assert "one run of each: nothing is known of chance" in told


@pytest.mark.skipif(not shutil.which("trace-cmd"), reason="sh tools/setup.sh --test")
def test_traces_of_linux_are_sides_too(traces, capsys):
    linux, other = os.path.join(ROOT, "tests/sim/linux-6.1.dat"), traces / "copy.dat"
    shutil.copy(linux, other)
    _, by_metric = rows(capsys, linux, str(other))
    assert len(by_metric) == 6 and {row["verdict"] for row in by_metric.values()} == {"equal"}
    assert by_metric[linux, str(other), "switches"]["a"]["median"] == 197


def test_a_trace_that_cannot_be_compared_is_one_sentence(traces, capsys, monkeypatch):
    ours, other, dumb = str(traces / "cfs/1.dat"), str(traces / "eevdf/1.dat"), traces / "dumb.dat"
    simulate(dumb, "cfs", "1", workload=("group:name=a",))
    assert "a trace is compared with traces" in refused(capsys, ours, "cfs")
    assert "traces have their workload already" in refused(capsys, ours, other, "shares")
    assert "the trace has no wakeups, so waits are not known" in refused(capsys, ours, str(dumb))
    (traces / "empty").mkdir()
    assert "no trace, NAME.dat, is in this folder" in refused(capsys, ours, str(traces / "empty"))
    assert "No such file" in refused(capsys, ours, str(traces / "nowhere.dat"))
    shutil.copy(ours, traces / "cfs" / "again.dat")
    assert "do not say different seeds" in refused(capsys, str(traces / "cfs"), str(traces / "eevdf"))
    monkeypatch.setattr(recorded.TraceFile, "lost", lambda _: Lost(3))
    assert "3 events were lost" in refused(capsys, ours, other)
