# SPDX-License-Identifier: GPL-2.0-only
"""`fairground graph histogram`: what is drawn and said is what the programs counted, and what a trace's waits are.

The outputs of cyclictest and jitterdebugger are in the forms of rt-tests 2.4 and jitterdebugger 0.3; where cyclictest
is installed, its own output is read too.
"""

import csv
import json
import re
import shutil
import subprocess
from collections import Counter
from xml.etree import ElementTree

import pytest

from tests.sim.conftest import fairground, simulated

np = pytest.importorskip("numpy")
pytest.importorskip("matplotlib")
from fairground.pictures import counted, style

SVG = "{http://www.w3.org/2000/svg}"
POINT = re.compile(r"[ML] (-?[\d.]+) (-?[\d.]+)")
ROW = re.compile(r"^  (\S.*?) +(\d+)" + 3 * r" +([\d.]+|beyond)" + r" +([\d.]+)(?:  (\d+) beyond.*)?$", re.MULTILINE)
COUNTS = ({2: 1000, 3: 250, 7: 10, 40: 1}, {1: 5, 3: 900, 39: 2})
LONGEST, BEYOND = (40, 730), (0, 3)


def cyclictest(more=False, top=50):
    """What `cyclictest -h 50` prints of COUNTS, or -H with one column @more."""
    def line(numbers, width):
        numbers = [*numbers, sum(numbers)] if more else numbers
        return " ".join(f"{number:0{width}}" for number in numbers)
    rows = "".join(f"{us:06} " + "\t".join(line([counts.get(us, 0) for counts in COUNTS], 6).split()) + "\n"
                   for us in range(top))
    return (f"# /dev/cpu_dma_latency set to 0us\n# Histogram\n{rows}"
            f"# Total: {line([sum(counts.values()) for counts in COUNTS], 9)}\n# Min Latencies: {line((2, 1), 5)}\n"
            f"# Avg Latencies: {line((2, 3), 5)}\n# Max Latencies: {line(LONGEST, 5)}\n"
            f"# Histogram Overflows: {line(BEYOND, 5)}\n# Histogram Overflow at cycle number:\n"
            "# Thread 0:\n# Thread 1: 00017 00018 00700\n")


def as_json(what, resolution=1000):
    total = "cycles" if what == "thread" else "count"
    system = {"sysname": "Linux", "release": "6.1.0", "resolution_in_ns": resolution}
    return json.dumps({"version": 3, "sysinfo": system, what: {
        str(nr): {"histogram": {str(us): n for us, n in counts.items()}, "min": min(counts),
                  total: sum(counts.values()) + BEYOND[nr], "max": LONGEST[nr], "avg": 2.5}
        for nr, counts in enumerate(COUNTS)}})


JITTER = """2 threads, policy fifo, priority 80
 thread  tid  interval us  wakeups  min us  mean us  p50 us  p99 us  max us
      0   61         1000      400     2.0      3.4     3.4     7.7    41.3
      1   62         1500      400     1.5      3.0     3.0     6.8     9.9

us late  wakeups
      2  500
      3  290
     40  9
  later  1
"""


def graph(*words):
    status, out, err = fairground("graph", "histogram", *words)
    assert status == 0, err
    return out


def rows_of(text):
    return {name: (int(number), *(None if cell == "beyond" else float(cell) for cell in cells), int(beyond or 0))
            for name, number, *cells, beyond in ROW.findall(text)}


def drawn(path):
    """By series the heights of its line's points in an SVG, in counts, and their places, in µs; and the axis' range."""
    found, axis = {}, {}
    tree = ElementTree.parse(path)
    for group in tree.iter(f"{SVG}g"):
        name = group.get("id") or ""
        if name.startswith("series "):
            found[name[len("series "):]] = [(float(x), float(y)) for shape in group.iter(f"{SVG}path")
                                            for x, y in POINT.findall(shape.get("d", ""))]
        elif name == "frame":
            axis = [(float(x), float(y)) for shape in group.iter(f"{SVG}path")
                    for x, y in POINT.findall(shape.get("d", ""))]
    return found, axis


@pytest.mark.parametrize("form", ["-h", "-H", "cyclictest --json", "jitterdebugger"])
def test_what_a_program_counted_is_said_and_drawn(tmp_path, form):
    path, out = tmp_path / "x.txt", tmp_path / "x.svg"
    path.write_text({"-h": cyclictest, "-H": lambda: cyclictest(True), "jitterdebugger": lambda: as_json("cpu"),
                     "cyclictest --json": lambda: as_json("thread")}[form]())
    names = ("CPU 0", "CPU 1") if form == "jitterdebugger" else ("thread 0", "thread 1")
    assert rows_of(graph(path, "--upto", "50", "-o", out)) == {
        names[0]: (1261, 2.0, 3.0, 7.0, 40.0, 0), names[1]: (910, 3.0, 3.0, None, 730.0, 3)}
    shapes, frame = drawn(out)
    (left, bottom), (right, top) = min(frame, key=lambda p: (p[0], -p[1])), max(frame, key=lambda p: (p[0], -p[1]))
    highest = 1.6 * 1000
    for name, counts in zip(names, COUNTS):
        seen = {}
        for (x, y), (end, other) in zip(shapes[name], shapes[name][1:]):
            if y == other and y < bottom - 0.01:
                us = (x - left) / (right - left) * 50
                height = 0.7 * (highest / 0.7) ** ((bottom - y) / (bottom - top))
                assert (end - x) / (right - left) * 50 == pytest.approx(round(us + 1) - round(us), abs=0.02)
                seen[round(us)] = height
        assert set(seen) == set(counts)
        assert all(seen[us] == pytest.approx(count, rel=0.01) for us, count in counts.items())


def test_nanoseconds_are_not_microseconds():
    found = counted.of_json(json.loads(as_json("cpu", resolution=1)))
    assert found.resolution == 1 and found.series["CPU 1"].longest == 730
    assert counted.of_json(json.loads(as_json("thread", resolution=0))).series["thread 1"].longest == 730_000


def test_our_jitters_output(tmp_path):
    (tmp_path / "x.txt").write_text(JITTER)
    out = graph(tmp_path / "x.txt", "-o", tmp_path / "x.png")
    assert rows_of(out) == {"all threads": (800, 2.0, 40.0, None, 41.0, 1)}
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(not shutil.which("cyclictest"), reason="cyclictest is not installed")
@pytest.mark.parametrize("option", ["-h", "-H"])
def test_cyclictests_own_output(tmp_path, option):
    """The two forms of the same run: text and JSON."""
    text = subprocess.run(["cyclictest", "-q", "-t2", "-i", "500", "-l", "40", "--policy=other", option, "3000",
                           f"--json={tmp_path}/x.json"], capture_output=True, text=True, check=False)
    if text.returncode or not (tmp_path / "x.json").exists():
        pytest.skip(f"cyclictest cannot run here: {text.stderr}")
    (tmp_path / "x.txt").write_text(text.stdout)
    one, other = (rows_of(graph(tmp_path / name, "-o", tmp_path / "x.svg")) for name in ("x.txt", "x.json"))
    assert one == other and len(one) == 2 and sum(row[0] for row in one.values()) > 20


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    path = tmp_path_factory.mktemp("histogram") / "crowd.dat"
    simulated("--trace", path, "--cpus", "4", "--time", "300ms", "bursts:n=6,run=100us-3ms,sleep=1ms-5ms",
              "hogs:n=3,nice=5")
    return path


@pytest.mark.parametrize("by", ["cpu", "thread", "command"])
def test_the_waits_of_a_trace(tmp_path, crowd, by):
    """The same waits by another way: convert's tables."""
    tables = {}
    for name in ("runs", "waits"):
        assert fairground("convert", crowd, "-o", tmp_path / f"{name}.csv", "--table", name)[0] == 0
        with open(tmp_path / f"{name}.csv", encoding="utf-8") as f:
            tables[name] = list(csv.DictReader(f))
    where = {(row["pid"], row["start_ns"]): row["cpu"] for row in tables["runs"]}
    longest, number = {}, Counter()
    for row in tables["waits"]:
        if row["woken"] != "True" or (row["pid"], row["end_ns"]) not in where:
            continue
        name = {"cpu": f"CPU {where[row['pid'], row['end_ns']]}", "command": row["comm"],
                "thread": f"{row['comm']}-{row['pid']}"}[by]
        number[name] += 1
        longest[name] = max(longest.get(name, 0), int(row["end_ns"]) - int(row["start_ns"]))
    found = rows_of(graph(crowd, "--by", by, "-o", tmp_path / "x.svg"))
    assert sum(number.values()) > 100 and {name: row[0] for name, row in found.items()} == number
    assert {name: row[4] for name, row in found.items()} == {
        name: pytest.approx(ns / 1e3, abs=0.0006) for name, ns in longest.items()}


def test_lines_differ_in_more_than_colour_and_the_file_is_the_same_again(tmp_path, crowd):
    for suffix in ("svg", "pdf", "png"):
        for name in ("a", "b"):
            graph(crowd, "--by", "thread", "-o", tmp_path / f"{name}.{suffix}", "--no-header")
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    looks = set()
    for group in ElementTree.parse(tmp_path / "a.svg").iter(f"{SVG}g"):
        if (group.get("id") or "").startswith("series "):
            for shape in group.iter(f"{SVG}path"):
                text = shape.get("style")
                dash = re.search("stroke-dasharray: ([^;]+)", text)
                looks.add((re.search(r"stroke: (#\w+)", text)[1], dash and dash[1]))
    assert len(looks) == len({colour for colour, _ in looks}) == 8 and len({dash for _, dash in looks}) == 4
    assert len(set(style.MARKERS)) >= 8


@pytest.mark.parametrize("text, words, status, message", [
    ("", (), 2, "the file is empty"), ("hello", (), 2, "this is no trace, and no output of cyclictest -h"),
    ("{}", (), 2, "JSON, but neither of cyclictest --json nor of jitterdebugger"), ('{"cpu', (), 2, "no whole JSON"),
    (as_json("cpu").replace('"40": 1', '"40": -1'), (), 2, "a number below zero"),
    (cyclictest()[:400], (), 2, "no summary: the output is cut off"),
    (cyclictest(top=30), (), 2, "does not add up to its totals"),
    (cyclictest().replace("000007 000010", "000007"), (), 2, "lines of several lengths"),
    (cyclictest().replace("# Max Latencies: 00040", "# Max Latencies:"), (), 2, 'no line "# Max Latencies" for all'),
    (JITTER.replace("later", "l"), (), 2, 'no line "later"'),
    (JITTER[JITTER.index("us late"):], (), 2, "jitter's table of threads"),
    (cyclictest(), ("--max", "1"), 2, "choose a part of a trace, and this is none"),
    (cyclictest(), ("--bin", "0.001"), 2, "bins; at most 40000 are drawn"),
], ids=range(13))
def test_what_cannot_be_drawn_is_one_sentence(tmp_path, text, words, status, message):
    path, out = tmp_path / "x.txt", tmp_path / "x.svg"
    path.write_text(text)
    found, _, err = fairground("graph", "histogram", path, "-o", out, *words)
    assert found == status and message in err and err.count("\n") == 1 and (words or "x.txt" in err), err
    assert not list(tmp_path.glob("*.svg*"))
