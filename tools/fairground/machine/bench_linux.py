# SPDX-License-Identifier: GPL-2.0-only
"""Linux's side of make bench and make bench-smp: the same programs on Debian's kernels, in the same machine.

The figures are in baselines.json. --fresh boots the kernels of build/linux and replaces their figures there. Two boots
of a kernel differ a little, so each kernel boots RUNS times, each time after another pause, and medians count.
"""

import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.expect import Missing, expect
from ..base.progress import Progress
from ..base.settings import Settings
from .linux import ABOUT, END, MARK, LinuxSettings, digest, find_kernel, qemu_versions, sections, tick_rate
from .machine import Machine, at_once

FILE = pathlib.Path(__file__).with_name("baselines.json")
RELEASES = ("6.1", "6.12", "7.2")
CPUS = (1, 2, 4)
RUNS = 3
PROGRAMS = ("bench", "hack")
PAUSE_S = 0.2
TICKS_S = 0.02     # up to so much more: some ticks
SETTLING_S = 5     # Linux goes on for a few seconds after it has started the shell
MEMORY_MIB = 1024  # at least: room for 10,000 threads
TIMEOUT_S = 3600   # only ends machines that hang
# These parameters turn off two features that make Linux's paths longer in this machine alone: on a CPU with ERMS Linux
# clears pages by `rep stosb`, and QEMU counts each byte of that as an instruction; and a fifth level of page tables.
APPEND = "clearcpuid=erms,fsrm no5lvl"
FIGURE = re.compile(r"^(\w+) (\d+|-) ns$", re.MULTILINE)
TIME = r"^Time: ([\d.]+)"
MESSAGES = "hack -g 5 -f 10 -p"
# The operations that Linux has, in the order of the table: on one CPU, and those between two.
OPERATIONS = """
null_syscall clock_gettime clock_gettime_syscall read_dev_zero yield_alone yield_switch pipe_round_trip futex_round_trip
pipe_round_trip_2cpu futex_round_trip_2cpu thread_create_join fork_exit_wait spawn_wait nanosleep_late_default
nanosleep_late_slack_1ns nanosleep_late_fifo pick_2 pick_10 pick_100 pick_1000 pick_10000 trace_event switch_depth_0
switch_depth_1 switch_depth_3 switch_depth_5 wake_depth_0 wake_depth_1 wake_depth_3 wake_depth_5 cgroup_move
""".split()
TWO_CPUS = tuple(name for name in OPERATIONS if name.endswith("_2cpu"))
ROUND_TRIP = "futex_round_trip_2cpu"
PRELUDE = f"""\
echo {MARK}{ABOUT}
cat /proc/version /sys/kernel/debug/sched/preempt
echo 30000 >/proc/sys/kernel/threads-max
echo {MARK}bench
"""


def operations(cpus: int) -> list[str]:
    """What is measured on a machine with @cpus CPUs."""
    return [name for name in OPERATIONS if (name not in TWO_CPUS if cpus == 1 else
                                            name in TWO_CPUS if cpus == 2 else name == ROUND_TRIP)]


def script(cpus: int, run: int) -> str:
    """What a machine with @cpus CPUs does. The last words wait: Linux drops what its terminal has not yet sent."""
    pause = SETTLING_S + random.Random(run).uniform(0, TICKS_S)
    return f"sleep {pause:.6f}\n{PRELUDE}bench {' '.join(operations(cpus))}\n{MESSAGES}\necho {END}\nsleep {PAUSE_S}\n"


@dataclass
class Measured:
    """One boot."""

    version: str
    model: str
    qemu: str
    operations: dict[str, int]  # instructions
    hack: float                 # millions of them


def read_boot(console: str, qemu: str, wanted: Sequence[str]) -> Measured:
    """What a machine printed. Raises Missing if it did not come to its end, or not all of @wanted was measured."""
    found = sections(console)
    if END.removeprefix(MARK) not in found:
        raise Missing(f"the machine did not come to the end of its programs:\n{console[-2000:]}")
    version, model = found[ABOUT].splitlines()[:2]
    figures = {name: int(value) for name, value in FIGURE.findall(found["bench"]) if value != "-"}
    if set(wanted) - set(figures):
        raise Missing(f"no figure of {sorted(set(wanted) - set(figures))[0]} in\n{found['bench']}")
    return Measured(version, expect(r"\((\w+)\)", model)[1], qemu, figures,
                    round(1e3 * float(expect(TIME, found["bench"])[1])))


def measure(settings: Settings, run: int) -> Measured:
    with Machine(dataclasses.replace(settings, cmd=script(settings.cpus, run))) as machine:
        outcome, qemu = machine.run(), machine.qemu.name
    try:
        return read_boot(outcome.console, qemu, operations(settings.cpus))
    except Missing as error:
        kernel = os.path.basename(settings.kernel)
        raise Missing(f"{kernel}, {settings.cpus} CPUs: {error} {outcome.problem}") from error


@dataclass
class Kernel:
    """What is kept of one release."""

    version: str
    model: str
    hz: int
    qemu: str
    parameters: str
    programs: dict[str, str]                                        # name -> digest
    operations: dict[str, list[int]] = field(default_factory=dict)  # the instructions of each run
    # As bench-smp names them: row -> CPUs -> a figure of each run.
    smp: dict[str, dict[str, list[float]]] = field(default_factory=dict)


def together(boots: Mapping[int, Iterable[Measured]], hz: int, parameters: str, programs: dict[str, str]) -> Kernel:
    """What is kept of @boots, CPUs -> its runs."""
    every = [boot for runs in boots.values() for boot in runs]
    kernel = Kernel(every[0].version, every[0].model, hz, qemu_versions(boot.qemu for boot in every),
                    parameters, programs)
    for cpus, runs in boots.items():
        for boot in runs:
            kernel.smp.setdefault("hack", {}).setdefault(str(cpus), []).append(boot.hack)
            for name, value in boot.operations.items():
                if name == ROUND_TRIP:
                    kernel.smp.setdefault("round_trip", {}).setdefault(str(cpus), []).append(value)
                if (cpus == 2) == (name in TWO_CPUS) and cpus <= 2:
                    kernel.operations.setdefault(name, []).append(value)
    kernel.operations = {name: kernel.operations[name] for name in OPERATIONS if name in kernel.operations}
    return kernel


def measure_all(build: str) -> dict[str, Kernel]:
    """The kernels that are in @build, measured. Raises Missing if there is none; says which ones are missing."""
    paths, missing = {}, []
    for release in RELEASES:
        try:
            paths[release] = find_kernel(build, release)
        except Missing as error:
            missing.append(error)
    if not paths:
        raise missing[0]
    for reason in missing:
        Progress.note(f"fairground: {reason}; the older figures of this kernel stay")
    jobs = []
    with at_once(len(os.sched_getaffinity(0))) as pool:
        for cpus, (release, path), run in itertools.product(sorted(CPUS, reverse=True), paths.items(), range(RUNS)):
            settings = LinuxSettings(build=build, icount=True, mem=MEMORY_MIB, kvm="0", timeout=TIMEOUT_S,
                                     append=APPEND, linux=path, smp=str(cpus), cpus=cpus)
            jobs.append((release, cpus, pool.submit(measure, settings, run)))
        with Progress("boot of Linux", len(jobs)) as progress:
            for _, _, job in jobs:
                job.result()
                progress.step()
    programs = {name: digest(build, name) for name in PROGRAMS}
    parameters = LinuxSettings(append=APPEND).command_line()
    return {release: together({cpus: [job.result() for r, c, job in jobs if (r, c) == (release, cpus)]
                               for cpus in CPUS}, tick_rate(path), parameters, programs)
            for release, path in paths.items()}


# --- what is kept ---------------------------------------------------------------------------------------------------


def load(path: pathlib.Path = FILE) -> dict[str, Kernel]:
    """Release -> what is kept of it."""
    with open(path, encoding="utf-8") as f:
        return {release: Kernel(**fields) for release, fields in json.load(f)["kernels"].items()}


def keep(kernels: Mapping[str, Kernel], path: pathlib.Path = FILE) -> None:
    """Write @kernels to @path, the figures of each row in one line."""
    about = "Instructions on Debian's kernels, of each run; written by make bench ARGS=--fresh " \
            "(docs/performance.md). Sleeps: ns after the time asked for. smp: for make bench-smp, by CPUs; hack in " \
            "millions."
    text = json.dumps({"about": about, "kernels": {r: dataclasses.asdict(k) for r, k in kernels.items()}}, indent=1)
    text = re.sub(r"\[\s+([\d.,\s]+?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)
    path.write_text(text + "\n", encoding="utf-8")


def medians(kernels: Mapping[str, Kernel]) -> dict[str, dict[str, int]]:
    """Operation -> release -> instructions."""
    return {name: {release: int(statistics.median(kernel.operations[name])) for release, kernel in kernels.items()
                   if name in kernel.operations} for name in OPERATIONS}


def describe(kernels: Mapping[str, Kernel], build: str) -> list[str]:
    """A line for each kernel; a note on stderr if the programs of @build are others than those that were measured."""
    lines = [f"Linux {kernel.version.removeprefix('Linux version ').partition(' ')[0]}, preempt={kernel.model}, "
             f"HZ={kernel.hz}, {kernel.qemu}; the median of {RUNS} boots" for kernel in kernels.values()]
    today = {name: digest(build, name) for name in PROGRAMS if os.path.exists(os.path.join(build, "user", name))}
    changed = sorted(name for name, now in today.items()
                     if any(kernel.programs.get(name, now) != now for kernel in kernels.values()))
    if changed:
        Progress.note(f"fairground: Linux was measured with another build of {' and '.join(changed)} than today's: "
                      "make bench ARGS=--fresh measures it anew")
    return lines
