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

import kernel_tests
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
OBJECT_PROGRAMS = 1000
BOOT = 2  # phase of what runs in the machine; mutations of sched/ do not meet it
SESSION = 3  # phase of tests that look at the machine from outside
BOOT_TIMEOUT_S = 120


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
    files: frozenset[str] = frozenset()  # in the machine nothing tells what is reached: all of these files is

    def promise(self, file: str) -> float:
        """Small for a cheap layer that has noticed mutations of @file before: such a one is tried first."""
        return (self.cpu_s + 0.02) / (1 + self.kills.get(file, 0))


@dataclass(frozen=True)
class Outcome:
    status: int  # 0: passed; otherwise as Popen.returncode
    cpu_s: float
    output: str


def boot(name: str, files: set[str], *settings: str) -> Layer:
    """A test in the machine. By the instruction, so that what is noticed once always is."""
    shell = 'APPEND="$APPEND mutation=${MUTATION:-0}" exec "$0" -m fairground --build build run'
    return Layer(name, ("env", "ICOUNT=1", "SMP=2", f"TIMEOUT={BOOT_TIMEOUT_S}", *settings, "sh", "-c", shell,
                        sys.executable), BOOT, files=frozenset(files))


def session(path: str, files: set[str]) -> Layer:
    """Tests that boot the machine themselves: APPEND reaches each kernel that tests/e2e boots."""
    shell = 'APPEND="mutation=${MUTATION:-0}" exec "$0" -m pytest -x -q -p no:cacheprovider "$1"'
    return Layer(f"session {pathlib.Path(path).stem[5:]}", ("sh", "-c", shell, sys.executable, path), SESSION,
                 files=frozenset(files))


def of_kernel(tree: pathlib.Path, files: set[str]) -> list[Layer]:
    """All objects on this host, each of which tells by which mutations it comes; then what fits @files: in the machine,
    and from outside of it."""
    layers = [Layer(f"hosted {name}", ("build/unit/hosted", "--object", name, "--programs", str(OBJECT_PROGRAMS)), 0)
              for name in kernel_tests.objects(tree)]
    for selftest in sorted({each for file in files for each in kernel_tests.row(file)[1]}):
        fitting = {file for file in files if selftest in kernel_tests.row(file)[1]}
        layers.append(boot(f"selftest {selftest}", fitting, f"APPEND=selftest={selftest}"))
    for command in sorted({each for file in files for each in kernel_tests.row(file)[2]}):
        fitting = {file for file in files if command in kernel_tests.row(file)[2]}
        layers.append(boot(f"guest {command}", fitting, f"CMD={command}"))
    for path in sorted({each for file in files for each in kernel_tests.sessions(file)}):
        layers.append(session(path, {file for file in files if path in kernel_tests.sessions(file)}))
    return layers


def of_sched(tree: pathlib.Path) -> list[Layer]:
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
    return layers


def list_layers(tree: pathlib.Path, wanted: str, files: set[str]) -> list[Layer]:
    """The layers for mutations of @files, all of one room, whose name begins with @wanted; they are built in @tree."""
    layers = of_kernel(tree, files) if all(file.startswith("kernel/") for file in files) else of_sched(tree)
    return [layer for layer in layers if layer.name.startswith(wanted)]


def environment(tree: pathlib.Path, extra: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("B", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return {**kept, "ASAN_OPTIONS": "detect_leaks=0:hard_rss_limit_mb=2048", "PYTHONPATH": str(tree / "tools"),
            "PYTHONDONTWRITEBYTECODE": "1", "CC": CC, **extra}


def limits(layer: Layer) -> list[str]:
    cpu_s = int(CPU_LIMIT_S + 5 * layer.cpu_s) if layer.phase < 3 or layer.files else SIM_CPU_LIMIT_S
    words = ["prlimit", f"--cpu={cpu_s}:{cpu_s + 5}", "--core=0"]
    if not layer.name.startswith("session"):  # some of these write at the end of the largest file
        words.append(f"--fsize={FILE_SIZE}")
    roomy = layer.words[0].startswith("build/unit/") or layer.files  # these reserve terabytes of addresses
    return words if roomy else [*words, f"--as={MEMORY}"]


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
        reached = [path.read_bytes() for path in pathlib.Path(directory).iterdir()]
    layer.cpu_s = outcome.cpu_s
    layer.reached = frozenset(number for each in reached for number, came in enumerate(each) if came)


def reason(layer: Layer, outcome: Outcome) -> str:
    """One line that says how @layer noticed."""
    if outcome.status == -signal.SIGXCPU:
        return "no end"
    told = [line.strip() for line in outcome.output.splitlines() if any(
        word in line for word in ("not ok", "[  FAILED", "FAILED ", "operation ", "ERROR: ", "runtime error", "broke",
        "assert", "panic", "--replay"))]
    return told[0][:200] if told else f"status {outcome.status}"
