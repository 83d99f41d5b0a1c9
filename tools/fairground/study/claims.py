# SPDX-License-Identifier: GPL-2.0-only
"""The claims of an experiment: values of its results, bounds on them, and the table in which they are judged."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base import stats

Figures = dict[str, Any]                  # what was measured in one run
Results = dict[str, dict[str, Figures]]   # of one host: results[policy][case]
Row = dict[str, Any]                      # of the table: a claim, its values and the verdict

KERNEL, SIMULATOR = "kernel", "simulator"
HOSTS = (KERNEL, SIMULATOR)
TRACED = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_process_exit," \
         "sched:sched_process_fork,sched:sched_migrate_task"
TABLE = "{:<52} {:>10} {:>10} {:>10}  {:<15} {}"


@dataclass
class Claim:
    """One line of the table: a value that must have a property, wherever it was measured."""

    text: str
    published: str
    bound: str
    needs: tuple[str, ...]  # the policies it is about
    holds: Callable[[Any], bool]
    value: Callable[[Results], Any]  # from the results of one host
    form: str
    hosts: tuple[str, ...] = HOSTS
    judged: bool = True  # False: a figure to look at, not a claim
    numbers: tuple[float, ...] = ()  # the published one, or several; none if only words are published
    line: str = ""  # of the source, where the published value stands

    @property
    def reproduced(self) -> bool:
        """False if the bound is about our value, and excludes what is published. Words are not compared."""
        return not self.numbers or any(map(self.holds, self.numbers))

    def judge(self, results: dict[str, Results]) -> Row:
        """A row of the table: the values of each host, and the hosts where the claim does not hold."""
        values = {host: self.value(of_host) for host, of_host in results.items() if host in self.hosts}
        failed = [host for host, value in values.items() if not self.holds(value)]
        return {"claim": self.text, "published": self.published, "bound": self.bound, "values": values,
                "shown": {host: self.form.format(value) for host, value in values.items()},
                "failed": failed, "pass": not failed, "judged": self.judged,
                "reproduced": self.reproduced, "line": self.line}


def judge_seeds(claim: Claim, by_seed: dict[int, dict[str, Results]]) -> Row:
    """A row of the table from one run of each seed. On a host the claim holds if it does for the median and for the
    ends of its interval, fails if it does not for the median, and is open if chance may be the reason. A value that is
    no number must hold for each seed."""
    row = claim.judge(next(iter(by_seed.values())))
    values: dict[str, list[Any]] = {}
    failed, unsure = [], []
    for host in row["values"]:
        values[host] = samples = [claim.value(results[host]) for results in by_seed.values()]
        if all(isinstance(value, int | float) and math.isfinite(value) for value in samples):
            found = stats.median(samples)
            row["shown"][host] = found.text(claim.form)
            holding = [claim.holds(value) for value in (found.median, found.low, found.high)]
        else:
            holding = [all(claim.holds(value) for value in samples)]
        failed += [host] if not holding[0] else []
        unsure += [host] if holding[0] and not all(holding) else []
    return {**row, "values": values, "failed": failed, "open": unsure, "pass": not failed and not unsure}


def near(text: str, published: float, within: float, needs: Sequence[str], value: Callable[[Results], Any],
         form: str = "{:.3f}") -> Claim:
    """The claim that @value is the @published one, give or take the part @within."""
    bound, holds = bound_of("near", within, published, form)
    return Claim(text, form.format(published), bound, tuple(needs), holds, value, form)


def rule(text: str, bound: str, needs: Sequence[str], holds: Callable[[Any], bool], value: Callable[[Results], Any],
         form: str = "{:.3f}", published: str = "-", hosts: tuple[str, ...] = HOSTS) -> Claim:
    """The claim that @holds(@value); @bound says the same in words."""
    return Claim(text, published, bound, tuple(needs), holds, value, form, hosts)


def bound_of(kind: str, limit: Any, published: Any, form: str) -> tuple[str, Callable[[Any], bool]]:
    """(words, test) of a bound: `near` the published value, `about` ours, `equals`, `within` of 0 or `range`. Each has
    two sides: a claim that nothing is too large for, or too small, cannot fail there."""
    def say(value: float) -> str:
        return f"{100 * value:g} %" if form.endswith("%}") else f"{value:g}"

    if kind == "about":
        kind, limit = "range", sorted((limit * 2 / 3, limit * 3 / 2))
    match kind:
        case "near":
            return f"+-{100 * limit:g} %", lambda v: abs(v - published) <= limit * abs(published)
        case "range":
            low, high = (say(float(f"{end:.4g}")) for end in limit)
            return f"{low} to {high}", lambda v: limit[0] <= v <= limit[1]
        case "within":
            return f"within {say(limit)}", lambda v: abs(v) < limit
    return f"= {say(limit)}", lambda v: v == limit


def verdict(row: Row) -> str:
    """One word about a row, and the hosts where the claim does not hold."""
    if not row["judged"]:
        return "shown"
    if row["failed"]:
        return "FAIL in the " + " and the ".join(row["failed"])
    if row.get("open"):
        return "OPEN in the " + " and the ".join(row["open"])
    return "PASS" if row["reproduced"] else "not reproduced"


def summary(rows: list[Row]) -> str:
    """How many claims hold, and how many of these say that a published value is not reproduced."""
    claimed = [row for row in rows if row["judged"]]
    holding = [row for row in claimed if row["pass"]]
    known = sum(not row["reproduced"] for row in holding)
    return f"{len(holding)} of {len(claimed)} claims hold" + (
        f", {known} of them that a published value is not reproduced" if known else "")


def table(rows: list[Row]) -> str:
    """The rows as text. Columns of hosts are wider where values have intervals."""
    wide = max((len(shown) for row in rows for shown in row["shown"].values()), default=0)
    form = TABLE.replace("{:>10} {:>10}  ", f"{{:>{max(wide, 10)}}} " * len(HOSTS) + " ")
    lines = [form.format("quantity", "published", *HOSTS, "bound", "verdict")]
    for row in rows:
        lines.append(form.format(row["claim"], row["published"], *(row["shown"].get(h, "-") for h in HOSTS),
                                 row["bound"], verdict(row)))
    return "\n".join(lines)
