# SPDX-License-Identifier: GPL-2.0-only
"""Pairs of tasks that wake each other all the time, two tasks for each CPU: the price of a queue that all CPUs share.

Nothing is gained here: work is short, and a waiting task runs soon. But each round trip goes through the shared queue,
and the more CPUs use one lock, the more of them wait for it. The published case is netperf UDP_RR on an LLC of 36
threads, where half of the time went into the lock of the first form.
"""

import re
from dataclasses import replace
from typing import Any

from ..expect import expect
from ..experiment import SIMULATOR, Claim, Figures, Results, Run, rule, shown

TITLE = "Ping-pong by two pairs a CPU behind one cache: round trips with one lock for all, with shards, and without"
SOURCE = "netperf UDP_RR, 72 clients on 36 threads: 53 % of the time in the lock of the unsharded queue; with shards " \
         "-4.6 % (v3) to -3.4 % (v2, all waiting tasks)"
SETTINGS = {"smp": "8", "hz": "250"}
SECONDS = 1
SCHEDULERS = ("cfs",)
EVENTS = ""
SIZE = (9, 4)

FEATURES = {"off": (), "swqueue": ("SWQUEUE",), "unsharded": ("SHARED_RUNQ",), "sharded": ("SHARED_RUNQ",)}
UNSHARDED = 4096  # CPUs in a shard: all of them
CASES = tuple(FEATURES)
CPUS, PAIRS = 36, 72
# The lock is held mostly while two cache lines travel: its own, and that of the neighbour in the list.
COSTS = ("--cost-shard", "200ns", "--cost-ipi", "1us")
KERNEL_LOAD = "hack -g 2 -f 10 -l 20"  # pingpong pins its tasks, and pinned tasks are never in the queue


def size_of(case: str) -> int | None:
    return {"unsharded": UNSHARDED, "sharded": 6}.get(case)


def kernel(case: str, _seconds: int) -> str:
    """Too few CPUs take part in the kernel for a rate to suffer. So count how often the lock was busy."""
    features = "".join(f"echo {name} > features; " for name in FEATURES[case])
    size = f"echo {2 if case == 'sharded' else UNSHARDED} > shared_runq_shard_size; " if size_of(case) else ""
    return (f"cd /sys/kernel/debug/sched; echo 1 > /proc/sys/kernel/sched_schedstats; {size}{features}"
            f"{KERNEL_LOAD}; grep shared debug")


def workload(_case: str, _seconds: int) -> str:
    return f"pingpong:n={PAIRS},run=2us-8us"


def simulate(case: str, seconds: int) -> list[str]:
    words = ["--topology", f"1x1x{CPUS // 2}x2", "--time", f"{seconds}s", *COSTS]
    words += [word for name in FEATURES[case] for word in ("--features", name)]
    return words + (["--set", f"shared_runq_shard_size={size_of(case)}"] if size_of(case) else [])


def measure(run: Run) -> Figures:
    if run.host == SIMULATOR:
        locks = re.search(r"shard locks: (\d+) taken, ([\d.]+) % after waiting, ([\d.]+) CPU ms", run.console)
        wakeups = int(expect(r"(\d+) wakeups", run.console)[1])
        return {"rate": wakeups / 2 / run.seconds, "taken": int(locks[1]) if locks else 0,
                "busy_percent": float(locks[2]) if locks else 0,
                "wait_percent": float(locks[3]) / (run.seconds * 10 * CPUS) if locks else 0}
    counts: dict[str, int] = {}
    for name, value in re.findall(r"\.(shared_\w+) +: (\d+)", run.console):
        counts[name] = counts.get(name, 0) + int(value)
    taken = counts["shared_linked"] + counts["shared_unlinked"] + counts["shared_refused"]
    return {"taken": taken, "busy_percent": 100 * counts["shared_contended"] / taken if taken else 0}


def value(results: Results, case: str, key: str) -> float:
    return results["cfs"][case][key]


def relative(results: Results, case: str) -> float:
    return 100 * value(results, case, "rate") / value(results, "off", "rate")


def claims() -> list[Claim]:
    simulator = (SIMULATOR,)
    found = [rule(f"{case}: round trips, % of those without", bound, ["cfs"], holds,
                  lambda r, c=case: relative(r, c), "{:.1f}", published, simulator)
             for case, bound, holds, published in (
                 ("swqueue", "< 95", lambda v: v < 95, "about 50"), ("unsharded", "< 95", lambda v: v < 95, "-"),
                 ("sharded", "<= 100", lambda v: v <= 100, "95.4 to 96.6"))]
    found.append(rule("sharded / unsharded: round trips", "> 1", ["cfs"], lambda v: v > 1,
                      lambda r: relative(r, "sharded") / relative(r, "unsharded"), "{:.3f}", hosts=simulator))
    for case in ("swqueue", "unsharded", "sharded"):
        found.append(rule(f"{case}: times the lock was taken", "> 0", ["cfs"], lambda v: v > 0,
                          lambda r, c=case: value(r, c, "taken"), "{:.0f}"))
        found.append(shown(f"{case}: lock found busy, %", ["cfs"], lambda r, c=case: value(r, c, "busy_percent"),
                           "{:.2f}"))
        found.append(replace(shown(f"{case}: CPU time spent waiting for it, %", ["cfs"],
                                   lambda r, c=case: value(r, c, "wait_percent"), "{:.2f}"), hosts=simulator,
                             published="53" if case == "swqueue" else "-"))
    found.append(rule("without: times the lock was taken", "0", ["cfs"], lambda v: v == 0,
                      lambda r: value(r, "off", "taken"), "{:.0f}"))
    return found


def draw(figure: Any, results: dict[str, Results]) -> None:
    axes = figure.subplots(1, 2)
    for at, case in enumerate(CASES):
        if SIMULATOR in results:
            axes[0].bar(at, value(results[SIMULATOR], case, "rate"), color=f"C{at}")
        for nr, (host, of_host) in enumerate(results.items()):
            axes[1].bar(at + 0.4 * nr, value(of_host, case, "busy_percent"), 0.35, color=f"C{nr}",
                        label=host if not at else None)
    axes[0].set_xticks(range(len(CASES)), CASES)
    axes[1].set_xticks([at + 0.2 * (len(results) - 1) for at in range(len(CASES))], CASES)
    axes[0].set_ylabel("round trips/s, simulator")
    axes[1].set_ylabel("lock found busy, %")
    axes[1].legend(fontsize=8)
