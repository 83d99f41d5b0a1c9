# SPDX-License-Identifier: GPL-2.0-only
"""A pool of jobs, as `make -j`, with and without the shared wake queue: how much is done, and how much is wasted?

The published runs are builds of a kernel on three machines. Here a job is a process that computes for 5 to 50 ms, and
there are 1.25 jobs for each CPU. No job sleeps, so a CPU that idles wastes its time. A second, harder pool does the
same work in ten parts and waits up to 1 ms for a device after each. The simulator has the machines at full size; the
kernel has 8 CPUs, which a boot parameter divides between two caches.

Time is wasted when a CPU idles while a task waits that it could run (sched/balance/waste.c). The task may wait behind
the same last-level cache, which is the queue's concern, or anywhere, which is the concern of stealing.
"""

import re
from dataclasses import replace
from typing import Any

from ..expect import expect
from ..experiment import KERNEL, SIMULATOR, Claim, Figures, Results, Run, rule, shown

TITLE = "A pool of fork+exec jobs on 1, 2, 6 and 11 caches: jobs done and CPU time wasted, by feature"
SOURCE = "kernel builds, change of their time: SWQUEUE -0.15 % on a 7950X, -0.18 % on Milan, -0.28 % on Bergamo; " \
         "SIS_NODE +0.05, +0.10, +0.60 %; SHARED_RUNQ of all waiting tasks -0.7 % on a 7950X. Waste was not measured"
SETTINGS = {"smp": "8", "hz": "250", "append": "llc=4"}
TIMEOUT = "3000"
SECONDS = 60
SCHEDULERS = ("cfs",)
EVENTS = ""
SIZE = (11, 4.5)

SHAPES = {"kernel": "8 CPUs, 2 caches", "skylake": "1x1x18x2", "7950x": "1x2x8x2", "milan": "1x6x12x1",
          "bergamo": "1x11x8x2"}
SIMULATED = tuple(SHAPES)[1:]
FEATURES = {"off": (), "sis_node": ("SIS_NODE",), "swqueue": ("SWQUEUE",), "shared_runq": ("SHARED_RUNQ",),
            "steal": ("SHARED_RUNQ", "SHARED_RUNQ_STEAL"), "thorough": ("SHARED_RUNQ", "NO_SIS_UTIL")}
QUEUES = ("swqueue", "shared_runq", "steal")
# A case of the pool with waits has `waits` after its shape. Features that matter to one pool run only there.
CASES = tuple(f"{shape}-{feature}" for shape in SHAPES for feature in ("off", "sis_node", *QUEUES)
              if shape != "kernel" or feature != "sis_node") + \
        tuple(f"{shape}+waits-{feature}" for shape in SIMULATED for feature in FEATURES)
RUN, PARTS, PART, IO, WORK = ("5ms", "50ms"), 10, ("500us", "5ms"), ("200us", "1ms"), "1ms"
# A task on a new core refills the caches of the core, and behind a new LLC that one too: some MiB at some 10 GB/s.
COSTS = ("--cost-ipi", "1us", "--cost-migration", "10us", "--cost-cold", "200us")
WAITS_PART = 15  # the pool with waits runs for a fifteenth of the time, because it takes longer to simulate
KERNEL_SEEDS = 30  # pools one after the other


def split(case: str) -> tuple[str, bool, str]:
    """(shape, whether with waits, feature) of a case."""
    pool, _, feature = case.partition("-")
    shape, _, waits = pool.partition("+")
    return shape, bool(waits), feature


def runs(host: str, _sched: str, case: str) -> bool:
    return (host == KERNEL) == (split(case)[0] == "kernel")


def duration(case: str, seconds: int) -> float:
    """How many seconds the case runs."""
    return seconds / (WAITS_PART if split(case)[1] else 1)


def cpus(shape: str) -> int:
    if shape == "kernel":
        return int(SETTINGS["smp"])
    product = 1
    for level in SHAPES[shape].split("x"):
        product *= int(level)
    return product


def kernel(case: str, seconds: int) -> str:
    features = "".join(f"echo {name} > features; " for name in FEATURES[split(case)[2]])
    each_ms = 1000 * duration(case, seconds) / KERNEL_SEEDS
    return (f"cd /sys/kernel/debug/sched; echo 1 > /proc/sys/kernel/sched_schedstats; {features}grep waste_ waste; "
            f"for seed in $(seq {KERNEL_SEEDS}); do jobpool -n {cpus('kernel') * 5 // 4} -p 1 -r {RUN[1]} -i 0ms "
            f"-w {WORK} -s $seed -t {each_ms:.0f}ms; done; grep waste_ waste")


def workload(case: str, _seconds: int) -> str:
    """A built-in workload of the simulator, since rt-app has no random times."""
    shape, waits, _ = split(case)
    what = f"parts={PARTS},run={'-'.join(PART)},io={'-'.join(IO)}" if waits else f"run={'-'.join(RUN)}"
    return f"jobs:n={cpus(shape) * 5 // 4},{what},work={WORK}"


def simulate(case: str, seconds: int) -> list[str]:
    shape, _, feature = split(case)
    words = ["--topology", SHAPES[shape], "--time", f"{1000 * duration(case, seconds):.0f}ms", *COSTS]
    return words + [word for name in FEATURES[feature] for word in ("--features", name)]


def measure(run: Run) -> Figures:
    if run.host == SIMULATOR:
        jobs = int(expect(r"^job .*?nice 0 +(\d+)", run.console)[1])
        wasted, near = map(float, expect(r"wasted ([\d.]+) CPU ms, of these within a cache ([\d.]+)",
                                            run.console).groups())
    else:
        jobs = sum(map(int, re.findall(r"^(\d+) jobs ended", run.console, re.M)))
        wasted, near = ((after - before) / 1e6 for before, after in (
            map(int, re.findall(rf"^{name} (\d+)", run.console, re.M)) for name in ("waste_ns", "waste_llc_ns")))
    span_ms = 1e3 * duration(run.case, run.seconds) * cpus(split(run.case)[0])
    return {"jobs": jobs, "wasted_ms": wasted, "near_ms": near, "wasted_percent": 100 * wasted / span_ms,
            "near_percent": 100 * near / span_ms}


def time_change(results: Results, pool: str, feature: str) -> float:
    """The change of the time of a job, in percent."""
    return 100 * (results["cfs"][f"{pool}-off"]["jobs"] / results["cfs"][f"{pool}-{feature}"]["jobs"] - 1)


def ratio(results: Results, pool: str, feature: str, key: str) -> float:
    """The waste with @feature divided by the waste without it. 0 if there is none in either."""
    wasted, without = (results["cfs"][f"{pool}-{name}"][key] for name in (feature, "off"))
    return wasted and (wasted / without if without else float("inf"))


PUBLISHED = {("7950x", "swqueue"): "-0.15", ("milan", "swqueue"): "-0.18", ("bergamo", "swqueue"): "-0.28",
             ("7950x", "sis_node"): "+0.05", ("milan", "sis_node"): "+0.10", ("bergamo", "sis_node"): "+0.60",
             ("skylake", "shared_runq"): "-0.06", ("7950x", "shared_runq"): "-0.85", ("milan", "shared_runq"): "-0.02"}
NEUTRAL = 0.5       # percent: a smaller change is no difference
NOISE = 0.1         # percent: some jobs are nearly done at the end, others have just begun
KERNEL_NOISE = 0.5  # the same for the 17,000 jobs of the kernel


def host_of(pool: str) -> tuple[str, ...]:
    return (KERNEL,) if pool == "kernel" else (SIMULATOR,)


def time_claim(pool: str, feature: str, most: float) -> Claim:
    return rule(f"{pool}: time of a job, {feature}, %", f"<= {most}", ["cfs"], lambda v: v <= most,
                lambda r: time_change(r, pool, feature), "{:+.2f}", PUBLISHED.get((pool, feature), "-"), host_of(pool))


def waste_claim(pool: str, feature: str, where: str, most: float | None) -> Claim:
    """A claim about the waste with @feature, divided by the waste without. @most None: nothing is claimed."""
    key, text = {"cache": ("near_ms", "in caches"), "machine": ("wasted_ms", "anywhere")}[where]
    text = f"{pool}: wasted {text}, {feature} / off"
    if most is None:
        return replace(shown(text, ["cfs"], lambda r: ratio(r, pool, feature, key)), hosts=host_of(pool))
    return rule(text, f"<= {most}", ["cfs"], lambda v: v <= most, lambda r: ratio(r, pool, feature, key),
                hosts=host_of(pool))


def claims_of(pool: str) -> list[Claim]:
    waits = pool.endswith("+waits")
    most = 0 if waits else KERNEL_NOISE if pool == "kernel" else NOISE
    found = [time_claim(pool, feature, most) for feature in QUEUES]
    found += [rule(f"{pool}: wasted {text} without, % of CPU time", "> 0", ["cfs"], lambda v: v > 0,
                   lambda r, k=key: r["cfs"][f"{pool}-off"][k], "{:.4f}", hosts=host_of(pool))
              for text, key in (("in caches", "near_percent"), ("anywhere", "wasted_percent"))]
    # The first form knows only tasks that woke where they slept, so it must do some good and no more is asked. In the
    # 30 ms that the kernel wastes within caches its effect cannot be seen.
    found.append(waste_claim(pool, "swqueue", "cache", None if pool == "kernel" else 1))
    found.append(waste_claim(pool, "shared_runq", "cache", None if waits else 0.1))
    if waits:
        found.append(waste_claim(pool, "thorough", "cache", 0.01))
    found.append(waste_claim(pool, "steal", "cache", 0.1))
    found.append(waste_claim(pool, "shared_runq", "machine", None))
    # Stealing takes only tasks that have waited for 0.5 ms. The kernel wastes so little that this matters.
    found.append(waste_claim(pool, "steal", "machine", None if waits or pool == "kernel" else 0.1))
    return found


def claims() -> list[Claim]:
    pools = (*SHAPES, *(f"{shape}+waits" for shape in SIMULATED))
    found = [claim for pool in pools for claim in claims_of(pool)]
    for pool in ("bergamo", "bergamo+waits"):
        found.append(rule(f"{pool}: time of a job, sis_node, %", f">= -{NEUTRAL}", ["cfs"], lambda v: v >= -NEUTRAL,
                          lambda r, p=pool: time_change(r, p, "sis_node"), "{:+.2f}",
                          PUBLISHED["bergamo", "sis_node"], (SIMULATOR,)))
    return found


def draw(figure: Any, results: dict[str, Results]) -> None:
    """Waste within caches, and jobs, by shape and feature: of the pool with waits and of the kernel."""
    pools = [pool for pool in ("kernel", *(f"{shape}+waits" for shape in SIMULATED))
             if f"{pool}-off" in results.get(host_of(pool)[0], {}).get("cfs", {})]
    for axes, key, label in zip(figure.subplots(1, 2), ("near_percent", "jobs"),
                                ("CPU time wasted within caches, %", "jobs done, relative to off")):
        for nr, feature in enumerate(("off", "sis_node", *QUEUES)):
            for at, pool in enumerate(pools):
                of_host = results[host_of(pool)[0]]["cfs"]
                if f"{pool}-{feature}" not in of_host:
                    continue
                value = of_host[f"{pool}-{feature}"][key]
                if key == "jobs":
                    value /= of_host[f"{pool}-off"]["jobs"]
                labels = axes.get_legend_handles_labels()[1]
                axes.bar(at + 0.16 * nr, value, 0.15, color=f"C{nr}", label=None if feature in labels else feature)
        axes.set_xticks([at + 0.32 for at in range(len(pools))], pools, fontsize=8)
        axes.set_ylabel(label)
    figure.axes[0].legend(fontsize=8)
