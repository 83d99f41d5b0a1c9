# SPDX-License-Identifier: GPL-2.0-only
"""A server that answers short requests and often waits a little: four tunables against the shared wake queue.

The publication is about HHVM, a web server. With migration_cost 0, latency 20 ms, min_granularity 10 ms and
wakeup_granularity 12 ms it answered some 20 % more requests, and the shared queue added 1 to 1.6 %. Here 1.2 threads
for each CPU stand for it. A request is 2 to 10 ms of CPU time in ten parts, with a short wait after each. In the cases
`full` the threads want all CPUs, in `spare` 85 % of them.
"""

import re
from typing import Any

from ..expect import expect
from ..experiment import SIMULATOR, Claim, Figures, Results, Run, rule, shown

TITLE = "Requests of 1.2 threads a CPU: what four tunables gain, what the shared wake queue gains with and without them"
SOURCE = "HHVM, text only: the knobs gave about 20 % throughput, not at full saturation; SWQUEUE on top 1 to 1.6 % " \
         "and somewhat lower p95 and p99. The machine is not named"
SETTINGS = {"smp": "4", "hz": "250"}
HOSTS = (SIMULATOR,)
SECONDS = 5
SCHEDULERS = ("cfs",)
EVENTS = ""
SIZE = (11, 4)

TOPOLOGY, CPUS = "1x1x18x2", 36
PART = "200us-1ms"
LOADS = {"full": "20us-200us", "spare": "100us-400us"}
MIGRATION = {"migration_cost_ns": 0}
KNOBS = {**MIGRATION, "latency_ns": 20_000_000, "min_granularity_ns": 10_000_000, "wakeup_granularity_ns": 12_000_000}
FORMS: dict[str, tuple[dict[str, int], str | None]] = {
    "default": ({}, None), "migration": (MIGRATION, None), "knobs": (KNOBS, None),
    "knobs+swqueue": (KNOBS, "SWQUEUE"), "knobs+shared_runq": (KNOBS, "SHARED_RUNQ"),
    "swqueue": ({}, "SWQUEUE"), "shared_runq": ({}, "SHARED_RUNQ"),
}
CASES = tuple(f"{load}-{form}" for load in LOADS for form in FORMS)
# In addition to the costs of the kernel, as in x5-swqueue.
COSTS = ("--cost-ipi", "1us", "--cost-migration", "10us")


def workload(case: str, _seconds: int) -> str:
    return f"bursts:n={CPUS * 6 // 5},run={PART},sleep={LOADS[case.partition('-')[0]]}"


def simulate(case: str, seconds: int) -> list[str]:
    tunables, feature = FORMS[case.partition("-")[2]]
    words = ["--topology", TOPOLOGY, "--time", f"{seconds}s", *COSTS]
    words += [word for name, value in tunables.items() for word in ("--set", f"{name}={value}")]
    return words + (["--features", feature] if feature else [])


def measure(run: Run) -> Figures:
    waits = expect(r"^burst .*?nice 0 +(.*)", run.console)[1].split()
    parts = int(expect(r"(\d+) wakeups", run.console)[1])
    wasted = float(expect(r"wasted ([\d.]+) CPU ms", run.console)[1])
    return {"requests": parts / 10 / run.seconds, "p99_ms": float(waits[5]),
            "wasted_percent": wasted / (10 * run.seconds * CPUS)}


def value(results: Results, load: str, form: str, key: str) -> float:
    return results["cfs"][f"{load}-{form}"][key]


def gain(results: Results, load: str, form: str, base: str) -> float:
    """The gain in requests per second, in percent."""
    return 100 * (value(results, load, form, "requests") / value(results, load, base, "requests") - 1)


def gain_claim(load: str, form: str, base: str, least: float, published: str = "-") -> Claim:
    return rule(f"{load}: requests, {form} against {base}, %", f">= {least}", ["cfs"], lambda v: v >= least,
                lambda r: gain(r, load, form, base), "{:+.2f}", published, HOSTS)


NOISE = 0.2  # percent


def claims() -> list[Claim]:
    found = []
    for load in LOADS:
        found += [gain_claim(load, "knobs", "default", 1 if load == "full" else -NOISE, "about +20"),
                  gain_claim(load, "migration", "knobs", -NOISE),
                  gain_claim(load, "knobs+swqueue", "knobs", -NOISE, "+1 to +1.6"),
                  gain_claim(load, "knobs+shared_runq", "knobs", -NOISE),
                  gain_claim(load, "shared_runq", "knobs", -NOISE)]
        found += [rule(f"{load}: p99 of waits, knobs+{feature} / knobs", "< 1", ["cfs"], lambda v: v < 1,
                       lambda r, a=load, f=feature: value(r, a, f"knobs+{f}", "p99_ms") /
                       value(r, a, "knobs", "p99_ms"),
                       published="below 1" if feature == "swqueue" else "-", hosts=HOSTS)
                  for feature in ("swqueue", "shared_runq")]
        found += [shown(f"{load}: wasted, {form}, %", ["cfs"],
                        lambda r, a=load, f=form: value(r, a, f, "wasted_percent"), "{:.2f}") for form in FORMS]
    return found


def draw(figure: Any, results: dict[str, Results]) -> None:
    """Requests relative to the default settings, and the 99th percentile of waits."""
    axes = figure.subplots(1, 2)
    of_host = results[SIMULATOR]
    for nr, form in enumerate(FORMS):
        for at, load in enumerate(LOADS):
            axes[0].bar(at + 0.12 * nr, gain(of_host, load, form, "default"), 0.11, color=f"C{nr}",
                        label=None if at else form)
            axes[1].bar(at + 0.12 * nr, value(of_host, load, form, "p99_ms"), 0.11, color=f"C{nr}")
    axes[0].set_ylabel("requests, gain over default, %")
    axes[1].set_ylabel("p99 of waits, ms")
    for each in axes:
        each.set_xticks([at + 0.36 for at in range(len(LOADS))], LOADS)
    axes[0].legend(fontsize=8)
