# SPDX-License-Identifier: GPL-2.0-only
"""Compile and simulate each scheduler that `tools/setup.sh --scx` fetched, and print the table of docs/scx.md.

Usage: scx_table.py

For each: its lines, whether `make scx` compiles it, whether it runs to the end, and the first thing that is missing.
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import usage

LOAD = ["--cpus", "4", "--time", "4s", "hogs:n=6", "bursts:n=2,run=2ms,sleep=10ms"]
BUILD = Path(os.environ.get("B", "build"))
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
        if done.stderr or done.returncode:
            return f"no | {first_missing(done.stderr)}"
        rows = json.load(out)["results"][0]["tasks"]
    total = sum(row["cpu_ns"] for row in rows)
    return ", ".join(f"{100 * row['cpu_ns'] / total:.2f}" for row in rows) + " | "


def row(source: Path) -> str:
    in_folder = source.name == "main.bpf.c"
    name = source.parent.name if in_folder else source.name.removesuffix(".bpf.c")
    lines = len(source.read_text(encoding="utf-8").splitlines())
    made = subprocess.run(["make", "-s", "scx", f"SRC={source}"], env={**os.environ, "B": str(BUILD)},
                          capture_output=True, text=True, check=False)
    result = simulated(BUILD / "scx" / f"{name}.so") if not made.returncode else f"no | {first_missing(made.stderr)}"
    return f"| `{name}` | {lines:,} | {'no' if made.returncode else 'yes'} | {result} |".replace("  |", " |")


def main() -> None:
    usage.words(__doc__, 0, 0)
    sources = [*sorted(BUILD.glob("scx/linux/*.bpf.c")), *sorted(BUILD.glob("scx/crates/*/main.bpf.c"))]
    if not sources:
        raise SystemExit("scx_table.py: no schedulers are there; sh tools/setup.sh --scx fetches them")
    print("| scheduler | lines | compiles | hogs, bursts % | first thing that is not there |\n|---|---|---|---|---|")
    for source in sources:
        print(row(source), flush=True)


if __name__ == "__main__":
    main()
