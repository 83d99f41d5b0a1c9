#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Explore from many seeds at a time: random operations under each policy, every invariant and oracle on.

One run is OPS operations from one seed under one policy; `schedsim --sched POLICY --seed SEED --ops OPS` repeats it. A
line is printed for each run as it ends, and for a run that failed what schedsim said: the operations that fail and the
command that replays them. What passed is kept in BUILD/explore, by the program's digest, so the same command goes on
where it was stopped. The program is copied there, too: the tree may be built meanwhile.

Usage: explore.py [--seeds N] [--ops N] [--seed FIRST] [--scheds A,B]     environment: B (build directory)
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from fairground.base.settings import SCHEDULERS

BUILD = pathlib.Path(os.environ.get("B", "build"))
WORKERS = len(os.sched_getaffinity(0))

Run = tuple[str, int]  # a policy, a seed


def count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def policies(text: str) -> list[str]:
    names = text.replace(",", " ").split()
    unknown = set(names) - set(SCHEDULERS)
    if unknown or not names:
        known = " ".join(SCHEDULERS)
        raise argparse.ArgumentTypeError(f"no policy is called {' '.join(sorted(unknown)) or repr(text)}: {known}")
    return names


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Explore from many seeds at a time.")
    parser.add_argument("--seeds", type=count, default=4, help="how many seeds (default: 4)")
    parser.add_argument("--ops", type=count, default=100000, help="operations from each (default: 100000)")
    parser.add_argument("--seed", type=count, default=int(time.time()), help="the first (default: the time)")
    parser.add_argument("--scheds", type=policies, default=SCHEDULERS, help="these policies (default: all)")
    return parser.parse_args(arguments)


def keep_program() -> pathlib.Path:
    """A copy of schedsim that is named by its content."""
    program = BUILD / "schedsim"
    digest = hashlib.sha256(program.read_bytes()).hexdigest()[:12]
    copy = BUILD / "explore" / f"schedsim-{digest}"
    copy.parent.mkdir(parents=True, exist_ok=True)
    if not copy.exists():
        part = copy.with_suffix(f".{os.getpid()}")
        shutil.copy2(program, part)
        part.rename(copy)
    return copy


def explore(program: pathlib.Path, run: Run, ops: int) -> str | None:
    """What schedsim printed of a failure, or None."""
    words = [str(program), "--sched", run[0], "--seed", str(run[1]), "--ops", str(ops)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return done.stdout.partition("\n")[2] or f"status {done.returncode}\n" if done.returncode else None


def run_all(program: pathlib.Path, runs: Sequence[Run], ops: int) -> int:
    """Explore what is left of @runs. Returns how many failed."""
    passed = program.with_suffix(f".{ops}.passed")
    done = set(passed.read_text(encoding="utf-8").splitlines()) if passed.exists() else set()
    left = [run for run in runs if f"{run[0]} {run[1]}" not in done]
    failures, over = 0, len(runs) - len(left)
    if over:
        print(f"{over} of {len(runs)} runs have passed before")
    with ThreadPoolExecutor(WORKERS) as pool, open(passed, "a", encoding="utf-8") as log:
        jobs = {pool.submit(explore, program, run, ops): run for run in left}
        try:
            for number, job in enumerate(as_completed(jobs), over + 1):
                policy, seed = jobs[job]
                failure = job.result()
                failures += failure is not None
                print(f"{'not ok' if failure else 'ok'} {number} - {policy} seed {seed}\n{failure or ''}", end="",
                      flush=True)
                if not failure:
                    print(policy, seed, file=log, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return failures


def main() -> int:
    options = parse(sys.argv[1:])
    # Each machine of a run takes the next seed, so seeds that are OPS apart share none.
    seeds = [options.seed + number * options.ops for number in range(options.seeds)]
    runs = [(policy, seed) for seed in seeds for policy in options.scheds]
    print(f'make explore ARGS="--seed {options.seed} --seeds {options.seeds} --ops {options.ops} '
          f'--scheds {",".join(options.scheds)}"\n1..{len(runs)}', flush=True)
    try:
        failures = run_all(keep_program(), runs, options.ops)
    except OSError as error:
        sys.exit(f"explore.py: {error}")
    except KeyboardInterrupt:
        print("stopped; the same --seed goes on from here")
        return 130
    print(f"{len(runs) - failures} of {len(runs)} runs of {options.ops} operations kept every invariant")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
