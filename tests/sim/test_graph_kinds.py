# SPDX-License-Identifier: GPL-2.0-only
"""`fairground graph share, cdf, side, arrows, opp, sweep`: their numbers by another computation: the simulator's own
results, trace-cmd's text, or a search instead of a formula."""

import functools
import json
import pathlib
import re
import shutil
import statistics
import subprocess
from collections import defaultdict

import pytest

from tests.sim.conftest import ROOT, fairground, simulated

np = pytest.importorskip("numpy")
from fairground.pictures import graph as graphs, kinds
from fairground.pictures.kinds import share

LINUX = f"{ROOT}/tests/sim/linux-6.1.dat"
needs_trace_cmd = pytest.mark.skipif(not shutil.which("trace-cmd"), reason="trace-cmd is not installed")


simulate = functools.partial(simulated, "--trace")
graph = functools.partial(fairground, "graph")


def text(path):
    return subprocess.run(["trace-cmd", "report", "-t", "-N", path], capture_output=True, text=True, check=True).stdout


def test_a_module_is_all_that_a_kind_of_picture_needs(tmp_path, monkeypatch):
    """The one that docs/pictures.md adds, in a directory of its own."""
    page = pathlib.Path(ROOT, "docs/pictures.md").read_text(encoding="utf-8")
    (tmp_path / "turns.py").write_text(re.search(r"module `turns`:\n\n```\n(.*?)```", page, re.DOTALL)[1])
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    graphs.kinds.cache_clear()
    try:
        status, out, _ = graph("turns", LINUX, "--bins", "20", "-o", tmp_path / "x.svg")
        assert status == 0 and "how long tasks ran at a stretch" in out and (tmp_path / "x.svg").stat().st_size > 1000
        assert "hack.dat --bins 50" in graph("turns", "--help").stdout
    finally:
        graphs.kinds.cache_clear()


@pytest.mark.parametrize("words", ["--cpus 1 hogs:n=2 hogs:n=1,nice=5", "--cpus 2 hogs:n=1,nice=-10 hogs:n=3,nice=3"])
def test_the_ideal_share_is_the_simulators_fluid_server(tmp_path, words):
    """Where nobody sleeps the simulator's second run, with a server instead of a scheduler, has the same to serve."""
    path = tmp_path / "x.dat"
    result = simulate(path, "--time", "1s", *words.split())
    status, out, _ = graph("share", path, "-o", tmp_path / "x.svg")
    rows = [list(map(float, row)) for row in re.findall(r"^  hog-\d+ +([\d.]+) +([\d.]+)", out, re.MULTILINE)]
    tasks = [task for task in result["tasks"] for _ in range(task["tasks"])]
    assert status == 0 and len(rows) == len(tasks)
    for (_, ideal), task in zip(rows, tasks):
        assert ideal == pytest.approx(task["ideal_ns"] / task["tasks"] / 1e7, rel=1e-2)
    for name in {task["nice"] for task in tasks}:
        got = sum(row[0] for row, task in zip(rows, tasks) if task["nice"] == name)
        assert got == pytest.approx(next(t for t in tasks if t["nice"] == name)["cpu_ns"] / 1e7, abs=0.5)


def test_nobody_gets_more_than_a_cpu_and_nothing_is_left_over():
    """The rates are min(1, level x weight) for the level at which they add up; found by bisection here."""
    random = np.random.default_rng(1)
    for _ in range(300):
        weights = dict(enumerate(random.uniform(0.1, 20, random.integers(1, 9))))
        cpus = int(random.integers(1, 6))
        low, high = 0.0, 1e4
        for _ in range(200):
            level = (low + high) / 2
            used = sum(min(1, level * w) for w in weights.values())
            low, high = (level, high) if used < min(cpus, len(weights)) else (low, level)
        rates = share.fluid(weights, cpus)
        for pid, weight in weights.items():
            assert rates[pid] == pytest.approx(min(1, high * weight), abs=1e-6)
    assert share.fluid({1: float("inf"), 2: 1.0, 3: 1.0}, 1) == {1: 1.0}


@needs_trace_cmd
@pytest.mark.parametrize("which", ["linux", "simulator"])
def test_cdf_tells_the_waits_of_trace_cmds_text(tmp_path, which):
    path = LINUX if which == "linux" else tmp_path / "x.dat"
    if which != "linux":
        simulate(path, "--cpus", "2", "--time", "300ms", "hogs:n=3", "bursts:n=3,run=1ms-2ms,sleep=3ms-5ms")
    woken, waits = {}, []
    line = re.compile(
        r"\[\d+\] +(\d+)\.(\d+): (?:sched_wakeup(?:_new)?: +comm=.* pid=(\d+) prio"
                      r"|sched_switch: .*prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> .*next_pid=(\d+))")
    for seconds, part, pid, prev, state, following in line.findall(text(path)):
        now = int(seconds) * 10 ** 9 + int(part.ljust(9, "0"))
        if following:
            if prev != "0" and state[0] == "R":
                woken[prev] = None
            elif woken.get(prev) != now:
                woken.pop(prev, None)
            if following in woken and woken.pop(following) is not None:
                waits.append(now)
        elif pid not in woken:
            woken[pid] = now
    status, out, _ = graph("cdf", path, "-o", tmp_path / "x.pdf")
    counted = sum(int(n) for n in re.findall(r"^  \S.{15} +(\d+) ", out, re.MULTILINE))
    assert status == 0 and counted == pytest.approx(len(waits), rel=0.01) and counted > 30


@needs_trace_cmd
def test_arrows_are_wakeups_and_preemptions_of_trace_cmds_text(tmp_path):
    path = tmp_path / "x.dat"
    simulate(path, "--cpus", "2", "--time", "50ms", "messages:n=1,workers=3,run=1ms", "hogs:n=1")
    raw = text(path)
    preempted = len([1 for prev, state, following in re.findall(
        r"prev_pid=(\d+) .*prev_state=(\S+) .*next_pid=(\d+)", raw) if prev != "0" != following and state[0] == "R"])
    waker = re.findall(r"^ *\S+?-(\d+) +\S* *\[\d+\].*sched_waking: ", raw, re.MULTILINE)
    status, out, _ = graph("arrows", path, "-o", tmp_path / "x.svg")
    assert status == 0 and f"preemptions: {preempted}\n" in out and preempted > 5
    assert f"wakeups by tasks: {sum(pid != '0' for pid in waker)};" in out


def test_side_by_side_has_each_tasks_time(tmp_path):
    paths = []
    for sched in ("cfs", "eevdf"):
        paths.append(tmp_path / f"{sched}.dat")
        result = simulate(paths[-1], "--sched", sched, "--cpus", "1", "--time", "400ms", "hogs:n=1",
                          "hogs:n=1,nice=5", "bursts:n=1,run=2ms,sleep=10ms")
    status, out, _ = graph("side", *paths, "-o", tmp_path / "x.svg")
    ran = {name: float(ms) for name, ms in re.findall(r"^  (\w+-\d) +\d+ +([\d.]+)", out, re.MULTILINE)}
    assert status == 0 and "cfs: cfs.dat" in out and "eevdf: eevdf.dat" in out
    for name, task in zip(("hog-1", "hog-2", "burst-3"), result["tasks"]):
        assert ran[name] == pytest.approx(task["cpu_ns"] / 1e6, abs=4.1)  # the trace ends with its last event
    drawn = (tmp_path / "x.svg").read_text()
    assert drawn.count('id="runs 1"') == drawn.count('id="runs 3"') == 2
    assert graph("side", paths[0], "--tasks", "[", "-o", tmp_path / "y.svg")[0] == 2


def test_sleeps_are_what_the_program_sleeps(tmp_path):
    """5 ms between bursts of 2 ms beside a hog, whose line has no dots."""
    path = tmp_path / "x.dat"
    simulate(path, "--cpus", "1", "--time", "400ms", "bursts:n=1,run=2ms,sleep=5ms", "hogs:n=1")
    status, out, _ = graph("side", path, "--asleep", "-o", tmp_path / "x.svg")
    rows = {name: (int(runs), float(asleep)) for name, runs, asleep in
            re.findall(r"^  (\w+-\d) +(\d+) .* ([\d.]+)$", out, re.MULTILINE)}
    assert status == 0 and rows["hog-2"][1] == 0
    assert rows["burst-1"][0] > 40 and rows["burst-1"][1] == pytest.approx(5 * (rows["burst-1"][0] - 1), abs=0.01)
    assert "dots: sleeps" in (tmp_path / "x.svg").read_text()
    _, without, _ = graph("side", path, "-o", tmp_path / "y.svg")
    assert out.splitlines()[1].split()[-4:] == ["longest", "ms", "asleep", "ms"]
    assert without.splitlines()[1].split()[-2:] == ["longest", "ms"] and "dots" not in (tmp_path / "y.svg").read_text()


@pytest.mark.parametrize("kind", ["side", "arrows"])
def test_tasks_without_a_row_are_told(tmp_path, kind):
    """Above the table and in the picture, unless each task that is chosen has a row."""
    path, out = tmp_path / "x.dat", tmp_path / "x.svg"
    simulate(path, "--cpus", "2", "--time", "400ms", "hogs:n=29", "bursts:n=1,run=2ms,sleep=10ms")
    said = "x.dat; the 24 of 30 tasks that ran longest: --tasks chooses others"
    status, text_of, _ = graph(kind, path, "-o", out)
    assert status == 0 and len(re.findall(r"^  \w+-\d+ ", text_of, re.MULTILINE)) == 24 and said in text_of
    assert said.partition(" --")[0] in out.read_text()  # a comment of SVG cannot have two dashes
    status, text_of, _ = graph(kind, path, "--tasks", "hog-[12]", "-o", out)
    assert status == 0 and " tasks that ran " not in text_of + out.read_text()


@needs_trace_cmd
def test_frequencies_are_those_of_the_events(tmp_path):
    path = tmp_path / "x.dat"
    simulate(path, "--topology", "packages=1,cores=6,llcs=1", "--opp", "juno", "--governor", "schedutil", "--time",
             "200ms", "bursts:n=4,run=2ms,sleep=5ms")
    raw, changes, spent = text(path), defaultdict(list), defaultdict(float)
    for seconds, part, khz, cpu in re.findall(r"(\d+)\.(\d+): cpu_frequency: +state=(\d+) cpu_id=(\d+)", raw):
        changes[int(cpu)].append((int(seconds) * 1e3 + int(part) / 10 ** (len(part) - 3), int(khz) / 1e3))
    times = [float(t) * 1e3 for t in re.findall(r"\[\d+\] +(\d+\.\d+):", raw)]
    status, out, _ = graph("opp", path, "-o", tmp_path / "x.svg")
    for (begin, mhz), (end, _) in zip(changes[0], [*changes[0][1:], (times[-1], 0)]):
        spent[mhz] += end - begin
    line = re.search(r"CPU 0 .*", out)[0]
    assert status == 0 and len(spent) > 1
    for mhz, ms in spent.items():
        assert f"{mhz:g} MHz" in line
        assert float(re.search(rf"\b{mhz:g} MHz ([\d.]+)", line)[1]) == pytest.approx(ms, abs=2e-3)
    status, _, err = graph("opp", LINUX, "-o", tmp_path / "y.svg")
    assert status == 2 and "record power:cpu_frequency" in err and not (tmp_path / "y.svg").exists()


def test_a_sweep_is_means_in_cells(tmp_path):
    random = np.random.default_rng(2)
    rows = [(cpus, slice_ms, float(random.uniform(1, 9))) for cpus in (1, 2, 16) for slice_ms in (0.7, 3, 24)
            for _ in range(4) if (cpus, slice_ms) != (16, 24)]
    (tmp_path / "x.csv").write_text("cpus,slice,ms\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    (tmp_path / "x.json").write_text(json.dumps([{"cpus": a, "slice": b, "ms": c} for a, b, c in rows]))
    cells = {(a, b): statistics.fmean(c for x, y, c in rows if (x, y) == (a, b)) for a, b, _ in rows}
    least = min(cells, key=cells.get)
    for end in ("csv", "json"):
        status, out, _ = graph("sweep", tmp_path / f"x.{end}", "-o", tmp_path / "x.svg")
        assert status == 0 and "32 results in 8 of 9 cells" in out
        assert f"least     {cells[least]:.6g} at cpus {least[0]}, slice {least[1]}" in out
        drawn = re.findall(r"<!-- ([\d.]+) -->", (tmp_path / "x.svg").read_text())
        assert {f"{mean:.4g}" for mean in cells.values()} <= set(drawn)


@pytest.mark.parametrize("data, words, message", [
    ("", [], "has no rows"), ("a,b,c\n1,2\n", [], "more or fewer cells"),
    ("a,b,c\n1,2,x\n", [], "is no number"),
    ("[1]", [], "a JSON list of objects"), ("{", [], "this JSON is damaged"),
    ("a,b,c\n1,2,3\n", ["--value", "d"], "has no column d: --x, --y and --value choose of a, b, c"),
    ("a,b,c\n1,2,3\n", ["--min", "1"], "a sweep has no time")])
def test_bad_tables_are_one_sentence(tmp_path, data, words, message):
    (tmp_path / "x.csv").write_text(data)
    got, _, err = graph("sweep", tmp_path / "x.csv", *words, "-o", tmp_path / "x.svg")
    assert got == 2 and message in err and err.count("\n") == 1 and not (tmp_path / "x.svg").exists()


@pytest.mark.parametrize("kind", ["share", "cdf", "side", "arrows", "opp"])
def test_what_is_no_whole_trace_is_one_sentence(tmp_path, kind):
    whole = tmp_path / "whole.dat"
    simulate(whole, "--cpus", "2", "--time", "50ms", "hogs:n=3")
    data = whole.read_bytes()
    version_7 = open(LINUX, "rb").read()[:9000]
    for bad, message in ((b"", "the file is empty"), (b"hello, a text\n", "not a trace.dat"), (data[:3000], "ends too"),
                         (data[:len(data) * 2 // 3], "ends too"), (version_7, "trace-cmd")):
        (tmp_path / "x.dat").write_bytes(bad)
        status, _, err = graph(kind, tmp_path / "x.dat", "-o", tmp_path / "x.svg")
        assert status == 2 and message in err and err.count("\n") == 1 and not (tmp_path / "x.svg").exists()
