# SPDX-License-Identifier: GPL-2.0-only
"""examples/results.ipynb runs as its first cell says, and its numbers are those of the files. None are kept in it."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("B", "build")).resolve()
NOTEBOOK = ROOT / "examples/results.ipynb"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
RUN = """import sys, nbformat, nbclient
book = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
nbformat.write(book, sys.argv[2])"""
SMALL = """title = "The length of a turn"
policies = ["cfs", "eevdf"]
workloads = ["hogs:n=5"]
topologies = ["1x1x2x1"]
time = "100ms"
[tunables]
base_slice_ns = { policies = ["eevdf"], values = [3_000_000, 12_000_000] }
min_granularity_ns = { policies = ["cfs"], values = [3_000_000, 12_000_000] }
"""


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def text_of(cell):
    """What a cell shows as text."""
    return "".join(part for out in cell["outputs"] for part in out.get("data", {}).get("text/plain", ()))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The notebook after a run, in a directory where the commands of its first cell were run (with a smaller sweep)."""
    to = tmp_path_factory.mktemp("notebook")
    (to / "sweep.toml").write_text(SMALL)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    for line in re.search(r"```\n(.*)```", "".join(cells(NOTEBOOK)[0]["source"]), re.DOTALL)[1].splitlines():
        line = re.sub(r"^fairground", f"{PYTHON} -m fairground --build {BUILD}", re.sub(
            r"^schedsim", str(BUILD / "schedsim"), line))
        done = subprocess.run(["sh", "-c", line], cwd=to, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, (shlex.split(line), done.stderr)
    done = subprocess.run([PYTHON, "-c", RUN, NOTEBOOK, to / "out.ipynb"], cwd=to, capture_output=True, text=True,
                          check=False, env={**environment, "MPLBACKEND": "", "IPYTHONDIR": str(to)})
    assert done.returncode == 0, done.stderr[-3000:]
    return to, [cell for cell in cells(to / "out.ipynb") if cell["cell_type"] == "code"]


pytestmark = [pytest.mark.skipif(subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True, check=False)
                                 .returncode != 0, reason=f"{name} is not installed")
              for name in ("nbclient", "ipykernel", "pandas", "distributed")]


def test_nothing_is_kept_in_it():
    code = [cell for cell in cells(NOTEBOOK) if cell["cell_type"] == "code"]
    assert len(code) > 4 and not any(cell["outputs"] or cell["execution_count"] for cell in code)


@pytest.mark.nightly("a notebook that pandas of Debian does not run")
def test_no_cell_complains_and_two_draw(ran):
    kinds = [[out["output_type"] for out in cell["outputs"]] for cell in ran[1]]
    assert not {"error", "stream"} & {kind for each in kinds for kind in each}, ran[1]
    assert sum("image/png" in out.get("data", {}) for cell in ran[1] for out in cell["outputs"]) == 2


@pytest.mark.nightly("a notebook whose numbers are not the files'")
def test_its_numbers_are_the_files(ran):
    to, code = ran
    busy = defaultdict(float)
    with open(to / "runs.csv", encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            busy[f"{row['comm']}-{row['pid']}", int(row["cpu"])] += int(row["run_ns"]) / 1e6
    table = text_of(code[3])
    lines = [line.split() for line in table.splitlines() if re.match(r"\w+-\d+ ", line)]
    shown = {(task, cpu): float(number) for task, *numbers in lines for cpu, number in enumerate(numbers)}
    assert len(lines) == 5 and {**dict.fromkeys(shown, 0.0), **busy} == pytest.approx(shown, abs=6e-4)
    rows = json.loads((to / "compare.json").read_text(encoding="utf-8"))["rows"]
    assert all(row["verdict"] in text_of(code[5]) for row in rows)
    assert len(text_of(code[5]).splitlines()) == len(rows) + 1
    waits = re.findall(r"^(\d+\.0) +([\d.]+) +([\d.]+) *$", text_of(code[1]), re.MULTILINE)
    assert [turn for turn, _, _ in waits] == ["3.0", "12.0"] and float(waits[1][1]) > float(waits[0][1]) > 1
