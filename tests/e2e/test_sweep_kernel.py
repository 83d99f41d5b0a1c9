# SPDX-License-Identifier: GPL-2.0-only
"""`fairground sweep` on the kernel: its columns beside the simulator's, addresses by image, resumption, failures."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.e2e.conftest import BUILD, ROOT
from fairground.study.grid import Grid
from fairground.base.packages import load
from fairground.base.settings import Settings
from fairground.study.sweep import kernel_of, prepare

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
TEXT = '''\
title = "Turns"
hosts = ["kernel", "simulator"]
policies = ["eevdf"]
workloads = [{ name = "hogs", kernel = "hog -q -n 4 -t {time}", simulator = "hogs:n=4" }]
topologies = ["1x1x2x1"]
time = "300ms"

[tunables]
base_slice_ns = [3_000_000, 12_000_000]
'''


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(TEXT)
    return path


def sweep(path, *words, store="store"):
    """The status, the counts, what was told beside them, and the table's rows."""
    pytest.importorskip("distributed")
    out = path.parent / f"{store}.parquet"
    done = subprocess.run([PYTHON, "-m", "fairground", "--build", BUILD, "sweep", path, "--workers", "2", "--store",
                           path.parent / store, "--out", out, "--json", *words], cwd=ROOT, capture_output=True,
                          text=True, check=False, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools")})
    assert done.stdout, done.stderr
    rows = load("pyarrow.parquet", "the test").read_table(out).to_pylist() if out.exists() else []
    return done.returncode, json.loads(done.stdout), done.stderr, rows


@pytest.mark.nightly("a sweep of the kernel that is not resumed")
def test_a_grid_on_both_hosts_and_again(grid):
    status, told, err, rows = sweep(grid)
    assert (status, told["cells"], told["run"], told["failed"]) == (0, 4, 4, []), err
    by = {(row["host"], row["base_slice_ns"]): row for row in rows}
    for slice_ns in (3_000_000, 12_000_000):
        kernel, simulated = by["kernel", slice_ns], by["simulator", slice_ns]
        assert kernel["unfair"] is None and kernel["wasted_ms"] is None and simulated["wasted_ms"] is not None
        # Two CPUs' time, less the parts of the hogs' start; four hogs that take turns.
        assert kernel["done_ms"] == pytest.approx(simulated["done_ms"], rel=0.02)
        assert kernel["wait_ms"] == pytest.approx(simulated["wait_ms"], rel=0.25)
        # The processes start and end with some switches; the last turns may be missing.
        assert -10 <= kernel["switches"] - simulated["switches"] <= 40
    for metric, least in (("wait_ms", 2), ("wait_p99_ms", 1.5)):
        assert by["kernel", 12_000_000][metric] > least * by["kernel", 3_000_000][metric]
    # More seeds are only those more, and a cell elsewhere leaves the same row.
    status, told, err, more = sweep(grid, "--seeds", "1..2")
    assert (status, told["found"], told["run"]) == (0, 4, 4), err
    assert [row for row in more if row["seed"] == 1] == rows
    grid.write_text(TEXT.replace(', "simulator"]', "]").replace(", 12_000_000", ""))
    status, told, err, one = sweep(grid, store="other")
    assert (status, told["run"]) == (0, 1) and one[0]["address"] == by["kernel", 3_000_000]["address"], err
    assert all(by["kernel", 3_000_000][name] == value for name, value in one[0].items())


def test_a_finished_cell_belongs_to_its_image(grid):
    """Another image has other addresses, unless only the name of its commit is another."""
    build = grid.parent / "build"
    build.mkdir()
    for name in ("fairground.elf", "initramfs.cpio", "schedsim"):
        shutil.copy(f"{BUILD}/{name}", build / name)
    digest = kernel_of(Settings(build=str(build))).digest
    addresses = set(prepare(Settings(build=str(build)), Grid(grid), str(grid.parent / "s")).cells)
    with open(build / "initramfs.cpio", "ab") as f:
        f.write(bytes(512))
    others = set(prepare(Settings(build=str(build)), Grid(grid), str(grid.parent / "s")).cells)
    assert kernel_of(Settings(build=str(build))).digest != digest
    assert len(addresses) == len(others) == 4 and len(addresses & others) == 2  # the simulator's


@pytest.mark.sampled(6, "a way to fail that is not listed")
@pytest.mark.parametrize("old, new, message", [
    ("hog -q -n 4 -t {time}", "hog -n 1 -t 5ms; false", "ended with status 1"),
    ("base_slice_ns", "base_slize_ns", "ended with status 1"),
    ("hog -q -n 4 -t {time}", "true", "the command started no process")])
def test_a_cell_that_fails_is_listed_and_leaves_nothing(grid, old, new, message):
    grid.write_text(TEXT.replace(old, new).replace(', "simulator"]', "]").replace(", 12_000_000", ""))
    status, told, _, rows = sweep(grid)
    assert status == 1 and told["run"] == 0 and not rows and not list(grid.parent.glob("store/*/*"))
    line, = told["failed"]
    assert line.startswith("failed: make run SCHED=eevdf HZ=250 SMP=2 ") and message in line, line
