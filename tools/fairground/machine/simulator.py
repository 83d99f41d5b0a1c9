# SPDX-License-Identifier: GPL-2.0-only
"""The simulator, build/schedsim, for tools that run it beside the kernel."""

import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..base import tree
from ..base.errors import why_failed
from ..base.settings import Settings
from .qemu import QemuError

EXAMPLE = "scx:"
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


def source_of(sched: str) -> Path | None:
    """The file of @sched, if that is scx:NAME, an example of a program for sched_ext."""
    return tree.ROOT / f"examples/scx/{sched.removeprefix(EXAMPLE)}.bpf.c" if sched.startswith(EXAMPLE) else None


def make_program(settings: Settings) -> None:
    """Compiles the program of settings.sched, if that names one. QemuError with what the compiler says."""
    if source := source_of(settings.sched):
        done = subprocess.run(["make", "-s", "-C", str(tree.ROOT), f"B={settings.build}", f"SRC={source}", "scx"],
                              capture_output=True, text=True, check=False, env={**os.environ, "MAKEFLAGS": ""})
        if done.returncode:
            raise QemuError(f"make scx SRC={source}: {why_failed(done)}")


def policy(settings: Settings) -> list[str]:
    """The words that choose the policy, or the program, of @settings."""
    if not (source := source_of(settings.sched)):
        return ["--sched", settings.sched]
    return ["--scx", os.path.join(settings.build, "scx", source.name.replace(".bpf.c", ".so"))]


def command(settings: Settings, workload: str | Sequence[str], out: str | None, costs: Mapping[str, int],
            more: Sequence[str] = ()) -> list[str]:
    """The command that runs @workload with @settings, @costs and @more options. It saves the trace in @out if given."""
    workloads = [workload] if isinstance(workload, str) else workload
    words = [program(settings.build), *policy(settings), "--hz", str(settings.hz), "--seed", str(settings.seed)]
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
