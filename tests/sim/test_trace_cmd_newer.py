# SPDX-License-Identifier: GPL-2.0-only
"""The trace-cmd of Debian 13 reads our traces as that of Debian 12 does, and we read what it writes."""

import os
import re
import shutil
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT, simulated
from fairground.machine.image import event_values
from fairground.trace.tracefile import TraceFile

NEWER = os.path.join(BUILD, "trixie")
PROGRAM = [f"{NEWER}/ld-linux-x86-64.so.2", "--library-path", NEWER, f"{NEWER}/trace-cmd"]
CROWD = ("--cpus", "4", "--sched", "eevdf", "--time", "300ms", "bursts:n=6,run=100us-3ms,sleep=1ms-5ms",
         "hogs:n=3,nice=5", "pingpong:n=2,run=200us")

if not shutil.which("trace-cmd") or not os.path.exists(PROGRAM[-1]):
    pytest.skip("two versions of trace-cmd are needed: sh tools/setup.sh --compare", allow_module_level=True)


def newer(*words):
    plugins = {"TRACEEVENT_PLUGIN_DIR": f"{NEWER}/traceevent/plugins"}
    return subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, text=True, check=True,
                          env={**os.environ, **plugins})


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Of the simulator: with decisions, and with load averages and frequencies; and of Linux."""
    directory = tmp_path_factory.mktemp("newer")
    simulated("--decisions", directory / "decided.dat", *CROWD)
    simulated("--trace", directory / "averages.dat", "--averages", "--opp", "juno", "--governor", "schedutil",
              "--topology", "packages=1,cores=6,llcs=1", "--time", "200ms", "bursts:n=4,run=2ms,sleep=5ms")
    return [directory / "decided.dat", directory / "averages.dat", f"{ROOT}/tests/sim/linux-6.1.dat"]


def test_it_is_newer():
    versions = [tuple(map(int, re.search(r"version (\d+)\.(\d+)", subprocess.run(
        words, capture_output=True, text=True, check=False).stdout).groups())) for words in (["trace-cmd"], PROGRAM)]
    assert versions[0] < versions[1]


@pytest.mark.parametrize("form", ["", "-N", "-R"])
def test_both_versions_read_the_same(traces, form):
    """Line by line, but for the flags of interrupts, which the newer one prints unless told otherwise. Of Linux's tasks
    that idle in the kernel the plugins of the two have different letters."""
    for path in traces if form else traces[:2]:
        older = subprocess.run(["trace-cmd", "report", "-t", *form.split(), path], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        report = newer("report", "-t", *form.split(), path)
        lines = [re.sub(r"^(.{16,}?-\d+ +\[\d{3}\])(?: \S+|-0x[0-9a-f]+) ( +\d+\.\d{9}: )", r"\1 \2", line)
                 for line in report.stdout.splitlines()]
        assert lines == older and len(older) > 600 and "UNKNOWN" not in report.stdout, path


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_what_it_writes_is_read_here(traces, tmp_path, compression):
    """It turns our traces into version 7. Those have the same events."""
    for path in traces[:2]:
        out = tmp_path / "seven.dat"
        newer("convert", "--file-version", "7", "--compression", compression, "-i", path, "-o", out)
        assert out.read_bytes()[10:12] == b"7\0"
        found = [[(e.time, e.cpu, e.format.name, event_values(e)) for e in TraceFile(p).events()] for p in (path, out)]
        assert found[0] == found[1] and len(found[0]) > 600
