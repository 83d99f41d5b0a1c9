# SPDX-License-Identifier: GPL-2.0-only
"""Scenario cards: old bugs of schedulers as workloads with bounds (tests/scenarios/*.toml, docs/scenarios.md).

Usage: python -m fairground scenarios [--host simulator|kernel] [--scheds NAME,...] [ID...]

Prints a line in KTAP's form for each card, scheduler and metric, and fails if a value is out of its bound. A card is a
TOML file with these keys:

    id, title, source       the subject; source is a list
    classes                 the fair policies that it is for; default: all, and programs for sched_ext that --scheds
                            names as scx:FILE.so, or scx:NAME of examples/scx
    trait                   of these, those that claim it (sched/fair/trait.def)
    topology, hz, skew, time, set, features, costs, late_ticks, jumps, dumps   schedsim's options
    governor                of frequencies, in both hosts: schedsim's option, the kernel's boot parameter. The table is
                            `"platform"` of rtapp, and opp= of the kernel's append
    seeds, clocks           lists of --seed and --clock; a metric is the worst of all runs
    workload                a list of schedsim's built-in workloads; or rtapp, the text of an rt-app file; or both
    check                   true: check every invariant after every event
    [[metric]]              name, op (<= or >=), value; classes, if only some have it. against = [features]
                            divides by the value with those features, versus = "POLICY" by the value under that
                            policy, without = "KEY" by the value of the card without that key
    [kernel]                smp, append, seconds, cmd: the same in the kernel under ICOUNT=1; hz; classes. A card may
                            have only this part
    [[kernel.metric]]       name: `waste`, or a pattern whose one group is a number on the console, of which the worst
                            counts; title: the subject
    flip                    the seeded bug in tests/mutants that makes the card fail

The simulator has metrics of the machine: waste (% of the CPUs), idle (%), switches, migrations, kicks (per second),
kicks_per_wakeup, balance_failed, pushes and newidle (passes of newly
idle CPUs; per second). It has metrics of the tasks of a name or of `name@group`,
written NAME.share: share (of the ideal), cpus (how many they used), ended (how many have), wait_max, wait_p99,
wakeup_max, wakeup_p99 (ms), lag (the most ms owed), lead (had too
much), energy (of CPUs while they had them, by second of the run). And
it has one of groups, written /PATH.throttled: throttled (share of its
periods).
"""

import argparse
import os
import re
import shlex
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import result
from ..base import names
from ..base.option_values import listed
from ..base.progress import Progress
from ..base.settings import Settings, UsageError, make_settings
from ..machine.machine import at_once, commit, run_batch
from ..machine.qemu import QemuError
from ..machine.scheduler_end import SchedulerEnded
from ..machine.simulator import SCX, policy_words, results, scx_object
from ..words import Command

COMMAND = Command("scenarios", machine=True, built="image sim", tree="tests/scenarios", examples=(
    ("F-01 F-13 --scheds cfs", "two of the cards"),
))

Card = dict[str, Any]
Run = tuple[int, int | None]  # seed, the clock at the start
Traits = dict[str, set[str]]  # of each policy

CARDS = Path("tests/scenarios")
KEYS = {"id", "title", "source", "classes", "trait", "topology", "hz", "skew", "time", "seeds", "clocks", "late_ticks",
        "jumps", "dumps", "governor", "set", "features", "costs", "workload", "rtapp", "check", "metric", "kernel",
        "flip"}
OPTIONS = {"late_ticks": "--late-ticks", "jumps": "--jumps", "dumps": "--dumps", "governor": "--governor"}
SIMULATED = {"topology", "time", "metric"}
NS_PER_MS = 1e6
# For each kind of idleness, schedstat has: count, balanced, failed, imbalance, gained, hot, no queue, no group.
PER_TYPE, FAILED, TYPES, NEWLY_IDLE = 8, 2, 3, 2


class BadCard(QemuError):
    """A card that makes no sense. The text is one line."""


def read_card(path: Path) -> Card:
    try:
        card = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BadCard(f"{path}: {error}") from None
    unknown = card.keys() - KEYS
    missing = {"id", "title", "source"} - card.keys()
    if "kernel" not in card or SIMULATED & card.keys():
        missing |= SIMULATED - card.keys()
    if unknown or missing or card["id"] != path.stem:
        raise BadCard(f"{path}: unknown {sorted(unknown)}, missing {sorted(missing)}, or an id that is not its name")
    for metric in card.get("metric", []) + card.get("kernel", {}).get("metric", []):
        if metric.get("op") not in ("<=", ">=") or not isinstance(metric.get("value"), (int, float)):
            raise BadCard(f"{path}: metric {metric.get('name')}: op is <= or >=, value a number")
    if "topology" in card and not card.get("workload") and "rtapp" not in card:
        raise BadCard(f"{path}: no workload")
    if "governor" in card:
        check_governor(path, card)
    return card


def check_governor(path: Path, card: Card) -> None:
    """BadCard if nobody has that name, or if a host's CPUs have one speed: the kernel would then go on without it."""
    governor, known = card["governor"], names.governors()
    if governor not in known:
        meant = names.nearest(str(governor), known)
        raise BadCard(f"{path}: no governor is called {governor}; "
                      + (f"is {meant} meant?" if meant else f"there are {' '.join(known)}"))
    if ("topology" in card and '"platform"' not in card.get("rtapp", "")) or (
            "kernel" in card and "opp=" not in card["kernel"].get("append", "")):
        raise BadCard(f'{path}: governor {governor} needs several speeds: "platform" in rtapp, opp= in kernel.append')


# --- the simulator --------------------------------------------------------------------------------


def simulate(build: str, card: Card, sched: str, run: Run, features: Sequence[str] = ()) -> tuple[Card, str]:
    """(JSON, schedstat) of one run."""
    with tempfile.TemporaryDirectory() as scratch:
        stat, rtapp = (os.path.join(scratch, name) for name in ("schedstat", "card.json"))
        words = [*policy_words(sched, build), "--seed", str(run[0]),
                 "--hz", str(card.get("hz", 250)), "--skew", card.get("skew", "0"),
                 "--topology", card["topology"], "--time", card["time"], "--schedstat", stat]
        words += [word for name in [*card.get("features", []), *features] for word in ("--features", name)]
        words += [word for key, option in OPTIONS.items() if key in card for word in (option, card[key])]
        words += ["--clock", str(run[1])] if run[1] else []
        words += [word for text in card.get("set", []) for word in ("--set", text)]
        words += [word for name, cost in card.get("costs", {}).items() for word in (f"--cost-{name}", cost)]
        words += ["--check"] if card.get("check") else []
        words += card.get("workload", [])
        if "rtapp" in card:
            Path(rtapp).write_text(card["rtapp"], encoding="utf-8")
            words.append(rtapp)
        return results(build, words), Path(stat).read_text(encoding="utf-8")


def balancing(stat: str) -> tuple[int, int, int]:
    """(failed passes, pushes of a running task, passes of newly idle CPUs), added up over all domains."""
    failed = pushes = newidle = 0
    for line in stat.splitlines():
        if line.startswith("domain"):
            numbers = [int(word) for word in line.split()[2:]]
            failed += sum(numbers[PER_TYPE * kind + FAILED] for kind in range(TYPES))
            pushes += numbers[PER_TYPE * TYPES]
            newidle += numbers[PER_TYPE * NEWLY_IDLE]
    return failed, pushes, newidle


def of_machine(name: str, data: Card, stat: str) -> float:
    result, seconds = data["results"][0], data["duration_ns"] / 1e9
    cpu_ns = data["cpus"] * data["duration_ns"]
    values = {
        "waste": lambda: 100 * result["waste_ns"] / cpu_ns,
        "idle": lambda: 100 * result["idle_ns"] / cpu_ns,
        "switches": lambda: result["switches"] / seconds,
        "kicks": lambda: result["kicks"] / seconds,
        "kicks_per_wakeup": lambda: result["kicks"] / result["wakeups"],
        "migrations": lambda: sum(row["migrations"] for row in result["tasks"]) / seconds,
        "balance_failed": lambda: balancing(stat)[0] / seconds,
        "pushes": lambda: balancing(stat)[1] / seconds,
        "newidle": lambda: balancing(stat)[2] / seconds,
    }
    if name not in values:
        raise BadCard(f"no metric is called {name}")
    return values[name]()


def of_tasks(who: str, what: str, data: Card) -> float:
    name, _, group = who.partition("@")
    rows = [row for row in data["results"][0]["tasks"]
            if row["name"] == name and (not group or row["group"] == f"/{group}")]
    if not rows:
        raise BadCard(f"no task is called {who}")
    if what == "share":
        return sum(row["cpu_ns"] for row in rows) / sum(row["ideal_ns"] for row in rows)
    if what == "cpus":
        return sum(row["cpu_ns"] for row in rows) / data["duration_ns"]
    if what == "ended":
        return sum(row["ended"] for row in rows)
    if what == "energy":
        return sum(row["energy"] for row in rows) / data["duration_ns"]
    if what == "lag":
        return max(row["lag_ns"][1] for row in rows) / NS_PER_MS
    if what == "lead":
        return -min(row["lag_ns"][0] for row in rows) / NS_PER_MS
    kind, _, number = what.rpartition("_")
    if kind not in ("wait", "wakeup") or number not in ("max", "p99", "p50", "mean"):
        raise BadCard(f"no metric of tasks is called {what}")
    return max(row[f"{kind}_ns"][number] for row in rows) / NS_PER_MS


def of_group(path: str, what: str, data: Card) -> float:
    for group in data["results"][0]["groups"]:
        if group["path"] == path and what == "throttled":
            return group["nr_throttled"] / max(group["nr_periods"], 1)
    raise BadCard(f"no metric is called {path}.{what}")


def measure(name: str, data: Card, stat: str) -> float:
    who, _, what = name.rpartition(".")
    if not who:
        return of_machine(name, data, stat)
    return of_group(who, what, data) if who.startswith("/") else of_tasks(who, what, data)


def simulated(build: str, card: Card, sched: str) -> Iterator[tuple[Card, float]]:
    """(metric, the worst value over all runs) of each metric of the card that applies to @sched."""
    own, others = {}, {}
    runs = [(seed, clock) for seed in card.get("seeds", [1]) for clock in card.get("clocks", [None])]
    for metric in card["metric"]:
        if sched not in metric.get("classes", [sched]):
            continue
        values = []
        for run in runs:
            if run not in own:
                own[run] = simulate(build, card, sched, run)
            value = measure(metric["name"], *own[run])
            if metric.keys() & {"against", "versus", "without"}:
                key = run, metric.get("versus", sched), metric.get("without"), *metric.get("against", [])
                if key not in others:
                    other = {name: value for name, value in card.items() if name != key[2]}
                    others[key] = simulate(build, other, key[1], run, key[3:])
                value /= max(measure(metric["name"], *others[key]), 1e-9)
            values.append(value)
        yield metric, (max if metric["op"] == "<=" else min)(values)


# --- the kernel -----------------------------------------------------------------------------------


def in_kernel(build: str, card: Card, sched: str) -> Iterator[tuple[Card, float]]:
    what = card["kernel"]
    cmd = (f"echo 1 > /proc/sys/kernel/sched_schedstats; {what['cmd']}; "
           "cat /sys/kernel/debug/sched/waste")
    append = " ".join([what.get("append", ""), *([f"governor={card['governor']}"] if "governor" in card else [])])
    if sched.startswith(SCX):
        sched = SCX + scx_object(sched, build, ".o")
    given = {"smp": str(what["smp"]), "append": append, "sched": sched, "icount": "1", "kvm": "0",
             "timeout": "300", "cmd": cmd, "hz": str(what.get("hz", 250))}
    outcome = run_batch(make_settings(given, build=build))
    if outcome.scheduler_ended:
        raise SchedulerEnded(outcome.problem)
    if outcome.status:
        raise QemuError(f"{card['id']} in the kernel: status {outcome.status} {outcome.problem}")
    for metric in what["metric"]:
        waste = metric["name"] == "waste"
        found = re.findall(r"waste_ns (\d+)" if waste else metric["name"], outcome.console)
        if not found:
            raise BadCard(f"{card['id']}: the console has no {metric['name']}")
        value = (max if metric["op"] == "<=" else min)(map(float, found))
        yield metric, value / (what["smp"] * what["seconds"] * 1e7) if waste else value


# --- the table ------------------------------------------------------------------------------------


def choose_cards(ids: Sequence[str]) -> list[Card]:
    cards = [read_card(path) for path in sorted(CARDS.glob("*.toml"))]
    unknown = set(ids) - {card["id"] for card in cards}
    if unknown:
        raise BadCard(f"no scenario is called {', '.join(sorted(unknown))}; there are "
                      + " ".join(card["id"] for card in cards))
    return [card for card in cards if not ids or card["id"] in ids]


def label_of(metric: Card) -> str:
    words = [metric.get("title", metric["name"])]
    for key in ("against", "versus", "without"):
        if key in metric:
            words += [key, metric[key] if isinstance(metric[key], str) else ",".join(metric[key])]
    return " ".join(words)


def policies_of(card: Card, host: str, known: Traits) -> list[str]:
    """The policies that the card is for. BadCard if its trait is none."""
    in_host, trait = card["kernel"] if host == "kernel" else card, card.get("trait")
    if trait and trait not in set().union(*known.values()):
        raise BadCard(f"{card['id']}: no policy claims the trait {trait}")
    return [name for name in in_host.get("classes", card.get("classes", known)) if not trait or trait in known[name]]


def heading(card: Card, host: str) -> str:
    if host == "kernel":
        what = card["kernel"]
        where = f"smp {what['smp']} {what.get('append', '')}".rstrip()
    else:
        what = card
        where = f"{card['topology']}, seeds {card.get('seeds', [1])}"
    governor = f", governor {card['governor']}" if "governor" in card else ""
    return f"# {card['id']} {card['title']}, {where}{governor}, HZ {what.get('hz', 250)}"


def rows_of(run: Callable[[str, Card, str], Iterable[tuple[Card, float]]], build: str, card: Card,
            sched: str) -> list[Card]:
    """A row for each bound of a card. A run that fails keeps no bound, and the other runs go on."""
    row = {"id": card["id"], "sched": sched}
    try:
        return [{**row, "metric": label_of(metric), "value": value, "op": metric["op"], "bound": metric["value"],
                 "pass": value <= metric["value"] if metric["op"] == "<=" else value >= metric["value"]}
                for metric, value in run(build, card, sched)]
    except BadCard:
        raise
    except (QemuError, SchedulerEnded) as error:
        return [{**row, "problem": " ".join(str(error).split()), "pass": False}]


def line_of(nr: int, row: Card) -> str:
    """A row's line of KTAP."""
    text = f"ran to its end: {row['problem']}" if "problem" in row else \
        f"{row['metric']} {row['value']:.4g} {row['op']} {row['bound']:g}"
    return (f"{'ok' if row['pass'] else 'not ok'} {nr} - {row['id']} {row['sched']:8} {text} "
            f"{'PASS' if row['pass'] else 'FAIL'}")


def scenarios(build: str, ids: Sequence[str], host: str, scheds: Sequence[str], known: Traits) -> int:
    """Run the cards and print the table. Returns the status to exit with."""
    unknown = set(scheds) - set(known)
    if unknown:
        raise BadCard(f"no scheduler is called {', '.join(sorted(unknown))}; there are {' '.join(known)}")
    part, run = ("kernel", in_kernel) if host == "kernel" else ("topology", simulated)
    cards = [card for card in choose_cards(ids) if part in card]
    wanted = [(card, sched) for card in cards for sched in policies_of(card, host, known)
              if not scheds or sched in scheds]
    print(f"# scenarios in the {host}, {commit()}; bounds and sources: docs/scenarios.md\nKTAP version 1")
    told, found = None, list[Card]()
    with Progress("runs", len(wanted)) as progress, at_once() as pool:
        for (card, sched), rows in zip(wanted, pool.map(lambda pair: rows_of(run, build, *pair), wanted)):
            if card is not told:
                told = card
                print(heading(card, host))
            for row in rows:
                found.append(row)
                print(line_of(len(found), row), flush=True)
            progress.step()
    again = shlex.quote(" ".join([*ids, "--host", host, *(["--scheds", ",".join(scheds)] if scheds else [])]))
    failed = sum(not row["pass"] for row in found)
    head: Card = {**dict.fromkeys(result.HEAD), "commit": commit(), "sched": ",".join(scheds or known)}
    result.tell([f"1..{len(found)}", f"# {len(found) - failed} passed, {failed} failed; again: "
                 f"make scenarios ARGS={again}"], head, found, host=host)
    return 1 if failed or not found else 0


def known_policies(build: str) -> Traits:
    """The fair policies with their traits, as the simulator lists them."""
    text = subprocess.run([os.path.join(build, "schedsim"), "--list-policies"], capture_output=True, text=True,
                          check=True).stdout
    return {name: set(traits) for name, *traits in map(str.split, text.splitlines())}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="default: all cards")
    parser.add_argument("--host", choices=("simulator", "kernel"), default="simulator")
    parser.add_argument("--scheds", default="", help="default: all of the card")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run the scenario cards, old bugs of schedulers, and compare with their bounds"""
    try:
        scheds = listed("--scheds", arguments.scheds) if arguments.scheds else []
        programs: Traits = {name: set() for name in scheds if name.startswith(SCX)}
        for name in programs:
            policy_words(name, settings.build)  # a name that is none is said before anything runs
        return scenarios(settings.build, arguments.ids, arguments.host, scheds,
                         known_policies(settings.build) | programs)
    except BadCard as error:
        raise UsageError(str(error)) from None
