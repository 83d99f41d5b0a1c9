# SPDX-License-Identifier: GPL-2.0-only
"""--json: every command that prints a result has it, or a reason; one object of one form, and nothing else on stdout.

A command that reads files or simulates is tried with its own examples, which its module has. Commands that boot the
machine are tested in tests/e2e/test_stat.py.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("B", "build")
LINUX = ROOT / "tests/sim/linux-6.1.dat"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

from tests.sim.conftest import fairground
from fairground.trace import top
from fairground.__main__ import main, make_parser
from fairground.helps import leaves, parsers
from fairground.result import HEAD
from fairground.words import COMMANDS, read

NO_OBJECT = {name: read(name)[0].no_object for name in COMMANDS if read(name)[0].no_object}

BOOTS = {name for name in COMMANDS if "image" in read(name)[0].built.split()}
# The files that examples of commands name -> their policy, and the simulator's option that writes them.
FILES = {"hack.dat": ("cfs", "--trace"), "cfs.dat": ("cfs", "--trace"), "eevdf.dat": ("eevdf", "--trace"),
         "run.json": ("cfs", "--decisions"), "quota.json": ("cfs", "--decisions")}
EXAMPLES = [f"{name} {words}" for name in COMMANDS if name not in BOOTS and name not in NO_OBJECT
            for words, _ in read(name)[0].examples]
# More: command -> its words, and what its head says: of a trace of the simulator, of Linux, of several policies
CASES = {
    "map": (f"map {LINUX}", None), "stat": ("stat {dat} --per-thread", "cfs"),
    "graph": ("graph share {dat} -o {to}/x.svg", "cfs"), "graph of two": ("graph lag {json} {other} -o {to}/x.svg",
                                                                           "cfs,eevdf"),
    "compare": ("compare cfs bore 'hogs:n=3' --seeds 1..3 --time 20ms", "cfs,bore"),
    "scenarios": ("scenarios F-03 --scheds cfs", "cfs"), "experiment": ("experiment", None),
    "experiments": ("experiments x10-boost-groups --hosts simulator --seconds 1 --out {to}/all", None),
    "sweep": ("sweep {grid} --workers 1 --store {to}/store --out {to}/x.parquet", "cfs"),
}
GRID = """title = "One cell"
policies = ["cfs"]
workloads = ["hogs:n=2"]
topologies = ["1x1x2x1"]
time = "10ms"
"""


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """What stands for {dat} and the like: runs of the simulator, and a directory."""
    to = tmp_path_factory.mktemp("json")
    found = {"dat": to / "run.dat", "json": to / "run.json", "other": to / "other.json", "grid": to / "grid.toml",
             "to": to}
    for sched, out, option in (("cfs", "dat", "--trace"), ("cfs", "json", "--decisions"),
                               ("eevdf", "other", "--decisions")):
        simulate(sched, option, found[out])
    found["grid"].write_text(GRID)
    return found


def simulate(sched, option, out):
    subprocess.run([f"{BUILD}/schedsim", "--sched", sched, "--cpus", "2", "--time", "40ms", option, out, "hogs:n=10"],
                   check=True, capture_output=True)


def command(words, places, cwd=ROOT):
    return subprocess.run([PYTHON, "-m", "fairground", "--build", os.path.abspath(BUILD),
                           *shlex.split(words.format(**places))], capture_output=True, text=True, check=False, cwd=cwd,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})


def test_every_command_has_it_or_a_reason():
    assert {*BOOTS, *(words.split()[0] for words in EXAMPLES), *NO_OBJECT} == set(COMMANDS)
    assert all(len(reason) > 10 for reason in NO_OBJECT.values())
    for path, sub in parsers(make_parser()):
        for leaf in leaves(sub) if path in COMMANDS and path not in NO_OBJECT else ():
            assert "--json" in leaf.format_usage(), path


@pytest.mark.parametrize("words", EXAMPLES)
def test_the_examples_of_a_command_have_it(words, tmp_path):
    used = [name for name in FILES if name in words.split()]
    for name in used:
        simulate(*FILES[name], tmp_path / name)
    done = command(words + " --json", {}, tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found)[:6] == [*HEAD, "command"] and list(found)[-1] == "rows"
    assert found["rows"] and all(isinstance(row, dict) for row in found["rows"])
    assert not used or found["sched"] == ",".join(dict.fromkeys(FILES[name][0] for name in used))


@pytest.mark.parametrize("name", CASES)
def test_one_object_of_one_form(name, places):
    words, sched = CASES[name]
    if name == "sweep":
        pytest.importorskip("distributed")
    done = command(words + " --json", places)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert list(found)[:6] == [*HEAD, "command"] and list(found)[-1] == "rows"
    assert found["sched"] == sched and found["rows"] and all(isinstance(row, dict) for row in found["rows"])
    program = f"fairground --build {os.path.abspath(BUILD)} {words.split()[0]}"
    assert found["command"].endswith(" --json") and program in found["command"]
    if sched == "cfs" and name != "scenarios":
        assert (found["hz"], found["seed"]) == (250, 1) and found["commit"]


def test_without_it_the_text_alone(places):
    for words in ("latency {dat}", "map {dat}", "timehist {dat}", "stat {dat}"):
        done = command(words, places)
        assert done.returncode == 0 and not done.stderr and '"rows"' not in done.stdout


def test_tables_say_which_run_is_in_the_trace(places):
    """The run's commit, policy, machine and seed, and its command; of a trace of Linux the system alone."""
    for name in ("latency", "map", "timehist", "timehist --summary", "stat"):
        lines = command(name + " {dat}", places).stdout.splitlines()
        assert re.fullmatch(r"run\.dat: schedsim \S+: cfs; 2 CPUs, .*; HZ 250; seed 1; 40\.000 ms", lines[0]), lines[0]
        assert lines[1].startswith("command: schedsim --sched cfs --cpus 2 --time 40ms ") and len(lines) > 5
        first, second, *_ = command(f"{name} {LINUX}", places).stdout.splitlines()
        assert first == "linux-6.1.dat: Linux (none) 6.1.0-50-cloud-amd64 x86_64" and "command:" not in second


def test_rows_are_the_tables_numbers(places):
    text, found = command("latency {dat} --pids", places).stdout, json.loads(
        command("latency {dat} --pids --json", places).stdout)
    for row in found["rows"]:
        assert f"{row['run_ns'] / 1e6:11.3f} ms |{row['switches']:9} |" in text
    text, found = command("map {dat}", places).stdout, json.loads(command("map {dat} --json", places).stdout)
    assert len(found["rows"]) == text.count(" secs") > 5
    turns = json.loads(command("timehist {dat} --json", places).stdout)["rows"]
    tasks = json.loads(command("timehist {dat} --summary --json", places).stdout)["rows"]
    assert sum(row["run_ns"] for row in tasks) == sum(row["run_ns"] for row in turns if row["pid"]) > 30e6


@pytest.mark.parametrize("words", [
    "latency {bad}", "timehist {bad}", "map {bad}", "stat {bad}", "graph share {bad} -o {to}/bad.svg",
    "graph lag {bad} -o {to}/bad.svg", "graph histogram {bad} -o {to}/bad.svg", "convert {bad} -o {to}/bad.csv",
    "report {to}/bad.html {bad}", "decisions {bad}", "decisions --diff {bad} {json}",
    "decisions {bad} --kind select", "top --attach {bad}"])
@pytest.mark.parametrize("content", [None, b"", b"no trace, no decisions", b"\x17\x08\x44tracing6\0\0\x08"])
def test_a_file_that_cannot_be_read_is_status_2(words, content, places, tmp_path):
    bad = tmp_path / "bad.dat"
    if content is not None:
        bad.write_bytes(content)
    done = fairground(*words.format(**{**places, "bad": bad}).split())
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1, done
    assert done.stderr.startswith("fairground: ") and str(bad) in done.stderr


@pytest.mark.parametrize("words", ["latency {dat}", "timehist {dat}", "map {dat}", "stat {dat}"])
def test_a_reader_that_has_seen_enough_is_no_bad_file(words, places):
    """Nothing is said about the trace where the table has no reader any more, as behind `head`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([PYTHON, "-m", "fairground", *words.format(**places).split()], stdout=writer,
                          stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT / "tools")}, check=False)
    os.close(writer)
    assert done.stderr == b"" and done.returncode == 128 + signal.SIGPIPE


def test_top_tells_nothing_of_its_file_either(monkeypatch):
    def attach(*_):
        raise BrokenPipeError

    monkeypatch.setattr(top, "attach", attach)
    with pytest.raises(BrokenPipeError):
        main(["--build", BUILD, "top", "--attach", str(LINUX)])


def test_an_error_is_one_sentence_and_no_object(places):
    done = command("latency {to}/none.dat --json", places)
    assert done.returncode == 2 and not done.stdout and done.stderr.count("\n") == 1
    done = command("stat {dat} --seeds 1..3 --json", places)
    assert done.returncode == 2 and not done.stdout and "--seeds for a command" in done.stderr
