# SPDX-License-Identifier: GPL-2.0-only
"""FDL from the guest: the script published with it, its files, and its experiments."""

import os
import re
import types

import pytest

from tests.e2e.conftest import ROOT, V1, settings
from fairground.machine import machine
from fairground.study import experiment, runs
from fairground.study.runs import Run
from fairground.trace import trace

ABOUT = """\
Latency percentiles (usec) runtime 3 (s) ({nr} total samples)
\t50.0th: {p50} (300 samples)
\t75.0th: {p50} (150 samples)
\t90.0th: {p50} (90 samples)
\t95.0th: {p50} (30 samples)
\t*99.0th: {p99} (24 samples)
\t99.5th: {p99} (3 samples)
\t99.9th: {p99} (2 samples)
\tmin=2, max={p99}
"""


def shortened(script):
    """The published script with less of everything: each piece of it that is replaced must be there."""
    for old, new in (("schbench -r 30 -i -1", "schbench -m 1 -t 2 -r 1 -w 1 -i -1"), ("sleep 40", "sleep 2"),
                     ("sleep 5\n", "sleep 0.2\n"), ("-g 10 -f 10 -s 20000", "-g 1 -f 2 -s 20000")):
        assert old in script
        script = script.replace(old, new)
    return script


@pytest.mark.coarse
def test_the_published_script(boot):
    """It runs unchanged except for its length. Its one command that fails also fails on Linux: a directory for a
    file."""
    with open(os.path.join(ROOT, "examples", "fdl.sh"), encoding="utf-8") as f:
        script = shortened(f.read())
    after = "\nfor g in cfs fdl-loose fdl; do cat $CR/$g/cpu.deadline_rr $CR/$g/cpu.deadline_wakeup " \
            "$CR/$g/cpu.guaranteed_shares; done; sleep 0.1; pidof hackbench | wc -w; cat $CR/fdl/cpu.qos_debug"
    outcome = boot(script + after, sched="fdl", icount=True)
    assert outcome.status == 0, outcome.console
    console = outcome.console
    errors = [line for line in console.splitlines() if "/run/cmd" in line or "error" in line]
    assert len(errors) == 1 and errors[0].endswith("can't create /cg/antagonist: Is a directory")
    logs = re.findall(r"^==== (.*) ====\nwarmup done, zeroing stats\nLatency percentiles \(usec\) runtime 1 \(s\) "
                      r"\((\d+) total samples\)\n\t50.0th: ", console, re.M)
    assert [name for name, _ in logs] == ["cfs", "fdl loose", "fdl"] and all(int(nr) > 0 for _, nr in logs)
    assert "\n0\n0\n0\n5000000\n2500000\n7000\n200000\n100000\n7000\n0\n" in console
    assert int(re.search(r"^nr_dl_picks (\d+)$", console, re.M)[1]) > 0


def test_qos_params_take_what_they_show(guest):
    """FDL's tunables are lines of one file. A refused value changes nothing."""
    file = "/sys/kernel/debug/qos/qos_params"
    bad = ["dl_skip 0", "dl_skip x", "dl_skip", "nope 1", " 5", "latency_ns 5000000", "dl_slack 1025", "dl_skip 1 2"]
    console = guest(f"cat {file} > /tmp/before; " + "".join(f"echo '{text}' > {file} && echo taken; " for text in bad) +
                    f"cat {file} | diff /tmp/before - && echo unchanged; while read n v; do echo $n $v > {file} || "
                    f"echo refused; done < /tmp/before; cat {file} | diff /tmp/before - && echo unchanged; "
                    f"echo 'default_fair_dl 100000000' > {file}; cat {file}; ls /sys/kernel/debug/sched", sched="fdl")
    assert console.count("Invalid argument") == len(bad) and console.count("unchanged") == 2
    assert "taken" not in console and "refused" not in console
    assert re.search(r"^ +default_fair_dl 100000000$", console, re.M) and "dl_skip" not in console.split("\n")[-3]


def test_deadlines_are_told(guest):
    """A task's lines: its own deadline, which is none, and those of its groups. A CPU's lines: FDL's state of its
    queue."""
    console = guest(V1 + "mkdir a a/b; echo 5000000 > a/cpu.deadline_rr; (echo 0 > a/b/tasks; exec "
                    "hog -t 60s > /dev/null) & hog -t 60s > /dev/null & sleep 0.1; for p in $(pidof hog); do cat "
                    "/proc/$p/sched /proc/$p/cgroup; done; cat /sys/kernel/debug/sched/debug; kill -9 $(pidof hog)",
                    cpus=1, icount=True, sched="fdl")
    deadlines = {group: [int(ns) for ns in re.findall(r"^se->dl +: +(\d+)$", text, re.M)] for text, group in
                 re.findall(r"(se\.exec_start.*?)^1:cpu:(.*?)$", console, re.M | re.S)}
    assert deadlines["/"] == [0] and deadlines["/a/b"][:2] == [0, 0] and len(deadlines["/a/b"]) == 3
    now = int(re.search(r"^\[ +(\d+\.\d+)\] fairground: exit", console, re.M)[1].replace(".", "")) * 1000
    assert now - 100e6 < deadlines["/a/b"][2] < now + 5e6
    assert re.findall(r"^  \.fdl_nr_running +: (\d+)$", console, re.M) == ["1"]
    assert all(re.search(rf"^  \.{name} +: \d+\.\d+$", console, re.M) for name in ("vdt_lag", "fc_dl"))


def test_the_controller_is_there_while_anything_is_guaranteed(guest):
    ask = "ps | grep -c '[f]dl_control'; "
    console = guest(f"{V1}mkdir a b; {ask} echo 1024 > a/cpu.guaranteed_shares; echo 512 > "
                    f"b/cpu.guaranteed_shares; sleep 0.1; {ask} echo 0 > a/cpu.guaranteed_shares; sleep 0.1; {ask} "
                    f"rmdir b; sleep 0.1; {ask} echo 1 > a/cpu.guaranteed_shares; {ask} true", cpus=2, icount=True)
    assert re.findall(r"^\d$", console, re.M) == ["0", "1", "1", "0", "1"]


@pytest.mark.coarse
def test_a_guarantee_is_kept(guest):
    """Half a CPU for a group with 1024 shares beside one of three times as many: without it a quarter. The controller
    swings for some seconds, for it goes by an average over one."""
    report = "".join(f"cat $(sed 's,.*,/proc/&/schedstat,' {g}/tasks) | awk '{{s += $1}} END {{print \"{g}\", s}}'\n"
                     for g in "ab")
    console = guest(V1 + "mkdir a b; echo 3072 > b/cpu.shares; echo 512 > a/cpu.guaranteed_shares\n"
                    "echo 1000000 > a/cpu.deadline_rr\n(echo 0 > a/tasks; exec hog -n 2 -t 60s >/dev/null) &\n"
                    "(echo 0 > b/tasks; exec hog -n 2 -t 60s >/dev/null) &\n"
                    f"sleep 6\n{report}sleep 4\n{report}kill -9 $(pidof hog)", cpus=1, icount=True, sched="fdl")
    used = [float(ns) for ns in re.findall(r"^[ab] ([\d.e+]+)$", console, re.M)]
    assert abs((used[2] - used[0]) / (used[2] - used[0] + used[3] - used[1]) - 0.5) < 0.05, used


def of_groups(figures):
    return "".join(f"==== {name} ====\n{ABOUT.format(nr=600, p50=p50, p99=p99)}nr_dl_picks 7\n"
                   for name, (p50, p99) in figures.items())


def judged(name, figures):
    """The failed claims of the experiment @name if each case printed these percentiles, and the second run others."""
    module = experiment.load(name)
    cases = {case: module.measure(Run("kernel", "fdl", case, 3, "", of_groups(figures))) for case in module.cases}
    return [row["claim"] for row in (claim.judge({"kernel": {"fdl": cases}}) for claim in module.claims())
            if not row["pass"]]


def test_what_the_experiments_accept():
    """From schbench's output to the verdict: our own figures, and not the published ones."""
    good = {"cfs": (831, 22271), "fdl-loose": (316, 3055), "fdl": (10, 98)}
    crowded = {"cfs": (45055, 1458175), "fdl loose": (2463, 54271), "fdl": (903, 50687)}
    ratios = ["p50: cfs / fdl", "p99: cfs / fdl", "p99: cfs / fdl-loose", "p99: fdl-loose / fdl"]
    assert not judged("x1-fdl", good) and len(experiment.load("x1-fdl").seeds) == 6
    assert judged("x1-fdl-verbatim", crowded) == ["fdl-loose: samples", "fdl: samples"]
    assert judged("x1-fdl", {"cfs": (300, 19339), "fdl-loose": (52, 1722), "fdl": (49, 234)}) == \
        [*ratios, "cfs: p50, us", "fdl: p50, us", "fdl-loose: p99, us", "fdl: p99, us"]
    assert judged("x1-fdl", {**good, "cfs": (140, 2200)}) == [*ratios[:3], "cfs: p50, us", "cfs: p99, us"]
    assert judged("x1-fdl", {**good, "fdl-loose": (54, 200)}) == [*ratios[2:], "fdl-loose: p99, us"]
    assert judged("x1-fdl", {**good, "fdl-loose": (54, 20000)}) == [*ratios[2:], "fdl-loose: p99, us"]
    assert not judged("x2-fdl-control", {"cfs": (5, 12), "fdl-loose": (6, 13), "fdl": (6, 11)})
    assert judged("x2-fdl-control", {"cfs": (5, 14), "fdl-loose": (6, 12), "fdl": (6, 10)}) == \
        ["cfs: p99 off the mean of all", "fdl: p99 off the mean of all"]
    assert judged("x2-fdl-control", {"cfs": (64, 125), "fdl-loose": (74, 127), "fdl": (56, 125)}) == \
        [f"{group}: {p}, us" for p in ("p50", "p99") for group in ("cfs", "fdl-loose", "fdl")]


def test_what_is_made_twice_must_be_the_same(monkeypatch, tmp_path):
    """Two runs of a case that differ in one byte of the console do not pass."""
    module = experiment.load("x1-fdl-verbatim")
    text = of_groups({"cfs": (5, 125), "fdl loose": (5, 128), "fdl": (5, 118)})
    for second, same in ((text, 1), (text + " ", 0)):
        texts = iter((text, second))
        monkeypatch.setattr(runs, "run_unrecorded", lambda *_, texts=texts: next(texts))
        lab = runs.Lab(module, experiment.settings_of(module, {}), tmp_path)
        found = {"kernel": lab.results(("kernel",), ("fdl",))["kernel"]}
        claim = runs.claims_of(module)[-1].judge(found)
        assert claim["claim"] == "as-it-stands, run twice: the same bytes" and claim["values"] == {"kernel": same}
        assert claim["pass"] == bool(same)
    assert {path.name for path in tmp_path.iterdir()} == {f"fdl-as-it-stands-kernel{n}.log" for n in ("", "-again")}


def test_a_commit_between_two_runs_does_not_tell_them_apart(monkeypatch):
    """Both traces name the commit that the experiment began with: x3's two runs once differed in nothing else."""
    told = iter(("0123abc", "0123abc-dirty"))
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: types.SimpleNamespace(stdout=next(told)))
    machine.commit.cache_clear()
    try:
        first, second = (trace.about(settings("true")) for _ in range(2))
    finally:
        machine.commit.cache_clear()
    assert first == second and "Fairground 0123abc:" in first
