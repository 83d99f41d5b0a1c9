# SPDX-License-Identifier: GPL-2.0-only
"""What all tests share: which of them run, in which order and where, and what each one costs.

Tests are Python functions, also where the work is done by a program in C or inside the machine: such a function runs
the program and counts the results that it prints in TAP. pytest-xdist runs a worker more than there are CPUs. Each
gets the tests of a file together, so that its fixtures are made once, and the longest file first; if those of a file
that run now take longer than SPLIT_S, they go by themselves. BUILD/test-times.json holds what each test cost.
tests/costs.json says the same, roughly, for trees in which no test has run yet.

A test marked "nightly" runs in `make test-all` only. One marked "sampled" has a budget of CPU time each day: the
number of commits draws as many of its parameters as fit in, by their costs in tests/costs.json; the others are
nightly. The mark says what nothing else would notice.
"""

import functools
import json
import os
import pathlib
import random
import re
import subprocess
import time
import zlib

import pytest

# A make that a test starts is no part of the one that started the tests.
for of_make in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(of_make, None)

ROOT = str(pathlib.Path(__file__).resolve().parents[1])
BUILD = os.path.abspath(os.environ.get("B", "build"))
TIMES = pathlib.Path(BUILD, "test-times.json")
COSTS = pathlib.Path(ROOT, "tests", "costs.json")
SPLIT_S = 60    # of CPU time of the tests of this run
SHORT_S = 1     # a test that tests/costs.json does not name by itself
UNKNOWN_S = 30  # a file without known costs goes early
PROGRESS_S = 10
FIFTHS = 5
STANDARD_SEED = 1

RESULT = re.compile(r"^(?:\[ *[\d.]+\] )?(not )?ok \d+ ?-? ?(.*?)( # SKIP.*)?$", re.MULTILINE)
REASON = re.compile(r"# (\S+: check failed: .*)\n(?:.*\n){,3}?.*\bnot ok \d+ ?-? ?(.*)$", re.MULTILINE)
PLAN = re.compile(r"^(?:\[ *[\d.]+\] )?1\.\.(\d+)", re.MULTILINE)


# --- programs that report in TAP ----------------------------------------------------------------


def count_tap(text):
    """The results in @text, TAP or KTAP: how many passed, which were skipped, which failed and why.

    Fewer results than planned are a failure: something ended early.
    """
    results = RESULT.findall(text)
    reasons = {name: f"{name}: {reason}" for reason, name in REASON.findall(text)}
    failed = [reasons.get(name, name) for bad, name, _ in results if bad]
    skipped = [name for bad, name, skip in results if skip and not bad]
    planned = sum(map(int, PLAN.findall(text)))
    if planned > len(results):
        failed.append(f"{planned - len(results)} of {planned} tests did not report")
    return {"passed": len(results) - len(skipped) - sum(bool(bad) for bad, *_ in results), "skipped": skipped,
            "failed": failed}


@pytest.fixture
def tap(record_property):
    """tap(text, status) counts the results in @text and fails if one of them, or the program, failed."""
    def count(text, status):
        found = count_tap(text)
        if status and not found["failed"]:
            found["failed"].append(f"the program ended with status {status}")
        if not found["passed"] and not found["failed"]:
            found["failed"].append("no test ran")
        record_property("tap", found)
        assert not found["failed"], "\n".join([*found["failed"], text[-4000:]])
    return count


@pytest.fixture
def tap_program(tap):
    """tap_program(words, NAME=value) runs a program of this host, with these variables, that prints TAP."""
    def run(words, **environment):
        done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, **environment}, check=False)
        tap(done.stdout.decode(errors="replace"), done.returncode)
    return run


# --- which tests run, and in which order --------------------------------------------------------


def pytest_addoption(parser):
    parser.addoption("--tier", choices=("daily", "fifth", "all"), default="daily",
                     help="daily: without the nightly tests; fifth: a fifth of the nightly ones; all: both")
    parser.addoption("--nightly", action="store_true", help="with --collect-only: list the marks of nightly tests")
    parser.addoption("--drawn", type=int, default=0, help="a number from which samples are drawn, and the fifth")
    parser.addoption("--first", default="", help="file names, separated by commas, whose tests are run first")


def pytest_configure(config):
    config.addinivalue_line("markers", "nightly(what): runs in make test-all; @what nothing else would notice")
    config.addinivalue_line("markers", "exact: under icount an instruction takes 1 ns, not 8")
    config.addinivalue_line("markers", "coarse: under icount an instruction takes 32 ns, not 8")
    config.addinivalue_line("markers", "sampled(s, what): of its parameters, as many as @s CPU seconds suffice for run "
                            "every day, drawn by the number of commits")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Accounts(config), "accounts")


@functools.cache
def usual_costs():
    """CPU seconds by test, the same in each clone, with a sum for the short tests of a file."""
    return json.loads(COSTS.read_text("utf-8"))


@functools.cache
def known_costs():
    """CPU seconds by test, of the last run here if there was one."""
    rows = json.loads(TIMES.read_text("utf-8"))["tests"] if TIMES.exists() else {}
    return {**usual_costs(), **{name: row["cpu_s"] for name, row in rows.items()}}


def drawn_seed():
    """The seed of all random tests: $SEED, or one that each commit has, so that a failure is the change's own.

    Fresh seeds are for the night (.github/workflows/ci.yml): what they find is mended by a commit of its own.
    """
    return int(os.environ.get("SEED") or STANDARD_SEED)


def file_of(nodeid):
    return nodeid.partition("::")[0]


def cost_of_files(names):
    """CPU seconds of each file: those of its tests @names, which run now, and the sum of its short tests.

    Nightly tests do not count by day: a file that was split for them would make its fixtures again for each test.
    """
    costs, total = known_costs(), {}
    for name in names:
        file = file_of(name)
        total[file] = total.get(file, costs.get(file, UNKNOWN_S)) + costs.get(name, 0)
    return total


def nightly_ones(items, drawn):
    """The names of those of @items that do not run every day."""
    nightly, families = set(), {}
    for item in items:
        if item.get_closest_marker("nightly"):
            nightly.add(item.nodeid)
        elif item.get_closest_marker("sampled"):
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, family in families.items():
        left_s = family[0].get_closest_marker("sampled").args[0]
        names = [item.nodeid for item in family]
        for one in random.Random(f"{name} {drawn}").sample(names, len(names)):
            cost_s = usual_costs().get(one, SHORT_S)
            if cost_s > left_s:
                nightly.add(one)
            else:
                left_s -= cost_s
    return nightly


def is_of_fifth(nodeid, drawn):
    return zlib.crc32(nodeid.encode()) % FIFTHS == drawn % FIFTHS


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what is not this tier's, and put the rest in order: what was asked for first, then the longest."""
    tier = "all" if config.getoption("--nightly") else config.getoption("--tier")
    drawn = config.getoption("--drawn")
    nightly = nightly_ones(items, drawn)
    nightly -= set(config.args)  # a test that is asked for by name runs on any day
    chosen = {"all": lambda name: True, "daily": lambda name: name not in nightly,
              "fifth": lambda name: name in nightly and is_of_fifth(name, drawn)}[tier]
    config.hook.pytest_deselected(items=[item for item in items if not chosen(item.nodeid)])
    costs, first = known_costs(), config.getoption("--first").split(",")
    items[:] = [item for item in items if chosen(item.nodeid)]
    of_files = cost_of_files(item.nodeid for item in items)

    def unit_of_work(item):
        file = file_of(item.nodeid)
        cpu_s = of_files[file]
        own = costs.get(item.nodeid, 1) if cpu_s > SPLIT_S else cpu_s
        return file not in first, -own, file
    items.sort(key=unit_of_work)


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class LongestFirst(LoadScopeScheduling):
        """A unit of work is a file, or one test of a long file."""

        @functools.cached_property
        def of_files(self):
            return cost_of_files(self.collection)

        def _split_scope(self, nodeid):
            return nodeid if self.of_files[file_of(nodeid)] > SPLIT_S else file_of(nodeid)
    return LongestFirst(config, log)


# --- what each test costs -----------------------------------------------------------------------

STARTED = pytest.StashKey()


def spent_s():
    """CPU seconds of this process and of all that it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    item.stash[STARTED] = (spent_s(), time.monotonic())
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item, call):
    if call.when == "teardown":
        cpu_s, began = item.stash[STARTED]
        item.user_properties.append(("cost", {"cpu_s": round(spent_s() - cpu_s, 2),
                                              "wall_s": round(time.monotonic() - began, 2)}))


class Accounts:
    """In the process that the user started: tells how far the tests are, and writes TIMES at the end."""

    def __init__(self, config):
        self.config = config
        self.tests = {}
        self.results = {"passed": 0, "failed": [], "skipped": []}
        self.began = self.told = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        known = dict(report.user_properties)
        if report.skipped and not hasattr(report, "wasxfail"):
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.results["skipped"].append(f"{report.nodeid}: {why.removeprefix('Skipped: ')}")
        elif report.failed:
            failed = known.get("tap", {}).get("failed") or [""]
            self.results["failed"] += [f"{report.nodeid}{name and ': '}{name}" for name in failed]
            self.results["passed"] += known.get("tap", {}).get("passed", 0)
            print(f"  FAILED {report.nodeid}", flush=True)
        elif report.when == "call":
            self.results["passed"] += known.get("tap", {}).get("passed", 1)
            self.results["skipped"] += [f"{report.nodeid}: {name}" for name in known.get("tap", {}).get("skipped", ())]
        if report.when == "teardown":
            boots = [row for name, row in report.user_properties if name == "boot"]
            self.tests[report.nodeid] = {**known["cost"], "boots": len(boots),
                                         "boot_cpu_s": round(sum(row["cpu_s"] for row in boots), 2)}
            self.tell(report.nodeid)

    def tell(self, nodeid):
        now = time.monotonic()
        if now - self.told >= PROGRESS_S:
            self.told = now
            print(f"  {now - self.began:.0f} s: {len(self.tests)} tests, {self.results['passed']} results passed, "
                  f"{len(self.results['failed'])} failed; {nodeid}", flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            self.results["failed"].append(f"{report.nodeid}: cannot be collected")
        elif report.skipped and (text := f"{report.nodeid}: {report.longrepr[2]}") not in self.results["skipped"]:
            self.results["skipped"].append(text)

    def pytest_sessionfinish(self):
        TIMES.parent.mkdir(parents=True, exist_ok=True)
        kept = {"wall_s": round(time.monotonic() - self.began, 1), **self.results,
                "tests": dict(sorted(self.tests.items()))}
        TIMES.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def pytest_collection_finish(session):
    """For --nightly: each family of tests that does not run every day, and what it alone notices."""
    if not session.config.getoption("--nightly"):
        return
    rows = {}
    for item in session.items:
        for mark in [item.get_closest_marker("nightly"), item.get_closest_marker("sampled")]:
            if mark:
                part = f"{mark.args[0]} a day: " if mark.name == "sampled" else ""
                rows.setdefault(item.nodeid.partition("[")[0], f"{part}{mark.args[-1]}")
    for name, text in rows.items():
        print(f"{name}\n    {text}")
    pytest.exit(f"{len(rows)} families of tests", returncode=0)


def pytest_report_teststatus(report, config):
    """No letter for each test that passed, unless -v asks."""
    if report.when == "call" and report.passed and config.option.verbose < 1:
        return "passed", "", ""
    return None
