# SPDX-License-Identifier: GPL-2.0-only
"""The arrows of wakeups in the viewer of a report and in the page, beside what the trace of the same run says."""

import json
import shutil

import pytest

from tests.sim.conftest import BUILD, browse, page_or_skip, simulated
from fairground import __main__
from fairground.trace.records import decoder
from fairground.trace.tracefile import TraceFile

WORK = ("pipes:groups=1,pairs=2,capacity=4,write=100us,read=150us", "hogs:n=1", "bursts:n=1,run=1ms,sleep=7ms")
MS, LANE, GAP, SHORT = 200, 24, 12, 8  # of web/page/lanes.ts and arrows.ts, in pixels
IN_INTERRUPT = 0x18

pytestmark = pytest.mark.nightly("an arrow of a wakeup that goes elsewhere")


def read_wakeups(path):
    """(time, CPU, waker, woken, time and CPU of its next run) of each wakeup by a task; all from the first event."""
    trace = TraceFile(path)
    fields = {"sched_waking": ("pid",), "sched_switch": ("prev_pid", "next_pid")}
    decode = {f.id: decoder(f, fields[f.name]) for f in trace.formats.values() if f.name in fields}
    events = sorted(trace.events(fields), key=lambda event: (event.time, event.cpu))
    names = {f.name for f in trace.formats.values() if f.name.startswith("sched_")}
    every = [event.time for event in trace.events(names)]
    begin, found = min(every), []
    switches = [(event, decode[event.format.id](event.data)) for event in events if event.format.name == "sched_switch"]
    for event in events:
        if event.format.name == "sched_switch" or not event.pid or event.flags & IN_INTERRUPT:
            continue
        pid = decode[event.format.id](event.data)[0]
        left = min((other.time for other, pids in switches if pids[0] == pid and other.time > event.time),
                   default=max(every) + 1)
        ran = next(((other.time - begin, other.cpu) for other, pids in switches
                    if pids[1] == pid and event.time <= other.time < left), (None, None))
        found.append((event.time - begin, event.cpu, event.pid, pid, *ran))
    return found, begin, max(every) + 1 - begin


def expected(wakeups, by_task, start, end, width, meant=()):
    """The arrows between the times @start and @end, in pixels, and how many there would be if none was left out."""
    def place(time):
        return (time - start) / (end - start) * width
    drawn, taken, every = [], set(), 0
    for time, cpu, waker, pid, ran, after in wakeups:
        rows = (waker - 1, pid - 1) if by_task else (cpu, after)
        if rows[1] is None or meant and not {waker, pid} & set(meant):
            continue
        left, right = place(time), place(time if by_task else ran)
        if right < 0 or left > width or rows[0] == rows[1] and right - left < SHORT:
            continue
        every += 1
        if left // GAP not in taken:
            taken.add(left // GAP)
            drawn.append([left, (rows[0] + 0.5) * LANE, right, (rows[1] + 0.5) * LANE])
    return drawn, every


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    page, place = page_or_skip(), tmp_path_factory.mktemp("arrows")
    simulated("--trace", place / "a.dat", "--cpus", "2", "--time", f"{MS}ms", *WORK)
    assert __main__.main(["--build", BUILD, "report", str(place / "out.html"), str(place / "a.dat")]) == 0
    shutil.copy(page, place / "page.html")
    (place / "link.json").write_text(json.dumps({"work": " ".join(WORK), "cpus": 2, "ms": MS, "policies": ["cfs"],
                                                 "shown": 0, "at": 0}))
    wakeups, begin, length = read_wakeups(place / "a.dat")
    assert len(wakeups) > 300
    return browse("arrows", place / "out.html", place) | {"wakeups": wakeups, "begin": begin, "length": length}


def close_to(drawn):
    return [pytest.approx(arrow, abs=0.06) for arrow in drawn]


def check(view, wakeups, start, end, meant=()):
    drawn, every = expected(wakeups, view["rows"] == "By CPU", start, end, view["size"][0], meant)
    assert view["arrows"] == close_to(drawn)
    assert view["label"] == f"{len(drawn)} / {every} wakeups"
    assert view["button"] == [f"Arrows: {len(drawn)} / {every}" if len(drawn) < every else "Arrows", "true", False]
    return len(drawn), every


def test_an_arrow_goes_from_the_waker_to_the_woken(seen):
    """Where they are many, one in twelve pixels is drawn, and the button says of how many; from near there are all."""
    length, wakeups = seen["length"], seen["wakeups"]
    by_cpu, by_task = (check(seen[name], wakeups, 0, length) for name in ("first", "other"))
    assert seen["first"]["rows"] == "By task" and seen["other"]["rows"] == "By CPU"
    assert 20 < by_task[0] < by_task[1] and by_cpu[0] > 10
    near = check(seen["closer"], wakeups, length / 2 - length / 32, length / 2 + length / 32)
    assert 0 < near[0] == near[1]


def test_arrows_of_a_task_that_is_sought(seen):
    drawn, every = check(seen["sought"], seen["wakeups"], 0, seen["length"], meant=[3])
    assert 0 < every < check(seen["first"], seen["wakeups"], 0, seen["length"])[1] and drawn


def test_a_key_and_a_button_hide_arrows(seen):
    assert seen["off"]["arrows"] == seen["clicked"]["arrows"] == []
    assert seen["off"]["button"] == ["Arrows", "false", False]
    assert seen["on"]["arrows"] == seen["first"]["arrows"]
    assert "a shows arrows of wakeups, or hides them" in seen["help"]


def test_the_page_has_the_arrows_of_the_same_run(seen):
    """Its events have no interrupts: what a timer wakes has no arrow there, either."""
    begin = seen["begin"]
    since_start = [[time + begin, *which, ran and ran + begin, cpu] for time, *which, ran, cpu in seen["wakeups"]]
    for name in ("page", "pageOther"):
        check(seen[name], since_start, 0, MS * 1e6)
    assert seen["page"]["rows"] != seen["pageOther"]["rows"] and seen["console"] == []
