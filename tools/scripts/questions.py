#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A bank of questions with numbers for each student, whose right answers are computed.

A question draws its numbers from a key. Its answer is a formula; where the simulator can show it, too, it is run, and
the answer is what it says. If the two differ by more than the tolerance of the question, nothing is written.

    B/questions/canvas.zip      QTI 1.2: import as a quiz; each group gives one of its variants to a student
    B/questions/qti21.zip       QTI 2.1, an item for each variant
    B/questions/moodle.xml      Moodle's own form (its core imports no QTI): take a random question of each category
    B/questions/answers.csv     for the instructor

Usage: questions.py KEY [VARIANTS]    KEY: any word, kept secret, another each term; VARIANTS: of each question, 20
       environment: B (build directory)
"""

import csv
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from fairground.base.settings import UsageError

import qti
import usage

WEIGHT = {0: 1024, 1: 820, 2: 655, 3: 526, 4: 423, 5: 335, 6: 272, 7: 215, 8: 172, 9: 137, 10: 110}
HALF_LIFE = 32 * 1.048576  # ms
Numbers = dict[str, int]
Row = dict[str, Any]


class Run(NamedTuple):
    """A run of the simulator that shows the answer: its words, and the answer from its rows and its text."""

    words: Callable[[Numbers], str]
    answer: Callable[[list[Row], str, Numbers], float]


class Question(NamedTuple):
    title: str
    text: str  # with {names} of the numbers
    draw: Callable[[random.Random], Numbers]
    formula: Callable[[Numbers], float]
    tolerance: float
    run: Run | None = None


def response_time(own: int, others: Iterable[tuple[int, int]]) -> int:
    """When a job of @own ms is done that comes together with more urgent tasks (ms of work, period)."""
    more = list(others)
    before, now = 0, own
    while before != now:
        before, now = now, own + sum(math.ceil(now / period) * work for work, period in more)
    return now


def draw_periodic(rng: random.Random) -> Numbers:
    """Three periodic tasks. The last is not done just when another comes: a convention would say who is first."""
    while True:
        n = {"a": rng.randrange(2, 5), "ta": rng.randrange(10, 16), "b": rng.randrange(4, 9),
             "tb": rng.randrange(20, 31), "c": rng.randrange(5, 20)}
        done = third_done(n)
        if done < 200 and done % n["ta"] and done % n["tb"]:
            return n


def third_done(n: Numbers) -> int:
    return response_time(n["c"], ((n["a"], n["ta"]), (n["b"], n["tb"])))


def waited(row: Row) -> float:
    """ms of waits of a row."""
    return float(row["wait_ns"]["n"] * row["wait_ns"]["mean"]) / 1e6


def shared(row: Row, seconds: float) -> float:
    """% of a CPU that a task of a row got."""
    return float(row["cpu_ns"]) / row["tasks"] / seconds / 1e7


def mean_vruntime(n: Numbers) -> float:
    return (1024 * (n["a"] + n["b"]) + WEIGHT[n["nice"]] * n["c"]) / (2048 + WEIGHT[n["nice"]])


def imbalance(n: Numbers) -> float:
    mean, here, there = (n["here"] + n["there"]) / 4, n["here"] / 2, n["there"] / 2
    return min(mean - here, there - mean) * 2


QUESTIONS = {
    "turnaround": Question(
        "Turnaround under FIFO",
        "Three jobs of {a}, {b} and {c} ms come together, in this order, on one CPU under SCHED_FIFO with one "
        "priority. What is their mean turnaround time, in ms?",
        lambda r: {"a": r.randrange(20, 90, 10), "b": r.randrange(10, 60, 10), "c": r.randrange(5, 30, 5)},
        lambda n: (3 * n["a"] + 2 * n["b"] + n["c"]) / 3, 0.1,
        Run(lambda n: "--time 1s " + " ".join(f"hogs:n=1,policy=fifo,prio=10,run={n[x]}ms" for x in "abc"),
            lambda rows, _, n: sum(waited(row) + row["cpu_ns"] / 1e6 for row in rows) / 3)),
    "nice": Question(
        "Shares by weight",
        "A program of nice {nice} and {count} of nice 0 never sleep, on one CPU under CFS. Nice {nice} has the weight "
        "{weight}, nice 0 has 1024. Which part of the CPU does the first get in the long run, in %?",
        lambda r: (lambda nice: {"count": r.randrange(1, 5), "nice": nice, "weight": WEIGHT[nice]})(r.randrange(1, 11)),
        lambda n: 100 * n["weight"] / (1024 * n["count"] + n["weight"]), 0.2,
        Run(lambda n: f"--time 100s hogs:n={n['count']} hogs:n=1,nice={n['nice']}",
            lambda rows, _, n: shared(rows[1], 100))),
    "round-robin": Question(
        "Round robin",
        "{tasks} programs that never sleep run under SCHED_RR with one priority on one CPU; a slice is 100 ms. "
        "How long does each wait between two of its turns, in ms?",
        lambda r: {"tasks": r.randrange(3, 12)}, lambda n: 100.0 * (n["tasks"] - 1), 0.5,
        Run(lambda n: f"--sched eevdf --time 20s hogs:n={n['tasks']},policy=rr,prio=10",
            lambda rows, _, n: rows[0]["wait_ns"]["p50"] / 1e6)),
    "slice": Question(
        "A slice of CFS",
        "A program of nice 0 and one of nice {nice} (weight {weight}) never sleep, on one CPU. The period of CFS is 6 "
        "ms. How long is the slice of the program of nice {nice}, in ms?",
        lambda r: (lambda nice: {"nice": nice, "weight": WEIGHT[nice]})(r.randrange(1, 11)),
        lambda n: 6 * n["weight"] / (1024 + n["weight"]), 0.005),
    "virtual-time": Question(
        "The virtual time of a queue",
        "Two tasks of weight 1024 have the vruntimes {a} and {b} ms, a third of weight {weight} has {c} ms. What is V, "
        "the virtual time of the queue under EEVDF, in ms?",
        lambda r: (lambda nice: {"a": r.randrange(5, 20), "b": r.randrange(5, 20), "c": r.randrange(0, 30),
                                 "nice": nice, "weight": WEIGHT[nice]})(r.randrange(1, 11)),
        mean_vruntime, 0.02),
    "groups": Question(
        "Shares in a tree",
        "On one CPU are hogs: one in group a, which has {shares} shares, {inner} in group b, which has 1024 shares, "
        "and {outer} of nice 0 in no group. Which part of the CPU does one hog of b get in the long run, in %?",
        lambda r: {"shares": 1024 * r.randrange(2, 6), "inner": r.randrange(2, 5), "outer": r.randrange(1, 4)},
        lambda n: 100 * 1024 / (n["shares"] + 1024 * (1 + n["outer"])) / n["inner"], 0.2,
        Run(lambda n: f"--time 100s group:name=a,shares={n['shares']} hogs:n=1,group=a group:name=b "
                      f"hogs:n={n['inner']},group=b hogs:n={n['outer']}",
            lambda rows, _, n: shared(rows[1], 100))),
    "quota": Question(
        "A quota",
        "A group has a quota of {quota} ms in each {period} ms, and {hogs} programs that never sleep, on a machine of "
        "4 CPUs that is idle otherwise. How much CPU time do they get together in 10 s, in ms?",
        lambda r: {"quota": r.randrange(20, 90, 5), "period": r.choice((50, 100, 200)), "hogs": r.randrange(2, 5)},
        lambda n: 10_000 * n["quota"] / n["period"], 100,
        Run(lambda n: f"--cpus 4 --time 10s group:name=g,quota={n['quota']}ms,period={n['period']}ms "
                      f"hogs:n={n['hogs']},group=g",
            lambda rows, _, n: rows[0]["cpu_ns"] / 1e6)),
    "utilisation": Question(
        "A load average rises",
        "Two programs that never sleep begin on a CPU of capacity 1024. The utilisation of its queue begins at 512 + "
        "256. What is it after {time} ms? (The half-life is 33.6 ms; three units more or less are right.)",
        lambda r: {"time": r.randrange(8, 120, 4)},
        lambda n: 1024 - 256 * 0.5 ** (n["time"] / HALF_LIFE), 3,
        Run(lambda n: f"--explain {n['time']}ms hogs:n=2",
            lambda _, text, n: float(re.findall(r"\.util_avg +: (\d+)", text)[-1]))),
    "rate-monotonic": Question(
        "The bound of rate monotonic priorities",
        "{tasks} periodic tasks have rate monotonic priorities on one CPU. Up to which sum of their parts of the CPU "
        "are all deadlines met, whatever their periods are, in %?",
        lambda r: {"tasks": r.randrange(2, 15)}, lambda n: 100 * n["tasks"] * (2 ** (1 / n["tasks"]) - 1), 0.06),
    "response": Question(
        "A response time",
        "Three periodic tasks on one CPU, the first the most urgent, come together: {a} ms in each {ta}, {b} ms in "
        "each {tb}, {c} ms in each 200. When is the first job of the third done, in ms?",
        draw_periodic, third_done, 0.1,
        Run(lambda n: "--hz 1000 --time 200ms " + " ".join(
                f"periodic:period={period}ms,run={work}ms,prio={prio}" for work, period, prio in
                ((n["a"], n["ta"], 30), (n["b"], n["tb"], 20), (n["c"], 200, 10))),
            lambda rows, _, n: waited(rows[2]) + rows[2]["cpu_ns"] / 1e6)),
    "blocking": Question(
        "Inversion, and its bound",
        "low holds a lock for {section} ms of work, from time 0 on. high, more urgent, wants the lock at {at} ms, and "
        "then works for {work} ms. middle, between them, comes at {later} ms and runs for {middle} ms. Locks do not "
        "inherit priorities. When is high done, in ms?",
        lambda r: (lambda at: {"section": at + r.randrange(4, 10), "at": at, "later": at + r.randrange(1, 3),
                               "middle": r.randrange(20, 90, 10), "work": r.randrange(1, 5)})(r.randrange(1, 4)),
        lambda n: n["section"] + n["middle"] + n["work"], 0.1),
    "several-cpus": Question(
        "Global EDF",
        "On {cpus} CPUs under global EDF the most demanding task needs {most} % of a CPU. Up to which sum of parts are "
        "all deadlines surely met, in % of one CPU?",
        lambda r: {"cpus": r.randrange(2, 9), "most": r.randrange(20, 95, 5)},
        lambda n: 100 * n["cpus"] - (n["cpus"] - 1) * n["most"], 0.1),
    "imbalance": Question(
        "The imbalance of a pass",
        "A domain has two parts of two CPUs, all of capacity 1024. The own part, fully busy, has the load {here}; the "
        "other, overloaded, has {there}. How much load does the pass want to move?",
        lambda r: {"here": r.randrange(1500, 2300, 100), "there": r.randrange(2600, 4200, 100)}, imbalance, 1.5),
}


def simulate(build: pathlib.Path, words: str) -> tuple[list[Row], str]:
    """The rows and the text of a run."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "run.json")
        output = [] if "--explain" in words else ["--json", str(path)]
        done = subprocess.run([build / "schedsim", *output, *words.split()], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise UsageError(f"schedsim {words}: {done.stderr.strip()}")
        return json.loads(path.read_text())["results"][0]["tasks"] if output else [], done.stdout


def answer(build: pathlib.Path, question: Question, numbers: Numbers) -> float:
    """The right answer. UsageError if formula and simulator do not agree."""
    expected = float(question.formula(numbers))
    if not question.run:
        return round(expected, 3)
    words = question.run.words(numbers)
    seen = question.run.answer(*simulate(build, words), numbers)
    if abs(seen - expected) > question.tolerance:
        raise UsageError(f"{question.title}: the formula says {expected:.3f}, `schedsim {words}` {seen:.3f}")
    return round(seen, 3)


def variants(build: pathlib.Path, name: str, key: str, count: int) -> list[qti.Variant]:
    """@count variants of the question @name, different as long as there are others."""
    question, rng = QUESTIONS[name], random.Random(f"{key}/{name}")
    drawn: list[Numbers] = []
    for _ in range(50 * count):
        numbers = question.draw(rng)
        if numbers not in drawn and len(drawn) < count:
            drawn.append(numbers)
    return [qti.Variant(f"{name}-{nr}", question.title, question.text.format(**numbers),
                        answer(build, question, numbers), question.tolerance) for nr, numbers in enumerate(drawn, 1)]


def write(bank: qti.Bank, out: pathlib.Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    qti.write_qti12(out / "canvas.zip", bank)
    qti.write_qti21(out / "qti21.zip", bank)
    qti.write_moodle(out / "moodle.xml", bank)
    with open(out / "answers.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("question", "answer", "tolerance", "text"))
        table.writerows((v.name, v.answer, v.tolerance, v.text) for each in bank.values() for v in each)


def main() -> None:
    words = usage.words(__doc__, 1, 2)
    build = pathlib.Path(os.environ.get("B", "build"))
    try:
        if len(words) > 1 and not (words[1].isdigit() and 0 < int(words[1]) <= 1000):
            raise UsageError(f"{words[1]}: the number of variants is 1 to 1000")
        if not (build / "schedsim").exists():
            raise UsageError(f"there is no {build}/schedsim: make sim builds it")
        count = int(words[1]) if len(words) > 1 else 20
        with ThreadPoolExecutor(2) as pool:
            made = pool.map(lambda name: variants(build, name, words[0], count), QUESTIONS)
            bank: qti.Bank = dict(zip(QUESTIONS, made))
        write(bank, build / "questions")
    except UsageError as error:
        sys.exit(f"questions: {error}")
    print(f"{build}/questions: {len(bank)} questions, {sum(map(len, bank.values()))} variants")


if __name__ == "__main__":
    main()
