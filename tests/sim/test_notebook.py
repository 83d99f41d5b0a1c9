# SPDX-License-Identifier: GPL-2.0-only
"""examples/results.ipynb holds what its cells show, `make notebook` makes the same again, and its numbers are those of
the commands."""

import csv
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("B", "build")).resolve()
NOTEBOOK = ROOT / "examples/results.ipynb"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
HERE = {**os.environ, "B": str(BUILD), "PYTHONPATH": f"{ROOT}/tools:{ROOT}/tools/scripts"}


def code_of(path):
    """The cells of code in the notebook @path."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def text_of(cell):
    """What a cell shows as text; a picture is its size."""
    return "".join("".join(out.get("text", ())) + "".join(out.get("data", {}).get("text/plain", ()))
                   for out in cell["outputs"])


def showing(cells, word):
    """The text of the one cell whose source has this @word."""
    found, = [text_of(cell) for cell in cells if word in "".join(cell["source"])]
    return found


def has(name):
    return subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def test_it_holds_what_its_cells_show():
    """Whoever looks at it without running it sees every table and picture, and no complaint."""
    cells = code_of(NOTEBOOK)
    kinds = {out["output_type"] for cell in cells for out in cell["outputs"]}
    assert kinds == {"execute_result", "display_data", "stream"} and len(cells) > 8
    assert not [cell for cell in cells[1:] if "plt.show" in "".join(cell["source"]) and not cell["outputs"]]
    assert sum("image/png" in out.get("data", {}) for cell in cells for out in cell["outputs"]) == 2
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [out for cell in cells for out in cell["outputs"] if out.get("name") == "stderr"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The notebook as `make notebook` makes it now."""
    if not all(map(has, ("nbclient", "ipykernel", "pandas", "matplotlib"))):
        pytest.skip("sh tools/setup.sh --test")
    to = tmp_path_factory.mktemp("notebook") / "out.ipynb"
    done = subprocess.run([PYTHON, ROOT / "tools/scripts/notebook.py", to], cwd=ROOT, capture_output=True, text=True,
                          check=False, env={**HERE, "IPYTHONDIR": str(to.parent)})
    assert done.returncode == 0, done.stderr[-3000:]
    return code_of(to)


@pytest.mark.nightly("a notebook whose stored outputs are of another version")
def test_it_shows_the_same_again(ran):
    assert list(map(text_of, ran)) == list(map(text_of, code_of(NOTEBOOK)))


@pytest.mark.nightly("a notebook whose numbers are not the commands'")
def test_its_numbers_are_the_commands(ran, tmp_path):
    command = f"{PYTHON} -m fairground --build {BUILD}"
    words = f"""set -e
        {BUILD}/schedsim --cpus 2 --time 200ms --decisions run.dat hogs:n=2 hogs:n=1,nice=5 bursts:n=2,run=2ms,sleep=6ms
        {command} convert run.dat -o runs.csv
        {command} compare cfs eevdf pipes --seeds 1..9 --time 200ms --json > compare.json"""
    subprocess.run(["sh", "-c", words], cwd=tmp_path, check=True, capture_output=True, env=HERE)
    busy = defaultdict(float)
    with open(tmp_path / "runs.csv", encoding="utf-8", newline="") as f:
        for row in csv.DictReader(f):
            busy[f"{row['comm']}-{row['pid']}", int(row["cpu"])] += int(row["run_ns"]) / 1e6
    lines = [line.split() for line in showing(ran, "busy.round").splitlines() if re.match(r"\w+-\d+ ", line)]
    shown = {(task, cpu): float(number) for task, *numbers in lines for cpu, number in enumerate(numbers)}
    assert len(lines) == 5 and {**dict.fromkeys(shown, 0.0), **busy} == pytest.approx(shown, abs=6e-4)
    rows = json.loads((tmp_path / "compare.json").read_text(encoding="utf-8"))["rows"]
    told = showing(ran, "fg.compare")
    assert all(row["verdict"] in told for row in rows) and len(told.splitlines()) == len(rows) + 1
    waits = re.findall(r"^(\d+) +([\d.]+) +([\d.]+) *$", showing(ran, "waits.round"), re.MULTILINE)
    assert [turn for turn, *_ in waits] == ["3", "6", "12", "24"] and float(waits[3][1]) > float(waits[0][1]) > 1
