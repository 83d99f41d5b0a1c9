# SPDX-License-Identifier: GPL-2.0-only
"""`fairground graph pelt`: curves of load averages, judged by the closed formula of a sum that halves in 32 periods of
1.048576 ms, from the runs in trace-cmd's text."""

import re
import shutil
import subprocess

import pytest

from tests.sim.conftest import ROOT, fairground, run, simulated

pytest.importorskip("numpy")
pytest.importorskip("matplotlib")
if not shutil.which("trace-cmd"):
    pytest.skip("trace-cmd is not installed", allow_module_level=True)

LINUX = f"{ROOT}/tests/sim/linux-6.1.dat"
HALF_LIFE_S = 32 * 1.048576e-3
PERIODIC = ("--cpus", "1", "--time", "1s", "bursts:n=1,run=4ms,sleep=12ms")
RECORD = re.compile(r"(\d+\.\d{9}): sched_pelt_(se|cfs): .*?(?:pid=(-?\d+) )?load=(\d+) runnable=(\d+) util=(\d+) "
                    r"enqueued=(\d+)(?: ewma=(\d+))?")
SWITCH = re.compile(r"(\d+\.\d{9}): sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+)")


@pytest.fixture(scope="module")
def periodic(tmp_path_factory):
    """A task that runs 4 ms of every 16."""
    path = tmp_path_factory.mktemp("pelt") / "run.dat"
    simulated("--trace", path, "--averages", *PERIODIC)
    return path


def text_of(path):
    return subprocess.run(["trace-cmd", "report", "-t", "-N", path], capture_output=True, text=True, check=True).stdout


def table(text):
    """name -> (numbers, least, mean, greatest, estimate)"""
    return {name.strip(): tuple(map(float, rest.split())) for name, rest in
            re.findall(r"^  (\S.{27}) +((?:\d[\d.]* *)+)$", text, re.M)}


def grown(util, ns, running):
    """By the formula, in s: what is there decays, what runs adds what is missing from 1024."""
    left = 2 ** (-ns / 1e9 / HALF_LIFE_S)
    return util * left + (1024 * (1 - left) if running else 0)


def test_the_curve_of_a_quarter_is_the_closed_formula(periodic, tmp_path):
    """Highest at the end of a run, lowest at the end of a sleep, after the beginning has decayed for 18 half-lives. The
    estimate comes from above, and stays where it is within 1 % of a CPU."""
    done = fairground("graph", "pelt", periodic, "--range", "0.6-1", "-o", tmp_path / "x.svg")
    assert done.returncode == 0, done.stderr
    high = 1024 * (1 - 2 ** (-4e-3 / HALF_LIFE_S)) / (1 - 2 ** (-16e-3 / HALF_LIFE_S))
    low = high * 2 ** (-12e-3 / HALF_LIFE_S)
    _, least, mean, greatest, estimate = table(done.stdout)["burst-1"]
    assert greatest == pytest.approx(high, rel=0.01) and least == pytest.approx(low, rel=0.01)
    assert low < mean < high and high <= estimate < high + 11
    whole, cpu = table(done.stdout)["burst-1"], table(done.stdout)["CPU 0"]
    assert all(abs(one - other) <= 2 for one, other in zip(cpu[1:4], whole[1:4]))  # nobody else is on it


def test_each_number_is_what_the_runs_make(periodic):
    """From the first number on the formula follows the switches; after each sleep the estimate is what the average was
    before it."""
    text = text_of(periodic)
    runs = sorted([(int(t.replace(".", "")), following == "1") for t, _, following in SWITCH.findall(text)])
    records = [(int(t.replace(".", "")), *map(int, (load, runnable, util, enqueued, ewma)))
               for t, kind, pid, load, runnable, util, enqueued, ewma in RECORD.findall(text) if kind == "se"]
    assert len(records) > 100
    now, util = records[0][0], float(records[0][3])
    running, edges, worst = True, iter(runs), 0.0
    edge = next(edges)
    for time, *_, actual, _, _ in records[1:]:
        while edge and edge[0] <= time:
            if edge[0] > now:
                util, now = grown(util, edge[0] - now, running), edge[0]
            running, edge = edge[1], next(edges, None)
        util, now = grown(util, time - now, running), time
        worst = max(worst, abs(util - actual))
    assert worst < 1024 * 0.012, worst
    asleep = [(one, other) for one, other in zip(records, records[1:]) if other[0] - one[0] > 10_000_000]
    assert len(asleep) > 50 and all(other[4] == one[3] for one, other in asleep)


def test_signals_choices_and_bad_requests(periodic, tmp_path):
    path, out = tmp_path / "x.dat", tmp_path / "x.svg"
    simulated("--trace", path, "--averages", "--cpus", "2", "--time", "500ms", "hogs:n=3,nice=5",
              "group:name=g,shares=512", "bursts:n=2,run=5ms,sleep=7ms,group=g")
    text = fairground("graph", "pelt", path, "-o", out).stdout
    names = set(table(text))
    assert {"CPU 0", "CPU 1", "hog-1", "burst-4"} <= names and any(name.startswith("group 1 on CPU") for name in names)
    assert {f"average {name}" for name in ("CPU 0", "hog-1")} <= set(re.findall('id="([^"]*)"', out.read_text()))
    load = table(fairground("graph", "pelt", path, "--signal", "load", "--tasks", "hog-1", "-o", out).stdout)
    assert set(load) == {"hog-1"} and load["hog-1"][3] == 335  # the weight of nice 5
    assert "estimate hog-1" not in out.read_text()
    assert set(table(fairground("graph", "pelt", path, "--cpu", "1", "--tasks", "^CPU", "-o", out).stdout)) == {"CPU 1"}
    out.unlink()
    for words, status, message in (((LINUX,), 2, "no load average is in it: schedsim --averages"),
                                   ((path, "--tasks", "nobody"), 2, "no load average is in it"),
                                   ((path, "--tasks", "["), 2, "--tasks ["),
                                   ((path, "--signal", "lag"), 2, "invalid choice: 'lag'")):
        done = fairground("graph", "pelt", *words, "-o", out)
        assert done.returncode == status and message in done.stderr and not out.exists(), done.stderr
    done = run(["--averages", "hogs:n=1"], tmp_path)
    assert done.status == 2 and "--trace FILE is needed" in done.err


def test_averages_change_no_decision(periodic, tmp_path):
    """Without the option, and without these events, the traces are the same."""
    plain = tmp_path / "plain.dat"
    simulated("--trace", plain, *PERIODIC)
    pelt = re.compile(r"sched_pelt_")
    lines = [[line for line in text_of(path).splitlines() if "[" in line and not pelt.search(line)]
             for path in (plain, periodic)]
    assert lines[0] == lines[1] and "sched_pelt" not in text_of(plain)
