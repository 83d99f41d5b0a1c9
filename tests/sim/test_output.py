# SPDX-License-Identifier: GPL-2.0-only
"""Traces that trace-cmd reads, explanations, JSON, and bad options."""

import os
import re
import shutil
import subprocess

import pytest

from tests.sim.conftest import BUILD, SEC, policies

SWITCH = re.compile(r"\[(\d+)\] +([\d.]+): sched_switch: +(.*):(\d+) \[\d+\] (\S+) ==> (.*):(\d+) \[\d+\]")

FULL, LOST = "No space left on device", "a part of it was refused; is the disk full?"


def report(path):
    done = subprocess.run(["trace-cmd", "report", path], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if not line.startswith("cpus=")]


@pytest.mark.parametrize("words", ["hogs --time 10ms", "--list-policies", "--ops 100", "--help",
                                   "hogs --time 1s --explain 5ms"])
@pytest.mark.parametrize("where, why", [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_output_that_cannot_be_written(words, where, why):
    done = subprocess.run(f"{BUILD}/schedsim {words} {where}", shell=True, stderr=subprocess.PIPE, text=True,
                          check=False)
    assert (done.returncode, done.stderr) == (2, f"schedsim: the output cannot be written: {why}\n")


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
@pytest.mark.parametrize("option, name, taken", [
    ("--trace", "t.dat", 4096), ("--decisions", "d.json", 4096), ("--decisions", "d.bin", 4096),
    ("--decisions", "d.dat", 4096), ("--json", "r.json", 8192), ("--schedstat", "s.txt", 8192)])
def test_a_full_disk_keeps_no_half_file(option, name, taken):
    """In a box, one with 4 kB, or nothing, left."""
    words = f"head -c {taken} /dev/zero >/mnt/zeros; " \
            f"{BUILD}/schedsim --cpus 16 --time 1s hogs:n=60 {option} /mnt/{name}; echo status $?; ls /mnt"
    done = subprocess.run(["bwrap", "--dev-bind", "/", "/", "--size", "8192", "--tmpfs", "/mnt", "sh", "-c", words],
                          capture_output=True, text=True, check=False)
    assert done.stdout.endswith("status 2\nzeros\n"), done.stdout
    assert done.stderr == f"schedsim: {option} /mnt/{name}: cannot be written completely: {FULL}\n" or \
        done.stderr == f"schedsim: {option} /mnt/{name}: cannot be written completely: {LOST}\n"


def test_a_closed_output_is_not_the_trace(tmp_path):
    """A file that is opened gets the least free number, and what is printed would go into it."""
    path = tmp_path / "t.dat"
    subprocess.run(f"{BUILD}/schedsim --time 10ms --trace {path} hogs >&-", shell=True, stderr=subprocess.DEVNULL,
                   check=False)
    assert b"hogs" not in path.read_bytes()[-2000:] and report(path)


@pytest.mark.parametrize("sched", policies())
def test_trace_cmd_reads_the_trace(sim, tmp_path, sched):
    path = str(tmp_path / "t.dat")
    run = sim(f"--sched {sched} --cpus 2 --time 300ms bursts:n=3 hogs:n=2 forks", "--trace", path)
    lines = report(path)
    recorded = int(re.search(r"t\.dat: (\d+) events", run.out)[1])
    assert len(lines) == recorded
    switches = [SWITCH.search(line) for line in lines if "sched_switch" in line]
    assert all(switches) and len(switches) == run.result()["switches"]
    running = {}
    for m in switches:
        cpu = m[1]
        assert running.get(cpu, "0") == m[4], "the task that leaves is the one that came"
        running[cpu] = m[7]


def test_a_trace_in_a_pipe_is_that_of_a_file(tmp_path):
    """A pipe cannot say how much it was given; the file is padded to whole pages."""
    words = [f"{BUILD}/schedsim", "--cpus", "2", "--time", "100ms", "hogs:n=3", "--trace"]
    subprocess.run([*words, tmp_path / "run.dat"], check=True, capture_output=True, timeout=60)
    read, write = os.pipe()
    with open(read, "rb") as stream, subprocess.Popen([*words, f"/dev/fd/{write}"], pass_fds=[write],
                                                      stdout=subprocess.DEVNULL) as process:
        os.close(write)
        data = stream.read(1 << 24)
        stream.close()
        assert process.wait(60) == 0 and data == (tmp_path / "run.dat").read_bytes()


def test_trace_times_and_gaps(sim, tmp_path):
    """A gap of 5 s is more than the 27 bits between two events hold."""
    path = str(tmp_path / "t.dat")
    sim("--time 16s bursts:run=1ms,sleep=5s", "--trace", path)
    times = [float(SWITCH.search(line)[2]) for line in report(path) if "sched_switch" in line]
    assert times == pytest.approx([0, 0.001, 5.001, 5.002, 10.002, 10.003, 15.003, 15.004], abs=1e-6)


def test_trace_names_tasks(sim, tmp_path):
    path = str(tmp_path / "t.dat")
    sim("--time 50ms hogs:n=2 bursts", "--trace", path)
    assert any(re.match(r" +hog-1 ", line) for line in report(path))


def test_explain_a_preemption(sim):
    run = sim("--cpus 1 --explain 500ms hogs:n=3")
    assert re.search(r"decision on CPU 0 at 5\d\d\.\d{6} ms, in consequence of a tick: hog-\d should be preempted",
                     run.out)
    assert "sched_stat_runtime: comm=hog" in run.out and "runnable tasks:" in run.out
    assert re.search(r"picked: hog-\d, because ", run.out)


def test_explain_on_one_cpu(sim):
    run = sim("--cpus 4 --explain 100ms --explain-cpu 2 bursts:n=8,run=3ms,sleep=2ms")
    assert "decision on CPU 2 at " in run.out


def candidates(out):
    """The rows of the explanation's table: (picked, name, weight, vruntime, lag, eligible, deadline)."""
    row = r"^ ([> ]) +(\w+-\d+) +(\d+) +([\d.]+) +(-?[\d.]+)(?: +(yes|no) +(-?[\d.]+))?$"
    return re.findall(row, out, re.MULTILINE)


def test_explain_names_the_least_virtual_time(sim):
    """Under CFS without buddies that is the only rule. The sum of lag times weight is zero.

    The rows are the tree in its order, and then the task that runs.
    """
    run = sim("--sched cfs --explain 700ms hogs:n=2 hogs:n=2,nice=5")
    rows = candidates(run.out)
    assert len(rows) == 4 and rows[0][0] == ">" and f"picked: {rows[0][1]}, because it has the least" in run.out
    assert [float(row[3]) for row in rows[:3]] == sorted(float(row[3]) for row in rows[:3])
    assert float(rows[0][3]) <= float(rows[3][3])
    assert abs(sum(int(row[2]) * float(row[4]) for row in rows)) < 0.01


def test_explain_names_the_earliest_deadline(sim):
    run = sim("--sched eevdf --explain 700ms hogs:n=2 hogs:n=2,nice=5")
    rows = candidates(run.out)
    first = min((row for row in rows if row[5] == "yes"), key=lambda row: float(row[6]))
    assert len(rows) == 4 and first[0] == ">" and f"picked: {first[1]}, because of the eligible" in run.out


def test_explain_real_time_and_idle(sim):
    assert "because no task that is queued is more urgent" in sim("--explain 100ms periodic hogs").out
    assert "because nobody is queued" in sim("--explain 101ms bursts:run=1ms,sleep=9ms").out
    assert "no decision from" in sim("--explain 5s hogs:n=1").out


def test_json_says_how_it_was_made(sim):
    run = sim("--seed 5 --hz 1000 --time 1s --set latency_ns=12000000 hogs:n=2,nice=-3")
    data = run.data
    assert data["schema"] == "fairground-schedsim/1" and data["commit"]
    assert (data["seed"], data["hz"], data["duration_ns"]) == (5, 1000, SEC)
    assert data["command"].startswith("schedsim --json ") and data["command"].endswith("hogs:n=2,nice=-3")
    wait = run.row("hog")["wait_ns"]
    assert 0 < wait["p50"] <= wait["p99"] <= wait["max"]


def test_the_header_repeats_the_run(sim):
    head = sim("--seed 5 --cpus 2 --time 10ms hogs").out.splitlines()[:3]
    assert re.match(r"schedsim \S+: \S+; 2 CPUs, .*; HZ 250; seed 5; 10\.000 ms$", head[0])
    assert head[1].startswith("costs in ns: ") and "--seed 5 --cpus 2 --time 10ms hogs" in head[2]


def test_settings_take_effect(sim):
    """Slices of 48 ms instead of 3 (one CPU, two hogs)."""
    run = sim("--sched cfs --time 10s --set latency_ns=96000000 hogs:n=2")
    assert run.row("hog")["wait_ns"]["p50"] == 48_000_000
    lazy = sim("--sched cfs --time 1s --features NO_WAKEUP_PREEMPTION bursts:run=1ms,sleep=5700us hogs:n=1")
    quick = sim("--sched cfs --time 1s bursts:run=1ms,sleep=5700us hogs:n=1")
    assert quick.row("burst")["wakeup_ns"]["p99"] == 0 < lazy.row("burst")["wakeup_ns"]["p99"]


@pytest.mark.parametrize("words", [
    "--ops -1", "--ops 0", "--exhaustive 99", "--seed x --ops 5", "--sched lottery --ops 5"])
def test_bad_options_of_exploration_are_named(words):
    program = os.path.join(BUILD, "schedsim")
    done = subprocess.run([program, *words.split()], capture_output=True, text=True, check=False)
    option, value = words.split()[:2]
    assert done.returncode == 2 and done.stderr.startswith(f"schedsim: {option} {value}: ")
    assert done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize("words, message", [
    ("", "no workload given"),
    ("lottery", "no workload 'lottery'"),
    ("hogs:m=3", "has no parameter 'm'"),
    ("hogs:n=1,n=3", "'n' is here twice"),
    ("hogs:n=0", "n=0 is not a number"),
    ("hogs:n", "is not key=value"),
    ("hogs:nice=20", "nice=20 is not from -20 to 19"),
    ("hogs:policy=edf", "is none of normal"),
    ("hogs:policy=fifo,prio=100", "prio=100"),
    ("hogs:cpus=1", "is not a list of CPUs below 1"),
    ("bursts:run=-1ms", "is not a time"),
    ("bursts:run=3ms-1ms", "is not a time"),
    ("bursts:run=5parsec", "is not a time"),
    ("bursts:run=5", "is not a time"),
    ("periodic:period=0", "period of 0"),
    ("--sched lottery hogs", "no such policy"),
    ("--hz 300 hogs", "must be 100, 250 or 1000"),
    ("--seed -1 hogs", "must be a number"),
    ("--time -5s hogs", "must be a time"),
    ("--time 0 hogs", "must be a time"),
    ("--time 25h hogs", "must be a time"),
    ("--time 90000s hogs", "at most 24 hours"),
    ("--skew 1parsec hogs", "must be a time"),
    ("hotplug", "the only CPU stays in service"),
    ("--cpus 2 --time 1s hotplug:cpu=1 hotplug:cpu=1", "is so or the last"),
    ("--cost-switch -1 hogs", "must be a time"),
    ("--cost-tick 2s hogs", "at most 1s"),
    ("--set latency_ns hogs", "NAME=VALUE"),
    ("--set latency_ms=5 hogs", "no such tunable"),
    ("--set latency_ns=fast hogs", "or not a value for it"),
    ("--features NO_SUCH_THING hogs", "no such feature"),
    ("--explain yesterday hogs", "must be a time"),
    ("--swap 5ms hogs", "must be a time with a unit and a policy"),
    ("--swap yesterday/cfs hogs", "must be a time with a unit and a policy"),
    ("--swap 5ms/nobody --time 9ms hogs", "no policy is called nobody"),
    ("--swap 5ms/cfs --explain 1ms hogs", "--swap is of a whole run"),
    ("--explain 1s --explain-cpu 1 hogs", "the machine has 1 CPU"),
    ("--sched all --trace /tmp/x.dat hogs", "of one policy"),
    ("--trace /no/such/directory/x.dat --time 1ms hogs",
     "--trace /no/such/directory/x.dat: cannot be written: No such file or directory"),
    ("--decisions /no/such/directory/x.dat --time 1ms hogs", "--decisions /no/such/directory/x.dat: cannot be written"),
    ("--decisions /no/such/directory/x.json --time 1ms hogs", "cannot be written: No such file or directory"),
    ("--decisions /dev/full --time 9ms hogs:n=3", "cannot be written completely: No space left on device"),
    ("--schedstat /dev/full --time 1ms hogs", "--schedstat /dev/full: cannot be written completely: No space left"),
    ("--schedstat / --time 1ms hogs", "--schedstat /: cannot be written: Is a directory"),
    ("--trace /tmp/is-1 --decisions /tmp/../tmp/is-1 --time 1ms hogs", "/tmp/is-1 and /tmp/../tmp/is-1 are one file"),
    ("--trace x --schedstat ./x --time 1ms hogs", "x and ./x are one file; each output needs its own"),
    ("--decisions a --decisions b --time 1ms hogs", "--decisions b: there is --decisions a already"),
])
def test_bad_options(fails, words, message):
    assert message in fails(words)


def test_unknown_option(sim_status):
    status, err = sim_status("--frequency 3 hogs")
    assert status == 2 and "--frequency" in err


ALL_TABLES = ("--opp juno-a53 --governor schedutil --time 200ms group:name=a,deadline_rr=5ms,quota=50ms "
              "bursts:n=2,run=1ms,sleep=9ms,group=a hogs:n=1,nice=-5,slice=10ms")


@pytest.mark.parametrize("words", [ALL_TABLES, f"--sched all {ALL_TABLES}"])
def test_narrow_tables_fit_80_columns_and_say_the_same(sim, words):
    def cells(text):
        return sorted(re.findall(r"\d+\.\d\d+", text.split("\n\n", 1)[1]))

    wide, narrow = sim(words).out, sim(f"{words} --narrow").out
    lines = [line for line in narrow.splitlines() if not line.startswith("command: ")]
    assert max(map(len, wide.splitlines())) > 100
    assert [line for line in lines if len(line) > 80] == []
    assert cells(wide) == cells(narrow)


def test_a_narrow_table_does_not_change_what_is_recorded(sim, tmp_path):
    path, recorded = tmp_path / "run.dat", []
    for more in ((), ("--narrow",)):
        sim("--time 50ms hogs:n=2", "--trace", str(path), *more)
        recorded.append(path.read_bytes())
    assert recorded[0] == recorded[1]
