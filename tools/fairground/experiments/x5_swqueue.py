"""A pool of jobs, as `make -j`, with and without the shared wake queue: how much is done, how much CPU time is wasted?

The published runs are builds of a kernel on three machines; here a job is 10 parts of computing, 5 to 50 ms in all,
with
a short wait for a device after each, and 1.25 jobs a CPU are under way. The machines are there in the simulator at full
size; the kernel has 8 CPUs that a boot parameter divides between two caches. Wasted is the time in which a CPU idled
while a task waited that it could have run (sched/waste.c).
"""

import re

from ..experiment import KERNEL, SIMULATOR, rule

TITLE = "A pool of fork+exec jobs on 1, 2, 6 and 11 caches: jobs done and CPU time wasted, by feature"
SOURCE = "kernel builds, change of their time: SWQUEUE -0.15 % on a 7950X, -0.18 % on Milan, -0.28 % on Bergamo; " \
         "SIS_NODE +0.05, +0.10, +0.60 %; SHARED_RUNQ of all waiting tasks -0.7 % on a 7950X. Waste was not measured"
SETTINGS = {"smp": "8", "hz": "250", "append": "llc=2"}
SECONDS = 4
SCHEDULERS = ("cfs",)
EVENTS = ""
SIZE = (11, 4.5)

SHAPES = {"kernel": "8 CPUs, 2 caches", "skylake": "1x1x18x2", "7950x": "1x2x8x2", "milan": "1x6x12x1",
          "bergamo": "1x11x8x2"}
FEATURES = {"off": (), "sis_node": ("SIS_NODE",), "swqueue": ("SWQUEUE",), "shared_runq": ("SHARED_RUNQ",),
            "steal": ("SHARED_RUNQ", "SHARED_RUNQ_STEAL")}
CASES = tuple(f"{shape}-{feature}" for shape in SHAPES for feature in FEATURES)
PARTS, RUN, IO, WORK = 10, ("500us", "5ms"), ("200us", "1ms"), "1ms"
# A task that comes to another core refills its own caches, to another LLC those too: some MiB at some 10 GB/s.
COSTS = ("--cost-ipi", "1us", "--cost-migration", "10us", "--cost-cold", "200us")
KERNEL_PART = 4  # the kernel runs for so many times less: its CPUs share one stream of instructions


def split(case):
    shape, _, feature = case.partition("-")
    return shape, feature


def runs(host, _sched, case):
    return (host == KERNEL) == (split(case)[0] == "kernel")


def cpus(shape):
    product = 1
    for level in SHAPES[shape].split("x"):
        product *= int(level)
    return product


def kernel(case, seconds):
    features = "".join(f"echo {name} > features; " for name in FEATURES[split(case)[1]])
    return (f"cd /sys/kernel/debug/sched; echo 1 > /proc/sys/kernel/sched_schedstats; {features}grep waste_ns waste; "
            f"jobpool -n {int(SETTINGS['smp']) * 5 // 4} -p {PARTS} -r {RUN[1]} -i {IO[1]} -w {WORK} "
            f"-t {seconds * 1000 // KERNEL_PART}ms; grep waste_ns waste")


def workload(case, _seconds):
    """A workload of the simulator's own: rt-app has no random times."""
    return (f"jobs:n={cpus(split(case)[0]) * 5 // 4},parts={PARTS},run={'-'.join(RUN)},io={'-'.join(IO)},"
            f"work={WORK}")


def simulate(case, seconds):
    shape, feature = split(case)
    words = ["--topology", SHAPES[shape], "--time", f"{seconds}s", *COSTS]
    return words + [word for name in FEATURES[feature] for word in ("--features", name)]


def measure(run):
    if run.host == SIMULATOR:
        jobs = int(re.search(r"^job .*?nice 0 +(\d+)", run.console, re.M)[1])
        wasted_ms = float(re.search(r"wasted ([\d.]+) CPU ms", run.console)[1])
        span_ms = run.seconds * 1e3 * cpus(split(run.case)[0])
    else:
        jobs = int(re.search(r"^(\d+) jobs ended", run.console, re.M)[1])
        before, after = map(int, re.findall(r"^waste_ns (\d+)", run.console, re.M))
        wasted_ms = (after - before) / 1e6
        span_ms = run.seconds * 1e3 / KERNEL_PART * int(SETTINGS["smp"])
    return {"jobs": jobs, "wasted_ms": wasted_ms, "wasted_percent": 100 * wasted_ms / span_ms}


def time_change(results, shape, feature):
    """Of the time of a job, percent."""
    return 100 * (results["cfs"][f"{shape}-off"]["jobs"] / results["cfs"][f"{shape}-{feature}"]["jobs"] - 1)


def waste_ratio(results, shape, feature):
    return results["cfs"][f"{shape}-{feature}"]["wasted_ms"] / results["cfs"][f"{shape}-off"]["wasted_ms"]


PUBLISHED = {("7950x", "swqueue"): "-0.15", ("milan", "swqueue"): "-0.18", ("bergamo", "swqueue"): "-0.28",
             ("7950x", "sis_node"): "+0.05", ("milan", "sis_node"): "+0.10", ("bergamo", "sis_node"): "+0.60",
             ("skylake", "shared_runq"): "-0.06", ("7950x", "shared_runq"): "-0.85", ("milan", "shared_runq"): "-0.02"}
NEUTRAL = 0.5     # percent: less is no difference
KERNEL_NOISE = 2  # percent: it does some 250 jobs of random length


def host_of(shape):
    return (KERNEL,) if shape == "kernel" else (SIMULATOR,)


def claims():
    found = []
    for shape in SHAPES:
        for feature in ("swqueue", "shared_runq", "steal"):
            most = KERNEL_NOISE if shape == "kernel" else 0
            found.append(rule(f"{shape}: time of a job, {feature}, %", f"<= {most}", ["cfs"], lambda v, m=most: v <= m,
                              lambda r, s=shape, f=feature: time_change(r, s, f), "{:+.2f}",
                              PUBLISHED.get((shape, feature), "-"), host_of(shape)))
    found.append(rule("bergamo: time of a job, sis_node, %", f">= -{NEUTRAL}", ["cfs"], lambda v: v >= -NEUTRAL,
                      lambda r: time_change(r, "bergamo", "sis_node"), "{:+.2f}", PUBLISHED["bergamo", "sis_node"],
                      (SIMULATOR,)))
    for shape in SHAPES:
        found.append(rule(f"{shape}: wasted without, % of all CPU time", "> 0", ["cfs"], lambda v: v > 0,
                          lambda r, s=shape: r["cfs"][f"{s}-off"]["wasted_percent"], "{:.2f}", hosts=host_of(shape)))
        for feature in ("swqueue", "shared_runq", "steal"):
            found.append(rule(f"{shape}: wasted, {feature} / off", "<= 0.1", ["cfs"], lambda v: v <= 0.1,
                              lambda r, s=shape, f=feature: waste_ratio(r, s, f), "{:.3f}", hosts=host_of(shape)))
    return found


def draw(figure, results):
    """Waste and jobs, by shape and feature."""
    for axes, key, label in zip(figure.subplots(1, 2), ("wasted_percent", "jobs"),
                                ("CPU time wasted, %", "jobs done, relative to off")):
        for nr, feature in enumerate(FEATURES):
            for at, shape in enumerate(SHAPES):
                of_host = results.get(host_of(shape)[0], {}).get("cfs", {})
                if f"{shape}-{feature}" not in of_host:
                    continue
                value = of_host[f"{shape}-{feature}"][key]
                if key == "jobs":
                    value /= of_host[f"{shape}-off"]["jobs"]
                axes.bar(at + 0.16 * nr, value, 0.15, color=f"C{nr}", label=feature if at == 1 else None)
        axes.set_xticks([at + 0.32 for at in range(len(SHAPES))], SHAPES, fontsize=8)
        axes.set_ylabel(label)
    figure.axes[1].set_ylim(0.98, 1.06)
    figure.axes[0].legend(fontsize=8)
