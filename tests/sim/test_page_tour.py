# SPDX-License-Identifier: GPL-2.0-only
"""The tour of the page for browsers (docs/browser.md): by keyboard, and each number against schedsim's own run."""

import json
import re
import subprocess

import pytest

from tests.sim.conftest import BUILD, browse, page_or_skip


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return browse("tour", page_or_skip(), tmp_path_factory.mktemp("tour"))


class Native:
    """What schedsim makes of the words of a step: a row for each program, and the decisions."""

    def __init__(self, place, words, *more, sched=None):
        machine = [] if "--topology" in words["work"] else ["--cpus", words["cpus"]]
        subprocess.run([f"{BUILD}/schedsim", "--sched", sched or words["policies"][0], "--time", f"{words['ms']}ms",
                        *machine, *more, "--json", place / "r.json", "--decisions", place / "d.json",
                        *words["work"].split()], check=True, capture_output=True)
        result = json.loads((place / "r.json").read_text())["results"][0]
        self.rows, self.switches = result["tasks"], result["switches"]
        lines = (place / "d.json").read_text().splitlines()[1:-1]
        self.decisions = [json.loads(line) for line in lines]
        self.ns = int(words["ms"]) * 1_000_000

    def share(self, row):
        return f"{100 * self.rows[row]['cpu_ns'] / self.ns:.1f} %"

    def mean(self, row):
        return f"{self.rows[row]['wait_ns']['mean'] / 1e6:.2f} ms"

    def longest(self, row):
        return f"{self.rows[row]['wait_ns']['max'] / 1e6:.2f} ms"

    def turns(self, pid):
        """The ns that a task ran and each of its waits, from picks: for tasks that never sleep, on one CPU."""
        picks = [d for d in self.decisions if d["kind"] == "pick"]
        ran, waits, since = 0, [], self.first(kind="place", rule="arrives_new", pid=pid)["time"]
        for pick, until in zip(picks, [d["time"] for d in picks[1:]] + [self.ns], strict=True):
            if pick["pid"] == pid:
                ran += until - pick["time"]
                waits += [] if since is None else [pick["time"] - since]
                since = None
            elif since is None:
                since = pick["time"]
        return ran, waits if since is None else [*waits, self.ns - since]

    def first(self, **fields):
        return next(d for d in self.decisions if all(d.get(name) == value for name, value in fields.items()))


def distance(a, b):
    return (a - b + 2**63) % 2**64 - 2**63


def number(text, pattern):
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return float(found[1])


@pytest.fixture(name="runs")
def fixture_runs(seen, tmp_path):
    def of(step, *more, sched=None):
        given = seen["steps"][step - 1]
        return (given["see"], Native(tmp_path, given["words"], *more, sched=sched),
                given["tried"], Native(tmp_path, given["triedWords"], *more, sched=sched))
    return of


def test_twelve_steps_by_keyboard(seen):
    assert [each["title"].partition(" / 12: ")[0] for each in seen["steps"]] == [str(nr) for nr in range(1, 13)]
    for nr, each in enumerate(seen["steps"], start=1):
        assert each["focus"] == "step" and each["link"] == nr and each["looked"] > 20 and each["error"] == "", nr
        assert not re.search(r"\?(?! |$)|NaN|undefined|\{", each["see"] + each["tried"]), each
    assert seen["console"] == []
    assert all(re.match(r"file://.*/fairground\.html|blob:", url) for url in seen["requests"])


def test_it_is_left_and_gone_on_with(seen):
    assert seen["offered"] == "Tour: 12 steps for a newcomer"
    assert seen["left"] == [True, "begin", "Tour: 12 steps for a newcomer"]
    assert seen["byLink"] == ["9 / 12: Groups", 390] and seen["resumed"] == "9 / 12: Groups"
    assert seen["escaped"] == [True, "begin", "Go on with the tour: step 9 / 12"]
    assert seen["backAtTheTop"] == "step" and "damaged" in seen["noSuchStep"]


def test_a_link_keeps_step_and_changes(seen):
    title, see, work = seen["changed"]
    assert title == "9 / 12: Groups" and "Prepare again" in see and work == "hogs:n=4"
    assert seen["again"] == seen["steps"][8]["words"]["work"]


def test_turns_and_shares(runs):
    see, two, tried, three = runs(1)
    for text, run, last in (see, two, 1), (tried, three, 2):
        turns = [run.turns(pid) for pid in range(1, last + 2)]
        waits = turns[last][1]
        assert f"{run.switches} turns" in text
        assert f"task {last + 1} waited for {sum(waits) / len(waits) / 1e6:.2f} ms" in text
        assert re.findall(r"([\d.]+) %", text) == [f"{100 * ran / run.ns:.1f}" for ran, _ in turns]
    see, light, tried, lighter = runs(2)
    for text, run in (see, light), (tried, lighter):
        weights = [c["weight"] for c in run.first(kind="pick", nr_queued=2)["candidates"]]
        assert all(str(weight) in text for weight in weights)
        assert f"have {100 * min(weights) / sum(weights):.1f} %" in text.replace("and got", "It got")
        assert f"got {run.share(1)}" in text


def test_clock_and_credit(runs):
    see, run, tried, _ = runs(3)
    time = number(see, r"at ([\d.]+) ms") * 1e6
    pick = run.first(kind="pick", time=time)
    positions = [c["vruntime"] for c in pick["candidates"]]
    assert f"hog {pick['pid']} is chosen" in see
    assert f"{abs(distance(*positions)) / 1e6:.2f} ms behind" in see
    charge = run.first(kind="charge", pid=2, time=number(tried, r"At ([\d.]+) ms") * 1e6)
    before = next(c for c in charge["candidates"] if c["pid"] == 2)
    moved = distance(charge["vruntime"], before["vruntime"])
    assert f"ran {charge['delta'] / 1e6:.2f} ms" in tried and f"by {moved / 1e6:.2f} ms" in tried
    assert f"{moved / charge['delta']:.2f} times" in tried and f"{1024 / charge['weight']:.2f} times" in tried
    see, short, tried, long = runs(4)
    credits = []
    for text, run in (see, short), (tried, long):
        place = run.first(kind="place", rule="arrives_woken", pid=3)
        credits.append(f"{distance(place['v'], place['vruntime']) / 1e6:.2f} ms")
        assert credits[-1] in text and f"at {place['time'] / 1e6:.1f} ms" in text
    assert credits[0] == credits[1]  # "cannot be saved up"


def test_preemption_and_forks(runs, seen):
    see, run, tried, _ = runs(5)
    preempt = run.first(kind="preempt", pid=3)
    running = next(c for c in preempt["candidates"] if c["flags"] & 1)
    woken = next(c for c in preempt["candidates"] if c["pid"] == 3)
    assert f"It is {distance(running['vruntime'], woken['vruntime']) / 1e6:.2f} ms ahead" in see
    assert "The answer is yes" in see and preempt["answer"]
    # Nobody asks for the granularity before the fork, so the run that has it from the start is the same.
    _, other, _, _ = runs(5, "--set", "wakeup_granularity_ns=10000000")
    assert "the answer is no" in tried and not other.first(kind="preempt", pid=3)["answer"]
    assert f"was {run.longest(1)} before, and is {other.longest(1)} now" in tried and run.longest(1) != other.longest(1)
    see, run, tried, _ = runs(12)
    assert f"waited for {run.mean(1)} under CFS" in tried
    assert number(tried, r"for ([\d.]+) ms in the future") > number(tried, r"for ([\d.]+) ms under CFS")
    for nr in 5, 12:
        step = seen["steps"][nr - 1]
        assert len(step["lanes"]) == 2 and "first decision that differs" in step["differs"]


def test_eligibility_and_slices(runs):
    see, run, tried, other = runs(6)
    pick = run.first(kind="pick", time=number(see, r"at ([\d.]+) ms") * 1e6)
    eligible = [c for c in pick["candidates"] if c["flags"] & 8]
    assert f"{len(eligible)} of {pick['nr_queued']}" in see and len(eligible) < pick["nr_queued"]
    chosen = next(c for c in pick["candidates"] if c["pid"] == pick["pid"])
    assert f"owed {distance(pick['v'], chosen['vruntime']) / 1e6:.2f} ms" in see
    pick = other.first(kind="pick", time=number(tried, r"At ([\d.]+) ms") * 1e6)
    due = min(pick["candidates"], key=lambda c: distance(c["deadline"], pick["v"]))
    assert f"that of {due['comm']} {due['pid']}," in tried and f"So {pick['comm']} {pick['pid']} runs" in tried
    assert due["pid"] != pick["pid"] and f"{distance(due['vruntime'], pick['v']) / 1e6:.2f} ms right" in tried
    see, short, tried, long = runs(7)
    for text, run in (see, short), (tried, long):
        assert f"{run.mean(1)} on average, at most {run.longest(1)}" in text and f"got {run.share(1)}" in text
    assert short.rows[1]["wait_ns"]["mean"] < long.rows[1]["wait_ns"]["mean"]
    assert short.rows[1]["cpu_ns"] == pytest.approx(long.rows[1]["cpu_ns"], rel=0.05)  # "changes no share"


def test_scores(runs):
    see, eevdf, tried, long_eevdf = runs(8, sched="eevdf")
    _, bore, _, long_bore = runs(8, sched="bore")
    for text, plain, scored in (see, eevdf, bore), (tried, long_eevdf, long_bore):
        assert f"for {scored.mean(1)}" in text and f"for {plain.mean(1)}" in text
        time = number(text, r"[aA]t ([\d.]+) ms") * 1e6
        pick = scored.first(kind="pick", nr_queued=3, time=time)
        scores = [c["score"] for c in sorted(pick["candidates"], key=lambda c: c["pid"])]
        found = [int(nr) for nr in re.search(r"(?:has|is) (\d+)\b.*?(?:have|are) (\d+) and (\d+)", text).groups()]
        assert [found[1], found[2], found[0]] == scores
    assert bore.rows[1]["wait_ns"]["mean"] < eevdf.rows[1]["wait_ns"]["mean"]


def test_groups_quotas_and_cpus(runs):
    see, alike, tried, more = runs(9)
    for text, run in (see, alike), (tried, more):
        assert f"Task 1 got {run.share(0)}" in text
        others = number(text, r"([\d.]+) %(?: together)?\.$")
        assert others == pytest.approx(100 * run.rows[1]["cpu_ns"] / run.ns, abs=0.11)
    see, small, tried, large = runs(10)
    for text, run, limit in (see, small, 20), (tried, large, 50):
        assert f"{limit} %" in text and f"got {run.share(0)}" in text and run.share(1) in text
        assert number(text, r"got ([\d.]+) %") == pytest.approx(limit, abs=1)
    assert f"At {small.first(kind='quota', rule='pool_empty')['time'] / 1e6:.1f} ms the pool" in see
    see, two, tried, five = runs(11)
    select = two.first(kind="select", pid=2)
    assert f"on CPU {select['aimed']}, " in see and f"CPU {select['chosen']} is chosen" in see
    moved = five.first(kind="balance", outcome="moved")
    assert f"At {moved['time'] / 1e6:.1f} ms CPU {moved['cpu']} takes a task from CPU {moved['source']}" in tried
    least, most = number(tried, r"between ([\d.]+)"), number(tried, r"and ([\d.]+) %")
    ran = {}
    for d in five.decisions:
        if d["kind"] == "charge":
            ran[d["pid"]] = ran.get(d["pid"], 0) + d["delta"]
    # Charges lack what ran since the last of them, at most a tick.
    assert least == pytest.approx(100 * min(ran.values()) / five.ns, abs=0.5)
    assert most == pytest.approx(100 * max(ran.values()) / five.ns, abs=0.5)
