# SPDX-License-Identifier: GPL-2.0-only
"""The tests that a mutation meets, cheapest first, and how one of them is run.

A program's own CPU time is limited, never its time on the wall: a mutation that loops for ever is noticed on a busy
host as on an idle one.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from fairground.base.settings import SCHEDULERS

# Minutes each: they meet only what has survived the others.
LONG_SIM = ("test_scenarios", "test_decisions", "test_placements", "test_balance_cost", "test_judge", "test_machine")
SHORT_SIM = ("test_explored",)  # judges of random decisions: seconds, and they notice much
SHORTER = {"test_scenarios": ("-k", "not F-05")}  # this card alone takes longer than all unit tests
SHORT_OPS, LONG_OPS, LONG_SEED = 20000, 200000, 1001
CC = f"{os.environ.get('CC', 'gcc')} -w"  # a mutation may leave a variable unused
CPU_LIMIT_S = 2  # and five times what the test takes without a mutation
SIM_CPU_LIMIT_S = 15  # of one simulation among many of a test
WALL_LIMIT_S = 1800  # for tests that wait and use no CPU; on any host that is much too long
MEMORY = 4 << 30
FILE_SIZE = 256 << 20


@dataclass
class Layer:
    """One program that tests, and what is known of it."""

    name: str
    words: tuple[str, ...]
    phase: int  # earlier ones are run first
    # taken while it runs, if it writes files that another run of it would write too
    alone: contextlib.AbstractContextManager[object] = field(default_factory=contextlib.nullcontext)
    cpu_s: float = 0.0
    reached: frozenset[int] = frozenset()  # mutations that it comes by
    kills: dict[str, int] = field(default_factory=dict)  # by file

    def promise(self, file: str) -> float:
        """Small for a cheap layer that has noticed mutations of @file before: such a one is tried first."""
        return (self.cpu_s + 0.02) / (1 + self.kills.get(file, 0))


@dataclass(frozen=True)
class Outcome:
    status: int  # 0: passed; otherwise as Popen.returncode
    cpu_s: float
    output: str


def list_layers(tree: pathlib.Path, wanted: str) -> list[Layer]:
    """The layers whose name begins with @wanted, for programs built in @tree."""
    layers = [Layer(f"unit {path.stem[5:]}", (f"build/unit/{path.stem}",), 0)
              for path in sorted((tree / "tests/unit").glob("test_*.c"))]
    layers += [Layer(f"explore {policy} {SHORT_OPS}", ("build/unit/prop_sched", "--sched", policy, "--no-shrink",
                                                      "--ops", str(SHORT_OPS)), 1) for policy in SCHEDULERS]
    layers += [Layer(f"prop {path.stem[5:]}", (f"build/unit/{path.stem}",), 2)
               for path in sorted((tree / "tests/prop").glob("prop_*.c")) if path.stem != "prop_sched"]
    layers += [Layer(f"exhaustive {policy}", ("build/schedsim", "--sched", policy, "--exhaustive", "4"), 2)
               for policy in SCHEDULERS]
    layers += [Layer(f"explore {policy} {LONG_OPS}", ("build/schedsim", "--sched", policy, "--no-shrink", "--seed",
                                                     str(LONG_SEED), "--ops", str(LONG_OPS)), 2)
               for policy in SCHEDULERS]
    for path in sorted((tree / "tests/sim").glob("test_*.py")):
        words = (sys.executable, "-m", "pytest", "-x", "-q", "--tier", "all", f"tests/sim/{path.name}",
                 *SHORTER.get(path.stem, ()))
        layer = Layer(f"sim {path.stem[5:]}", words,
                      1 if path.stem in SHORT_SIM else 4 if path.stem in LONG_SIM else 3)
        if "plugin" in path.read_text(encoding="utf-8"):
            layer.alone = threading.Lock()
        layers.append(layer)
    return [layer for layer in layers if layer.name.startswith(wanted)]


def environment(tree: pathlib.Path, extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("B", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return {**kept, "ASAN_OPTIONS": "detect_leaks=0:hard_rss_limit_mb=2048", "PYTHONPATH": str(tree / "tools"),
            "PYTHONDONTWRITEBYTECODE": "1", "CC": CC, **extra}


def limits(layer: Layer) -> list[str]:
    cpu_s = int(CPU_LIMIT_S + 5 * layer.cpu_s) if layer.phase < 3 else SIM_CPU_LIMIT_S
    words = ["prlimit", f"--cpu={cpu_s}:{cpu_s + 5}", f"--fsize={FILE_SIZE}", "--core=0"]
    sanitized = layer.words[0].startswith("build/unit/")  # these reserve terabytes of addresses
    return words if sanitized else [*words, f"--as={MEMORY}"]


def run(layer: Layer, tree: pathlib.Path, **extra: str) -> Outcome:
    """Run @layer in @tree. @extra: for its environment."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([*limits(layer), *layer.words], cwd=tree, env=environment(tree, extra),
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        timer = threading.Timer(WALL_LIMIT_S, os.killpg, (child.pid, signal.SIGKILL))
        timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        finally:
            timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read(1 << 20).decode(errors="replace")
    return Outcome(child.returncode, usage.ru_utime + usage.ru_stime, text)


def measure(layer: Layer, tree: pathlib.Path) -> None:
    """Run @layer without a mutation; it must pass. Notes its CPU time, and which mutations it reaches."""
    with tempfile.TemporaryDirectory() as directory:
        layer.cpu_s = WALL_LIMIT_S  # unknown: no limit yet
        outcome = run(layer, tree, MUTATION_REACHED=directory)
        if outcome.status:
            raise ValueError(f"{layer.name} fails without any mutation:\n{outcome.output[-2000:]}")
        numbers = [path.read_text(encoding="ascii").split() for path in pathlib.Path(directory).iterdir()]
    layer.cpu_s = outcome.cpu_s
    layer.reached = frozenset(int(number) for each in numbers for number in each)


def reason(layer: Layer, outcome: Outcome) -> str:
    """One line that says how @layer noticed."""
    if outcome.status == -signal.SIGXCPU:
        return "no end"
    told = [line.strip() for line in outcome.output.splitlines() if any(
        word in line for word in ("not ok", "[  FAILED", "FAILED ", "operation ", "ERROR: ", "runtime error", "broke"))]
    return told[0][:200] if told else f"status {outcome.status}"
