# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of all tests of the simulator: `sim` runs build/schedsim and returns the result."""

import contextlib
import fcntl
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from tests.conftest import BUILD, ROOT

PAGE = os.path.join(BUILD, "fairground.html")
MS, SEC = 1_000_000, 1_000_000_000


@dataclass
class Run:
    """How schedsim ended, and its JSON if there is any."""

    status: int
    out: str
    err: str
    data: dict

    def result(self, sched=None):
        results = self.data["results"]
        return next(r for r in results if sched in (None, r["sched"]))

    def row(self, name, nice=None, sched=None):
        rows = [t for t in self.result(sched)["tasks"] if t["name"] == name and nice in (None, t["nice"])]
        assert len(rows) == 1, rows
        return rows[0]

    def share(self, name, nice=None, sched=None):
        """The share of one CPU, in percent."""
        return 100 * self.row(name, nice, sched)["cpu_ns"] / self.data["duration_ns"]


def run(words, directory):
    path = os.path.join(directory, "result.json")
    done = subprocess.run([os.path.join(BUILD, "schedsim"), "--json", path, *words], capture_output=True, text=True,
                          check=False, cwd=ROOT)
    data = None
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
        os.unlink(path)
    return Run(done.returncode, done.stdout, done.stderr, data)


def make_plugin(source):
    """The options of schedsim that load the policy in @source: C, which is built, or a text in expressions."""
    if source.endswith(".policy"):
        return ["--plugin", os.path.join(ROOT, source)]
    make = [os.environ.get("MAKE", "make"), "-s", "plugin", f"SRC={source}", f"B={os.path.relpath(BUILD, ROOT)}"]
    with open(os.path.join(BUILD, "plugins.lock"), "w", encoding="utf-8") as lock:  # workers build the same files
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(make, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return ["--plugin", f"{BUILD}/plugins/{os.path.basename(source)[:-2]}.so"]


@pytest.fixture
def sim(tmp_path):
    """sim("--cpus 2 hogs:n=3", ...) runs schedsim with these words; it must succeed."""
    def simulate(text, *more):
        done = run(text.split() + list(more), tmp_path)
        assert done.status == 0, done.err
        return done
    return simulate


def page_or_skip():
    """The page for browsers; without it, or without a browser, the test is skipped."""
    missing = [name for name in ("node", "npm", "chromium") if not shutil.which(name)]
    if missing or not os.path.exists(PAGE):
        pytest.skip(f"not installed: {missing}, or make page was not run")
    return PAGE


def browse(script, page, directory):
    """What tests/tools/SCRIPT.mjs sees of the file @page in Chromium. Screenshots are in @directory."""
    done = subprocess.run(["node", f"{ROOT}/tests/tools/{script}.mjs", f"{BUILD}/web/node_modules", page, directory],
                          capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Done(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def fairground(*words):
    """The command, run in this process."""
    from fairground import __main__

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = __main__.main(list(map(str, words)))
        except SystemExit as left:
            status = left.code
    return Done(status, out.getvalue(), err.getvalue())


def simulated(option, path, *words):
    """The results of a run that writes the file @path because of @option."""
    subprocess.run([f"{BUILD}/schedsim", option, path, "--json", f"{path}.results", *words], check=True,
                   stdout=subprocess.DEVNULL)
    with open(f"{path}.results", encoding="utf-8") as f:
        return json.load(f)["results"][0]


def fairground_decisions(path, *more):
    """What `fairground decisions` prints about the file @path."""
    done = subprocess.run([sys.executable, "-m", "fairground", "decisions", str(path), *more], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools")}, check=False)
    assert done.returncode == 0 and not done.stderr
    return done.stdout


@pytest.fixture
def traced_alike(sim, tmp_path):
    """traced_alike("hogs:n=3") asserts that recording decisions changes no byte of that run's trace."""
    def compare(text):
        traces = []
        for words in ([], ["--decisions", str(tmp_path / "d.json")]):
            path = tmp_path / "t.dat"
            sim(f"{text} --trace {path}", *words)
            traces.append(path.read_bytes())
        assert traces[0] == traces[1] and len(traces[0]) > 50_000
    return compare


@pytest.fixture
def fails(tmp_path):
    """fails("--cpus 0 hogs") must end with status 2 and one line on stderr, which is returned."""
    def simulate(text, *more):
        done = run(text.split() + list(more), tmp_path)
        assert done.status == 2, (done.status, done.out, done.err)
        assert done.err.startswith("schedsim: ") and done.err.count("\n") == 1, done.err
        assert done.data is None
        return done.err[len("schedsim: "):].rstrip("\n")
    return simulate


@pytest.fixture
def sim_status(tmp_path):
    """sim_status("...") returns the status and the text on stderr, whatever they are."""
    def simulate(text, *more):
        done = run(text.split() + list(more), tmp_path)
        return done.status, done.err
    return simulate


@pytest.fixture
def rtapp(tmp_path):
    """rtapp({...} or a text) writes an rt-app file and returns its path."""
    def write(content):
        path = tmp_path / "workload.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")
        return str(path)
    return write


def policies():
    """The fair policies that schedsim knows."""
    done = subprocess.run([os.path.join(BUILD, "schedsim"), "--help"], capture_output=True, text=True, check=True)
    line = next(text for text in done.stdout.splitlines() if "--sched NAME|all" in text)
    return line.split("fair policy:")[1].replace(",", " ").split()


def policies_by_weight():
    """Those that promise to share by weight, if only roughly."""
    words = [os.path.join(BUILD, "schedsim"), "--list-policies"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [name for name, *traits in rows if "weighted" in traits]
