# SPDX-License-Identifier: GPL-2.0-only
"""experiments/*.toml: what is read, what is refused and where, what each key does, and one table of several."""

import json
import re
from dataclasses import replace

import pytest

from tests.sim.conftest import BUILD
from fairground.study import all_experiments, experiment, experiment_file, runs
from fairground.__main__ import main
from fairground.study.claims import verdict
from fairground.study.experiment_file import Experiment, load, names
from fairground.study.expressions import BadExpression, evaluate, fill, loop
from fairground.base.settings import UsageError
from fairground.base.tomlfile import lines_of

TEXT = '''\
title = "Two hogs"
source = "arithmetic"
policies = ["cfs", "eevdf"]
seconds = 1
events = ""
timeout = 77

[machine]
smp = 1
hz = 1000

[values]
tasks = 2

[tunables]
latency_ns = 20_000_000

[[case]]
for = { nice = [0, 5] }
when = "nice < 9"
name = "nice@{nice}"
features = ["NO_WAKEUP_PREEMPTION"]

[kernel]
command = "hog -n @{tasks} -t @{seconds}s"

[simulator]
time = "@{seconds}s"
costs = { switch = "1us" }
workload = "hogs:n=@{tasks} hogs:n=1,nice=@{nice}"

[metrics]
runs = { text = "turns", value = 'total("([0-9]+)")' }

[[claim]]
for = { case = "cases" }
text = "@{case}: turns"
policies = ["cfs"]
published = 10
line = 7
value = 'r["cfs"][case]["runs"]'
form = "{:.1f}"
near = 0.05
'''


def made(text, tmp_path, name="x99-hogs"):
    path = tmp_path / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return Experiment(path)


def refused(text, tmp_path):
    with pytest.raises(UsageError) as error:
        made(text, tmp_path)
    return str(error.value).removeprefix(f"{tmp_path}/x99-hogs.toml:")


@pytest.mark.parametrize("old, new, message", [
    ("seconds = 1\n", "secs = 1\n", "4: unknown key secs in the file; is seconds meant?"),
    ("hz = 1000", "herz = 1000", "10: unknown key herz in machine; is hz meant?"),
    ("published = 10", "publish = 10", "39: unknown key publish in claim; is published meant?"),
    ("costs =", "cost =", "29: unknown key cost in simulator; is costs meant?"),
    ('title = "Two hogs"', "title = 3", "1: title in the file is a text"),
    ("seconds = 1\n", "", "1: the file lacks the key seconds"),
    ("tasks = 2", "tasks = 2\nidle = 3", "14: the value idle is used nowhere"),
    ("near = 0.05", "near = 0.05\nequals = 3", "35: a claim has one bound at most"),
    ("line = 7\n", "", "35: a published value needs the line of the source where it stands"),
    ("near = 0.05", "min = 3", "43: unknown key min in claim"),
    ("near = 0.05", "holds = 'v > 3'", "35: a claim has one bound at most, and `holds` its words in `bound`"),
    ('events = ""', 'events = ""\ntwice = ["nice7"]', "6: twice: the kernel has no case nice7"),
    ('events = ""', 'events = ""\ncode = "nothing"', "6: there is no tools/fairground/experiments/nothing.py"),
    ('"nice@{nice}"', '"nice@{nize}"', "18: 'nize': name 'nize' is not defined"),
    ('when = "nice < 9"', 'when = "nice.real"', "18: 'nice.real' has a part that expressions do not have: nice.real"),
    ("workload =", 'rtapp = "x"\nworkload =', "27: simulator has either a workload or rtapp"),
])
def test_a_mistake_is_told_with_its_line(tmp_path, old, new, message):
    assert old in TEXT
    assert refused(TEXT.replace(old, new, 1), tmp_path).startswith(message)


def test_a_file_that_is_no_toml_is_named(tmp_path):
    assert refused(TEXT + "x = \n", tmp_path) == " Invalid value (at line 44, column 5)"


def test_lines_of_tables_keys_and_long_texts():
    text = 'a = 1\n[b]\nc = """\nd = 2\n[e]\n"""\nf = [\n  1, # ]\n]\n[[g]]\nh = 1\n[[g]]\nfor."i, j" = 3\n'
    assert lines_of(text) == {(): 1, ("a",): 1, ("b",): 2, ("b", "c"): 3, ("b", "f"): 7, ("g", 0): 10,
                              ("g", 0, "h"): 11, ("g", 1): 12, ("g", 1, "for", "i, j"): 13}


def answers(of):
    """All that an experiment may do, as one text."""
    one = next(iter(of.cases))
    claim = of.claims()[0]
    return repr((of.title, of.source, of.policies, of.seconds, of.timeout, of.events, of.machine, list(of.cases),
                 [of.runs(host, "cfs", case) for host in of.hosts for case in of.cases], of.kernel(one, 2),
                 of.workload(one, 2), of.simulate(one, 2), of.metrics(),
                 [claim.text, claim.published, claim.bound, claim.needs, claim.form, claim.holds(10.4)],
                 of.measure(runs.Run("kernel", "cfs", one, 2, "", "1 2 3"))))


@pytest.mark.parametrize("old, new", [
    ('"Two hogs"', '"Three hogs"'), ('"arithmetic"', '"physics"'), ('["cfs", "eevdf"]', '["cfs", "bore"]'),
    ("seconds = 1", "seconds = 2"), ('events = ""', 'events = "sched:sched_switch"'), ("timeout = 77", "timeout = 78"),
    ("smp = 1", "smp = 2"), ("hz = 1000", "hz = 250"), ("tasks = 2", "tasks = 3"), ("20_000_000", "20_000_001"),
    ("[0, 5]", "[0, 6]"), ("nice < 9", "nice < 5"), ('name = "nice', 'name = "n'), ("NO_WAKEUP", "WAKEUP"),
    ('"hog -n', '"hog -q -n'), ('time = "@{seconds}s"', 'time = "3s"'), ('"1us"', '"2us"'), ("hogs:n=@", "bursts:n=@"),
    ('"turns"', '"runs"'), ("'total(", "'number("), ("@{case}: turns", "turns"), ('policies = ["cfs"]\n', ""),
    ("published = 10", "published = 11"), ("{:.1f}", "{:.2f}"), ("near = 0.05", "near = 0.03"),
])
def test_every_key_has_an_effect(tmp_path, old, new):
    assert old in TEXT
    assert answers(made(TEXT.replace(old, new, 1), tmp_path)) != answers(made(TEXT, tmp_path))


def test_speeds_are_the_simulators(tmp_path):
    more = 'opp = "juno-a53"\ngovernor = "@{governor}"\nset = { rate_limit_us = 0 }\n'
    text = TEXT.replace("tasks = 2", 'tasks = 2\ngovernor = "sched"').replace("[simulator]\n", f"[simulator]\n{more}")
    words = made(text, tmp_path).simulate("nice5", 2)
    assert words[:6] == ["--time", "2s", "--opp", "juno-a53", "--governor", "sched"]
    assert words[-4:-2] == ["--set", "rate_limit_us=0"]
    assert "rate_limit" not in made(text, tmp_path).kernel("nice5", 2)


def test_what_a_file_becomes(tmp_path):
    of = made(TEXT, tmp_path)
    debug = "/sys/kernel/debug/sched"
    assert list(of.cases) == ["nice0", "nice5"] and of.hosts == ("kernel", "simulator")
    assert of.kernel("nice5", 2) == (f"echo 20000000 > {debug}/latency_ns; echo NO_WAKEUP_PREEMPTION > "
                                     f"{debug}/features; hog -n 2 -t 2s")
    assert of.workload("nice5", 2) == "hogs:n=2 hogs:n=1,nice=5"
    assert of.simulate("nice5", 2) == ["--time", "2s", "--cost-switch", "1us", "--set", "latency_ns=20000000",
                                       "--features", "NO_WAKEUP_PREEMPTION"]


def test_every_experiment_of_the_project_can_be_read():
    assert len(names()) >= 11
    for name in names():
        of = load(name)
        assert of.claims() and len({claim.text for claim in of.claims()}) == len(of.claims())


def test_none_of_the_cards_is_missing():
    numbers = {int(found[1]) for name in names() if (found := re.match(r"x(\d+)-", name))}
    assert numbers == set(range(1, 18))


@pytest.mark.parametrize("text", ["__import__('os')", "().__class__", "lambda: 1", "open('/etc/passwd')", "1 +"])
def test_expressions_reach_nothing_else(text):
    with pytest.raises(BadExpression):
        evaluate(text, {})


def test_holes_and_loops():
    assert fill({"a@{n}": ["@{n + 1}", "x@{n}"]}, {"n": 2}) == {"a2": [3, "x2"]}
    table = {"a, b": [[1, 2], [3, 4]], "c": "range(2)"}
    assert [(x["a"], x["b"], x["c"]) for x in loop(table, {})] == [(1, 2, 0), (1, 2, 1), (3, 4, 0), (3, 4, 1)]


SMALL = '''\
title = "Hogs"
source = "arithmetic"
policies = ["cfs"]
seconds = 1
events = ""

[machine]
smp = 1

[[case]]
name = "two"

[simulator]
time = "@{seconds}s"
workload = "hogs:n=2"

[metrics]
share = { text = "share", value = 'number("^hog .*?nice 0 +(?:[^ ]+ +){1}([^ ]+)")' }

[[claim]]
text = "turns"
value = 'r["cfs"]["two"]["share"]'
range = [LEAST, 1e12]
'''


def several(monkeypatch, tmp_path, *least):
    """A folder of experiments, each with one claim, in the simulator without costs."""
    for nr, value in enumerate(least):
        (tmp_path / f"x{nr}.toml").write_text(SMALL.replace("LEAST", str(value)), encoding="utf-8")
    monkeypatch.setattr(experiment_file, "FOLDER", tmp_path)
    monkeypatch.setattr(experiment, "calibrate", lambda *_: {})


def test_one_table_and_one_page_of_all(monkeypatch, tmp_path, capsys):
    several(monkeypatch, tmp_path, 0, 1e9)
    out = tmp_path / "out"
    assert main(["--build", BUILD, "experiments", "--out", str(out)]) == 1
    told = capsys.readouterr().out
    assert "x0: 1 of 1 claims hold" in told and "x1: 0 of 1 claims hold" in told
    assert len(re.findall(r"^turns .* PASS$", told, re.M)) == 1 and told.count("FAIL in the simulator") == 1
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<h2") == 2 and page.count("FAIL in the simulator") == 1 and "src=\"http" not in page
    assert main(["--build", BUILD, "experiments", "x0", "--out", str(out)]) == 0


def test_a_metric_reads_the_simulators_json(monkeypatch, tmp_path, capsys):
    """Two hogs of one CPU wait for each other's turns of 4 ms; a task that is not there is an error of the file."""
    several(monkeypatch, tmp_path, 0)
    path = tmp_path / "x0.toml"
    text = re.sub("value = 'number.*' }", "value = 'task(\"hog\")[\"wait_ns\"][\"p95\"] / 1e6' }",
                  path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    assert main(["--build", BUILD, "experiments", "--out", str(tmp_path / "out")]) == 0
    assert re.search(r"^turns +- +[-\d.]* *4\.000 ", capsys.readouterr().out, re.M)
    path.write_text(text.replace('task("hog")', 'task("hug")'), encoding="utf-8")
    assert main(["--build", BUILD, "experiments", "--out", str(tmp_path / "out")]) > 0
    assert re.fullmatch(r"fairground: .*: no tasks hug; there are hog\n", capsys.readouterr().err)


def test_many_seeds_have_differences_in_table_and_page(monkeypatch, tmp_path, capsys):
    """Intervals in the claims' rows, and each metric of the second policy beside the first."""
    several(monkeypatch, tmp_path, 0)
    path = tmp_path / "x0.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('["cfs"]\n', '["cfs", "eevdf"]\n').replace(
        "hogs:n=2", "hogs:n=3"), encoding="utf-8")
    out = tmp_path / "out"
    assert main(["--build", BUILD, "experiments", "--seeds", "1..6", "--out", str(out)]) == 0
    told, page = capsys.readouterr().out, (out / "report.html").read_text(encoding="utf-8")
    kept = json.loads((out / "x0" / "results.json").read_text(encoding="utf-8"))["comparisons"]
    assert re.search(r"^turns .*\[[\d.]+, [\d.]+\].* PASS$", told, re.M) and len(kept) == 1
    shift = f"{kept[0]['shift']:+.4g}"
    assert re.search(r"^two, simulator .*cfs .*eevdf .*eevdf is$", told, re.M), told
    assert re.search(rf"^share .*{re.escape(shift)} \[.* the same in every pair$", told, re.M), told
    assert "<td>cfs, eevdf</td>" in page and f"<td>{shift} [" in page


def test_an_experiment_that_cannot_run_is_a_line_and_the_others_go_on(monkeypatch, tmp_path, capsys):
    several(monkeypatch, tmp_path, 0, 0)
    bad = (tmp_path / "x0.toml").read_text(encoding="utf-8").replace("hogs:n=2", "hogz:n=2")
    (tmp_path / "x0.toml").write_text(bad, encoding="utf-8")
    assert main(["--build", BUILD, "experiments", "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().out
    assert "x0: not run: " in told and "hogz" in told and "x1: 1 of 1 claims hold" in told


def test_an_interruption_leaves_what_was_finished(monkeypatch, tmp_path, capsys):
    several(monkeypatch, tmp_path, 0, 0, 0)
    of_one = all_experiments.run_one

    def interrupted(of, *rest):
        if of.name == "x1":
            raise KeyboardInterrupt
        return of_one(of, *rest)

    monkeypatch.setattr(all_experiments, "run_one", interrupted)
    assert main(["--build", BUILD, "experiments", "--out", str(tmp_path / "out")]) == 130
    assert "interrupted after 1 of 3" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("<h2") == 1 and "interrupted after 1 of 3" in page


@pytest.mark.parametrize("old, new, status", [
    ("", "", 0), ("sched_rt_runtime_us = -1", "sched_rr_timeslice_ms = 50", 1)])
def test_turns_of_real_time_tasks(monkeypatch, tmp_path, capsys, old, new, status):
    """X14: all of it holds, and with turns of 50 ms it does not."""
    text = (experiment_file.FOLDER / "x14-real-time.toml").read_text(encoding="utf-8").replace(old, new)
    (tmp_path / "x14-real-time.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(experiment_file, "FOLDER", tmp_path)
    monkeypatch.setattr(experiment, "calibrate", lambda *_: {})
    assert main(["--build", BUILD, "experiment", "x14-real-time", "--out", str(tmp_path / "out")]) == status
    told = capsys.readouterr().out
    assert ("5 of 5 claims hold" in told) == (not status)
    assert not status or re.search(r"^rr: the longest turn, ms .*FAIL in the simulator$", told, re.M)


@pytest.mark.parametrize("name, old, new, status, said", [
    ("x15-priorities", "", "", 0, "2 of 2 claims hold"), ("x16-blocked", "", "", 0, "2 of 2 claims hold"),
    ("x15-priorities", '["p99", 99]', '["p99", 96]', 1, "fifo: the order of turns"),
    ("x16-blocked", "part_ms * 1000", "part_ms * 1100", 1, "blocked: the longest turn")])
def test_turns_by_priority_and_of_tasks_that_block(monkeypatch, tmp_path, capsys, name, old, new, status, said):
    """X15 and X16: their claims hold; with the priority or the part of another task they do not."""
    text = (experiment_file.FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / f"{name}.toml").write_text(text.replace(old, new), encoding="utf-8")
    monkeypatch.setattr(experiment_file, "FOLDER", tmp_path)
    monkeypatch.setattr(experiment, "calibrate", lambda *_: {})
    assert main(["--build", BUILD, "experiment", name, "--out", str(tmp_path / "out")]) == status
    assert re.search(rf"{said}.*{'FAIL in the simulator' * status}", capsys.readouterr().out)


def wrong_figures(claim):
    """Figures that the claim must refuse: far off on both sides, and for a published number nothing, half and twice of
    it, and its opposite. Of one that is not reproduced, the published number itself."""
    if "[0]" in claim.form:  # an interval
        yield from ((0, 1e9), (6, 6), (1e9, 1e9))
        return
    yield from (1e9, -1e9)
    for value in claim.numbers:
        yield -value
        yield from (0, value / 2, 2 * value) if claim.reproduced else (value,)


def rows_of(claim, figure):
    """The verdict if every host had measured @figure."""
    return verdict(replace(claim, value=lambda _: figure).judge(dict.fromkeys(claim.hosts, {})))


@pytest.mark.parametrize("name", names())
def test_every_claim_can_fail(name):
    """No simulation: each claim is given wrong figures, and fails with each in every host it is about."""
    for claim in load(name).claims():
        if claim.judged:
            for figure in wrong_figures(claim):
                assert rows_of(claim, figure).startswith("FAIL"), (claim.text, figure, claim.bound)


@pytest.mark.parametrize("name", names())
def test_no_bound_is_wide(name):
    """A bound that is all above or all below zero ends at three times its least figure."""
    for claim in load(name).claims():
        ends = re.fullmatch(r"(-?[\d.e+]+)(?: %)? to (-?[\d.e+]+)(?: %)?", claim.bound)
        if claim.judged and ends and float(ends[1]) * float(ends[2]) > 0:
            least, most = sorted(abs(float(end)) for end in ends.groups())
            assert most <= 3 * least, (claim.text, claim.bound)


def test_a_value_that_is_not_reproduced_is_judged_to_be_that(tmp_path):
    """It fails when it changes, and so it does when it becomes the published one."""
    claim = made(TEXT.replace("near = 0.05", "range = [3, 4]"), tmp_path).claims()[0]
    assert [rows_of(claim, figure)[:4] for figure in (3.5, 10, 0, 7)] == ["not ", "FAIL", "FAIL", "FAIL"]


@pytest.mark.parametrize("name", names())
def test_a_published_value_names_its_line(name):
    """The table says `not reproduced` of a value that the bound excludes, and of no other."""
    for claim in load(name).claims():
        if claim.judged and claim.published != "-":
            assert claim.line
            held = [claim.holds(value) for value in claim.numbers]
            assert claim.reproduced == (not held or any(held)), claim.text
