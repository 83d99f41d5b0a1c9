# SPDX-License-Identifier: GPL-2.0-only
"""Decision files of the simulator and `fairground decisions`: their forms, filters, tables, counts, differences."""

import collections
import json
import os
import re
import struct
import sys

import pytest

from tests.sim.conftest import ROOT, fairground, policies

from fairground.decisions import (balancing, class_decisions, decision_file, decision_kinds, decision_text,
                                  fair_decisions, fair_text, placements, quota_decisions)
from fairground.decisions.decision_file import open_file
from fairground.decisions.fair_decisions import Decision, Flag, difference, read
from fairground.machine.image import PAGE_HEADER
from fairground.trace.tracefile import TraceFile

FORMS = ("a.json", "a.dat", "a.bin")
MIXED = ["--cpus", "2", "--time", "50ms", "bursts:n=3", "hogs:n=3", "hogs:nice=5", "groups:n=2,tasks=2", "forks"]


@pytest.fixture
def record(sim, tmp_path):
    """record("a.json", "--sched", ...) writes the decisions of a run, and returns the file's path."""
    def run(name, *words):
        path = str(tmp_path / name)
        sim("", "--decisions", path, *(words or MIXED))
        return path
    return run




def lines(*words):
    """The lines that fairground decisions prints, without any complaint."""
    status, out, err = fairground("decisions", *words)
    assert (status, err) == (0, ""), err
    return out.splitlines()


def complaint(*words):
    """The one sentence with which fairground decisions ends; it prints nothing else."""
    status, out, err = fairground("decisions", *words)
    assert (status, out) == (2, ""), (status, out, err)
    assert err.startswith("fairground: ") and err.count("\n") == 1, err
    return err.removeprefix("fairground: ").rstrip("\n")


def by_cpu(path):
    found = collections.defaultdict(list)
    for d in read(path):
        found[d.cpu].append(d)
    return found


def rows_of(path, others=False):
    """The lines of the file; those of test_placements.py and test_balancing.py only if they are asked for."""
    with open(path, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    return [row for row in rows if others or row.get("kind") not in ("select", "balance", "end")]


def rewritten(path, name, change):
    """A copy of the JSON file, whose lines went through change(rows)."""
    rows = rows_of(path)
    change(rows)
    copy = os.path.join(os.path.dirname(path), name)
    with open(copy, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(row) + "\n" for row in [*rows, {"kind": "end", "decisions": len(rows) - 1}])
    return copy


# --- reading ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sched", policies())
def test_all_forms_hold_the_same_decisions(record, sched):
    """Of every kind, with all rows."""
    words = ["--sched", sched, *MIXED, "bursts:policy=rr,prio=3", "periodic:policy=deadline,period=10ms,run=1ms",
             "group:name=q,quota=3ms,period=20ms", "hogs:n=2,group=q"]
    paths = [record(name, *words) for name in FORMS]
    found = [sorted(decision_kinds.read(path), key=lambda d: (d.time, d.cpu, d.kind, d.pid)) for path in paths]
    assert found[0] == found[1] == found[2]
    assert {type(d) for d in found[0]} == set(decision_kinds.FAMILIES)
    one = by_cpu(paths[2])
    assert one == by_cpu(paths[0]) == by_cpu(paths[1]) and set(one) == {0, 1}
    every = [d for cpu in one.values() for d in cpu]
    assert {d.kind for d in every} == set(fair_decisions.KINDS)
    with open(os.path.join(ROOT, "sched/observe/rule.def"), encoding="utf-8") as f:
        named = re.findall(r"POLICY\(\d+, (\w+),", f.read())
    assert {d.policy for d in every} == ({sched.replace("-", "_")} & {*named} or {"guest"})
    assert all(d.complete and d.rule in fair_decisions.tree_names("RULE") for d in every)
    assert max(len(d.candidates) for d in every) >= 5


def test_rows_are_those_of_the_file(record):
    path = record("a.json")
    assert list(fair_decisions.as_rows(path)) == rows_of(path)
    head, *rows = fair_decisions.as_rows(record("a.bin"))
    assert rows == rows_of(path)[1:] and head == {**rows_of(path)[0], "command": head["command"]}
    assert sum(1 for _ in fair_decisions.as_rows(record("a.dat"))) == len(rows_of(path))


def test_the_compact_form_is_the_records_own_bytes(record):
    """After the head: the time, and the event as the scheduler made it, with no byte that is not told of."""
    path = record("a.bin")
    with open(path, "rb") as f:
        data = f.read()
    size = int.from_bytes(data[12:16], "little")
    assert data[:12] == b"FGDECIDE\1\0\0\0" and size % 8 == 0
    assert {"schema", "sched", "commit", "topology", "cpus", "hz", "seed"} <= set(
        json.loads(data[16:16 + size].split(b"\n")[0]))
    at, kinds, covered = 16 + size, collections.Counter(), {}
    file = open_file(path)
    for event in (e for name, e in file._formats.items()):
        covered[event.id] = {at for f in event.fields for at in range(f.offset, f.offset + f.size)}
    while at < len(data) - 16:
        _, kind, length, cpu = struct.unpack_from("<QHHI", data, at)
        assert covered[kind] == set(range(length)) and length % 4 == 0 and cpu < 2
        kinds[kind] += 1
        at += 8 + length
    assert struct.unpack_from("<QHHI", data, at) == (kinds.total(), 0, 8, 0) and len(kinds) > 10
    assert kinds[400] == sum(len(d.candidates) for d in read(path))
    assert len(data) < os.path.getsize(record("a.json"))


def test_the_reader_knows_every_field_and_flag():
    """The classes of the package against decision.def and decision.h."""
    def text(name):
        with open(os.path.join(ROOT, "sched/observe", name), encoding="utf-8") as f:
            return f.read()
    rows = re.findall(r"(?:FIELD\(\w+, |CHOICE\(|COMM\(|PID\()(\w+)", text("decision.def").split("EVENT(", 1)[1])
    known = [list(names) for names in (fair_decisions.Candidate._fields, fair_decisions.FIELDS, placements.Cpu._fields,
                                       placements.FIELDS, placements.Use._fields, placements.Energy._fields,
                                       balancing.Runqueue._fields, balancing.Part._fields,
                                       balancing.Task._fields, balancing.FIELDS, class_decisions.Task._fields,
                                       class_decisions.Level._fields, class_decisions.FIELDS,
                                       *quota_decisions.FIELDS.values())]
    assert rows == sum(known, [])
    flags = re.findall(r"DECISION_(CPU_|USE_|ENERGY_|RUNQUEUE_|PART_|MOVABLE_|BALANCE_)?(\w+) = (0x\w+)",
                       text("decision.h"))
    for prefix, of_tool in (("", Flag), ("CPU_", placements.Flag), ("USE_", placements.UseFlag),
                            ("ENERGY_", placements.EnergyFlag), ("RUNQUEUE_", balancing.RunqueueFlag),
                            ("PART_", balancing.PartFlag), ("MOVABLE_", balancing.TaskFlag),
                            ("BALANCE_", balancing.BalanceFlag)):
        assert {name: int(value, 16) for of, name, value in flags if of == prefix} == {f.name: f.value for f in of_tool}


def test_virtual_times_wrap():
    assert difference(5, 2**64 - 5) == 10 and difference(2**64 - 5, 5) == -10
    assert difference(2**63, 0) == -2**63 and difference(7, 7) == 0


@pytest.mark.parametrize("sched", ["cfs", "fdl"])
def test_the_form_of_the_tree_follows_from_depths(record, sched):
    """Each node is where search in a binary tree ends, and no path is more than twice as long as another."""
    path = record("a.json", "--sched", sched, "--cpus", "1", "--time", "200ms", "hogs:n=30", "bursts:n=20")
    largest = 0
    for d in read(path):
        tree = fair_decisions.links(d)
        nodes = [i for i, c in enumerate(d.candidates) if c.depth]
        for i in nodes:
            parent, left, right = tree[i]
            assert (parent < 0) == (d.candidates[i].depth == 1)
            assert left < 0 or left < i and tree[left].parent == i
            assert right < 0 or right > i and tree[right].parent == i
        leaves = [d.candidates[i].depth for i in nodes if -1 in tree[i][1:]]
        assert not leaves or max(leaves) <= 2 * min(leaves)
        largest = max(largest, len(nodes))
    assert largest >= 29


def test_the_path_of_a_group_follows_from_decisions(record, rtapp):
    path = record("a.json", "--cpus", "1", "--time", "100ms", rtapp({"tasks": {
        "deep": {"loop": -1, "run": 1000, "taskgroup": "/one/two/three"}, "flat": {"loop": -1, "run": 1000}}}))
    out = "\n".join(lines(path, "--full", "--kind", "pick", "--from", "50ms", "--limit", "30"))
    assert all(f"queue of the group {group}\n" in out for group in ("/one", "/one/two", "/one/two/three"))
    assert fair_decisions.Groups().path(0) == "/" and fair_decisions.Groups().path(7) == "/group 7"


def decision(**values):
    fields = dict.fromkeys(fair_decisions.FIELDS, 0)
    fields |= {"policy": "cfs", "rule": "slice", "comm": "a", "pid": 1} | values
    return Decision(time=0, kind=fields.pop("kind", "pick"), candidates=fields.pop("candidates", ()), **fields)


def candidate(comm, vruntime, weight=1024):
    return fair_decisions.Candidate(comm, ord(comm), 0, vruntime, 0, 0, 0, weight, int(Flag.QUEUED), 0, 0)


def test_the_table_counts_from_the_leftmost_across_the_wrap():
    d = decision(candidates=(candidate("a", 2**64 - 10**6), candidate("b", 3 * 10**6, 3072)), nr_rows=2)
    assert fair_text.leftmost(d) == 2**64 - 10**6
    rows = [line.split()[-2:] for line in fair_text.table(d)[2:]]
    assert rows == [["0.000000", "3.000000"], ["4.000000", "-1.000000"]]


# --- printing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sched", policies())
def test_tables_are_those_of_explain(record, sim, sched):
    """schedsim --explain prints the table of a pick in C, this package in Python."""
    words = ["--sched", sched, "--cpus", "2", "--time", "200ms", "bursts:n=4", "hogs:n=3", "hogs:n=2,nice=5"]
    told = sim("--explain 100ms --explain-cpu 1", *words).out
    table = told[told.index("\nfair tasks after the charge") + 1:].partition("\n\n")[0].splitlines()
    at = re.search(r"decision on CPU 1 at ([\d.]+) ms", told)[1]
    path = record("a.json", *words)
    ours = lines(path, "--full", "--kind", "pick", "--from", f"{at}ms", "--cpu", "1", "--limit", "1")
    assert ours[2:2 + len(table)] == table and len(table) > 4


def test_all_outputs_work_together(record, sim, tmp_path):
    """--explain, --check, --trace and --decisions: the files are those of the run alone, as far as it goes."""
    words = ["--time", "200ms", *MIXED[4:], "bursts:policy=rr,prio=3"]
    trace, path = str(tmp_path / "t.dat"), str(tmp_path / "d.bin")
    told = sim(f"--explain 100ms --explain-cpu 1 --check --cpus 2 --trace {trace} --decisions {path}", *words).out
    assert told.index("picked: ") < told.index("read it with: trace-cmd report") < told.index("make decisions")
    alone, both = record("a.bin", "--cpus", "2", *words), list(decision_kinds.read(path))
    assert both == list(decision_kinds.read(alone))[:len(both)] and both[-1].time >= 100_000_000
    assert both[-1].kind == "pick" and f"picked: {both[-1].subject}, because" in told
    sim(f"--check --cpus 2 --trace {trace}.2 --decisions {path}", *words)
    assert list(decision_kinds.read(path)) == list(decision_kinds.read(alone))
    with_it, without = str(tmp_path / "with"), str(tmp_path / "without")
    sim(f"--cpus 2 --trace {without}", *words)
    sim(f"--cpus 2 --trace {with_it} --decisions {path}", *words)
    events = [[(e.time, e.cpu, e.data) for e in TraceFile(name).events()] for name in (with_it, without, f"{trace}.2")]
    assert events[0] == events[1] == events[2] and len(events[0]) > 100


def test_a_line_for_each_decision(record):
    path = record("a.json")
    every, printed = list(decision_kinds.read(path)), lines(path)
    assert len(printed) == len(every) and {"select", "balance"} < {d.kind for d in every}
    for d, line in zip(every, printed):
        assert line.split()[0] == f"{d.time // 10**6}.{d.time % 10**6:06}" and f"[{d.cpu:03}] {d.kind} " in line
        assert d.subject in line and f" {d.rule}: {decision_kinds.family(d).because(d)}" in line


@pytest.mark.parametrize("words, wanted", [
    ("--cpu 1", lambda d: 1 in (d.cpu, decision_kinds.family(d).cpu(d))),
    ("--cpu 0-1 --kind pick", lambda d: d.kind == "pick"),
    ("--kind tick,preempt", lambda d: d.kind in ("tick", "preempt")),
    ("--from 50ms --to 0.1s", lambda d: 50_000_000 <= d.time <= 100_000_000),
    ("--task hog", lambda d: "hog" in [d.comm, *(c.comm for c in d.candidates)]),
    ("--task 2 --kind charge", lambda d: d.pid == 2 and d.kind == "charge"),
    ("--rule least_vruntime", lambda d: d.rule == "least_vruntime"),
    ("--policy cfs --group 1", lambda d: d.group == 1),
    ("--group 0 --limit 7", lambda d: d.group == 0),
    ("--rule idlest", lambda d: d.rule == "idlest"),
])
@pytest.mark.parametrize("form", FORMS)
def test_filters(record, words, wanted, form):
    path = record(form)
    limit = 7 if "--limit" in words else None
    every = list(decision_kinds.read(path))
    expected = [decision_text.line(d) for d in every if wanted(d)][:limit]
    assert lines(path, *words.split()) == expected
    assert 0 < len(expected) < len(every)


def test_statistics_add_up(record):
    path = record("a.json")
    every = list(decision_kinds.read(path))
    *rows, total = (line.split() for line in lines(path, "--stats")[1:])
    counted = collections.Counter((d.policy or "-", d.kind, d.rule) for d in every)
    assert {tuple(row[:3]): int(row[3]) for row in rows} == counted
    assert int(total[1]) == len(every) == sum(int(row[3]) for row in rows)
    assert sum(int(row[4]) for row in rows) == sum(d.answer for d in every) == int(total[2])
    assert float(total[3]) == pytest.approx(sum(len(d.candidates) for d in every) / len(every), abs=0.01)
    picks = [line.split() for line in lines(path, "--stats", "--kind", "pick")[1:-1]]
    assert picks == [row for row in rows if row[1] == "pick"]


# --- differences ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [[], ["--kinds", "all"]])
@pytest.mark.parametrize("form", FORMS[1:])
def test_a_run_does_not_differ_from_itself(record, kinds, form):
    """The forms of one run do not, either."""
    status, out, err = fairground("decisions", "--diff", record("a.json"), record(form), *kinds)
    wanted = [d for d in decision_kinds.read(record("a.json")) if kinds or d.kind == "pick"]
    assert (status, err) == (0, "") and out.endswith(f"\nno difference: {len(wanted)} decisions agree\n")


# A kind, of which line, and how one of them is changed.
CHANGED = [
    ("pick", "pick", {"rule": "nominated"}), ("preempt", "preempt", {"answer": 7}), ("tick", "tick", {"answer": 9}),
    ("place", "place", {"comm": "other", "pid": 999}), ("charge", "charge", {"rule": "sleeps"}),
    ("leave", "leave", {"subject_group": 77}), ("select", "select", {"chosen": 9}), ("select", "select", {"aim": "?"}),
    ("balance", "balance", {"outcome": "pinned"}), ("balance", "balance", {"rule": "misfit"}),
    ("enter", "class", {"rule": "arrives_moved"}), ("push", "class", {"to": 9}),
    ("throttle", "quota", {"rule": "covered"}), ("refill", "pool", {"nr_waiting": 99}),
]


@pytest.mark.parametrize("kind, of, change", CHANGED)
def test_every_kind_is_compared(record, kind, of, change):
    """One decision in the middle of the second run is another one: exactly that is found, with both sides."""
    path = record("a.json", *MIXED, "bursts:n=2,policy=rr,prio=3", "bursts:n=3,run=2ms,sleep=9ms,policy=fifo",
                  "group:name=q,quota=3ms,period=20ms", "hogs:n=2,group=q")
    rows = rows_of(path, others=True)
    matching = [row for row in rows[1:] if row["kind"] == of and row.get("act", kind) == kind]
    row = matching[len(matching) // 2]
    cpu = row["waker"] if of == "select" else row["cpu"]
    row.update(change if set(change) != {"answer"} else {"answer": 1 - row["answer"]})
    with open(path + ".changed", "w", encoding="utf-8") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    status, out, err = fairground("decisions", "--diff", path, path + ".changed", "--kinds", "all")
    assert (status, err) == (1, "") and f"first difference: on CPU {cpu}, after" in out
    time = f"{row['time'] // 10**6}.{row['time'] % 10**6:06} ms, {kind}"
    assert f"A: {time}" in out and f"| B: {time}" in out
    assert re.search(r"^A: .*\nB: ", out.splitlines(keepends=True)[-2] + out.splitlines()[-1])


def test_kinds_that_one_run_has_only_are_told(record):
    path = record("a.json")
    few = rewritten(path, "b.json", lambda rows: rows.__setitem__(
        slice(None), [r for r in rows if r.get("kind") not in ("tick", "charge")]))
    status, out, _ = fairground("decisions", "--diff", path, few, "--kinds", "all")
    assert status == 0 and "because only one of the runs has them: tick, charge, select, balance" in out


def test_two_policies_differ(record):
    """The first difference is found, with both tables, and was not there before."""
    runs = ["--time", "100ms", "hogs:n=1", "hogs:n=1,nice=5"]
    a, b = record("a.json", "--sched", "cfs", *runs), record("b.json", "--sched", "eevdf", *runs)
    status, out, _ = fairground("decisions", "--diff", a, b)
    assert status == 1 and "not the rules of fair policies, because the policies differ" in out
    agreed = int(re.search(r"first difference: on CPU 0, after (\d+) equal", out)[1])
    picks = [[d for d in read(path) if d.kind == "pick"] for path in (a, b)]
    assert [d.subject for d in picks[0][:agreed]] == [d.subject for d in picks[1][:agreed]]
    assert picks[0][agreed].subject != picks[1][agreed].subject
    for letter, pick in zip("AB", picks):
        assert f"{letter}: {decision_text.line(pick[agreed]).strip()}" in out.splitlines()
        assert f"picked: {pick[agreed].subject}, because" in out
    assert re.search(r"weight    vruntime         lag +\|.*weight    vruntime         lag  eligible", out)


def test_the_first_of_several_differences_is_reported(record):
    """On both CPUs an answer is turned round; the earlier one is on CPU 1. The rule counts, too."""
    def turn(rows):
        for cpu, after in ((0, 40_000_000), (1, 30_000_000)):
            row = next(r for r in rows[1:] if r["cpu"] == cpu and r["kind"] == "tick" and r["time"] >= after)
            row["rule"] = "eligibility"
    path = record("a.json")
    changed = rewritten(path, "b.json", turn)
    status, out, _ = fairground("decisions", "--diff", path, changed, "--kinds", "tick")
    before = [d for d in read(path) if d.kind == "tick" and d.cpu == 1 and d.time < 30_000_000]
    assert status == 1 and f"on CPU 1, after {len(before)} equal decisions there" in out and before
    assert fairground("decisions", "--diff", path, changed)[0] == 0  # picks are as before


def test_subjects_have_names_not_pids(record):
    """A host may number its tasks otherwise. The second hog is still the second."""
    def renumber(rows):
        for row in rows[1:]:
            for entity in (row, *row["candidates"]):
                entity["pid"] += 1000 * (entity["pid"] > 0)

    def exchange(rows):
        row = next(r for r in reversed(rows) if r["kind"] == "pick" and r["comm"] == "hog")
        pids = {c["pid"] for r in rows[1:] for c in r["candidates"] if c["comm"] == "hog"} - {row["pid"]}
        row["pid"] = min(pids)
    path = record("a.json")
    assert fairground("decisions", "--diff", path, rewritten(path, "b.json", renumber), "--kinds", "pick,tick")[0] == 0
    assert fairground("decisions", "--diff", path, rewritten(path, "c.json", exchange))[0] == 1


def test_a_longer_run_goes_on(record):
    """What comes after the end of the shorter run is no difference; what is missing before it is."""
    path, longer = record("a.json"), record("b.json", *("100ms" if w == "50ms" else w for w in MIXED))
    status, out, _ = fairground("decisions", "--diff", path, longer)
    assert status == 0 and re.search(r"agree; \d+ more of B come after the end of the other run", out)

    def silence(rows):
        rows[:] = [r for r in rows if r.get("cpu") != 1 or r["kind"] != "pick" or r["time"] < 25_000_000]
    status, out, _ = fairground("decisions", "--diff", path, rewritten(path, "c.json", silence))
    assert status == 1 and "B: makes no further decision about this CPU" in out


# --- bad input --------------------------------------------------------------------------------------------------


def cut(path, size):
    with open(path, "r+b") as f:
        f.truncate(size if size >= 0 else os.path.getsize(path) + size)
    return path


@pytest.mark.parametrize("size, message", [
    (0, "the file is empty"), (60, "this is not a file of decisions")])
def test_json_without_a_first_line(record, size, message):
    path = record("a.json")
    whole = record("b.json")
    assert message in complaint(cut(path, size))
    assert message in complaint("--diff", whole, path) and path in complaint("--diff", whole, path)


CUT_OFF = "the file is cut off: its run was killed, or a part of it is lost"


def told_and_cut(path, *words):
    """The lines that are printed of a file that is cut off, and how many decisions come before that."""
    status, out, err = fairground("decisions", path, *words)
    found = re.fullmatch(rf"fairground: {re.escape(path)}: {CUT_OFF}; (\d+) decisions come before that\n", err)
    assert status == 2 and found, err
    return out.splitlines(), int(found[1])


def last_lines(path):
    """How many bytes the last line of the file has, and the last two."""
    with open(path, "rb") as f:
        *_, last_but_one, last = f.read().splitlines(keepends=True)
    return len(last), len(last_but_one) + len(last)


@pytest.mark.sampled(2, "an end that is cut off elsewhere")
@pytest.mark.parametrize("missing", [-1, "end", "line", -300, -5000])
def test_json_that_is_cut_off(record, missing):
    """In a line, or exactly between two: what a run that is killed leaves."""
    path, whole = record("a.json"), record("b.json")
    everything = lines(whole)
    cut(path, {"end": -last_lines(path)[0], "line": -last_lines(path)[1]}.get(missing, missing))
    told, nr = told_and_cut(path)
    assert told == everything[:nr]
    assert len(everything) - nr == {-1: 0, "end": 0, "line": 1}.get(missing, len(everything) - nr)
    assert told_and_cut(path, "--stats")[0][-1].split()[:2] == ["all", str(nr)]
    for pair in ((whole, path), (path, whole)):
        assert complaint("--diff", *pair) == f"{path}: {CUT_OFF}"
    with pytest.raises(decision_file.CutOff):
        list(decision_kinds.read(path))


@pytest.mark.parametrize("size", [8, 15, 16, 500, 20_000])
def test_the_head_of_the_compact_form_that_is_cut_off(record, size):
    path = cut(record("a.bin"), size)
    assert complaint(path) == complaint("--diff", record("b.bin"), path) == f"{path}: {CUT_OFF}"


@pytest.mark.parametrize("size", [60_000, -1, -8, -16, -5000])
def test_the_compact_form_that_is_cut_off(record, size):
    path, whole = cut(record("a.bin"), size), record("b.bin")
    told, nr = told_and_cut(path)
    assert 0 < len(told) == nr and told == lines(whole)[:nr]
    assert complaint("--diff", whole, path) == f"{path}: {CUT_OFF}"


@pytest.mark.parametrize("change, message", [
    (lambda rows: rows.pop(5), r"(\d+) decisions were recorded, (\d+) are in the file"),
    (lambda rows: rows.append(rows[5]), r"line \d+ comes after the end of the decisions"),
    (lambda rows: rows[-1].pop("decisions"), r"line \d+ has no field decisions"),
])
def test_an_end_that_is_wrong(record, change, message):
    path = record("a.json")
    rows = rows_of(path, others=True)
    change(rows)
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    found = re.fullmatch(rf"{re.escape(path)}: {message}", complaint(path))
    assert found and (not found.groups() or int(found[1]) == int(found[2]) + 1)


@pytest.mark.parametrize("place, new, message", [
    (8, b"\2", "the file has version 2 of this form, this tool reads 1: take both from one commit"),
    (0, b"X", "this is not a file of decisions: lines of JSON, or a trace.dat, are expected"),
    (16, b"X", "this is not a file of decisions: lines of JSON, or a trace.dat, are expected"),
    (-16, b"\7", "the file is damaged"),
])
def test_the_compact_form_that_is_damaged(record, place, new, message):
    path = record("a.bin")
    with open(path, "r+b") as f:
        f.seek(place, 2 if place < 0 else 0)
        f.write(new)
    assert complaint(path) == f"{path}: {message}"


@pytest.mark.parametrize("old, new, message", [
    (b"fairground-decisions/4", b"fairground-decisions/9", "the file has schema fairground-decisions/9, this tool"),
    (b"field:u64 deadline;", b"field:u64 dead_lin;", "has no field deadline: the file is of another version"),
    (b"ID: 401", b"ID: x01", "the file is damaged"),
    (b"ID: 401", b"ID: 499", "the file is damaged"),
])
def test_the_compact_form_of_others(record, old, new, message):
    path = record("a.bin")
    with open(path, "rb") as f:
        data = f.read()
    assert old in data
    with open(path, "wb") as f:
        f.write(data.replace(old, new, 1) if b"dead" not in new else data.replace(old, new))
    assert message in complaint(path)


@pytest.mark.parametrize("size", [1, 9, 500, 20_000, -1, -5000])
def test_a_trace_that_is_cut_off(record, size):
    path = cut(record("a.dat"), size)
    assert complaint(path) == path + (": this is not a file of decisions: lines of JSON, or a trace.dat, are expected"
                                      if 0 < size < 10 else ": the file ends too early")


@pytest.mark.parametrize("text, message", [
    ("hello\n", "this is not a file of decisions"),
    ("[1]\n", "this is not a file of decisions"),
    ('{"schema": "fairground-schedsim/1"}\n', "this is not a file of decisions"),
    ('{"schema": "fairground-decisions/9", "sched": "cfs", "cpus": 1}\n', "schema fairground-decisions/9, this tool"),
    ('{"schema": "fairground-decisions/4"}\n', "does not say how many CPUs"),
    ('{"schema": "fairground-decisions/2", "sched": "cfs", "cpus": 1}\n', "schema fairground-decisions/2, this tool"),
    ('{"schema": "fairground-decisions/4", "sched": "cfs", "cpus": 1}\n', "cut off"),
    ('{"schema": "fairground-decisions/4", "sched": "cfs", "cpus": 1}\n{"kind": "end", "decisions": 0}\n',
     "no decision was recorded"),
    ('{"schema": "fairground-decisions/4", "sched": "cfs", "cpus": 1}\n[]\n', "line 2 is not a decision"),
    ('{"schema": "fairground-decisions/4", "sched": "cfs", "cpus": 1}\n\0\n', "line 2 is not a decision"),
])
def test_files_of_others(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    assert complaint(path).startswith(f"{path}: ") and message in complaint(path)


@pytest.mark.parametrize("change, message", [
    (lambda row: row.pop("deadline"), "line 9 has no field deadline"),
    (lambda row: row["candidates"][0].pop("slice"), "line 9 has no field slice"),
    (lambda row: row.update(vruntime="much"), "line 9 is not a decision"),
    (lambda row: row.update(candidates=7), "line 9 is not a decision"),
])
def test_fields_that_are_missing(record, change, message):
    path = rewritten(record("a.json"), "b.json", lambda rows: change(rows[8]))
    assert complaint(path) == f"{path}: {message}"
    assert message in complaint("--diff", path, record("a.json"))


@pytest.mark.parametrize("old, new", [
    (b"sched_decision_pick\nID: 401", b"sched_decision_pick\nID: x01"),
    (b"decision\0", b"deci\xf0\x07on\0"),
    (b"\x17\x08\x44tracing6\0\0\x08\0\x10", b"\x17\x08\x44tracing6\0\0\x08\0\0"),
])
def test_a_trace_that_is_damaged(record, old, new):
    path = record("a.dat")
    with open(path, "rb") as f:
        data = f.read()
    assert old in data
    with open(path, "wb") as f:
        f.write(data.replace(old, new))
    assert complaint(path) == f"{path}: the trace is damaged"


def test_a_trace_of_another_version(record):
    path = record("a.dat")
    with open(path, "rb") as f:
        data = f.read()
    with open(path, "wb") as f:
        f.write(data.replace(b"field:u64 deadline;", b"field:u64 dead_lin;"))
    assert "has no field deadline: the file is of another version" in complaint(path)


def test_a_trace_without_decisions(sim, tmp_path):
    path = str(tmp_path / "t.dat")
    sim("--time 100ms hogs", "--trace", path)
    assert complaint(path) == f"{path}: the trace has no decisions: record it with EVENTS='decision:*'"


def test_files_that_cannot_be_opened(tmp_path):
    assert complaint(tmp_path / "none") == f"{tmp_path}/none: No such file or directory"
    assert complaint(tmp_path) == f"{tmp_path}: Is a directory"
    assert "a file of decisions is expected" in complaint()


@pytest.mark.parametrize("words, message", [
    ("--kind zzz", "--kind zzz: There are balance, charge, enter, fetch, give_back, leave, limit"),
    ("--kind pik", "--kind pik: is pick meant?"),
    ("--rule least_vrun", "--rule least_vrun: is least_vruntime meant? There are aim_free"),
    ("--policy o1", "--policy o1: There are bore, bore_cfs, cfs, deadline, eevdf"),
    ("--from soon", "--from soon: a time such as 500ms or 1.5s is expected"),
    ("--to 7", "--to 7: a time such as"),
    ("--from 2s --to 1s", "--to 1s: this is before --from 2s"),
    ("--cpu x", "CPUs 'x': a list"),
    ("--group a", "--group a: a number from 0 to 4294967295 is expected"),
    ("--limit 0", "--limit 0: a number from 1 to 18446744073709551615 is expected"),
    ("--cpu 7", "no decision matches; there are"),
    ("--task nobody", "about burst, child, g0"),
    ("--from 5s", "from 0.000 to"),
    ("--kind push", "of kinds pick, preempt, tick, place, charge, leave, select, balance"),
    ("--policy eevdf", "no decision matches; there are"),
    ("--rule pinned", "--rule pinned: "),
])
@pytest.mark.parametrize("form", FORMS)
def test_filters_that_make_no_sense(record, words, message, form):
    assert message in complaint(record(form), *words.split())


def test_different_machines_are_not_compared(record):
    a, b = record("a.json"), record("b.json", "--cpus", "3", "--time", "100ms", "hogs:n=4")
    assert complaint("--diff", a, b) == f"the runs had different machines: {a} 2 CPUs, {b} 3 CPUs"
    two = record("c.json", "--topology", "2x1x1x1", "--time", "100ms", "hogs:n=4")
    assert "different machines" in complaint("--diff", a, two)
    for form in FORMS:
        one, two = record(form), record(f"b{form}", "--topology", "2x1x1x1", "--time", "100ms", "hogs:n=4")
        assert f"different machines: {one} 2 CPUs, 1 node" in complaint("--diff", one, two)
        slow = record(f"c{form}", "--hz", "100", *MIXED)
        assert complaint("--diff", one, slow) == f"the runs had different machines: {one} HZ=250, {slow} HZ=100"
    assert "--stats has no meaning beside --diff" in complaint("--diff", a, a, "--stats")
    assert "no decision matches" in complaint("--diff", a, a, "--task", "nobody")


def test_lost_events_end_a_comparison(record):
    """A page says that events before it were overwritten, as the kernel's rings do."""
    path, whole = record("a.dat"), record("b.dat")
    file = open_file(path)
    start, _ = file.trace._where[1]
    with open(path, "r+b") as f:
        f.seek(start)
        time, commit = PAGE_HEADER.unpack(f.read(PAGE_HEADER.size))
        f.seek(start)
        f.write(PAGE_HEADER.pack(time, commit | 1 << 31))
    status, out, err = fairground("decisions", path, "--stats")
    lost = f"{path}: at least 1 event was lost before it could be saved"
    assert status == 0 and out and err == f"fairground: {lost}\n"
    assert complaint("--diff", path, whole) == f"{lost}; two runs can be compared only if all is recorded"


def test_candidates_that_are_missing(record):
    def lose(rows):
        for row in [r for r in rows[1:] if len(r["candidates"]) > 2][:3]:
            row["candidates"].pop()
    path = record("a.json")
    total = len(rows_of(path)) - 1
    damaged = rewritten(path, "b.json", lose)
    status, out, err = fairground("decisions", damaged)
    assert status == 0 and out.count("\n") == total
    assert err == f"fairground: {damaged}: 3 of {total} decisions lack candidates\n"
    assert f"3 of {total} decisions lack candidates; two runs" in complaint("--diff", path, damaged)
    assert "were recorded, of which" in fairground("decisions", damaged, "--full")[1]


# --- the schema -------------------------------------------------------------------------------------------------


def conforms(value, schema, defs):
    """Does @value obey the part of JSON Schema that docs/decisions.schema.json uses?"""
    if "$ref" in schema:
        return conforms(value, defs[schema["$ref"].rpartition("/")[2]], defs)
    if "oneOf" in schema:
        return sum(conforms(value, choice, defs) for choice in schema["oneOf"]) == 1
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    if schema["type"] == "integer":
        return type(value) is int and schema.get("minimum", value) <= value <= schema.get("maximum", value)
    if schema["type"] == "string":
        return isinstance(value, str) and len(value) <= schema.get("maxLength", len(value))
    if schema["type"] == "array":
        return isinstance(value, list) and all(conforms(item, schema["items"], defs) for item in value)
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    return (isinstance(value, dict) and set(value) == set(schema["required"]) == set(schema["properties"])
            and all(conforms(item, schema["properties"][name], defs) for name, item in value.items()))


@pytest.mark.parametrize("sched", policies())
def test_files_obey_the_schema(record, sched):
    with open(os.path.join(ROOT, "docs/decisions.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    path = record("a.json", "--sched", sched, *MIXED)
    rows = rows_of(path)
    assert all(conforms(row, schema, schema["$defs"]) for row in rows_of(path, others=True))
    for change in ({"rule": "luck"}, {"lag": 2**63}, {"pid": "1"}, {"more": 1}):
        assert not conforms({**rows[5], **change}, schema, schema["$defs"])
    del rows[5]["candidates"][0]["depth"]
    assert not conforms(rows[5], schema, schema["$defs"])
