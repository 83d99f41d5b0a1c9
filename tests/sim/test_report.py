# SPDX-License-Identifier: GPL-2.0-only
"""`fairground report`: the page holds all of itself, says what runs it is about, and is readable, judged by a parser of
HTML and, where it is installed, by Chromium without a window, which also uses its viewer."""

import base64
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from tests.sim.conftest import BUILD, ROOT, browse, simulated
from tests.sim.test_curves import QUOTA, THREE, decide

from fairground import __main__
from fairground.trace.timeline import Timeline
from fairground.trace.tracefile import TraceFile

BROWSER = shutil.which("chromium")
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(html.parser.HTMLParser):
    """What is in a page: texts, pictures, addresses; and whether every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.images, self.addresses, self.ids, self.words = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.addresses += [found[name] for name in ("src", "href", "srcset") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        if tag == "img":
            self.images.append(found)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(the page's path, its text, directory of its runs)"""
    directory = tmp_path_factory.mktemp("report")
    for sched in ("cfs", "eevdf"):
        decide(directory / f"{sched}.dat", "--cpus", "2", "--sched", sched, "--time", "120ms", *THREE, *THREE)
    decide(directory / "quota.json", "--cpus", "4", "--time", "300ms", *QUOTA)
    out = directory / "out.html"
    assert __main__.main(["report", str(out), *(str(directory / name) for name in ("cfs.dat", "eevdf.dat",
                                                                                    "quota.json"))]) == 0
    return out, out.read_text(), directory


@pytest.mark.nightly("a report that needs another file")
def test_the_page_needs_nothing_else(made):
    page = Page(made[1])
    assert not page.open and "<script" not in made[1] and "@import" not in made[1] and "url(" not in made[1]
    assert all(address.startswith(("#", "data:image/")) for address in page.addresses)
    assert {address[1:] for address in page.addresses if address[0] == "#"} <= set(page.ids)
    for image in page.images:
        data = base64.b64decode(image["src"].split("base64,")[1])
        assert image["alt"] and data.lstrip().startswith((b"<?xml", b"\x89PNG"))
    assert len(made[1]) < 5_000_000


def test_it_says_what_runs_these_are(made):
    text = " ".join(Page(made[1]).words)
    for words in ("eevdf", "schedsim --cpus 2 --sched eevdf", "250", "2 CPUs, 1 node", "No event is lost.",
                  "Every entity that was picked was eligible."):
        assert words in text, words
    kinds = Counter(name.split("-")[0] for name in Page(made[1]).ids)
    assert kinds["dat2graph2"] == kinds["running_waiting"] == kinds["share"] == kinds["latency"] == 2
    assert kinds["lag"] == 3 and kinds["deadline"] == kinds["quota"] == kinds["side"] == 1


def test_rules_are_counted_as_the_lines_of_the_file_say(made):
    lines = (made[2] / "quota.json").read_text().splitlines()[1:-1]
    rules = Counter(json.loads(line)["rule"] for line in lines)
    part = made[1][made[1].index('<h2 id="quota.json">'):]
    rows = Counter()
    for _, rule, number in re.findall(r"<tr><td>(\w+)</td><td>(\w+)</td><td class=n>(\d+)</td>", part):
        rows[rule] += int(number)
    assert rows == rules and rows.total() == len(lines) > 50


@pytest.mark.nightly("a report that is another for the same runs")
def test_the_same_runs_give_the_same_page(made):
    """Each page is made by a command of its own: in one process matplotlib may leave out another point of a line."""
    words = ["report", "again.html", "cfs.dat", "eevdf.dat", "quota.json"]

    def page():
        subprocess.run([sys.executable, "-m", "fairground", *words], cwd=made[2], check=True,
                       env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools")})
        return (made[2] / "again.html").read_text()
    assert page() == page()


def test_bad_requests_are_one_line_and_leave_no_page(made, tmp_path, capsys):
    good, out = str(made[2] / "cfs.dat"), tmp_path / "x.html"
    (tmp_path / "empty.dat").write_bytes(b"")
    (tmp_path / "cut.dat").write_bytes(open(good, "rb").read()[:9000])
    (tmp_path / "text.dat").write_bytes(b"hello\n")
    for words, status, message in (([out, tmp_path / "empty.dat"], 2, "the file is empty"),
                                   ([out, good, tmp_path / "text.dat"], 2, "not a file of decisions"),
                                   ([out, tmp_path / "cut.dat"], 2, "cut.dat: "),
                                   ([out, "none.dat"], 2, "No such file"),
                                   ([tmp_path / "x.txt", good], 2, "ends in .html"),
                                   ([out, good, good], 2, "have one name"),
                                   ([out, good, "--range", "7-9"], 2, "nothing is between")):
        assert __main__.main(["report", *map(str, words)]) == status
        err = capsys.readouterr().err
        assert message in err and err.count("\n") == 1 and not out.exists(), err


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders with traces of ten seeds, of cfs and of eevdf."""
    directory = tmp_path_factory.mktemp("pairs")
    for sched in ("cfs", "eevdf"):
        (directory / sched).mkdir()
        for seed in map(str, range(1, 11)):
            simulated("--trace", directory / sched / f"{seed}.dat", "--sched", sched, "--seed", seed, "--vary", seed,
                      "--time", "150ms", "hogs:n=3", "bursts:n=2")
    return directory


def test_folders_are_compared_in_pairs_as_by_compare(folders, capsys):
    """The page has each difference, with its interval and verdict; the object has the rows of compare."""
    pair, out = [str(folders / name) for name in ("cfs", "eevdf")], folders / "out.html"
    assert __main__.main(["report", str(out), *pair, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert __main__.main(["compare", *pair, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row | {"policies": 0} for row in told["differences"]] == [row | {"policies": 0} for row in rows]
    assert told["sched"] == "cfs,eevdf" and told["rows"] == []
    text = out.read_text()
    found = dict(re.findall(r"<tr><td>([^<]+)</td>.*<td>([^<]+)</td></tr>", text))
    assert found["p99 of wakeups, ms"] == "lower" and len(found) == len(rows)
    assert "[" in text and not Page(text).open and str(folders) not in text


def test_a_folder_beside_a_file_leaves_the_files_section(folders, capsys):
    out = folders / "both.html"
    few = [str(folders / name) for name in ("cfs", "eevdf", "cfs/1.dat")]
    assert __main__.main(["report", str(out), *few]) == 0
    assert "runs: 1, pairs: 10" in capsys.readouterr().out
    assert {"pairs", "1.dat", "dat2graph2-1.dat"} <= set(Page(out.read_text()).ids)


def test_folders_that_are_no_pairs_are_refused(folders, tmp_path, capsys):
    shutil.copytree(folders / "eevdf", tmp_path / "short")
    os.remove(tmp_path / "short/3.dat")
    out = tmp_path / "x.html"
    for words, message in (([folders / "cfs"], "cfs: one folder; two or more are expected"),
                           ([folders / "cfs", tmp_path / "short"], "are no pairs: one side alone has the seeds 3")):
        assert __main__.main(["report", str(out), *map(str, words)]) == 2
        err = capsys.readouterr().err
        assert message in err and err.count("\n") == 1 and not out.exists(), err


def spans(path):
    """[(name-and-number, start, end)] of each CPU, in ns since the first event of the scheduler."""
    trace = TraceFile(path)
    line = Timeline(trace)
    names = {f.name for f in trace.formats.values() if f.name.startswith("sched_")}
    begin = min(event.time for event in trace.events(names))
    found = {}
    runs = line.runs
    for cpu, start, end, pid in zip(runs.cpu.tolist(), runs.start.tolist(), runs.end.tolist(), runs.pid.tolist()):
        found.setdefault(cpu, []).append((line.label(pid).replace("-", " "), start - begin, end - begin))
    return {cpu: sorted(rows, key=lambda row: row[1]) for cpu, rows in found.items()}


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What Chromium sees in the viewer of a page about two traces."""
    directory = tmp_path_factory.mktemp("viewer")
    if not BROWSER or not shutil.which("node") or not os.path.exists(f"{BUILD}/viewer.html"):
        pytest.skip("chromium, node or the viewer is not here: sh tools/setup.sh, make page")
    for sched in ("cfs", "eevdf"):
        decide(directory / f"{sched}.dat", "--cpus", "2", "--sched", sched, "--time", "120ms", *THREE, *THREE)
    runs = [str(directory / f"{sched}.dat") for sched in ("cfs", "eevdf")]
    assert __main__.main(["--build", BUILD, "report", str(directory / "out.html"), *runs]) == 0
    return browse("report", directory / "out.html", directory) | {"runs": runs}


@pytest.mark.nightly("a report that asks the network")
def test_the_viewer_asks_nobody_and_says_nothing_on_the_console(seen):
    assert seen["console"] == [] and seen["errors"] == ""
    assert all(url.startswith(("file://", "data:image/", "about:srcdoc")) for url in seen["requests"])
    assert seen["lanes"] == ["cfs.dat: cfs", "eevdf.dat: eevdf"] and os.path.getsize(f"{BUILD}/viewer.html") < 200_000


def test_keys_step_through_decisions(seen):
    where, rule, rows = seen["stepped"]
    assert seen["first"].startswith("1 / ") and where.startswith("31 / ") and "because" in rule and rows >= 1


def test_hover_tells_who_runs(seen):
    """As the trace says: the middle of the first CPU."""
    runs = spans(seen["runs"][0])[0]
    at, name, length, start, end = re.fullmatch(
        r"cfs\.dat: cfs, CPU 0, ([\d.]+) ms: (.+), ([\d.]+) ms \(([\d.]+) – ([\d.]+)\)", seen["hovered"]).groups()
    moment = float(at) * 1e6
    expected = next(row for row in runs if row[1] <= moment < row[2])
    assert (name, start, end) == (expected[0], f"{expected[1] / 1e6:.3f}", f"{expected[2] / 1e6:.3f}")
    assert float(length) == pytest.approx(float(end) - float(start), abs=2e-3)
    clicked = float(seen["clicked"].split()[-2])
    assert clicked == pytest.approx(float(at), abs=5) and clicked >= float(at)  # the next decision


def test_mouse_and_keys_zoom(seen):
    whole, dragged, closer, aside = (seen[name]["axis"] for name in ("whole", "dragged", "closer", "aside"))
    length = 120  # ms, less the last tick
    assert whole[0] == 0 and whole[-1] > length * 0.8 and seen["wholeAgain"] == seen["whole"]
    assert 0.2 * length < dragged[0] < dragged[-1] < 0.52 * length
    assert seen["afterDrag"] == seen["clicked"]  # a movement is no click
    assert closer[-1] - closer[0] < length / 4 + 1 and aside[0] != closer[0]
    assert len({seen[name]["pixels"] for name in ("whole", "dragged", "closer", "aside", "pale")}) == 5


def test_what_is_narrower_than_a_pixel_has_its_share_of_it(tmp_path):
    """An hour in which CPUs are busy for 2.6 % of the time: at five zooms no thousandth is missing or too much."""
    if not BROWSER or not shutil.which("node") or not os.path.exists(f"{BUILD}/viewer.html"):
        pytest.skip("chromium, node or the viewer is not here: sh tools/setup.sh, make page")
    simulated("--trace", tmp_path / "hour.dat", "--cpus", "2", "--time", "3600s",
              "periodic:n=2,run=100ms,period=10s,policy=normal", "bursts:n=1,run=1s,sleep=30s")
    assert __main__.main(["--build", BUILD, "report", str(tmp_path / "out.html"), str(tmp_path / "hour.dat")]) == 0
    seen, runs = browse("pixels", tmp_path / "out.html", tmp_path), spans(tmp_path / "hour.dat")
    assert len(seen["zooms"]) == 5 and seen["zooms"][4]["length"] < seen["zooms"][0]["length"] / 50
    for zoom in seen["zooms"]:
        start, end = zoom["from"] * 1e6, (zoom["from"] + zoom["length"]) * 1e6
        for cpu, part in enumerate(zoom["parts"]):
            busy = sum(max(0, min(to, end) - max(since, start)) for _, since, to in runs[cpu])
            assert part == pytest.approx(busy / (end - start), abs=1e-3), (zoom, cpu)


def test_a_search_finds_the_next_decision_about_a_task(seen):
    assert "burst 3" in seen["sought"]


def test_two_runs_are_compared(seen):
    """The first of all switches in which another task begins, CPU by CPU."""
    a, b = map(spans, seen["runs"])
    first = []
    for cpu in a:
        at = next((i for i, (x, y) in enumerate(zip(a[cpu], b[cpu])) if x[0] != y[0]), None)
        first += [(a[cpu][at][1], cpu, a[cpu][at], b[cpu][at])] if at is not None else []
    _, cpu, one, two = min(first)
    told, _, shown = seen["differs"]
    assert told == (f"The first switch that differs is on CPU {cpu}. cfs.dat: cfs: {one[0]}, {one[1] / 1e6:.3f} ms; "
                    f"eevdf.dat: eevdf: {two[0]}, {two[1] / 1e6:.3f} ms.")
    assert shown == "eevdf.dat: eevdf" and seen["same"] == "All decisions are the same."


def test_the_viewer_fits_its_frame_at_both_widths(seen):
    for name, (page, inside, frame, scrolls) in seen["widths"].items():
        width = int(name.split()[0])
        assert page <= width and inside <= frame <= width and not scrolls, name


def test_a_page_without_viewer_says_why(tmp_path, capsys):
    path, out = tmp_path / "a.json", tmp_path / "x.html"
    decide(path, "--cpus", "1", "--time", "50ms", *THREE)
    assert __main__.main(["--build", str(tmp_path), "report", str(out), str(path)]) == 0
    assert "the viewer was not built" in out.read_text() and "<iframe" not in out.read_text()
    assert __main__.main(["report", str(out), str(path), "--no-viewer"]) == 0
    assert 'id="viewer"' not in out.read_text() and "<iframe" not in out.read_text()


@pytest.mark.skipif(not BROWSER, reason="chromium is not installed")
@pytest.mark.parametrize("width", [390, 1280])
def test_chromium_shows_it_without_scrolling_sideways(made, tmp_path, width):
    """In a frame of this width nothing but the boxes of pictures and tables is wider than the page."""
    shutil.copy(made[0], tmp_path / "out.html")
    (tmp_path / "frame.html").write_text(f"""<iframe id=f src=out.html style="width:{width}px;height:900px;border:0">
        </iframe><script>onload = () => {{ const d = f.contentDocument, e = d.documentElement; document.title =
        [e.scrollWidth, [...d.images].filter(i => i.complete && i.naturalWidth).length, d.images.length].join(" ");
        }}</script>""")
    done = subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/x",
                           "--allow-file-access-from-files", "--enable-logging=stderr", "--window-size=1400,1000",
                           "--virtual-time-budget=5000", "--dump-dom", f"file://{tmp_path}/frame.html"],
                          capture_output=True, text=True, check=True, timeout=60)
    wide, shown, images = map(int, re.search(r"<title>(\d+) (\d+) (\d+)</title>", done.stdout).groups())
    assert wide <= width and shown == images > 10 and ":CONSOLE" not in done.stderr
