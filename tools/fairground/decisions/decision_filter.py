# SPDX-License-Identifier: GPL-2.0-only
"""Which decisions of a file are wanted: by time, CPU, task, kind, policy, rule and group."""

import argparse
from collections.abc import Sequence

from ..base.option_values import U32, known, listed, parse_cpus, parse_number, parse_time, ranges
from ..base.settings import UsageError
from .balancing import Pass
from .decision_file import DecisionFile, missing
from .decision_kinds import KINDS, Record, family, order, policies, rules
from .fair_decisions import tree_names


def _numbers(option: str, given: Sequence[str] | None) -> set[int] | None:
    return {parse_number(option, text, 0, U32) for text in given} if given else None


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
        named = [kind for text in arguments.kind or () for kind in listed("--kind", text)]
        self.kinds = None if named == ["all"] else known("--kind", named or kinds, KINDS)
        self.rules = known("--rule", arguments.rule, set().union(*map(rules, files)))
        self.outcomes = known("--outcome", arguments.outcome, tree_names("OUTCOME"))
        given = [name.replace("-", "_") for name in arguments.policy or ()]
        self.policies = known("--policy", given, set().union(*map(policies, files)))

    def _is_named(self, comm: str, pid: int) -> bool:
        return self.tasks is not None and (comm in self.tasks or pid > 0 and str(pid) in self.tasks)

    def accepts(self, d: Record, candidates: bool = True) -> bool:
        """Is the decision wanted? A task is looked for in its subject, and in its @candidates if that is true."""
        for wanted, value in ((self.kinds, d.kind), (self.rules, d.rule), (self.policies, d.policy)):
            if wanted is not None and value not in wanted:
                return False
        if self.outcomes is not None and not (isinstance(d, Pass) and d.outcome in self.outcomes):
            return False
        if self.cpus is not None and self.cpus.isdisjoint((d.cpu, family(d).cpu(d))):
            return False
        if self.groups is not None and d.group not in self.groups:
            return False
        if self.start is not None and d.time < self.start or self.end is not None and d.time > self.end:
            return False
        return (self.tasks is None or self._is_named(d.comm, d.pid)
                or candidates and any(self._is_named(c.comm, c.pid) for c in d.candidates))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cpu", dest="on", metavar="CPUS", help="decisions on or for these CPUs, for example 0,2-3")
    parser.add_argument("--from", dest="start", metavar="TIME", help="not before, for example 500ms")
    parser.add_argument("--to", dest="end", metavar="TIME", help="not after, for example 1.5s")
    parser.add_argument("--task", action="append", metavar="NAME|PID", help="the subject or a candidate")
    parser.add_argument("--kind", "--kinds", action="append", metavar="KIND,...",
                        help=f"{', '.join(KINDS)}; --diff compares picks unless told otherwise, with `all` all "
                             "kinds that both runs have")
    parser.add_argument("--policy", action="append", metavar="NAME", help="decisions of this policy")
    parser.add_argument("--rule", action="append", metavar="NAME", help="decided by this rule")
    parser.add_argument("--outcome", action="append", metavar="NAME",
                        help=f"balancing passes that ended so: {', '.join(tree_names('OUTCOME'))}")
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
        self.nr = self.incomplete = 0

    def add(self, d: Record) -> None:
        self.nr += 1
        self.incomplete += not family(d).whole(d)
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
        return (f"from {self.first / 1e6:.3f} to {self.last / 1e6:.3f} ms, on CPUs {ranges(self.cpus)}, "
                f"of kinds {', '.join(sorted(self.kinds, key=order))}, in groups {ranges(self.groups)}, "
                f"about {', '.join(names[:12])}{more}")

    def missing(self, file: DecisionFile) -> str:
        """What is known to be missing in the file, "" if nothing."""
        return missing(file, self.incomplete, self.nr)

