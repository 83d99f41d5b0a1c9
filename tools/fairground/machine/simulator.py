# SPDX-License-Identifier: GPL-2.0-only
"""The simulator, build/schedsim, for tools that run it beside the kernel."""

import functools
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base import tree
from ..base.errors import why_failed
from ..base.settings import Settings, UsageError
from .qemu import QemuError
from .scheduler_end import check_results

SCX = "scx:"  # in front of a program for sched_ext
EXAMPLES = tree.ROOT / "examples/scx"
COMPILES = threading.Lock()  # held while an example is compiled
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


def make_program(target: str, source: Path, build: str) -> Path:
    """make @target, scx or scx-linux, of the program @source for sched_ext. Returns its object, without the ending.
    QemuError with what the compiler says."""
    done = subprocess.run(["make", "-s", "-C", str(tree.ROOT), f"B={os.path.abspath(build)}",
                           f"SRC={os.path.abspath(source)}", target],
                          capture_output=True, text=True, check=False, env={**os.environ, "MAKEFLAGS": ""})
    if done.returncode:
        raise QemuError(f"make {target} SRC={source}: {why_failed(done)}")
    name = source.name.removesuffix(".bpf.c")
    return Path(build, "scx", source.parent.name if name == "main" else name)


@functools.cache
def made_example(name: str, build: str) -> Path:
    """make_example(), by one thread at a time."""
    source = EXAMPLES / f"{name}.bpf.c"
    if not source.exists():
        known = ", ".join(sorted(path.name.removesuffix(".bpf.c") for path in EXAMPLES.glob("*.bpf.c")))
        raise UsageError(f"{SCX}{name}: FILE.so of make scx is expected, or an example: {known}")
    return make_program("scx", source, build)


def make_example(name: str, build: str) -> Path:
    """Compiles the example @name of a program for sched_ext into @build, once. Returns its object, without the ending.
    UsageError if there is none; as make_program()."""
    with COMPILES:
        return made_example(name, build)


def scx_object(policy: str, build: str, ending: str = ".so") -> str:
    """FILE[,NAME=VALUE...] of @policy: scx:FILE, an object of make scx, or scx:NAME, an example; each with constants.
    The @ending is .so, for the simulator, or .o, for the kernel."""
    name, comma, constants = policy.removeprefix(SCX).partition(",")
    path = Path(name) if name.endswith((".so", ".o")) else make_example(name, build)
    return f"{path.with_suffix(ending)}{comma}{constants}"


def policy_words(policy: str, build: str) -> list[str]:
    """The words that choose a @policy that is built in, or a program for sched_ext."""
    return ["--scx", scx_object(policy, build)] if policy.startswith(SCX) else ["--sched", policy]


def command(settings: Settings, workload: str | Sequence[str], out: str | None, costs: Mapping[str, int],
            more: Sequence[str] = ()) -> list[str]:
    """The command that runs @workload with @settings, @costs and @more options. It saves the trace in @out if given."""
    workloads = [workload] if isinstance(workload, str) else workload
    words = [program(settings.build), *policy_words(settings.sched, settings.build), "--hz", str(settings.hz),
             "--seed", str(settings.seed)]
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


def results(build: str, words: Sequence[str]) -> dict[str, Any]:
    """schedsim's JSON of a run with @words. SchedulerEnded if its program for sched_ext ended before the run did."""
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        path = Path(directory, "run.json")
        done = subprocess.run([program(build), "--json", str(path), *words], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise QemuError(f"schedsim {' '.join(words)}: {why_failed(done)}")
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    check_results(data)
    return data
