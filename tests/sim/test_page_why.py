# SPDX-License-Identifier: GPL-2.0-only
"""Why a task waited: the page for browsers and `fairground why` say the same of the same run, to the letter."""

import json
import re
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT, page_or_skip
from tests.sim.test_scx import loaded
from fairground.base.settings import SCHEDULERS
from fairground.decisions import lateness, why
from fairground.trace.timeline import Timeline

WAITS = 4  # of each task
HOGS = "--cpus 1 --time 150ms hogs:n=2 hogs:n=1,nice=5 bursts:n=1,run=2ms,sleep=10ms"
RUNS = [f"--sched {sched} {HOGS}" for sched in SCHEDULERS] + [
    "--sched eevdf --cpus 1 --hz 1000 --time 100ms hogs:n=3 hogs:n=1,nice=-5 hogs:n=2,slice=2ms",
    "--sched fdl --cpus 1 --time 150ms group:name=a,deadline_rr=5ms,deadline_wakeup=2ms "
    "bursts:n=1,run=1ms,sleep=6ms,group=a hogs:n=2 group:name=b,deadline_rr=20ms hogs:n=1,group=b",
    "--sched cfs --cpus 2 --time 150ms group:name=a/b hogs:n=2,group=a/b hogs:n=3 bursts:n=2,run=3ms,sleep=5ms,group=a",
    "--sched eevdf --topology 1x2x2 --time 100ms bursts:n=9,run=1ms-5ms,sleep=1ms-5ms hogs:n=3 messages:n=1,workers=4",
    "--sched bore --cpus 2 --time 100ms requests:workers=3 hogs:n=2",
    "--sched cfs --cpus 1 --time 300ms hogs:n=1 hogs:n=2,policy=fifo,prio=10,run=30ms "
    "hogs:n=1,policy=fifo,prio=20,run=20ms periodic:n=1,period=10ms,run=2ms,policy=deadline,runtime=3ms,deadline=10ms",
    "--sched eevdf --cpus 2 --time 150ms group:name=g,quota=10ms,period=50ms hogs:n=2,group=g hogs:n=2 hotplug:cpu=1",
]

PROGRAMS = {"vtime": HOGS, "stall": "--cpus 2 --time 5s hogs:n=3", "llc": "--topology 1x2x2 --time 130ms hogs:n=5"}


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """[(path of the trace, what the page says of the words, what it says of the trace, and of other policies)]"""
    page_or_skip()
    place = tmp_path_factory.mktemp("why")
    runs = []
    for nr, words in enumerate([*RUNS, *(f"--scx {loaded(name)} {work}" for name, work in PROGRAMS.items())]):
        file = place / f"{nr}.dat"
        subprocess.run([f"{BUILD}/schedsim", *words.split(), "--decisions", file], check=True,
                       stdout=subprocess.DEVNULL)
        runs.append({"words": words.replace(".so", ".wasm").split(), "file": str(file), "waits": WAITS + 1})
    done = subprocess.run(["node", f"{ROOT}/tests/tools/why.mjs", f"{BUILD}/web/node_modules", f"{BUILD}/session.wasm",
                           f"{BUILD}/web/phrases.json"], input=json.dumps(runs), check=False, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    return [(run["file"], *said) for run, said in zip(runs, json.loads(done.stdout), strict=True)]


def told(late, line):
    """What `fairground why` says of a wait, in the form of the page's."""
    rows = [{"start": why.ms(s.start), "length": why.ms(s.length), "cpu": s.cpu, "pid": s.pid,
             "name": line.label(s.pid) if s.pid else "-",
             "because": [*lateness.because(s, line, late, True).split("; "),
                         *filter(None, [lateness.went_on(s)])]} for s in late.stretches]
    return {"length": why.ms(late.wait.length), "beginning": lateness.beginning(late),
            "lost": lateness.rule_of(late.lost) if late.lost else "", "rows": rows,
            "conclusion": lateness.conclusion(late, line, True)}


def of_trace(path):
    """task -> what is said of its longest waits that end in the trace."""
    line = Timeline(path)
    waits = {pid: [wait for wait in lateness.waits_of(line, {pid}) if wait.ended and wait.length][:WAITS]
             for pid in set(line.waits.pid)}
    every = sorted((wait for mine in waits.values() for wait in mine), key=lambda wait: wait.start)
    late = {each.wait: each for each in lateness.explain(line, every, why.decisions_of(path).records(lateness.SHAPES))}
    return {line.label(pid): [told(late[wait], line) for wait in mine] for pid, mine in waits.items()}


def ended(said):
    """Of what the page says of a task: the waits that end, without the numbers of decisions."""
    return [{**each["told"], "rows": [{name: value for name, value in row.items() if name != "at"}
                                      for row in each["told"]["rows"]]} for each in said if each["ended"]]


def test_both_say_the_same(compared):
    """A trace ends with its last event and the page's run later, so that only waits are compared which end in both."""
    reasons, classes, compared_waits = set(), set(), 0
    for path, *of_page, _ in compared:
        for task, ours in of_trace(path).items():
            for said in of_page:
                theirs = ended(said.get(task, []))
                nr = min(len(theirs), len(ours))
                assert theirs[:nr] == ours[:nr], (path, task)
                assert nr or not theirs or not ours
                compared_waits += nr
            why_so = [row["because"][0] for each in ours for row in each["rows"]]
            reasons |= {text.split(":")[0].split()[0] for text in why_so}
            classes |= {text for text in why_so if text.startswith("a ")}
    assert compared_waits > 300
    missing = {"cfs", "eevdf", "bore", "fdl", "fifo", "ext", "nobody", "a"} - reasons
    assert not missing and len(classes) == 2


def test_both_say_the_same_of_other_policies(compared):
    """Of the longest wait of some tasks of each run. Where a wait outlasts a future, only that is said alike."""
    more, policies, found_some = re.compile(r"more than [\d.]+ ms"), set(), 0
    for path, _, _, futures in compared:
        for task in sorted(futures)[::3]:
            (late, found, problem), = why.find(path, task, 1, BUILD).explained
            assert found and not problem
            if late.wait.ended:
                assert more.sub("long", futures[task]) == more.sub("long", why.in_words(found)), (path, task)
                policies |= {future.policy for future in found}
                found_some += len({future.length for future in found}) > 1
    assert policies == set(SCHEDULERS) and found_some > 10
