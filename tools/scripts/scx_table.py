# SPDX-License-Identifier: GPL-2.0-only
"""Compile, simulate and boot each scheduler that `tools/setup.sh --scx` fetched, and print the table of docs/scx.md.

Usage: scx_table.py

For each: its lines, whether `make scx` compiles it, whether it runs to the end in the simulator and in the kernel, and
the first thing that is missing. The kernel and the simulator have been built.
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import usage
from fairground.base.settings import make_settings
from fairground.machine.machine import run_batch

LOAD = ["--cpus", "4", "--time", "4s", "hogs:n=6", "bursts:n=2,run=2ms,sleep=10ms"]
BUILD = Path(os.environ.get("B", "build"))
SHARE = re.compile(r"^ +\d+ +-?\d+ +[\d.]+ +[\d.]+ +([\d.]+) ", re.MULTILINE)
ENDED = re.compile(r"sched_ext: (.*)")
MISSING = re.compile(r"(?:fatal )?error: (.*)|^schedsim: (.*)", re.MULTILINE)


def first_missing(text: str) -> str:
    """The first complaint, without options of the compiler and places of this host."""
    found = MISSING.search(text)
    why = next(filter(None, found.groups())) if found else "?"
    return re.sub(r"; did you mean.*| \[-W.*|^--scx \S+: ", "", why).replace("‘", "`").replace("’", "`")


def simulated(path: Path) -> str:
    """The shares of hogs and bursts in percent of all CPU time, or "no | " and why not."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([BUILD / "schedsim", "--check", "--json", out.name, "--scx", path, *LOAD],
                              capture_output=True, text=True, check=False)
        result = json.load(out)["results"][0] if not done.returncode else {"sched_ended": True}
    if result.get("sched_ended"):
        return f"no | {first_missing(done.stderr)}"
    rows = result["tasks"]
    total = sum(row["cpu_ns"] for row in rows)
    return ", ".join(f"{100 * row['cpu_ns'] / total:.2f}" for row in rows) + " | "


def booted(path: Path) -> str:
    """The shares of three hogs of nice 0, 5 and 10 in percent of all CPU time, or "no | " and why not."""
    command = (f"echo scx:{path.name} > /sys/kernel/debug/sched/fair_class; hog -N 0,5,10 -t 10s; "
               "cat /sys/kernel/sched_ext/state")
    given = {"cmd": command, "smp": "2", "icount": "1", "shift": "3", "kvm": "0"}
    text = run_batch(make_settings(given, build=str(BUILD), files={f"/root/{path.name}": path.read_bytes()})).console
    shares = SHARE.findall(text)
    if len(shares) == 3 and re.search("^enabled$", text, re.MULTILINE):
        return ", ".join(shares) + " | "
    why = [line for line in ENDED.findall(text) if not line.startswith("BPF scheduler")]
    return f"no | {why[-1] if why else '?'}"


def run(path: Path) -> str:
    """The columns of simulator, kernel and the first thing that is missing."""
    simulation, why = simulated(path).split(" | ")
    if why:
        return f"{simulation} | no | {why}"
    return f"{simulation} | {booted(path.with_suffix('.o'))}"


def row(source: Path) -> str:
    in_folder = source.name == "main.bpf.c"
    name = source.parent.name if in_folder else source.name.removesuffix(".bpf.c")
    lines = len(source.read_text(encoding="utf-8").splitlines())
    made = subprocess.run(["make", "-s", "scx", f"SRC={source}"], env={**os.environ, "B": str(BUILD)},
                          capture_output=True, text=True, check=False)
    result = run(BUILD / "scx" / f"{name}.so") if not made.returncode else f"no | no | {first_missing(made.stderr)}"
    return f"| `{name}` | {lines:,} | {'no' if made.returncode else 'yes'} | {result} |".replace("  |", " |")


def main() -> None:
    usage.words(__doc__, 0, 0)
    sources = [*sorted(BUILD.glob("scx/linux/*.bpf.c")), *sorted(BUILD.glob("scx/crates/*/main.bpf.c"))]
    if not sources:
        raise SystemExit("scx_table.py: no schedulers are there; sh tools/setup.sh --scx fetches them")
    print("| scheduler | lines | compiles | simulator: hogs, bursts % | kernel: nice 0, 5, 10 % | "
          "first thing that is not there |\n|---|---|---|---|---|---|")
    for source in sources:
        print(row(source), flush=True)


if __name__ == "__main__":
    main()
