#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge the decisions of many runs of the simulator and of the kernel, under every policy.

Each run has a machine and a mix of tasks of its own, numbered from 0 on. All judges look at each file, which is removed
when it has been judged, so neither memory nor disk grows with the number of decisions. Runs go on until each policy has
its part of what was asked for. Afterwards a table says for each host, policy and kind how many decisions were right,
wrong and not judged; for the first wrong ones, why, and the command that makes them again.

In the kernel other CPUs, whose locks are not held where a CPU is chosen, may change while a record is made. So of the
kernel's choices of CPUs under a policy one in a thousand may look wrong: it is shown, and does not count as a failure.

Usage: campaign.py [--sim N] [--kernel N] [--jobs N] [--policies NAME,...]    exits 1 if a decision is wrong
"""

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass

from judge import FairJudge
from judge_averages import AveragesJudge
from judge_balance import BalanceJudge
from judge_class import ClassJudge
from judge_cpu import PlacementJudge
from judge_energy import EnergyJudge
from judge_quota import QuotaJudge
from judging import Findings, examine

from fairground.base.settings import SCHEDULERS
from fairground.decisions.decision_file import DecisionError

ROOT = pathlib.Path(__file__).parents[2]
BUILD = os.environ.get("B", "build")
JUDGES = (FairJudge, ClassJudge, QuotaJudge, PlacementJudge, EnergyJudge, BalanceJudge,
          AveragesJudge)
RACES = 1000  # see above

# Workloads. {rr} is a deadline under fdl.
SIM_MIXES = (  # for how long, and what
    ("400ms", "hogs:n=3 bursts:n=3,run=3ms,sleep=2ms hogs:nice=5 pipes yielders:n=2 forks:n=2"),
    ("4s", "hogs:n=2 hogs:policy=idle bursts:n=2,run=100us-5ms,sleep=1ms-9ms,nice=-5 group:name=a{rr},shares=512 "
           "hogs:n=2,group=a/b bursts:n=3,run=300us-2ms,sleep=1ms,group=a forks:n=1,group=a/b"),
    ("40ms", "pipes:groups=2 hogs:n=4,slice=1ms bursts:n=4,run=2ms,sleep=3ms,slice=8ms hogs:n=2,nice=10"),
    ("300ms", "forks:n=4,work=20us,sleep=300us,run=200us requests:workers=4,every=700us,run=1ms "
              "yielders:n=3,run=40us"),
    ("300ms", "group:name=a{rr} group:name=b{rr},shares=3072 hogs:n=2,group=a bursts:n=4,run=1ms-4ms,sleep=2ms,group=b "
              "hogs:n=3 bursts:n=4,run=50us,sleep=900us,group=a pingpong:n=2"),
    ("3s", "messages:n=2,workers=8,run=3ms jobs:n=6,run=4ms,io=2ms bursts:n=2,run=6ms,sleep=1ms,policy=batch"),
    ("300ms", "groups:n=3,depth=2,tasks=2,run=2ms,sleep=1ms group:name=q,quota=3ms,period=20ms hogs:n=2,group=q "
              "pingpong:n=2 hogs:n=12,nice=3"),
    ("600ms", "group:name=d,quota=60ms,period=100ms,burst=30ms hogs:n=1,group=d group:name=d/e,quota=7ms,period=10ms "
              "bursts:n=6,run=500us-6ms,sleep=2ms-9ms,group=d hogs:n=1,group=d/e "
              "bursts:n=2,run=1ms,sleep=9ms,policy=fifo"),
    ("2s", "periodic:n=3,run=1ms,period=10ms,policy=normal bursts:n=5,run=1ms-6ms,sleep=20ms-60ms "
           "bursts:n=2,run=3ms,sleep=9ms,util_max=300 bursts:n=1,run=1ms,sleep=9ms,cpus=0-2"),
)
SIM_MACHINES = (
    "--cpus 1", "--cpus 2", "--cpus 4 --hz 1000", "--topology 2x2 --skew 2ms", "--cpus 1 --hz 100",
    "--topology 1x2x2x2", "--cpus 8 --hz 1000", "--cpus 1 --hz 1000 --cost-switch 2us --cost-wake 1us --cost-tick 2us",
    "--opp juno --governor schedutil",
)

KERNEL_MIXES = (  # a hog reads its clock, and is charged, all the time: short runs of it
    "hack -g 2",
    "hog -N 0,5,10 -t 60ms & burst -r 300us -s 500us -n 200 & hack -g 1; wait",
    "mkdir /cg; mount -t cgroup -o cpu cgroup /cg; cd /cg; mkdir a b; echo 3072 > a/cpu.shares; {rr}"
    "(echo 0 > a/tasks; exec hog -n 2 -t 40ms) & (echo 0 > b/tasks; exec hack -g 1) & hack -g 1; wait",
    "jobpool -t 200ms & schbench -t 4 -r 1 > /dev/null & hog -n 3 -t 40ms & hack -g 1; wait",
)
KERNEL_MACHINES = ("SMP=1", "SMP=2", "SMP=4", "SMP=2 HZ=1000", "SMP=1 HZ=1000")


@dataclass(frozen=True)
class Run:
    """One run: its decisions are a function of these three."""

    host: str  # "simulator" or "kernel"
    policy: str
    number: int

    def words(self, out: str) -> list[str]:
        """The command; the decisions go to @out."""
        if self.host == "simulator":
            time, mix = SIM_MIXES[self.number % len(SIM_MIXES)]
            rr = f",deadline_rr={1 + self.number % 4}ms" if self.policy == "fdl" else ""
            return [f"{BUILD}/schedsim", "--sched", self.policy, "--seed", str(self.number + 1), "--time", time,
                    *SIM_MACHINES[self.number % len(SIM_MACHINES)].split(), "--decisions", out,
                    *mix.format(rr=rr).split()]
        rr = "echo 2000000 > a/cpu.deadline_rr; " if self.policy == "fdl" else ""
        mix = KERNEL_MIXES[self.number % len(KERNEL_MIXES)].format(rr=rr)
        return [os.environ.get("MAKE", "make"), "-s", "trace", "ICOUNT=1", f"SCHED={self.policy}", "EVENTS=decision:*",
                *KERNEL_MACHINES[self.number % len(KERNEL_MACHINES)].split(), f"SEED={self.number + 1}", f"OUT={out}",
                f"CMD={mix}"]

    def hz(self) -> int:
        return 1000 if "HZ=1000" in KERNEL_MACHINES[self.number % len(KERNEL_MACHINES)] else 250


class Failed(Exception):
    """A run did not end as it should. The text is its command and what it said."""


def judge_run(run: Run) -> tuple[Run, Findings]:
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/run.{'json' if run.host == 'simulator' else 'dat'}"
        words = run.words(path)
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"{shlex.join(words)}\nended with status {done.returncode}: "
                         f"{(done.stdout + done.stderr)[-2000:]}")
        try:
            return run, examine(path, JUDGES, None if run.host == "simulator" else run.hz())
        except DecisionError as problem:
            raise Failed(f"{shlex.join(words)}\n{problem}") from problem


class Campaign:
    """What was asked for, and what was found so far."""

    def __init__(self, wanted: dict[str, int], policies: list[str]) -> None:
        self.parts = [(host, policy, -(-wanted[host] // len(policies))) for host in wanted for policy in policies]
        self.counts: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        self.nr: dict[tuple[str, str], int] = defaultdict(int)
        self.started: dict[tuple[str, str], int] = defaultdict(int)
        self.wanted = sum(wanted.values())
        self.lost = 0

    def next_run(self) -> Run | None:
        """A run of the part that is least complete; None: all are complete."""
        open_parts = [(self.started[host, policy], host, policy) for host, policy, wanted in self.parts
                      if self.nr[host, policy] < wanted]
        if not open_parts:
            return None
        number, host, policy = min(open_parts)
        self.started[host, policy] += 1
        return Run(host, policy, number)

    def add(self, run: Run, findings: Findings) -> None:
        for (policy, kind), found in findings.counts.items():
            total = self.counts[run.host, policy, kind]
            for i, nr in enumerate(found):
                total[i] += nr
        self.nr[run.host, run.policy] += findings.nr()
        for text in findings.wrong:
            print(text)
        if findings.wrong:
            print(f"  {shlex.join(run.words('FILE'))}")
        self.lost += findings.lost
        done = sum(self.nr.values())
        print(f"{done:12,} of {self.wanted:,}: {run.host} {run.policy} {run.number}, {findings.nr():,} decisions",
              file=sys.stderr)

    def wrong(self) -> int:
        """How many decisions are wrong, without those that the races of the kernel's CPUs explain."""
        wrong = 0
        for (host, policy, kind), (right, _, found) in self.counts.items():
            racy = host == "kernel" and (policy in ("placement", "energy") or kind in ("select", "push", "pull"))
            wrong += found if not racy or found > right / RACES else 0
        return wrong

    def table(self) -> str:
        lines = [f"{'host':10} {'policy':11} {'decision':9} {'right':>11} {'wrong':>6} {'not judged':>11}"]
        total = [0, 0, 0]
        for (host, policy, kind), (right, unjudged, wrong) in sorted(self.counts.items()):
            lines.append(f"{host:10} {policy:11} {kind:9} {right:11,} {wrong:6,} {unjudged:11,}")
            total = [total[0] + right, total[1] + unjudged, total[2] + wrong]
        lines.append(f"{'all':32} {total[0]:11,} {total[2]:6,} {total[1]:11,}")
        return "\n".join(lines)


def work(campaign: Campaign, jobs: int) -> None:
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        going: set[concurrent.futures.Future[tuple[Run, Findings]]] = set()
        while True:
            while len(going) < jobs and (run := campaign.next_run()):
                going.add(pool.submit(judge_run, run))
            if not going:
                return
            done, going = concurrent.futures.wait(going, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                campaign.add(*future.result())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sim", type=int, default=10_000_000, metavar="N", help="decisions of the simulator (10^7)")
    parser.add_argument("--kernel", type=int, default=1_000_000, metavar="N", help="decisions of the kernel (10^6)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="runs at a time")
    parser.add_argument("--policies", default=",".join(SCHEDULERS), metavar="NAME,...")
    given = parser.parse_args()
    policies = given.policies.split(",")
    if unknown := set(policies) - set(SCHEDULERS):
        parser.error(f"no policy is called {unknown.pop()}; there are {', '.join(SCHEDULERS)}")
    campaign = Campaign({"simulator": given.sim, "kernel": given.kernel}, policies)
    try:
        work(campaign, given.jobs)
    except Failed as problem:
        sys.exit(str(problem))
    print(campaign.table())
    if campaign.lost:
        print(f"{campaign.lost} events were lost; what rests on them is not judged", file=sys.stderr)
    return 1 if campaign.wrong() else 0


if __name__ == "__main__":
    sys.exit(main())
