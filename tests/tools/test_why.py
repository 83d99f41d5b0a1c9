# SPDX-License-Identifier: GPL-2.0-only
"""`fairground why`: the longest waits of a task and their reasons, computed by hand for a run that is made by hand, and
compared with the simulator's own numbers for runs of it."""

import re
from array import array
from dataclasses import fields

import pytest

from tests.conftest import BUILD, ROOT
from tests.sim.conftest import fairground, simulated
from fairground.base.settings import SCHEDULERS
from fairground.decisions import futures, lateness, why
from fairground.decisions.class_decisions import ClassDecision, Task
from fairground.decisions.fair_decisions import Candidate, Decision, Flag
from fairground.trace.timeline import Runs, Timeline, Waits

MS = 1_000_000
LAG, HOG, BUSY, URGENT = 1, 2, 3, 4
LINUX = f"{ROOT}/tests/sim/linux-6.1.dat"


def timeline(runs, waits, unfinished=0, wakeups=1):
    """A Timeline of @runs (CPU, pid, start, end) and @waits (pid, start, end, woken), in ms."""
    line = Timeline.__new__(Timeline)
    line.runs = Runs(*(array("q", column) for column in zip(*((c, p, s * MS, e * MS) for c, p, s, e in runs))))
    line.waits = Waits(*(array(code, column) for code, column in zip(
        "qqqb", zip(*((p, s * MS, e * MS, w) for p, s, e, w in waits)))))
    line.comms = {LAG: "lag", HOG: "hog", BUSY: "busy", URGENT: "urgent"}
    line.priorities = {LAG: 120, HOG: 120, BUSY: 120, URGENT: 89}
    line.begin, line.end, line.unfinished, line.wakeups, line.lost = 0, 100 * MS, unfinished, wakeups, 0
    line.unknown = 0 if wakeups else 1
    line.cpus, line.about = 2, ""
    return line


def row(pid, vruntime=0, deadline=0, flags=Flag.QUEUED | Flag.ELIGIBLE, group=0):
    names = {LAG: "lag", HOG: "hog", BUSY: "busy", URGENT: "urgent"}
    return Candidate(names.get(pid, "cell"), pid, group, round(vruntime * MS), round(deadline * MS), 3 * MS, 0, 1024,
                     int(flags), 0, 0)


def decision(time, kind, subject, answer, rule, *rows, cpu=0, policy="eevdf", group=0, subject_group=0):
    values = dict.fromkeys((f.name for f in fields(Decision)), 0)
    values |= {"time": round(time * MS), "kind": kind, "candidates": rows, "policy": policy, "rule": rule, "cpu": cpu,
               "answer": answer, "pid": 0 if subject_group else subject, "subject_group": subject_group, "group": group,
               "comm": "cell" if subject_group else {1: "lag", 2: "hog", 3: "busy", 4: "urgent"}[subject],
               "nr_rows": len(rows), "nr_queued": len(rows), "v": 0}
    return Decision(**values)


# lag wakes at 10 on CPU 0. hog runs there since 8 and goes on until 12; busy runs from 12 to 15; at 16 lag runs.
BY_HAND = timeline(
    [(0, HOG, 8, 12), (1, HOG, 8, 9), (0, BUSY, 12, 15), (0, LAG, 16, 18)],
    [(LAG, 10, 16, 1), (HOG, 12, 40, 0), (LAG, 50, 51, 1), (LAG, 60, 61, 0)])
DECISIONS = [
    decision(10, "place", LAG, 1, "arrives_woken", row(LAG)),
    decision(10, "preempt", LAG, 0, "request_used_up", row(LAG, 2, 5), row(HOG, 1, 4, Flag.RUNS | Flag.QUEUED)),
    decision(11, "tick", HOG, 0, "request_used_up", row(LAG, 2, 5), row(HOG, 2, 4, Flag.RUNS | Flag.QUEUED)),
    # Of three equal weights the mean of 6, 0 and 0 is 2: lag is 4 ms ahead of its share, and its deadline 7 later.
    decision(12, "pick", BUSY, 1, "earliest_deadline", row(LAG, 6, 9, Flag.QUEUED), row(BUSY, 0, 2), row(HOG, 0, 3)),
    decision(16, "pick", LAG, 1, "only_one", row(LAG, 6, 9)),
]


def test_the_longest_wait_by_hand():
    wait, *others = lateness.waits_of(BY_HAND, {LAG})
    assert (wait.start, wait.end, wait.woken, wait.ended) == (10 * MS, 16 * MS, True, True)
    assert [each.start // MS for each in others] == [50, 60]  # of equal ones the earlier first
    late, = lateness.explain(BY_HAND, [wait], DECISIONS)
    assert [(s.start / MS, s.length / MS, s.cpu, s.pid, s.reason and s.reason.kind, s.went_on)
            for s in late.stretches] == [
                (10, 2, 0, HOG, "preempt", 1), (12, 3, 0, BUSY, "pick", 0), (15, 1, 0, 0, None, 0)]
    first, second, third = (lateness.because(s, BY_HAND, late, True) for s in late.stretches)
    assert first == ("eevdf did not let lag-1 take over: the running one used up its request; the virtual deadline of "
                     "lag-1 is 1.000000 ms after that of hog-2")
    assert second == ("eevdf picked busy-3: of the eligible it has the earliest deadline; lag-1 is not eligible, "
                      "ahead by 4.000000 ms of CPU time; the virtual deadline of lag-1 is 7.000000 ms after that of "
                      "busy-3")
    assert third.startswith("nobody ran")
    assert lateness.conclusion(late, BY_HAND, True) == (
        "lag-1 waited 6.000000 ms for CPU 0 after a wakeup, while busy-3 (3.000000), hog-2 (2.000000) and "
        f"nobody (1.000000) had it, chiefly because {second}.")


def test_without_decisions_the_reason_is_unknown_and_not_made_up():
    late, = lateness.explain(BY_HAND, lateness.waits_of(BY_HAND, {LAG})[:1], [])
    assert [s.pid for s in late.stretches] == [HOG, BUSY, 0] and not any(s.reason for s in late.stretches)
    assert lateness.conclusion(late, BY_HAND, False).endswith("had it; why is not recorded.")


def test_a_group_competes_for_its_task_by_hand():
    """lag is in group 5, which is in group 4: in the root's queue the pick is between group 4 and hog."""
    line = timeline([(0, HOG, 10, 14), (0, LAG, 14, 15)], [(LAG, 10, 14, 1)])
    made = [decision(9.9, "pick", LAG, 1, "only_one", row(LAG), group=5),
            decision(9.9, "pick", 0, 1, "only_one", row(0, group=5), group=4, subject_group=5),
            decision(10, "place", LAG, 1, "arrives_woken", row(LAG), group=5),
            decision(10, "pick", HOG, 1, "least_vruntime", row(0, 3, group=4), row(HOG, 1), policy="cfs")]
    late, = lateness.explain(line, lateness.waits_of(line, {LAG}), made)
    assert late.rivals == {(LAG, 0), (0, 5), (0, 4)}
    assert lateness.because(late.stretches[0], line, late, True) == (
        "cfs picked hog-2: it has the least virtual runtime; the vruntime of group 4 cell is 2.000000 ms after that of "
        "hog-2")


def test_a_wait_that_moves_to_another_cpu_by_hand():
    """Preempted on CPU 0 at 10, queued on CPU 1 at 13."""
    line = timeline([(0, LAG, 8, 10), (0, HOG, 10, 20), (1, BUSY, 5, 17), (1, LAG, 17, 18)], [(LAG, 10, 17, 0)])
    late, = lateness.explain(line, lateness.waits_of(line, {LAG}),
                             [decision(13, "place", LAG, 1, "arrives_moved", row(LAG), cpu=1)])
    assert [(s.start // MS, s.end // MS, s.cpu, s.pid) for s in late.stretches] == [(10, 13, 0, HOG), (13, 17, 1, BUSY)]
    assert "for CPU 0 and 1 after it lost the CPU, while" in lateness.conclusion(late, line, True)


@pytest.mark.parametrize("lost, told", [
    (decision(10, "tick", LAG, 1, "slice", row(LAG, 2, flags=Flag.RUNS), row(HOG)), "a tick ended its turn"),
    (decision(10, "preempt", HOG, 1, "vruntime_lead", row(HOG), row(LAG, 2, flags=Flag.RUNS)), "hog-2 took the CPU"),
    (decision(9, "tick", LAG, 1, "slice", row(LAG)), "it lost the CPU"),       # long before
    (decision(10, "tick", HOG, 1, "slice", row(HOG)), "it lost the CPU"),      # of another
    (decision(10, "tick", LAG, 0, "slice", row(LAG)), "it lost the CPU")])     # which let it go on
def test_how_it_lost_the_cpu_by_hand(lost, told):
    line = timeline([(0, LAG, 8, 10), (0, HOG, 10, 14), (0, LAG, 14, 15)], [(LAG, 10, 14, 0)])
    late, = lateness.explain(line, lateness.waits_of(line, {LAG}), [lost])
    assert lateness.beginning(late) == f"after {told}"


def test_classes_above_by_hand():
    """A real-time task before a fair one, and before another of less priority by a record of its class."""
    line = timeline([(0, URGENT, 10, 14), (0, LAG, 14, 15)], [(LAG, 10, 14, 1)])
    late, = lateness.explain(line, lateness.waits_of(line, {LAG}), [])
    assert lateness.because(late.stretches[0], line, late, False) == "a real-time task comes before all fair ones"
    line.priorities[LAG] = 95
    line.priorities[URGENT] = -1
    assert lateness.because(late.stretches[0], line, late, False) == "a task with a deadline comes before all others"
    line.priorities[LAG] = -1
    assert lateness.because(late.stretches[0], line, late, False).startswith("unknown")
    line.priorities |= {LAG: 95, URGENT: 89}
    empty = dict.fromkeys(ClassDecision.__dataclass_fields__, 0)
    tasks = tuple(Task(name, pid, prio, 0, 0, int(Flag.QUEUED), 1, 0, 0, 0, 0, 0, 0, 0)
                  for name, pid, prio in (("lag", LAG, 95), ("urgent", URGENT, 89)))
    pick = ClassDecision(**{**empty, "time": 10 * MS, "candidates": tasks, "cpus": (), "kind": "pick", "answer": 1,
                            "policy": "real_time", "rule": "highest", "comm": "urgent", "pid": URGENT, "nr_rows": 2})
    late, = lateness.explain(line, lateness.waits_of(line, {LAG}), [pick])
    assert lateness.because(late.stretches[0], line, late, True).endswith(
        "the priority of lag-1 is 95, that of urgent-4 89")


def test_an_option_is_taken_out_of_a_command():
    about = "schedsim 1: cfs; 1 CPU\ncommand: schedsim --time 2s --json=x --decisions a.dat 'hogs:n=2' --trace b"
    assert futures.command_of(about) == ["--time", "2s", "hogs:n=2"]
    assert futures.command_of("Fairground 1: cfs; SMP=1\ncommand: make trace CMD=hog") == []
    assert futures.without(["--time", "2s", "--time=3s", "a"], "--time") == ["a"]


# --- runs of the simulator --------------------------------------------------------------------------------------------

WORK = ("--cpus", "1", "--time", "300ms", "hogs:n=3", "bursts:n=1,run=2ms,sleep=10ms")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("why") / "run.dat"
    return str(path), simulated("--decisions", path, "--sched", "eevdf", *WORK)


def test_the_longest_wait_is_the_simulators(run):
    """Its length and number are what the run's own table has, and all of it is accounted for."""
    path, result = run
    burst = next(task for task in result["tasks"] if task["name"] == "burst")
    found = why.find(path, "burst", 100)
    assert found.waits[0].length == pytest.approx(burst["wait_ns"]["max"], abs=1)
    for each in found.explained:
        assert sum(s.length for s in each.late.stretches) == each.late.wait.length
        assert all(s.reason for s in each.late.stretches), each.late.wait


def test_the_future_under_another_policy_is_that_run(run, tmp_path):
    """What is said of CFS is what a run with --swap has; under the same policy the wait is what it was."""
    path, _ = run
    found = why.find(path, "burst", 2, BUILD)
    second = found.explained[1]
    assert {future.policy for future in second.futures} == set(SCHEDULERS) - {"eevdf"}
    wait = second.late.wait
    for policy in ("cfs", "eevdf"):
        simulated("--trace", tmp_path / "f.dat", "--sched", "eevdf", *WORK, "--swap", f"{wait.start - 1}ns/{policy}")
        length, = (each.length for each in lateness.waits_of(Timeline(tmp_path / "f.dat"), {wait.pid})
                   if each.start == wait.start)
        assert length == (wait.length if policy == "eevdf" else next(
            future.length for future in second.futures if future.policy == "cfs"))


def test_fdl_without_deadlines_would_have_done_as_cfs_did(tmp_path):
    """Also where a tick ended a turn: the swap alone changes nothing there."""
    simulated("--decisions", tmp_path / "x.dat", "--cpus", "1", "--time", "300ms", "hogs:n=1", "hogs:n=1,nice=5",
              "bursts:n=1,run=2ms,sleep=10ms")
    found = why.find(str(tmp_path / "x.dat"), "hog-2", 3, BUILD)
    for each in found.explained:
        fdl, = (future for future in each.futures if future.policy == "fdl")
        assert each.late.lost.kind == "tick" and (fdl.length, fdl.ended) == (each.late.wait.length, True)


@pytest.mark.parametrize("form", ["json", "bin"])
def test_a_record_without_switches_is_run_again(run, tmp_path, form):
    path, _ = run
    simulated("--decisions", tmp_path / f"x.{form}", "--sched", "eevdf", *WORK)
    texts = [fairground("--build", BUILD, "why", of, "--task", "burst-4", "--no-futures").stdout
             for of in (path, tmp_path / f"x.{form}")]
    assert texts[0].split("command:")[1].split("\n", 1)[1] == texts[1].split("command:")[1].split("\n", 1)[1]
    assert "5 longest" in texts[0]


def test_text_and_object(run):
    path, _ = run
    done = fairground("--build", BUILD, "why", path, "--task", "burst", "--waits", "1")
    assert done.returncode == 0 and not done.stderr
    assert re.search(r"^burst-4 waited \d+ times, [\d.]+ ms in all; the longest:$", done.stdout, re.MULTILINE)
    assert "Under another policy from that moment on: " in done.stdout and "\n  So burst-4 waited " in done.stdout
    longest = fairground("why", path, "--waits", "1", "--no-futures").stdout
    assert "Under another" not in longest and re.search(r"^burst-4 waited", longest, re.MULTILINE)


def test_a_report_has_the_longest_waits(run, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out.html"
    assert fairground("--build", BUILD, "report", out, run[0], "--no-viewer").returncode == 0
    part, = re.findall(r"<h3>Why late\?</h3>(.*?)</pre>", out.read_text(), re.DOTALL)
    assert "3 longest:" in part and part.count("\n  So burst-4 waited ") == 3 and "Under another" not in part


# --- what is unknown, and what is wrong -------------------------------------------------------------------------------


def test_waits_without_wakeups_are_unknown_and_not_zero():
    line = timeline([(0, LAG, 8, 10)], [(LAG, 10, 16, 0)], wakeups=0)
    found = why.Found("lag-1", lateness.waits_of(line, {LAG}), [], line, True)
    assert why.unknown(found)[0].startswith("the trace has no sched_wakeup: waits after a sleep are unknown")
    nobody = why.Found("lag-1", [], [], line, True)
    assert why.summary(nobody) == "lag-1 never waited after a preemption; after a sleep it is unknown."
    line.wakeups = 1
    assert why.summary(nobody) == "lag-1 never waited." and why.unknown(nobody) == []


def test_a_wakeup_that_is_served_at_once_is_no_wait(tmp_path):
    """The burst finds its CPU idle each time but the first, when the other task comes before it."""
    path = tmp_path / "idle.dat"
    simulated("--trace", path, "--cpus", "1", "--time", "100ms", "periodic:run=1ms,period=1s",
              "bursts:run=1ms,sleep=9ms")
    found = why.find(str(path), "burst", 5)
    assert len(found.waits) == len(found.explained) == 1 and found.waits[0].length == MS - 1
    assert why.summary(found) == "burst-2 waited 1 time, 0.999999 ms in all; the longest:"


def test_a_trace_of_linux_has_no_decisions():
    done = fairground("why", LINUX, "--waits", "2")
    assert done.returncode == 0 and "the trace has no decisions, so no rule is known" in done.stdout
    assert "why is not recorded" in done.stdout or "comes before" in done.stdout


@pytest.mark.parametrize("task, message", [
    ("brust", "no task brust is in the trace; is burst meant? There are 4 tasks: burst, hog."),
    ("99", "no task 99 is in the trace"), ("burst-5", "is burst-4 meant?")])
def test_a_task_that_is_not_there_is_one_sentence(run, task, message):
    done = fairground("why", run[0], "--task", task)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_what_is_no_trace_is_one_sentence(tmp_path):
    (tmp_path / "x.json").write_text("hello\n")
    for path, message in ((tmp_path / "x.json", "x.json: "), (tmp_path / "none.dat", "No such file"),
                          (tmp_path, "Is a directory")):
        done = fairground("why", path)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_run_that_cannot_be_repeated_is_told():
    """The trace says a command that another simulator knows: then nothing is said of other policies."""
    wait = lateness.Wait(4, 36 * MS, 40 * MS, True, True)
    with pytest.raises(Exception, match="cannot be repeated: schedsim: no workload 'nonsense'"):
        futures.futures(BUILD, ["nonsense"], wait, [], "eevdf")
    with pytest.raises(Exception, match="decides otherwise even before the wait"):
        futures.futures(BUILD, [*WORK, "--seed", "9"], wait, [lateness.Wait(4, 1, 2, True, True)], "eevdf")
