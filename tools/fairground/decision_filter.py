# SPDX-License-Identifier: GPL-2.0-only
"""Which decisions of a file are wanted: by time, CPU, task, kind, policy, rule and group."""

import argparse
import re
from collections.abc import Collection, Sequence
from decimal import Decimal

from . import class_decisions, quota_decisions
from .class_decisions import ClassDecision
from .decisions import KINDS as FAIR_KINDS
from .decisions import Decision, DecisionFile
from .latency import parse_cpus
from .names import nearest
from .quota_decisions import QuotaDecision
from .settings import UsageError

KINDS = tuple(dict.fromkeys((*FAIR_KINDS, *class_decisions.KINDS, *quota_decisions.KINDS)))

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def parse_time(option: str, text: str | None) -> int | None:
    """The ns of a text such as "500ms" or "1.5s"."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if not match:
        raise UsageError(f"{option} {text}: a time such as 500ms or 1.5s is expected")
    return int(Decimal(match[1]) * UNITS[match[2]])


def known(option: str, given: Sequence[str] | None, names: Collection[str]) -> set[str] | None:
    """The names given, each of them one of @names."""
    if not given:
        return None
    for name in given:
        if name not in names:
            meant = nearest(name, names)
            raise UsageError(f"{option} {name}: " + (f"is {meant} meant? " if meant else "")
                             + f"There are {', '.join(sorted(names))}")
    return set(given)


def _numbers(option: str, given: Sequence[str] | None) -> set[int] | None:
    for text in given or ():
        if not text.isdecimal():
            raise UsageError(f"{option} {text}: a number is expected")
    return {int(text) for text in given} if given else None


class Filter:
    """What the options of a command say. Without options every decision is wanted."""

    def __init__(self, arguments: argparse.Namespace, *files: DecisionFile, kinds: Sequence[str] | None = None) -> None:
        """@kinds: the kinds that are wanted if the options name none."""
        self.cpus = parse_cpus(arguments.on)
        self.start = parse_time("--from", arguments.start)
        self.end = parse_time("--to", arguments.end)
        if self.start is not None and self.end is not None and self.end < self.start:
            raise UsageError(f"--to {arguments.end}: this is before --from {arguments.start}")
        self.tasks: set[str] | None = set(arguments.task) if arguments.task else None
        self.groups = _numbers("--group", arguments.group)
        self.kinds = known("--kind", arguments.kind or kinds, KINDS)
        self.rules = known("--rule", arguments.rule, set().union(*(f.rules() for f in files)))
        policies = [name.replace("-", "_") for name in arguments.policy or ()]
        self.policies = known("--policy", policies, set().union(*(f.policies() for f in files)))

    def _is_named(self, comm: str, pid: int) -> bool:
        return self.tasks is not None and (comm in self.tasks or pid > 0 and str(pid) in self.tasks)

    def accepts(self, d: Decision | ClassDecision | QuotaDecision, candidates: bool = True) -> bool:
        """Is the decision wanted? A task is looked for in its subject, and in its @candidates if that is true."""
        for wanted, value in ((self.kinds, d.kind), (self.rules, d.rule), (self.policies, d.policy)):
            if wanted is not None and value not in wanted:
                return False
        if self.cpus is not None and d.cpu not in self.cpus or self.groups is not None and d.group not in self.groups:
            return False
        if self.start is not None and d.time < self.start or self.end is not None and d.time > self.end:
            return False
        return (self.tasks is None or self._is_named(d.comm, d.pid)
                or candidates and any(self._is_named(c.comm, c.pid) for c in d.candidates))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cpu", dest="on", metavar="CPUS", help="decisions about these CPUs, for example 0,2-3")
    parser.add_argument("--from", dest="start", metavar="TIME", help="not before, for example 500ms")
    parser.add_argument("--to", dest="end", metavar="TIME", help="not after, for example 1.5s")
    parser.add_argument("--task", action="append", metavar="NAME|PID", help="the subject or a candidate")
    parser.add_argument("--kind", "--kinds", action="extend", type=lambda text: text.split(","), metavar="KIND,...",
                        help=f"{', '.join(KINDS)}; --diff compares picks unless told otherwise")
    parser.add_argument("--policy", action="append", metavar="NAME", help="decisions of this policy")
    parser.add_argument("--rule", action="append", metavar="NAME", help="decided by this rule")
    parser.add_argument("--group", action="append", metavar="NUMBER",
                        help="decisions about this group's queues; 0: the root's")


class Seen:
    """What a file has, for the sentence that a filter matched nothing."""

    def __init__(self) -> None:
        self.cpus: set[int] = set()
        self.groups: set[int] = set()
        self.names: set[str] = set()
        self.kinds: set[str] = set()
        self.first = self.last = -1

    def add(self, d: Decision | ClassDecision | QuotaDecision) -> None:
        self.cpus.add(d.cpu)
        self.groups.add(d.group)
        self.kinds.add(d.kind)
        if d.comm:
            self.names.add(d.comm)
        self.first = d.time if self.first < 0 else min(self.first, d.time)
        self.last = max(self.last, d.time)

    @property
    def text(self) -> str:
        names = sorted(self.names)
        more = " ..." if len(names) > 12 else ""
        return (f"from {self.first / 1e6:.3f} to {self.last / 1e6:.3f} ms, on CPUs {_ranges(self.cpus)}, "
                f"of kinds {', '.join(k for k in KINDS if k in self.kinds)}, in groups {_ranges(self.groups)}, "
                f"about {', '.join(names[:12])}{more}")


def _ranges(numbers: set[int]) -> str:
    """0,2-4 for 0, 2, 3 and 4."""
    out: list[list[int]] = []
    for number in sorted(numbers):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)
