# SPDX-License-Identifier: GPL-2.0-only
"""`fairground stat`: its counts are those of an unmodified perf in the machine, and those that awk makes of
trace-cmd's report. Other commands that boot the machine print one object with --json, too."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.e2e.conftest import BUILD, ROOT, dynamic_program, settings
from fairground.trace import stat, trace
from fairground.machine.image import Image, memory_file
from fairground.machine.machine import Machine
from fairground.result import HEAD

pytestmark = pytest.mark.exact

needs_perf = pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
MARK = f"echo {stat.MARK} > /sys/kernel/tracing/trace_marker"


def command(*words, **more):
    return subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, *map(str, words)], capture_output=True,
                          text=True, check=False, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools"), **more})


def rows(*words):
    done = command("stat", "--json", "--kvm", "0", "--icount", "1", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def counted(image, system_wide=False):
    """What stat counts of the task that made the mark, or of the machine while it lived."""
    found = stat.Stat({f.name: f for f in image.formats.values()}, 0, follow_mark=True, system_wide=system_wide)
    for event in image.events():
        if event.format.name in stat.EVENTS:
            found.take(event)
    return found


def traced(script, tmp_path, cpus=2):
    """perf runs @script in the machine. Its table, and the rings."""
    put, files = dynamic_program(shutil.which("perf"), most=40)
    ram = str(tmp_path / "ram")
    run = settings(f"{put} export HOME=/root; cd /tmp; set -e; {script}", cpus=cpus, icount=True, mem=1024, files=files)
    with Machine(trace.with_tracing(run, ram, stat.RECORDED)) as machine:
        outcome = machine.run()
    assert outcome.status == 0, outcome.console
    return outcome.console.split("Performance counter stats")[1], Image(memory_file(ram))


@needs_perf
@pytest.mark.parametrize("what, least", [("hack -g 1 -l 5", 100), ("hog -n 3 -t 30ms", 5)])
def test_switches_of_a_command_are_perfs(what, least, tmp_path):
    """perf counts the same processes: the shell makes the mark before it becomes the program."""
    told, image = traced(f"/root/perf stat -e context-switches sh -c '{MARK}; exec {what}'", tmp_path)
    found = counted(image)
    switches = sum(counts.switches for counts in found.by.values())
    assert switches == int(re.search(r"(\d+) +context-switches", told)[1]) > least
    # The shell's begin is before the mark. What a task needs after its exit to leave is perf's alone.
    elapsed, user, system = map(float, re.findall(r"([\d.]+) seconds", told))
    tasks = len({pid for _, pid in found.by})
    assert 0 < elapsed - (found.end - found.start) / 1e9 < 0.002
    assert 0 <= user + system - sum(counts.clock_ns for counts in found.by.values()) / 1e9 < 0.001 + 50e-6 * tasks


@needs_perf
def test_switches_of_all_cpus_are_perfs(tmp_path):
    """perf counts from a little before the mark to a little after the end: two switches or so on a CPU."""
    told, image = traced(f"/root/perf stat -a -A -e context-switches sh -c '{MARK}; exec hack -g 1 -l 5'", tmp_path)
    found = counted(image, system_wide=True)
    perfs = [int(number) for number in re.findall(r"^CPU\d +(\d+) +context-switches", told, re.MULTILINE)]
    ours = [sum(counts.switches for (at, _), counts in found.by.items() if at == cpu) for cpu in range(2)]
    assert len(perfs) == 2 and min(ours) > 100 and all(0 <= one - other <= 5 for one, other in zip(perfs, ours))


# By hand: tasks that a task started; switches from them, moves before they ran again, and their time.
AWK = r"""
function field(name,    all) { match($0, "[ \t]" name "=[^ ]*"); all = substr($0, RSTART, RLENGTH)
    sub(/.*=/, "", all); return all }
function ns(text,    part) { split(text, part, "."); return part[1] * 1000000000 + part[2] }
{ match($0, /\[[0-9]+\]/); cpu = substr($0, RSTART + 1, RLENGTH - 2); match($0, / [0-9]+\.[0-9]+:/)
  now = ns(substr($0, RSTART + 1, RLENGTH - 2)) }
/ sched_process_fork:/ && (field("parent_pid") in ours) { ours[field("child_pid")] }
/ sched_process_exit:/ && (field("pid") in ours) { pid = field("pid"); clock += now - since[pid]; ended[pid] }
/ sched_migrate_task:/ { moved[field("pid")] }
/ sched_switch:/ { prev = field("prev_pid"); came = field("next_pid")
    if ((prev in ours) && !(prev in ended)) { switches++; clock += now - since[prev] }
    if (came in moved) { migrations += came in ours; delete moved[came] }
    since[came] = now }
END { printf "%d %d %d\n", switches, migrations, clock }
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A trace of hogs that a shell starts, and that shell's number."""
    out = tmp_path_factory.mktemp("stat") / "x.dat"
    done = command("trace", "--smp", "2", "--icount", "1", "--kvm", "0", "--out", out, "--events", "sched:*",
                   "--cmd", "sh -c 'echo shell $$; hog -n 3 -t 60ms; hack -g 1 -l 3'; hog -n 1 -t 10ms")
    assert done.returncode == 0, done.stderr
    return out, int(re.search(r"^shell (\d+)", done.stdout, re.MULTILINE)[1])


@pytest.mark.skipif(not shutil.which("trace-cmd"), reason="trace-cmd is not installed")
def test_counts_of_a_trace_are_those_of_its_report(recorded):
    out, shell = recorded
    text = subprocess.run(["trace-cmd", "report", "-t", "-R", out], capture_output=True, text=True, check=True).stdout
    told = subprocess.run(["awk", f"BEGIN {{ ours[{shell}] }} {AWK}"], input=text, capture_output=True, text=True,
                          check=True).stdout
    switches, migrations, clock = map(int, told.split())
    row, = json.loads(command("stat", "--json", "--pid", shell, out).stdout)["rows"]
    assert (row["context_switches"], row["cpu_migrations"]) == (switches, migrations) and switches > 200 < clock
    assert round(row["task_clock_ms"] * 1e6) == clock


def test_lines_add_up(recorded):
    out, shell = recorded
    whole, = json.loads(command("stat", "--json", out).stdout)["rows"]
    of_pid, = json.loads(command("stat", "--json", "--pid", shell, out).stdout)["rows"]
    assert of_pid["context_switches"] < whole["context_switches"]
    for option in ("--per-thread", "--no-aggr"):
        parts = json.loads(command("stat", "--json", option, out).stdout)["rows"]
        assert len(parts) > 1 and len({row["of"] for row in parts}) == len(parts)
        for name in ("context_switches", "cpu_migrations", "task_clock_ms"):
            assert sum(row[name] for row in parts) == pytest.approx(whole[name], abs=1e-6)
    cpus = json.loads(command("stat", "--json", "--all", "--no-aggr", out).stdout)["rows"]
    assert [row["of"] for row in cpus] == ["CPU0", "CPU1"] and all(row["cpus_utilized"] == 1 for row in cpus)
    text = command("stat", "--all", "--no-aggr", out).stdout
    for row in cpus:
        assert re.search(rf"^{row['of']} +{row['context_switches']:,} +context-switches", text, re.MULTILINE)


def test_a_command_is_counted_from_its_begin_to_its_end():
    row, = rows("--smp", "1", "--cmd", "usleep 5000; hog -n 1 -t 20ms > /dev/null")
    assert 20 < row["task_clock_ms"] < 23 and 25 < 1e3 * row["elapsed_s"] < 29
    assert row["instructions"] == round(row["task_clock_ms"] * 1e6) and row["page_faults"] is None
    nothing, = rows("--smp", "1", "--cmd", ":")
    assert nothing["task_clock_ms"] < 0.2 and not nothing["context_switches"]


def test_runs_of_many_seeds_have_a_mean_and_its_error():
    words = ("--smp", "2", "--cmd", "hack -g 1 -l 5", "--seeds", "1..3")
    each = [row["context_switches"] for row in rows(*words)]
    assert len(each) == 3 and len(set(each)) > 1
    done = command("stat", "--kvm", "0", "--icount", "1", *words)
    mean, error = re.search(r"^ +([\d,]+) +context-switches .*\( \+- +([\d.]+)% \)$", done.stdout, re.M).groups()
    centre = sum(each) / 3
    assert int(mean.replace(",", "")) == round(centre) and "(3 runs)" in done.stdout
    assert "\nAgain: make stat SMP=2 " in done.stdout and " ARGS='--seeds 1..3'\n" in done.stdout
    deviation = (sum((one - centre) ** 2 for one in each) / 2 / 3) ** 0.5
    assert float(error) == pytest.approx(100 * deviation / centre, abs=0.006)


def test_the_status_is_that_of_the_command():
    done = command("stat", "--icount", "1", "--kvm", "0", "--cmd", "exit 7")
    assert done.returncode == 7 and "seconds time elapsed" in done.stdout


@pytest.mark.parametrize("words, message", [
    ((), "either a FILE is expected"), (("x.dat", "--cmd", "true"), "either a FILE is expected"),
    (("--cmd", "true", "--pid", "7"), "--pid is for a FILE"), (("x.dat", "--seeds", "1..3"), "--seeds for a command"),
    (("x.dat", "--per-thread", "--no-aggr"), "cannot stand beside"), (("--cmd", "true", "--no-aggr"), "needs --all"),
    (("--cmd", "true", "--seeds", "none"), "--seeds none"), (("x.dat",), "x.dat: No such file")])
def test_what_is_not_possible_is_one_sentence(words, message):
    done = command("stat", *words, CMD="", SEEDS="")
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_task_that_is_not_there_is_one_sentence(recorded):
    done = command("stat", "--pid", "31000", recorded[0])
    assert done.returncode == 2 and "none of the tasks 31000 runs in this trace" in done.stderr and not done.stdout


@pytest.mark.parametrize("words", [
    "run --cmd 'echo hello'", "trace --cmd true --out {to}/x.dat", "repeat --runs 2 --smp 1 --cmd true",
    "bench --cmd 'bench yield_alone'", "stat --cmd true",
    "first-difference cfs eevdf --smp 1 --cmd 'hog -n 3 -t 100ms'"])
def test_one_object_with_json(words, tmp_path):
    done = command(*shlex.split(words.format(to=tmp_path)), "--icount", "1", "--kvm", "0", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found)[:6] == [*HEAD, "command"] and list(found)[-1] == "rows" and found["rows"], found
    assert found["hz"] == 250 and found["seed"] == 1 and "cfs" in found["sched"]
    if words.startswith("run"):
        assert found["rows"][0]["status"] == 0 and "hello" in found["rows"][0]["console"] and "hello" in done.stderr
