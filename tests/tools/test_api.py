# SPDX-License-Identifier: GPL-2.0-only
"""The names of `import fairground`: docs/api.md runs as it is, and bad input is an error with a type and a sentence."""

import doctest
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairground as fg
from fairground.base import packages

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/api.md"
LINUX = ROOT / "tests/sim/linux-6.1.dat"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
BUILD = os.path.abspath(os.environ.get("B", "build"))
needs_simulator = pytest.mark.skipif(not os.path.exists(f"{BUILD}/schedsim"), reason="make sim")
needs_pandas = pytest.mark.skipif(not importlib.util.find_spec("pandas"), reason="pandas is not installed")


def test_the_page_has_every_name_and_no_other():
    told = set(re.findall(r"^(?:\| `(\w+)|## (Trace|Simulation)$)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert {one or other for one, other in told} == set(fg.NAMES) - {"API", "Lost"}
    assert all(getattr(fg, name) is not None for name in dir(fg)) and fg.API == "2.0"
    assert fg.__version__ == (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    with pytest.raises(AttributeError, match="no attribute 'Tracer'"):
        fg.Tracer


@needs_simulator
@needs_pandas
def test_the_pages_session(tmp_path, monkeypatch):
    for name in ("README.md", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("B", BUILD)
    session = re.search(r"```\n(>>>.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    test = doctest.DocTestParser().get_doctest(session, {}, "docs/api.md", str(PAGE), 0)
    assert len(test.examples) >= 5
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def test_a_command_loads_none_of_it():
    code = "import sys, fairground.__main__ as m; m.main(['--version'])"
    done = subprocess.run([PYTHON, "-X", "importtime", "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
    assert "fairground" in done.stdout and "fairground.api" not in done.stderr


def test_tables_have_the_commands_numbers():
    """Without any package: the columns are what `latency` and `timehist` print for programs."""
    def rows(*words):
        done = subprocess.run([PYTHON, "-m", "fairground", *words, LINUX, "--json"], capture_output=True, check=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "tools")})
        return json.loads(done.stdout)["rows"]

    trace = fg.Trace(LINUX)
    for words, columns in ((["latency", "--pids", "--sort", "pid"], trace.tasks(form="columns")),
                           (["timehist"], trace.turns(form="columns"))):
        expected = rows(*words)
        assert len(expected) > 10 and list(columns) == list(expected[0])
        assert [dict(zip(columns, row)) for row in zip(*columns.values())] == expected
    runs, waits = trace.runs(form="columns"), trace.waits(form="columns")
    assert sum(runs["run_ns"]) > 5e8 and len(waits["pid"]) > 100 and trace.cpus == 4
    assert set(trace.events("sched_wakeup", form="columns")["event"]) == {"sched_wakeup"}
    assert trace.lost == 0 and not trace.lost.at_least and trace.untold == [] and "6.1.0" in trace.about
    assert trace.begin_ns == min(runs["start_ns"]) < max(runs["end_ns"]) == trace.end_ns


@needs_pandas
def test_a_gap_is_no_float():
    frame = fg.Trace(LINUX).turns()
    assert str(frame.run_ns.dtype) == "Int64" and frame.run_ns.isna().sum() == 4


TABLES = ("runs", "waits", "turns", "tasks", "events", "decisions", "candidates")


@needs_simulator
@needs_pandas
@pytest.mark.skipif(not any((place / "pyarrow").is_dir() for place in packages.directories()),
                    reason="pyarrow is not installed")
def test_all_forms_of_a_table_have_the_same_numbers(tmp_path, monkeypatch):
    """Virtual times begin just below 2^64, so whole numbers of 64 bits are among them."""
    monkeypatch.setenv("B", BUILD)
    trace = fg.simulate("hogs:n=2", "bursts:run=2ms,sleep=10ms", sched="eevdf", time="100ms",
                        trace=tmp_path / "x.dat").trace
    for name in TABLES:
        columns, frame, arrow = (getattr(trace, name)(form=form) for form in ("columns", "pandas", "arrow"))
        assert list(columns) == list(frame.columns) == arrow.column_names and arrow.to_pydict() == columns, name
        assert {each: [None if value is None or value != value else value for value in frame[each].astype(object)
                       .where(frame[each].notna(), None)] for each in frame} == columns, name
    assert max(columns["vruntime"]) > 1 << 63


@needs_simulator
def test_a_simulation_has_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("B", BUILD)
    run = fg.simulate("hogs:n=3", sched="eevdf", cpus=2, time="50ms", trace=tmp_path / "x.dat")
    tasks = run.tasks(form="columns")
    assert tasks["name"] == ["hog"] and tasks["cpu_ns"] == [100_000_000] and "wait_ns.mean" in tasks
    assert len(run.trace.decisions(form="columns")["nr"]) > 20 < len(run.trace.candidates(form="columns")["nr"])
    said = fg.draw("dat2graph2", tmp_path / "x.dat", out=tmp_path / "x.svg", max=0.02)
    assert "busy ms" in said and (tmp_path / "x.svg").stat().st_size > 1000
    fg.convert(tmp_path / "x.dat", tmp_path / "x.csv", table="waits")
    assert (tmp_path / "x.csv").read_text().startswith("pid,comm,start_ns")
    verdicts = fg.compare("cfs", "eevdf", "cpus=1+hogs:n=3", seeds="1..3", time="30ms", form="columns")
    assert len(verdicts["metric"]) > 3 and set(verdicts["verdict"]) == {"too few seeds", "equal"}


def bad(tmp_path):
    path = tmp_path / "bad.dat"
    path.write_bytes(LINUX.read_bytes()[:3000])
    return path


@pytest.mark.parametrize("what, kind, says", [
    (lambda to: fg.Trace("/nowhere.dat"), "TraceError", "/nowhere.dat: No such file"),
    (lambda to: fg.Trace(bad(to)), "TraceError", "bad.dat: the file has version 7, and trace-cmd cannot read it"),
    (lambda to: fg.Trace(LINUX).decisions(), "DecisionError", "the trace has no decisions"),
    (lambda to: fg.Trace(LINUX).events("sched_swich"), "UsageError", "knows no event sched_swich"),
    (lambda to: fg.Trace(LINUX).runs(form="polars"), "UsageError", "pandas, arrow, columns"),
    (lambda to: fg.draw("lga", LINUX, out=to / "x.svg"), "UsageError", "lga: no kind of picture"),
    (lambda to: fg.draw("dat2graph2", LINUX, out=to / "x.svg", colour=1), "UsageError", "an option is not known"),
    (lambda to: fg.compare("cfs", "efvd", "pipes"), "UsageError", "is eevdf meant?"),
    (lambda to: fg.simulate("hogs", trace="x.json"), "UsageError", "ends in .dat"),
    pytest.param(lambda to: fg.simulate("hogs:m=2"), "SimulatorError", "has no parameter 'm'", marks=needs_simulator),
    pytest.param(lambda to: fg.simulate("hogs", options=["--nope"]), "SimulatorError", "nope", marks=needs_simulator),
])
def test_an_error_has_a_type_and_a_sentence(what, kind, says, tmp_path, monkeypatch):
    monkeypatch.setenv("B", BUILD)
    if "version 7" in says and not shutil.which("trace-cmd"):
        pytest.skip("trace-cmd is not installed")
    with pytest.raises(fg.Error) as error:
        what(tmp_path)
    assert type(error.value).__name__ == kind and says in str(error.value) and "\n" not in str(error.value)
