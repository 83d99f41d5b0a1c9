# SPDX-License-Identifier: GPL-2.0-only
"""Record ten workloads on Debian's kernels, replay each trace, and print the table of docs/replay.md.

Usage: replay_table.py DIR

DIR keeps the traces, RELEASE-NAME.dat. One that is there already is not recorded again. A cell says by how much the
replay meets the trace: as it is, and with the feature HRTICK turned round. It wants what `sh tools/setup.sh --compare`
fetches.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import usage
from fairground.base.expect import Missing
from fairground.base.settings import make_settings
from fairground.machine.linux import RELEASES
from fairground.machine.linux_trace import record_on_linux
from fairground.study.replay import hrtick_is_on
from fairground.study.sweep_kernel import RECORDED
from fairground.trace.tracefile import TraceFile

BUILD = os.environ.get("B", "build")
# Each workload: its command, and the number of CPUs.
WORKLOADS = {
    "nice": ("mix -t 2s hog:nice=0 hog:nice=5 hog:nice=10", 1),
    "sleepers": ("mix -t 2s hog:n=2 burst:n=3,run=1ms,sleep=7ms", 1),
    "bursts": ("mix -t 2s burst:n=4,run=3ms,sleep=9ms", 1),
    "pairs": ("mix -t 1s hog pair:n=2,run=200us", 1),
    "forks": ("mix -t 1s hog:n=2 fork:own=1ms,run=2ms,sleep=3ms", 1),
    "yields": ("mix -t 1s hog yield:n=2,run=1ms", 1),
    "fifo": ("mix -t 2s hog:n=2 burst:policy=fifo:5,run=2ms,sleep=8ms", 1),
    "timers": ("jitter -t 4 -i 2000 -d 700 -l 400 & hog -t 1s -n 2; wait", 1),
    "jobs": ("jobpool -n 4 -t 1s", 1),
    "two": ("mix -t 2s hog:n=3 burst:n=2,run=2ms,sleep=6ms", 2),
}


def recorded(directory: Path, release: str, name: str) -> Path:
    path = directory / f"{release}-{name}.dat"
    command, cpus = WORKLOADS[name]
    if not path.exists():
        print(f"recording {path.name}", file=sys.stderr)
        settings = make_settings({"smp": str(cpus)}, build=BUILD)
        record_on_linux(settings, release, command, str(path), [f"sched:{event}" for event in RECORDED])
    return path


def machines(trace: Path) -> tuple[str, str]:
    """The words for schedsim: none, and those that turn round whether a timer ends every turn."""
    return "", f"--features {'NO_HRTICK' if hrtick_is_on(TraceFile(trace).about) else 'HRTICK'}"


def score(trace: Path, machine: str) -> str:
    words = [sys.executable, "-m", "fairground", "--build", BUILD, "replay", "--json", "--seeds", "1..1",
             f"--machine={machine}", str(trace)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"replay_table.py: {trace}: {done.stderr.strip()}")
    return f"{json.loads(done.stdout[:done.stdout.rindex('}') + 1])['score']:.3f}"


def main() -> None:
    (where,) = usage.words(__doc__, 1, 1)
    directory = Path(where)
    directory.mkdir(parents=True, exist_ok=True)
    print("| | workload | " + " | ".join(RELEASES) + " |\n|---|---|" + "---|" * len(RELEASES))
    for name, (command, cpus) in WORKLOADS.items():
        try:
            traces = [recorded(directory, release, name) for release in RELEASES]
        except Missing as missing:
            raise SystemExit(f"replay_table.py: {missing}") from missing
        cells = [", ".join(score(trace, machine) for machine in machines(trace)) for trace in traces]
        print(f"| {name} | `{command}`{', two CPUs' * (cpus > 1)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
