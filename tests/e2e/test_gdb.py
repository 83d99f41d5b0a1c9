# SPDX-License-Identifier: GPL-2.0-only
"""The gdb commands, without a terminal: at a breakpoint they print what the kernel itself prints there."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.e2e.conftest import BUILD, ROOT, TIMEOUT_S, V1
from fairground.decisions import class_decisions

pytestmark = pytest.mark.skipif(not shutil.which("gdb"), reason="gdb is not installed")

# A program reads the scheduler's own dump, and gdb stops in it: at the second call, because the first only finds out
# the length of the text.
AT_DUMP = """
hbreak sched_dump_cpu
continue
continue
set $buf = buf
finish
printf "%s", $buf
echo === rq\\n
rq 0
"""

# One nice and one plain hog on one CPU, and such a reader.
WORKLOAD = "hog -t 2s & nice -n 5 hog -t 2s & sleep 0.2; cat /sys/kernel/debug/sched/debug > /dev/null"
SCRIPT = AT_DUMP + """
echo === tasks\\n
tasks
echo === tree\\n
tree 0
echo === why 1\\n
why 1
echo === why nobody\\n
python
try:
    gdb.execute("why nobody")
except gdb.error as error:
    print(error)
end
echo === trace\\n
trace 100
echo === end\\n
kill
"""


# A shell that works beside a hog falls asleep owing time and stays in the timeline; gdb stops there. Not at every
# switch: with ICOUNT=1 the clock jumps to the next timer at each stop, so nobody would get anything done.
DELAYED_WORKLOAD = "hog -t 1s & i=0; while [ $i -lt 40 ]; do i=$((i + 1)); sleep 0.01; done; wait"
DELAYED_SCRIPT = """
hbreak fair_dequeue if machine->rq->delayed.next != &machine->rq->delayed
continue
python
task = container_of(machine()["rq"][0]["delayed"]["next"], "struct task", "link")
print("=== delayed\\n%d %d" % (int(task["pid"]), int(of_eevdf(task["fair"])["vlag"])))
print("=== why")
gdb.execute("why %d" % int(task["pid"]))
end
echo === rq\\n
rq 0
echo === tasks\\n
tasks
echo === tree\\n
tree 0
echo === end\\n
kill
"""


# Two hogs in /a/b, one in /a, one in the root; one in /t, which has always used up its quota when gdb stops.
GROUP_WORKLOAD = V1 + """mkdir a a/b t; echo 1000 > t/cpu.cfs_quota_us
(echo 0 > t/tasks; exec hog -t 2s) & (echo 0 > a/tasks; exec hog -t 2s) & hog -t 2s &
(echo 0 > a/b/tasks; exec hog -t 2s) & (echo 0 > a/b/tasks; exec hog -t 2s) &
sleep 0.5; cat /sys/kernel/debug/sched/debug > /dev/null"""
GROUP_SCRIPT = AT_DUMP + """
echo === tree\\n
tree 0
echo === why\\n
python
for queue in group_queues(runqueue(0)):
    for _, entity in timeline(queue):
        if not is_group(entity):
            gdb.execute("why %d" % int(task_of(entity)["pid"]))
end
echo === end\\n
kill
"""


def run_script(directory, text, workload, **given):
    """What a script of gdb commands printed beside @workload, by section."""
    script = directory / "script"
    script.write_text(text)
    env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "tools"), KVM="0", CMD=workload, SMP="1", **given)
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "gdb", "--script", str(script)],
                          env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
    parts = re.split(r"^=== (.*)\n", done.stdout, flags=re.M)
    assert "end" in parts, done.stdout + done.stderr
    return {"dump": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """The output of one session, by section."""
    return run_script(tmp_path_factory.mktemp("gdb"), SCRIPT, WORKLOAD, APPEND="trace_event=sched:*")


def dumped_tasks(text):
    """pid -> (running, vruntime, switches, prio, sum_exec), from the kernel's dump."""
    rows = re.findall(r"^ (>R| R| S) +(\S+) +(\d+) +(\S+) +(\d+) +(\d+) +\S+ +(\S+)$", text, re.M)
    assert rows, text
    return {int(pid): (mark == ">R", vruntime, switches, prio, ran)
            for mark, _, pid, vruntime, switches, prio, ran in rows}


README_SCRIPT = """
break {where}
continue
echo === tree\\n
tree 0
echo === why\\n
why 8
echo === end\\n
kill
"""


def test_the_walk_of_the_readme_stops_in_the_users_program(tmp_path):
    """The README's words, taken from it: the timeline is not empty there, and thread 8 is one of the hogs."""
    text = pathlib.Path(ROOT, "README.md").read_text()
    walk = re.search(r'`make gdb SMP=1 CMD="([^"]+)"`, then `break ([^`]+)`', text)
    printed = run_script(tmp_path, README_SCRIPT.format(where=walk[2]), walk[1], ICOUNT="1")
    assert len(re.findall(r"^ *hog/\d+ ", printed["tree"], re.M)) == 3
    assert re.match(r"hog/8: it (runs|is runnable) on cpu 0", printed["why"])
    assert "which rule picked it is not recorded: boot with APPEND=trace_event=decision:*" in printed["why"]


def test_why_has_the_sentences_of_the_rules(tmp_path):
    """A fair task waits for a real-time one: without a record the class's rule is told in rule.def's words."""
    script = README_SCRIPT.format(where="rt_tick if rq->nr_running > 1").replace("why 8", "why 9")
    why = run_script(tmp_path, script, "hog -t 1s & hog -t 1s & sleep 0.1; chrt -f 5 hog -t 100ms", ICOUNT="1")["why"]
    sentence = class_decisions.sentence("most_urgent")
    assert sentence and re.search(rf"hog/\d+ has real-time priority 5, and runs because {sentence}\.$", why, re.M), why


@pytest.mark.parametrize("sched", ["cfs", "eevdf"])
def test_why_says_the_recorded_rule(tmp_path, sched):
    """While decisions are recorded, the last pick is told in the words of its record: who, by which rule, of whom.
    The first ticks are passed over: a tick may come before any pick among the four."""
    script = README_SCRIPT.format(where="fair_tick if rq->nr_running > 3\nignore $bpnum 20")
    printed = run_script(tmp_path, script, "hog -n 4 -t 1s", ICOUNT="1", SCHED=sched,
                         APPEND="trace_event=decision:*")
    why = printed["why"]
    assert re.match(r"hog/8: it (runs,|is runnable) on cpu 0", why)
    assert re.search(r"recorded at [\d.]+ ms: picked: hog-\d+, because [a-z ,]+\.", why), why
    assert len(re.findall(r"^ +[> ] +hog-\d+ +1024 ", why, re.M)) >= 3, why
    assert ("eligible" in why) == (sched == "eevdf")


def test_rq_is_the_kernels_dump(session):
    expected = dumped_tasks(session["dump"])
    shown = {int(pid): (mark, vruntime) for mark, pid, vruntime in
             re.findall(r"^ ([> ]) \S+/(\d+) .*?vruntime +(\S+)", session["rq"], re.M)}
    assert set(shown) == set(expected)
    for pid, (mark, vruntime) in shown.items():
        assert (mark == ">") == expected[pid][0]
        assert vruntime == expected[pid][1]
    clock = re.search(r"\.clock +: (\S+)", session["dump"])[1]
    assert f"clock {clock} ms" in session["rq"]


def test_tasks_has_every_thread(session):
    rows = {int(m[1]): m for m in re.finditer(
        r"^ +(\d+) (\S+) +(\S+) +(\d+) +(\d+) +(\S+) +(\S+) +(\d+)$", session["tasks"], re.M)}
    for pid, (running, vruntime, switches, prio, ran) in dumped_tasks(session["dump"]).items():
        assert (rows[pid][3] == "R") == running
        assert rows[pid].group(5, 6, 7, 8) == (prio, vruntime, ran, switches)
    assert rows[0][2] == "swapper/0" and rows[1][2] == "init"


def test_tree_is_in_order(session):
    times = [float(t) for t in re.findall(r"^ *\S+/\d+  (\S+) \(", session["tree"], re.M)]
    assert times == sorted(times)
    assert len(times) == sum(not running for running, *_ in dumped_tasks(session["dump"]).values())


def test_why(session):
    assert re.search(r"init/1: it is not runnable: it sleeps", session["why 1"])
    assert session["why nobody"].startswith("there is no thread nobody")


def test_trace(session):
    """The newest events are in order; the task that runs at the breakpoint was switched in last, if that is among
    them."""
    form = re.compile(r" *(\S+)-(\d+) +\[000\] +(\d+\.\d{6}): (sched_\w+):((?: \w+=\S+)+)")
    lines = session["trace"].splitlines()
    events = [form.fullmatch(line) for line in lines]
    assert len(lines) == 100 and all(events), lines
    times = [float(event[3]) for event in events]
    assert times == sorted(times)
    running = [pid for pid, (runs, *_) in dumped_tasks(session["dump"]).items() if runs]
    switches = [dict(re.findall(r"(\w+)=(\S+)", event[5])) for event in events if event[4] == "sched_switch"]
    after = [switch["prev_pid"] for switch in switches[1:]] + [str(running[0])]
    assert [switch["next_pid"] for switch in switches] == after[:len(switches)]


def test_delayed_tasks_are_shown_as_such(tmp_path):
    shown = run_script(tmp_path, DELAYED_SCRIPT, DELAYED_WORKLOAD, SCHED="eevdf", ICOUNT="1")
    pid, vlag = shown["delayed"].split()
    assert int(vlag) < 0
    assert f"it owed {-int(vlag) / 1e6:.6f} ms of virtual time when it fell asleep" in shown["why"]
    assert "it is not runnable: it sleeps" in shown["why"]
    assert re.search(rf"^   \S+/{pid} .* deadline +\S+.*  asleep, delayed$", shown["rq"], re.M)
    assert re.search(rf"^ +{pid} \S+ +[SD]d ", shown["tasks"], re.M)
    assert re.search(rf"/{pid} .* delayed$", shown["tree"], re.M)
    assert " V " in shown["rq"] and "min_vruntime" not in shown["rq"]


def test_groups_have_timelines_of_their_own(tmp_path):
    shown = run_script(tmp_path, GROUP_SCRIPT, GROUP_WORKLOAD, ICOUNT="1")
    _, *parts = re.split(r"^(/\S+):( throttled)?$", shown["tree"], flags=re.M)
    trees = {path: (throttled, text) for path, throttled, text in zip(parts[::3], parts[1::3], parts[2::3])}
    assert {path for path, (throttled, _) in trees.items() if throttled} == {"/t"}
    assert set(trees) == {"/a", "/a/b", "/t"}
    assert re.search(r"^( *|runs: )/a  ?", shown["tree"], re.M) and "/a/b  " in trees["/a"][1]
    for _, text in trees.values():
        times = [float(t) for t in re.findall(r"^ *\S+  (\S+) \(", text, re.M)]
        assert times == sorted(times)
    members = {path: set(map(int, re.findall(r"hog/(\d+)", text))) for path, (_, text) in trees.items()}
    assert [len(members[path]) for path in ("/a", "/a/b", "/t")] == [1, 2, 1]
    expected = dumped_tasks(shown["dump"])
    rows = re.findall(r"^ ([>\- ]) ( *)(\S+)/(\d+) .*?vruntime +(\S+)", shown["rq"], re.M)
    assert {int(pid): vruntime for _, _, _, pid, vruntime in rows} == \
        {pid: vruntime for pid, (_, vruntime, *_) in expected.items()}
    depth = {int(pid): len(indent) // 2 for _, indent, _, pid, _ in rows}
    for path, pids in members.items():
        assert {depth[pid] for pid in pids} == {path.count("/")}
    assert "its group /t has used up its quota" in shown["why"]
    assert re.search(r"waits as a member of /a|runs as a member of /a", shown["why"])


DECISION_SCRIPT = """
hbreak fair_tick if rq->nr_running > 2
continue
delete
echo === decisions\\n
decision 8
rq 0
decision 8
rq 0
decision 8
rq 0
echo === watch\\n
watch -l machine->rq[0].fair.curr
continue
delete
echo === sleeper\\n
decision burst
decision burst
decision burst
python
for words in ("decision nobody", "decision"):
    try:
        gdb.execute(words)
    except gdb.error as error:
        print(error)
end
echo === end\\n
kill
"""


@pytest.mark.nightly("a stop of `decision` at another moment; it boots twice, and stops the machine at each switch")
def test_decision_stops_where_the_task_gets_or_loses_its_cpu(tmp_path):
    """Among three hogs it goes back and forth, between two programs' own names; a sleeper is woken first. The same
    script stops at the same moments again, which is how one goes back."""
    printed = [run_script(tmp_path, DECISION_SCRIPT, "burst -r 1ms -s 9ms -n 20 & hog -q -n 3 -t 300ms",
                          ICOUNT="1") for _ in range(2)]
    first, again = ({name: text for name, text in each.items() if name != "end"} for each in printed)
    assert first == again
    said = re.findall(r"^(\S+)/(\d+): it (gets cpu 0, after|is preempted, and|goes to sleep, and) (\S+)/(\d+)",
                      printed[0]["decisions"], re.M)
    assert len(said) == 3 and all(pid == "8" != other for _, pid, _, _, other in said), printed[0]["decisions"]
    gets = [how.startswith("gets") for _, _, how, _, _ in said]
    assert gets in ([True, False, True], [False, True, False])
    running = re.findall(r"^ > \S+/(\d+) ", printed[0]["decisions"], re.M)
    assert [(pid if not takes else other) == runs for takes, runs, (_, pid, _, _, other) in
            zip(gets, running, said)] == [True] * 3  # the moment is before the CPU changes hands
    assert re.search(r"Old value = .*\nNew value = ", printed[0]["watch"])
    moments = re.findall(r"^burst/\d+: it (is to be woken|gets|goes to sleep|is preempted)", printed[0]["sleeper"],
                         re.M)
    then = {"is to be woken": ["gets"], "gets": ["goes to sleep", "is preempted"], "goes to sleep": ["is to be woken"],
            "is preempted": ["gets"]}
    assert len(moments) == 3 and all(after in then[before] for before, after in zip(moments, moments[1:])), moments
    assert "there is no thread nobody" in printed[0]["sleeper"]
    assert "decision TASK: the number or the name of a thread is expected" in printed[0]["sleeper"]
