# SPDX-License-Identifier: GPL-2.0-only
"""`fairground graph lag, deadline, score, levels, quota`: what is drawn is what the policy itself says in its records,
read here without the readers of tools/, and what the simulator counts."""

import functools
import json
import re
import subprocess
from collections import defaultdict
from fractions import Fraction

import pytest

from tests.sim.conftest import BUILD, fairground, simulated

pytest.importorskip("numpy")
pytest.importorskip("matplotlib")

THREE = ("hogs:n=1", "hogs:n=1,nice=5", "bursts:n=1,run=2ms,sleep=10ms")
GROUPS = ("group:name=a,deadline_rr=5ms,deadline_wakeup=2ms", "bursts:n=1,run=1ms,sleep=6ms,group=a", "hogs:n=2",
          "group:name=b,deadline_rr=20ms", "hogs:n=1,group=b")
QUOTA = ("group:name=g,quota=30ms,period=100ms,burst=20ms", "bursts:n=3,run=5ms,sleep=7ms,group=g")


decide = functools.partial(simulated, "--decisions")
graph = functools.partial(fairground, "graph")


def records(path):
    lines = path.read_text().splitlines()[1:-1]
    return [json.loads(line) for line in lines]


def table(text):
    """{entity: [numbers]} of a report."""
    rows = re.findall(r"^  (\S.*?\S)  +((?: *-?[\d.]+)+)$", text, re.MULTILINE)
    return {name: [float(number) for number in numbers.split()] for name, numbers in rows}


def ends(values):
    return [min(values), max(values)]


def wrapped(number):
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def compared(path):
    """(record, candidate, name) of all picks, ticks and preemptions."""
    for record in records(path):
        for c in record["candidates"] if record["kind"] in ("pick", "tick", "preempt") else ():
            yield record, c, f"group {c['group']} {c['comm']}" if c["group"] else f"{c['comm']}-{c['pid']}"


@pytest.mark.parametrize("sched", ["eevdf", "bore"])
def test_lag_is_that_of_the_policys_own_virtual_time(tmp_path, sched):
    """The picture takes the mean of the vruntimes; the policy keeps V as a sum. And it picks only the eligible."""
    path = tmp_path / "x.json"
    decide(path, "--cpus", "1", "--sched", sched, "--time", "300ms", *THREE)
    lags, eligible = defaultdict(list), 0
    for record, c, name in compared(path):
        lag = wrapped(record["v"] - c["vruntime"]) * c["weight"] / 1024 / 1e6
        lags[name].append(lag)
        assert abs(lag) < 1e-5 or bool(c["flags"] & 8) == (lag > 0)
        eligible += 1
    status, out, _ = graph("lag", path, "-o", tmp_path / "x.svg")
    found = table(out)
    assert status == 0 and eligible > 100 and set(found) == set(lags) == {"hog-1", "hog-2", "burst-3"}
    for name, values in lags.items():
        least, _, greatest, picks, late = found[name]
        assert [least, greatest] == pytest.approx(ends(values), abs=3e-6) and picks > 5 and late == 0
    drawn = (tmp_path / "x.svg").read_text()
    assert 'id="curve hog-1"' in drawn and f"x.json: {sched}" in drawn


def test_the_title_names_the_policies_that_decided_not_that_of_the_boot(tmp_path):
    """As after a swap: the file's head says cfs, its records eevdf."""
    path = tmp_path / "x.json"
    decide(path, "--cpus", "1", "--sched", "eevdf", "--time", "100ms", *THREE)
    head, _, rest = path.read_text().partition("\n")
    path.write_text(head.replace('"sched": "eevdf"', '"sched": "cfs"') + "\n" + rest)
    assert graph("lag", path, "-o", tmp_path / "x.svg")[0] == 0
    assert "x.json: eevdf" in (tmp_path / "x.svg").read_text()


def test_deadlines_count_from_the_virtual_time(tmp_path):
    path = tmp_path / "x.json"
    decide(path, "--cpus", "2", "--sched", "eevdf", "--time", "300ms", *THREE, *THREE)
    away = defaultdict(list)
    for record, c, name in compared(path):
        if record["cpu"] == 1:
            away[name].append(wrapped(c["deadline"] - record["v"]) / 1e6)
    status, out, _ = graph("deadline", path, "--cpu", "1", "-o", tmp_path / "x.pdf")
    found = table(out)
    assert status == 0 and {name: row[:3:2] for name, row in found.items()} == {
        name: pytest.approx(ends(values), abs=1e-6) for name, values in away.items()}


def test_scores_rise_with_bursts(tmp_path):
    path = tmp_path / "x.json"
    decide(path, "--cpus", "1", "--sched", "bore", "--time", "400ms", *THREE)
    scores = defaultdict(list)
    for _, c, name in compared(path):
        scores[name].append(c["score"])
    status, out, _ = graph("score", path, "-o", tmp_path / "x.svg")
    found = table(out)
    assert status == 0 and {name: row[:3:2] for name, row in found.items()} == {
        name: ends(values) for name, values in scores.items()}
    assert found["burst-3"][2] == 0 < found["hog-1"][2]


def test_a_bucket_is_full_after_its_deadline_and_fills_while_time_passes(tmp_path):
    path = tmp_path / "x.json"
    decide(path, "--cpus", "1", "--sched", "fdl", "--time", "200ms", *GROUPS)
    status, out, _ = graph("levels", path, "-o", tmp_path / "x.svg")
    found = table(out)
    assert status == 0 and found["group 2 b"][2] == 20 and found["group 1 a"][2] <= 5
    assert found["all without deadline"][2] == 5  # the default of the container


def test_throttled_time_is_what_the_group_counts(tmp_path):
    path = tmp_path / "x.json"
    group = decide(path, "--cpus", "4", "--time", "600ms", *QUOTA)["groups"][0]
    status, out, _ = graph("quota", path, "-o", tmp_path / "x.svg")
    throttled = sum(float(ms) for ms in re.findall(r"throttled for +([\d.]+) ms", out))
    unfinished = float(re.search(r"of these ([\d.]+) ms", out)[1])
    assert status == 0 and round((throttled - unfinished) * 1e6) == group["throttled_ns"] > 1e9
    assert f"periods {group['nr_periods']}, throttled {group['nr_throttled']}, bursts {group['nr_bursts']}" in out


@pytest.mark.parametrize("kind, words, message", [
    ("score", ["--sched", "cfs"], "BORE does, schedsim --sched bore --decisions FILE"),
    ("deadline", ["--sched", "cfs"], "EEVDF and BORE have, schedsim --sched eevdf"),
    ("levels", ["--sched", "fdl"], "schedsim --sched fdl --decisions FILE group:name=a,deadline_rr=5ms"),
    ("quota", ["--sched", "cfs"], "no group has a quota in it"),
])
def test_a_file_without_such_records_is_one_sentence(tmp_path, kind, words, message):
    path, out = tmp_path / "x.json", tmp_path / "x.svg"
    decide(path, "--cpus", "1", "--time", "100ms", *words, "hogs:n=2")
    status, _, err = graph(kind, path, "-o", out)
    assert status == 2 and message in err and err.count("\n") == 1 and not out.exists()


@pytest.mark.parametrize("kind", ["lag", "quota"])
def test_bad_files_are_one_sentence(tmp_path, kind):
    path, out = tmp_path / "x.json", tmp_path / "x.svg"
    decide(path, "--cpus", "1", "--time", "100ms", *THREE)
    whole = path.read_bytes()
    subprocess.run([f"{BUILD}/schedsim", "--trace", tmp_path / "x.dat", "--time", "50ms", "hogs:n=2"], check=True,
                   stdout=subprocess.DEVNULL)
    for data, message in ((b"", "the file is empty"), (b"hello\n", "not a file of decisions"),
                          (whole[:-10], "the file is cut off: its run was killed"),
                          ((tmp_path / "x.dat").read_bytes(), "schedsim --decisions FILE, or make trace EVENTS=")):
        path.write_bytes(data)
        status, _, err = graph(kind, path, "-o", out)
        assert status == 2 and message in err and err.count("\n") == 1 and not out.exists(), err


def test_kernel_like_files_and_many_points(tmp_path, monkeypatch):
    """A trace.dat gives the numbers that the lines of JSON give; a long run is thinned, but keeps its extremes."""
    from fairground.pictures.kinds import curves
    for end in ("json", "dat", "bin"):
        decide(tmp_path / f"x.{end}", "--cpus", "1", "--sched", "bore", "--time", "300ms", *THREE)
    texts = [graph("lag", tmp_path / f"x.{end}", "-o", tmp_path / f"{end}.svg")[1].split("\n", 1)[1].rsplit("\n", 2)[0]
             for end in ("json", "dat", "bin")]
    assert texts[0] == texts[1] == texts[2] and "hog-1" in texts[0]
    monkeypatch.setattr(curves, "ENOUGH", 10)
    monkeypatch.setattr(curves, "COLUMNS", 10)
    source = curves.Decided("x", None, 0, 0, 300)
    curve = curves.Curve()
    for time in range(300):
        curve.add(time, (time * 7919) % 301, False)
    times, values, _ = curves.thinned(curve, source.end)
    assert len(times) <= 22 and (values.min(), values.max()) == (0, max((t * 7919) % 301 for t in range(300)))


@pytest.mark.parametrize("sched", ["eevdf", "cfs"])
def test_one_pick_is_drawn_with_its_numbers(tmp_path, sched):
    """`line` and `tree` of one pick, beside the record: V is the exact mean of the vruntimes; a subtree is the longest
    run of deeper nodes around its root."""
    path = tmp_path / "x.json"
    decide(path, "--cpus", "1", "--sched", sched, "--hz", "1000", "--time", "60ms", "hogs:n=4", "hogs:n=2,nice=5",
           "bursts:n=2,run=2ms,sleep=5ms")
    record = next(r for r in records(path) if r["kind"] == "pick" and r["time"] >= 40_000_000
                  and sum(bool(c["flags"] & 0x800) for c in r["candidates"]) > 1)
    queued = [c for c in record["candidates"] if c["flags"] & 0x800]
    weights = sum(c["weight"] for c in queued)
    v = Fraction(sum(c["weight"] * wrapped(c["vruntime"] - record["v"]) for c in queued), weights)
    tree = [c for c in record["candidates"] if c["depth"]]
    for kind in ("line", "tree"):
        done = graph(kind, path, "--min", "0.04", "-o", tmp_path / f"{kind}.svg")
        rows = [line.split() for line in done.stdout.splitlines()[2:-1]]
        assert len(rows) == len(queued)
        for c, row in zip(queued, rows):
            away = wrapped(c["vruntime"] - record["v"]) - v
            assert row[0] == f"{c['comm']}-{c['pid']}" and int(row[1]) == c["weight"]
            assert float(row[2]) == pytest.approx(away / 10**6, abs=1e-6)
            assert (row[5] == "yes") == (away <= 0) and (row[-1] == "picked") == (c["pid"] == record["pid"])
            if sched == "eevdf":
                assert float(row[3]) == pytest.approx((wrapped(c["deadline"] - record["v"]) - v) / 10**6, abs=1e-6)
            if c["depth"]:
                at = tree.index(c)
                left = next((i for i in range(at - 1, -1, -1) if tree[i]["depth"] <= c["depth"]), -1)
                right = next((i for i in range(at + 1, len(tree)) if tree[i]["depth"] <= c["depth"]), len(tree))
                least = min(wrapped(below["vruntime"] - record["v"]) for below in tree[left + 1:right]) - v
                assert float(row[4]) == pytest.approx(least / 10**6, abs=1e-6)
        svg = (tmp_path / f"{kind}.svg").read_text()
        assert len(re.findall(r'id="(?:vruntime|node) ', svg)) == len(queued)


def test_a_window_without_a_pick_is_a_sentence(tmp_path):
    path = tmp_path / "x.json"
    decide(path, "--cpus", "1", "--sched", "eevdf", "--time", "60ms", "hogs:n=1")
    done = graph("tree", path)
    assert done.returncode == 2 and "there is no pick among two" in done.stderr
