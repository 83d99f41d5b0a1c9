# SPDX-License-Identifier: GPL-2.0-only
"""The frame of all judges: a file that cannot be judged is refused with a sentence. And the judge of load averages."""

import json
import os

import pytest
from tests.sim.conftest import ROOT

from asking import ask

JUDGES = ("judge", "judge_averages", "judge_balance", "judge_class", "judge_cpu", "judge_quota")
LOAD = ("hogs:n=3 bursts:n=2,run=1ms,sleep=2ms forks:n=1,work=300us hogs:n=1,policy=rr group:name=q,quota=2ms,"
        "period=10ms bursts:n=2,run=2ms,sleep=1ms,group=q")
REFUSED, BURST = 2, 3  # a status, a pid


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A file of decisions of every kind, as lines."""
    path = tmp_path_factory.mktemp("judging") / "d.json"
    assert os.system(f"{os.environ.get('B', 'build')}/schedsim --cpus 2 --time 60ms --decisions {path} {LOAD} "
                     "> /dev/null") == 0
    return path.read_text(encoding="utf-8").splitlines()


def cut(lines):
    return "\n".join(lines)[:-20]


def ended(lines):
    """The file of a run that made no more than the decisions in @lines, which begin with its header."""
    return "\n".join([*lines, json.dumps({"kind": "end", "decisions": len(lines) - 1})]) + "\n"


def changed(lines, number, **values):
    row = json.loads(lines[number]) | values
    return "\n".join([*lines[:number], json.dumps(row), *lines[number + 1:]]) + "\n"


def policies_changed(lines):
    """Every decision was made by a policy that nobody knows."""
    rows = [json.loads(line) for line in lines[1:]]
    texts = [json.dumps(row | {"policy": "luck"} if "policy" in row else row) for row in rows]
    return "\n".join([lines[0], *texts]) + "\n"


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("damage", "message"), [
    (cut, "cut off"),
    (lambda lines: changed(lines, 0, schema="fairground-decisions/2"), "fairground-decisions/2"),
    (lambda lines: changed(lines, 0, schema=7), "not a file of decisions"),
    (lambda lines: changed(lines, 0, cpus="two"), "how many CPUs"),
    (lambda lines: "\n".join([*lines[:5], "{]", *lines[6:]]) + "\n", "line 6 is not a decision"),
    (lambda lines: "\n".join([*lines[:5], "7", *lines[6:]]) + "\n", "line 6 is not a decision"),
    (lambda lines: "", "empty"),
    (lambda lines: "\0\n" * 40, "not a file of decisions"),
], ids=["cut", "version", "no-version", "no-cpus", "no-json", "no-object", "empty", "zeros"])
def test_a_damaged_file_is_refused_with_a_sentence(lines, tmp_path, judge, damage, message):
    path = tmp_path / "d.json"
    path.write_text(damage(lines), encoding="utf-8")
    answer = ask(judge, path)
    assert (answer.status, answer.table, answer.complaints) == (REFUSED, {}, [])
    assert message in answer.err and answer.err.count("\n") == 1 and answer.err.startswith(f"{path}: ")


@pytest.mark.parametrize("judge", JUDGES)
def test_bytes_that_are_no_text_are_refused(lines, tmp_path, judge):
    path = tmp_path / "d.json"
    path.write_bytes("\n".join(lines[:4]).encode() + b"\n\xff\xfe\n" + "\n".join(lines[4:]).encode() + b"\n")
    answer = ask(judge, path)
    assert answer.status == REFUSED and answer.err.count("\n") == 1 and "line 5 is not a decision" in answer.err


@pytest.mark.parametrize("judge", JUDGES)
def test_a_file_that_is_not_there_is_refused(tmp_path, judge):
    answer = ask(judge, tmp_path / "none.json")
    assert answer.status == REFUSED and "No such file" in answer.err and answer.err.count("\n") == 1


@pytest.mark.parametrize("judge", JUDGES)
def test_a_file_without_decisions_is_no_success(lines, tmp_path, judge):
    path = tmp_path / "d.json"
    path.write_text(ended(lines[:1]), encoding="utf-8")
    answer = ask(judge, path)
    assert answer.status == REFUSED and answer.err == f"{path}: it has no decision for this judge\n"


@pytest.mark.parametrize("judge", ["judge", "judge_class"])
def test_a_policy_that_nobody_knows_is_refused(lines, tmp_path, judge):
    path = tmp_path / "d.json"
    path.write_text(policies_changed(lines), encoding="utf-8")
    answer = ask(judge, path)
    assert answer.status == REFUSED and "no policy is called 'luck'" in answer.err and answer.err.count("\n") == 1


@pytest.mark.sampled(1, "a judge that knows HZ without the file")
@pytest.mark.parametrize("judge", JUDGES)
def test_ticks_are_those_that_the_file_tells(lines, tmp_path, judge):
    path = tmp_path / "d.json"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert ask(judge, path, "--hz", "250") == ask(judge, path)
    answer = ask(judge, path, "--hz", "1000")
    assert answer.status == REFUSED and answer.err == f"{path}: the run had 250 ticks a second: leave out --hz 1000\n"


def test_the_file_s_own_ticks_count(sim, tmp_path):
    """A slice of SCHED_RR, 100 ms, has ten ticks at 100 a second and a hundred at 1000."""
    path = tmp_path / "d.json"
    sim(f"--cpus 1 --hz 1000 --time 400ms --decisions {path} hogs:n=2,policy=rr")
    answer = ask("judge_class", path)
    assert answer.status == 0 and answer.table["rr", "tick"][0] > 300
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"hz": 1000', '"hz": 100', 1), encoding="utf-8")
    assert ask("judge_class", path).table["rr", "tick"][2] > 1


def test_a_tunable_that_no_rule_knows_is_refused(lines, tmp_path):
    path = tmp_path / "d.json"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = ask("judge", path, "--set", "latency=5")
    assert answer.status == REFUSED and "latency_ns" in answer.err and answer.err.count("\n") == 1


# --- load averages --------------------------------------------------------------------------------------------------

# Tasks that end, sleepers that stay queued, scores that change weights, tasks that move.
BUSY = "hogs:n=3 bursts:n=3,run=3ms,sleep=2ms hogs:nice=5 forks:n=1,work=300us bursts:n=3,run=300us,sleep=1ms"


@pytest.mark.sampled(2, "a load of one policy that its model does not have")
@pytest.mark.parametrize("policy", ["cfs", "bore-cfs", "eevdf", "bore", "fdl"])
def test_every_load_is_right(sim, tmp_path, policy):
    path = tmp_path / "d.json"
    sim(f"--sched {policy} --cpus 2 --time 200ms --seed 3 --decisions {path} {BUSY}")
    answer = ask("judge_averages", path)
    assert (answer.status, answer.complaints, answer.err) == (0, [], "")
    right, unjudged, wrong = answer.table["load", "wakeup"]
    assert right > 100 and wrong == 0 and unjudged < right / 20


@pytest.mark.sampled(2, "a wrong load that its judge overlooks")
@pytest.mark.parametrize("policy", ["cfs", "eevdf"])
@pytest.mark.parametrize("part", [0.5, 2])
@pytest.mark.parametrize("of", ["wakee", "cpu"])
def test_one_wrong_load_is_seen(sim, tmp_path, policy, part, of):
    path = tmp_path / "d.json"
    sim(f"--sched {policy} --cpus 2 --time 100ms --seed 3 --decisions {path} hogs:n=5 bursts:n=3,run=3ms,sleep=2ms")
    lines = path.read_text(encoding="utf-8").splitlines()
    number, d = [(n, d) for n, d in enumerate(map(json.loads, lines)) if d.get("kind") == "select" and d["why"] & 8][-1]
    row = d if of == "wakee" else next(cpu for cpu in d["cpus"] if not cpu["flags"] & 1)
    row["load"] = int(row["load"] * part)
    lines[number] = json.dumps(d)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = ask("judge_averages", path)
    assert answer.status == 1 and answer.table["load", "wakeup"][2] == 1


def test_a_load_is_missing_only_where_a_task_may_have_ended(sim, tmp_path):
    """A sleeper whose load is gone wakes up later: it had not ended. Without that the file does not tell."""
    path = tmp_path / "d.json"
    sim(f"--cpus 2 --time 100ms --decisions {path} hogs:n=2,cpus=0 bursts:n=1,run=4ms,sleep=3ms,cpus=0 "
        "bursts:n=1,run=100us,sleep=1ms")
    assert ask("judge_averages", path).status == 0
    lines = path.read_text(encoding="utf-8").splitlines()
    asleep, found = False, []  # the burst of CPU 0; wakeups of the other one meanwhile
    for number, d in enumerate(map(json.loads, lines)):
        if d.get("pid") == BURST and d["kind"] in ("leave", "place"):
            asleep = d["kind"] == "leave"
        elif asleep and d["kind"] == "select" and d["why"] & 8:
            found.append((number, d))
    at, wakeup = found[len(found) // 2]
    next(cpu for cpu in wakeup["cpus"] if cpu["of_cpu"] == 0)["load"] -= 500
    lines[at] = json.dumps(wakeup)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = ask("judge_averages", path)
    assert answer.status == 1 and answer.table["load", "wakeup"][2] == 1 and "load of CPU 0" in answer.complaints[0]
    path.write_text(ended(lines[:at + 1]), encoding="utf-8")
    answer = ask("judge_averages", path)
    assert answer.status == 0 and answer.table["load", "wakeup"][2] == 0
