# SPDX-License-Identifier: GPL-2.0-only
"""A program for sched_ext that ends before the run does, or is never loaded: no tool takes the figures for its own."""

import json
import os
import subprocess
import sys

import pytest

import fairground as fg
from fairground.base.settings import Settings
from fairground.machine import scheduler_end
from fairground.machine.scheduler_end import SchedulerEnded
from fairground.study.claims import SIMULATOR
from fairground.study.runs import Lab
from tests.conftest import BUILD, ROOT
from tests.sim.conftest import fairground
from tests.sim.test_experiment_files import TEXT, made
from tests.sim.test_scx import BROKEN, loaded, made_of

WHY = 'scx_bpf_error: no more; all tasks are fair ones from then on'
GRID = """title = "Gone"
policies = ["cfs", "scx:%s"]
workloads = ["hogs:n=3"]
topologies = ["1x1x2x1"]
time = "50ms"
"""


@pytest.fixture(name="gone", scope="module")
def program_that_ends_at_its_first_enqueue(tmp_path_factory):
    text = BROKEN % ('scx_bpf_error("no more");', 0)
    return made_of(tmp_path_factory, "gone", text.replace('"broken"', '"gone"').replace("u32 rule", "u32 rule = 1"))


def test_results_say_that_the_scheduler_ended_when_and_why(sim):
    """The simulator itself goes on, and its status is 0."""
    found = sim("--scx", loaded("stall"), "--time", "5s", "hogs:n=3").result()["sched_ended"]
    assert found == {"kind": 1026, "code": 0, "reason": "runnable task stall",
                     "message": "hog[1] failed to run for 2.060s", "time_ns": 4_000_000_000}
    left = sim("--scx", loaded("stall"), "--swap", "1s/cfs", "--time", "5s", "hogs:n=3")
    stayed = sim("--scx", loaded("fifo"), "--time", "1s", "hogs:n=3")
    assert all("sched_ended" not in run.result() for run in (left, stayed))


def test_what_it_said_is_json_whatever_its_bytes_are(sim, tmp_path_factory):
    text = BROKEN % (r'scx_bpf_error("a \"word\"\t\xff\xc3");', 0)
    found = sim("--scx", made_of(tmp_path_factory, "worded", text), "hogs").result()["sched_ended"]
    assert found["message"] == 'a "word"\t??'


@pytest.mark.parametrize("words", ["compare cfs scx:{} cpus=2+hogs:n=3 --seeds 1..2 --time 50ms",
                                   "compare cfs kernel:+scx:{} shares --seeds 1..1 --time 50ms",
                                   "replay {trace} --sched eevdf,scx:{} --seeds 1..1"])
def test_a_side_or_policy_that_ended_is_refused_in_a_sentence(gone, words, tmp_path):
    trace = tmp_path / "run.dat"
    subprocess.run([f"{BUILD}/schedsim", "--trace", trace, "--time", "100ms", "hogs:n=2"], check=True,
                   stdout=subprocess.DEVNULL)
    done = fairground("--build", BUILD, *words.format(gone, trace=trace).split())
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    assert "scx:gone ended at 0." in done.stderr and WHY in done.stderr
    assert f"scx:{gone}, " in done.stderr or words.startswith("replay")


def test_a_side_that_was_not_loaded_is_refused_too():
    words = f"compare kernel:+scx:{loaded('fifo')},slice=4 kernel: shares --seeds 1..1 --time 50ms".split()
    done = fairground("--build", BUILD, *words)
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    assert "scx:/root/fifo.o,slice=4 was not loaded: " in done.stderr and "constant (const volatile)" in done.stderr


@pytest.mark.parametrize("host", ["simulator", "kernel"])
def test_a_card_of_it_is_not_ok(gone, host):
    """F-01 has both hosts."""
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", os.path.abspath(BUILD), "scenarios", "F-01",
                           "--host", host, "--scheds", f"scx:{gone}"], cwd=ROOT, text=True, capture_output=True,
                          check=False, env={**os.environ, "PYTHONPATH": os.path.abspath("tools")})
    assert done.returncode == 1 and "not ok 1 - F-01" in done.stdout and WHY in done.stdout, done.stdout + done.stderr


def test_a_cell_of_it_failed_and_is_not_kept(gone, tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "grid.toml").write_text(GRID % gone)
    words = [sys.executable, "-m", "fairground", "--build", BUILD, "sweep", str(tmp_path / "grid.toml"), "--store",
             str(tmp_path / "store"), "--out", str(tmp_path / "grid.parquet"), "--workers", "1"]
    for there, run in ((0, 1), (1, 0)):
        done = subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=False,
                              env={**os.environ, "PYTHONPATH": "tools"})
        assert done.returncode == 1 and f"2 cells: {there} were there, {run} run, 1 failed" in done.stdout, done.stdout
        assert "failed: schedsim --scx gone.so" in done.stdout and WHY in done.stdout


def test_it_is_an_error_in_python(gone, monkeypatch):
    monkeypatch.setenv("B", BUILD)
    with pytest.raises(fg.SimulatorError, match=f"^scx:gone ended at 0.0[0-9]+ s, {WHY}$"):
        fg.simulate("hogs:n=2", sched=f"scx:{gone}")
    assert json.dumps(fg.simulate("hogs:n=2", sched=f"scx:{loaded('fifo')}").result)


def test_an_experiments_case_fails(gone, tmp_path):
    lab = Lab(made(TEXT.replace("tasks = 2", "tasks = 9"), tmp_path), Settings(build=BUILD), str(tmp_path), 1)
    with pytest.raises(SchedulerEnded, match=WHY):
        lab.results([SIMULATOR], [f"scx:{gone}"])


CONSOLE = """[    0.100000] sched_ext: BPF scheduler "one" enabled
[    0.200000] sched_ext: BPF scheduler "one" disabled (%s)
[    0.300000] sched_ext: one: no more
"""


@pytest.mark.parametrize("text, ended, booted", [
    ("", "", "not loaded: the console does not say why"),
    ("[    0.1] sched_ext: /root/one.o: has no name\n", "", "scx:/root/one.o,a=1 was not loaded: has no name; "),
    (CONSOLE % "runtime error", "scx:one ended at 0.200 s, runtime error: no more; ", "scx:one ended at 0.200 s, "),
    (CONSOLE % "unregistered from BPF", "unregistered from BPF: no more; ", "unregistered from BPF"),
    (CONSOLE % "unregistered from user space", "", ""),
    ((CONSOLE % "unregistered from user space") + (CONSOLE % "runtime error"), "runtime error: no more", "runtime"),
    (CONSOLE.partition("[    0.2")[0], "", ""),
])
def test_a_console_tells_it_unless_the_workload_unloaded_it(text, ended, booted):
    for found, expected in ((scheduler_end.on_console(text), ended),
                            (scheduler_end.at_boot("scx:/root/one.o,a=1", text), booted)):
        assert expected in found and bool(expected) == bool(found)
