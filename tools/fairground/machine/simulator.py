# SPDX-License-Identifier: GPL-2.0-only
"""The simulator, build/schedsim, for tools that run it beside the kernel."""

import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from ..base import tree
from ..base.errors import why_failed
from ..base.settings import Settings
from .qemu import QemuError

PACKED = tree.PACKED / "schedsim"  # that of an installed package, if it was built before


def program(build: str) -> str:
    """The path of schedsim: in the directory @build, or the one that pip installed."""
    path = os.path.join(build, "schedsim")
    if os.path.exists(path):
        return path
    if PACKED.exists():
        return str(PACKED)
    raise QemuError(f"{path} is missing: run make sim" + (
        " in the project's tree, and name its build directory with --build; this package was made without a simulator"
        if tree.IS_PACKED else ""))


def packed() -> int:
    """The program schedsim of an installed package. Returns only if there is none."""
    try:
        path = program(tree.build())
        os.execv(path, ["schedsim", *sys.argv[1:]])
    except (OSError, QemuError) as error:
        print(f"schedsim: {error}", file=sys.stderr)
    return 125


def command(settings: Settings, workload: str | Sequence[str], out: str | None, costs: Mapping[str, int],
            more: Sequence[str] = ()) -> list[str]:
    """The command that runs @workload with @settings, @costs and @more options. It saves the trace in @out if given."""
    workloads = [workload] if isinstance(workload, str) else workload
    words = [program(settings.build), "--sched", settings.sched, "--hz", str(settings.hz), "--seed", str(settings.seed)]
    if "--topology" not in more:
        words += ["--cpus", str(settings.cpus)]
    words += [word for name, ns in costs.items() for word in (f"--cost-{name}", f"{ns}ns")]
    return words + [*more, *(("--trace", out) if out else ()), *workloads]


def cpus(settings: Settings, more: Sequence[str]) -> int:
    """How many CPUs the machine has that @settings and @more options describe."""
    if "--topology" not in more:
        return settings.cpus
    return math.prod(map(int, more[more.index("--topology") + 1].split("x")))


def run(settings: Settings, workload: str | Sequence[str], out: str | None, costs: Mapping[str, int],
        more: Sequence[str] = ()) -> str:
    """Run the simulator and return what it printed. The user reads its errors."""
    words = command(settings, workload, out, costs, more)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise QemuError(f"{' '.join(words)}: {why_failed(done)}")
    return done.stdout
