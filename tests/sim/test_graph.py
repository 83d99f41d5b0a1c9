# SPDX-License-Identifier: GPL-2.0-only
"""`fairground graph`: what is drawn is what the trace says, read by trace-cmd, and what the simulator reports.

linux-6.1.dat is a trace of Debian's kernel 6.1 by Debian's trace-cmd, version 7 and compressed: FIFO, RR and fair tasks
on four CPUs, recorded with -e sched_switch, sched_wakeup, sched_wakeup_new, sched_waking, sched_migrate_task and
sched_stat_wait.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
from collections import defaultdict
from xml.etree import ElementTree

import pytest

from tests.sim.conftest import ROOT, fairground, simulated

np = pytest.importorskip("numpy")
pytest.importorskip("matplotlib")
if not shutil.which("trace-cmd"):
    pytest.skip("trace-cmd is not installed", allow_module_level=True)
from fairground.trace.timeline import Timeline

LINUX = f"{ROOT}/tests/sim/linux-6.1.dat"
CROWD = ("bursts:n=6,run=100us-3ms,sleep=1ms-5ms", "hogs:n=3,nice=5", "pingpong:n=2,run=200us")
SVG = "{http://www.w3.org/2000/svg}"
SWITCH = re.compile(r"\[(\d+)\] +(\d+\.\d+): sched_switch: .*prev_pid=(\d+) .*prev_state=\S+ .*next_pid=(\d+)")
POINT = re.compile(r"[ML] (-?[\d.]+) (-?[\d.]+)")


def simulate(path, *words):
    simulated("--trace", path, *words)
    return str(path)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("graph") / "crowd.dat", "--cpus", "4", "--time", "300ms", *CROWD)


def process(*words, **environment):
    return subprocess.run([sys.executable, "-m", "fairground", *map(str, words)], capture_output=True, text=True,
                          check=False, env={**os.environ, "PYTHONPATH": f"{ROOT}/tools", **environment})


def graph(*words):
    done = fairground("graph", *words)
    assert done.returncode == 0, done.stderr
    return done


def report(path, *words):
    return subprocess.run(["trace-cmd", "report", "-t", *words, path], capture_output=True, text=True,
                          check=True).stdout


def shapes(path):
    """{id: [points of its paths]} of the SVG at @path, and the frame's corners."""
    found = {group.get("id"): [[(float(x), float(y)) for x, y in POINT.findall(shape.get("d", ""))]
                               for shape in group.iter(f"{SVG}path")]
             for group in ElementTree.parse(path).iter(f"{SVG}g") if group.get("id")}
    (left, bottom), _, (right, top), _ = found["frame"][0][:4]  # an SVG's y grows downwards
    return found, (left, bottom, right, top)


def busy_by_trace_cmd(path):
    """ns that each CPU was busy, from trace-cmd's text, and how long the trace is. What a CPU does is what its last
    switch says; before its first one it is what that switch ends."""
    text = report(path, "-N")
    times = [int(t.replace(".", "")) for t in re.findall(r"\[\d+\] +(\d+\.\d+):", text)]
    busy, since, running = defaultdict(int), {}, {}
    for cpu, time, prev, following in re.findall(SWITCH, text):
        now = int(time.replace(".", ""))
        if prev != "0":
            busy[int(cpu)] += now - since.get(cpu, times[0])
        since[cpu] = now
        running[cpu] = following
    for cpu, following in running.items():
        busy[int(cpu)] += (times[-1] - since[cpu]) * (following != "0")
    return busy, times[-1] - times[0]


@pytest.mark.parametrize("which", ["linux", "simulator"])
def test_coloured_time_is_busy_time(tmp_path, crowd, which):
    """Each CPU's bars are as long as trace-cmd's text says that it was busy."""
    path, out = LINUX if which == "linux" else crowd, tmp_path / "x.svg"
    done = graph("dat2graph2", path, "-o", out)
    busy, length = busy_by_trace_cmd(path)
    found, (left, bottom, right, top) = shapes(out)
    coloured, columns = defaultdict(float), defaultdict(float)
    for name, bars in found.items():
        for corner in range(0, len(bars[0]), 4) if name.startswith("task ") else ():
            (x, low), (end, _), (_, high), _ = bars[0][corner:corner + 4]
            row = (bottom - low) / (bottom - top) * 4.2 - 0.6 + 0.42  # the axis goes from -0.6 to 3.6, a bar to 0.42
            assert abs(row - round(row)) < 0.01
            where = round(row), x, end  # the highest share in a column of pixels hides part of the others'
            columns[where] = max(columns[where], (low - high) / (bottom - top) * 4.2 / 0.84)
    for (row, x, end), part in columns.items():
        coloured[row] += (end - x) / (right - left) * length * part
    assert set(coloured) == set(busy) == {0, 1, 2, 3}
    for cpu, time in busy.items():
        assert coloured[cpu] == pytest.approx(time, rel=1e-3)
        assert f"{cpu:5} {time / 1e6:13.6f} " in done.stdout


def test_frequencies_lie_over_the_bars(tmp_path):
    """Each CPU's line and mean are those of the events as trace-cmd prints them, to a thousandth of a row."""
    path, out = tmp_path / "juno.dat", tmp_path / "x.svg"
    simulate(path, "--topology", "packages=1,cores=6,llcs=1", "--opp", "juno", "--governor", "schedutil", "--time",
             "220ms", "bursts:n=4,run=2ms,sleep=5ms")
    text, changes = report(path, "-N"), defaultdict(list)
    times = [int(t.replace(".", "")) for t in re.findall(r"\[\d+\] +(\d+\.\d+):", text)]
    for time, khz, cpu in re.findall(r"(\d+\.\d+): cpu_frequency: +state=(\d+) cpu_id=(\d+)", text):
        changes[int(cpu)].append((int(time.replace(".", "")) - times[0], int(khz) / 1e3))
    length, top = times[-1] - times[0], max(mhz for rows in changes.values() for _, mhz in rows)
    done = graph("dat2graph2", path, "--frequency", "-C", "1-5", "-o", out)
    assert set(changes) == set(range(6)) and max(map(len, changes.values())) > 3
    found, (left, bottom, right, upper) = shapes(out)
    assert "MHz 0" not in found and f"frequency; top: {top:g} MHz" in comments(out)
    for cpu, rows in changes.items():
        spans = [(mhz, until - since) for (since, mhz), (until, _) in zip(rows, [*rows[1:], (length, 0)])]
        mean = sum(mhz * ns for mhz, ns in spans) / sum(ns for _, ns in spans)
        assert float(re.search(rf"^ +{cpu} .* ([\d.]+)$", done.stdout, re.M)[1]) == pytest.approx(mean, abs=6e-4)
        if not cpu:
            continue
        line = found[f"MHz {cpu}"][0]
        drawn = [((x - left) / (right - left) * length, (bottom - y) / (bottom - upper) * 5.2 - 0.6) for x, y in line]
        for since, mhz in rows:
            assert any(abs(x - since) < length / 1e4 and abs(y - (cpu - 1 - 0.42 + 0.84 * mhz / top)) < 1e-3
                       for x, y in drawn), (cpu, since, mhz)
    done = fairground("graph", "dat2graph2", LINUX, "--frequency", "-o", tmp_path / "y.svg")
    assert done.returncode == 2 and "record power:cpu_frequency" in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "y.svg").exists()


def area(line, frame, length, highest):
    """The integral of a step line, in tasks x ns."""
    left, bottom, right, top = frame
    return sum((x - before) / (right - left) * length * (bottom - y) / (bottom - top) * highest
               for (before, y), (x, _) in zip(line, line[1:]))


@pytest.mark.parametrize("which", ["linux", "simulator"])
def test_red_minus_green_is_the_time_that_tasks_waited(tmp_path, crowd, which):
    """The area between the curves is the sum of sched_stat_wait, which the kernel measures by its own clocks."""
    path, out = LINUX if which == "linux" else crowd, tmp_path / "x.svg"
    done = graph("running_waiting", path, "-o", out)
    waited = sum(int(delay) for delay in re.findall(r"sched_stat_wait: .*delay=(\d+)", report(path, "-R")))
    timeline = Timeline(path)
    unfinished = [e - s for s, e in zip(timeline.waits.start, timeline.waits.end)][-timeline.unfinished:]
    waited += sum(unfinished[:timeline.unfinished])
    _, length = busy_by_trace_cmd(path)
    found, frame = shapes(out)
    running, runnable = found["running"][0], found["runnable"][0]
    said = float(re.search(r"the red area +([\d.]+)", done.stdout)[1]) * 1e6
    assert said == pytest.approx(waited, rel=0.01)
    assert sum(busy_by_trace_cmd(path)[0].values()) == pytest.approx(
        1e6 * float(re.search(r"green area +([\d.]+)", done.stdout)[1]), rel=1e-6)
    # One task on the axis, in points: from the ratio of the areas of the green curve.
    highest = sum(busy_by_trace_cmd(path)[0].values()) / area(running, frame, length, 1)
    assert area(runnable, frame, length, highest) - area(running, frame, length, highest) == pytest.approx(
        waited, rel=0.01)


def test_waiting_while_a_cpu_idles_is_what_the_simulator_wastes(sim, tmp_path):
    path = tmp_path / "x.dat"
    run = sim("--cpus 4 --time 30ms pipes:groups=1 bursts:n=5,run=100us-3ms,sleep=1ms-5ms", "--trace", str(path))
    wasted = run.result()["waste_ns"]
    done = graph("running_waiting", path, "-o", tmp_path / "x.svg")
    said = re.search(r"while a CPU idles +([\d.]+) task ms", done.stdout)
    assert wasted > 1e6 and float(said[1]) * 1e6 == pytest.approx(wasted, rel=1e-3)


def test_affinities_are_not_known(tmp_path):
    """Two hogs that may only use CPU 0 of 2: one always waits, and the other CPU always idles."""
    path = simulate(tmp_path / "x.dat", "--cpus", "2", "--time", "400ms", "hogs:n=2,cpus=0")
    text = graph("running_waiting", path, "--range", "0.1-0.3", "-o", tmp_path / "x.png").stdout
    assert text.count(" 200.000000 task ms") == 3 and "in 200.000000 ms of time" in text
    assert "unless affinities forbid" in text


def ids(path):
    return {name for name in shapes(path)[0] if name.startswith("task ")}


def test_colours_by_thread_by_command_and_target(tmp_path, crowd):
    out = tmp_path / "x.svg"
    graph("dat2graph2", crowd, "-o", out)
    threads = ids(out)
    assert len(threads) == 6 + 3 + 4 and all(re.fullmatch(r"task \w+-\d+", name) for name in threads)
    graph("dat2graph2", crowd, "--color-by-command", "-o", out)
    assert ids(out) == {"task burst", "task hog", "task ping", "task pong"}
    graph("dat2graph2", crowd, "--target", "hog", "--color-by-command", "-o", out)
    fills = {group.get("id"): group.find(f"{SVG}path").get("style") for group in ElementTree.parse(out).iter(f"{SVG}g")
             if group.get("id", "").startswith("task ")}
    assert fills.pop("task hog") == "fill: #0072b2" and set(fills.values()) == {None} and len(fills) == 3  # black
    assert "no such task" in fairground("graph", "dat2graph2", crowd, "--target", "nobody", "-o", out).stderr


def cpus_drawn(path):
    """The labels of the vertical axis from below, which the SVG keeps as comments."""
    return re.findall(r'id="text_\d+">\s*<!-- (\d+) -->', path.read_text())


def test_order_of_sockets_and_choice_of_cpus(tmp_path):
    two = simulate(tmp_path / "two.dat", "--topology", "2x1x2", "--time", "50ms", "hogs:n=6")
    out = tmp_path / "x.svg"
    graph("dat2graph2", two, "--socket-order", "0,2/1,3", "-o", out)
    assert cpus_drawn(out)[-4:] == ["0", "2", "1", "3"]
    graph("dat2graph2", two, "--socket-order", "-C", "1-2", "-o", out)
    assert cpus_drawn(out)[-2:] == ["1", "2"]
    for words, message in ((["--socket-order", "0,2/1"], "is expected once"), (["-C", "7"], "no such CPUs"),
                           (["-C", "x"], "a list such as")):
        done = fairground("graph", "dat2graph2", two, *words, "-o", out)
        assert done.returncode == 2 and message in done.stderr
    done = fairground("graph", "dat2graph2", LINUX, "--socket-order", "-o", out)
    assert done.returncode == 2 and "does not say which CPUs share a socket" in done.stderr


def test_files_are_named_as_the_tools_of_schedgraph_name_them(tmp_path):
    path = tmp_path / "a.dat"
    shutil.copy(LINUX, path)
    for words, name in (("dat2graph2", "a.svg"), ("running_waiting", "a_rw.svg"),
                        ("dat2graph2 --min 0.1 --max 0.2 --color-by-command", "a_from_0.1_upto_0.2_color.svg"),
                        ("running_waiting --range 0.0-0.4 --format pdf", "a_rw_from_0.0_upto_0.4.pdf")):
        assert f"{tmp_path / name}: " in graph(*words.split(), path).stdout
        assert (tmp_path / name).exists()


def test_svg_pdf_and_png_have_their_fonts_and_repeat(tmp_path, crowd):
    for end in ("svg", "pdf", "png"):
        out = [tmp_path / f"{nr}.{end}" for nr in range(2)]
        for path in out:
            graph("running_waiting", crowd, LINUX, "-o", path)
        data = out[0].read_bytes()
        assert data == out[1].read_bytes() and len(data) > 5000
        assert {"svg": b"<text" not in data, "pdf": b"/FontFile2" in data, "png": data[1:4] == b"PNG"}[end]


def test_the_header_says_what_run_it_is(tmp_path, crowd):
    out = tmp_path / "x.svg"
    graph("dat2graph2", crowd, LINUX, "--max", "0.1", "-o", out)
    for words in ("fairground graph dat2graph2 crowd.dat linux-6.1.dat --max 0.1", ": cfs; 4 CPUs, 1 node", "HZ 250",
                  "command: schedsim", "seed 1", "6.1.0-50-cloud-amd64"):
        assert words in comments(out), words


def comments(path):
    """The texts of the SVG at @path, which are drawn as shapes."""
    return "\n".join(re.findall("<!--(.*?)-->", path.read_text(), re.DOTALL)).replace("- -", "--")


def damaged(data, what):
    return {"empty": b"", "foreign": b"hello, this is a text\n", "cut in the header": data[:3000],
            "cut in the records": data[:len(data) * 2 // 3], "no records": data[:data.index(b"flyrecord")]}[what]


@pytest.mark.parametrize("what, message", [
    ("empty", "the file is empty"), ("foreign", "this is not a trace.dat file"),
    ("cut in the header", "ends too early"), ("cut in the records", "ends too early"),
    ("no records", "ends too early")])
def test_what_is_no_whole_trace_is_one_sentence(tmp_path, crowd, what, message):
    path, out = tmp_path / "x.dat", tmp_path / "x.svg"
    path.write_bytes(damaged(open(crowd, "rb").read(), what))
    for kind in ("dat2graph2", "running_waiting"):
        done = fairground("graph", kind, path, "-o", out)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1
    assert not out.exists()


def test_a_damaged_version_7(tmp_path):
    path = tmp_path / "x.dat"
    path.write_bytes(open(LINUX, "rb").read()[:9000])
    done = fairground("graph", "dat2graph2", path, "-o", tmp_path / "x.svg")
    assert done.returncode == 2 and "trace-cmd cannot read it" in done.stderr and done.stderr.count("\n") == 1
    done = process("graph", "dat2graph2", LINUX, "-o", tmp_path / "x.svg", PATH="/nonexistent")
    assert done.returncode == 2 and "trace-cmd is needed (sh tools/setup.sh --for traces" in done.stderr


def test_lost_events_are_said_in_the_picture_and_beside_it(tmp_path, crowd):
    data, out = bytearray(open(crowd, "rb").read()), tmp_path / "x.svg"
    table = data.index(b"flyrecord\0") + 10
    at, = struct.unpack_from("<Q", data, table)
    commit, = struct.unpack_from("<Q", data, at + 4096 + 8)
    struct.pack_into("<Q", data, at + 4096 + 8, commit | 1 << 31)
    (tmp_path / "x.dat").write_bytes(data)
    for kind in ("dat2graph2", "running_waiting"):
        done = graph(kind, tmp_path / "x.dat", "-o", out)
        assert "at least 1 event was lost" in done.stderr and "at least 1 event was lost" in comments(out)


def test_bad_requests_are_one_line_and_leave_no_picture(tmp_path, crowd):
    done = fairground("graph", "dat2graph3", crowd)
    assert done.returncode == 2 and done.stderr.startswith("usage: ") and "dat2graph2" in done.stderr
    for words, message in ((["-o", tmp_path / "x.gif"], "ends in .svg, .pdf or .png"),
                           (["--range", "1"], "two numbers"), (["--min", "9"], "nothing is between"),
                           (["--min", "2", "--max", "1"], "the second later"),
                           (["-o", tmp_path / "no" / "x.svg"], "No such file")):
        done = fairground("graph", "running_waiting", crowd, *words)
        assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_a_sentence_says_what_to_install(tmp_path, crowd):
    for module in ("matplotlib", "numpy"):
        directory = tmp_path / module
        directory.mkdir()
        (directory / f"{module}.py").write_text(f"raise ImportError('no', name='{module}')")
        done = process("graph", "dat2graph2", crowd, "-o", tmp_path / "x.svg",
                       PYTHONPATH=f"{directory}:{ROOT}/tools")
        assert done.returncode == 2 and f"pictures need {module}: sh tools/setup.sh --for pictures" in done.stderr
        assert done.stderr.count("\n") == 1


def test_the_names_of_all_kinds_cost_no_module():
    """Of a kind that is asked for its own is loaded, with what it needs."""
    def loaded(*words):
        script = f"""import contextlib, io, sys
            from fairground.__main__ import main
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main({list(words)})
            print(*sys.modules)"""
        done = subprocess.run([sys.executable, "-c", script.replace(" " * 12, "")], capture_output=True, text=True,
                              check=True, env={**os.environ, "PYTHONPATH": f"{ROOT}/tools"})
        return {name.rpartition("kinds.")[2] for name in done.stdout.split()}
    assert not {"numpy", "share", "gantt"} & (loaded("--help") | loaded("graph", "--help"))
    assert {"numpy", "share", "gantt"} & loaded("graph", "share", "--help") == {"numpy", "share"}


def test_latencies_are_those_that_the_simulator_measured(sim, tmp_path):
    """Its quantiles come from buckets 3 % wide."""
    path = tmp_path / "x.dat"
    run = sim("--cpus 2 --time 2s hogs:n=3 bursts:n=4,run=100us-3ms,sleep=1ms-5ms", "--trace", str(path))
    row = run.row("burst")
    for option, key in (((), "wakeup_ns"), (("--all",), "wait_ns")):
        text = graph("latency", path, *option, "--tasks", "^burst$", "-o", tmp_path / "x.svg").stdout
        (_, _, p50, p99, _, longest), = re.findall(r"burst +(\d+)" + 5 * r" +([\d.]+)", text)
        for said, name in ((p50, "p50"), (p99, "p99"), (longest, "max")):
            assert float(said) * 1e3 == pytest.approx(row[key][name], rel=0.04), (key, name)


def test_the_distribution_is_drawn_from_the_waits_of_linux(tmp_path):
    """Waits of the hogs, as trace-cmd's text has them: from a wakeup to the switch that follows."""
    out = tmp_path / "x.svg"
    done = graph("latency", LINUX, "--tasks", "^hog$", "-o", out)
    woken, waits = {}, []
    for time, pid, _, following in re.findall(r"(\d+\.\d{9}): sched_(?:wakeup|wakeup_new|switch): +"
                                              r"(?:comm=\S+ pid=(\d+)|.*(next_pid)=(\d+))", report(LINUX, "-R")):
        now = int(time.replace(".", ""))
        if pid:
            woken.setdefault(pid, now)
        elif following in woken:
            waits.append((following, now - woken.pop(following)))
    hogs = {str(pid) for pid, comm in Timeline(LINUX).comms.items() if comm == "hog"}
    mine = sorted(wait for pid, wait in waits if pid in hogs)
    said = re.search(r"hog +(\d+)" + 5 * r" +([\d.]+)", done.stdout)
    assert int(said[1]) == len(mine) > 2 and float(said[6]) * 1e3 == mine[-1]
    assert float(said[2]) * 1e3 == pytest.approx(sum(mine) / len(mine), abs=1)
    assert len(shapes(out)[0]["distribution hog"][0]) >= len(mine)


def test_latencies_of_several_files_and_of_nobody(tmp_path, crowd):
    out = tmp_path / "x.svg"
    graph("latency", crowd, LINUX, "-o", out)
    assert {"distribution crowd.dat", "distribution linux-6.1.dat"} <= set(shapes(out)[0])
    done = fairground("graph", "latency", crowd, "--tasks", "nobody", "-o", out)
    assert done.returncode == 2 and "no task whose name contains nobody" in done.stderr
    done = fairground("graph", "latency", crowd, "--tasks", "(", "-o", out)
    assert done.returncode == 2 and "--tasks (" in done.stderr
