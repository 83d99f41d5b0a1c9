# SPDX-License-Identifier: GPL-2.0-only
"""`fairground report`: the page holds all of itself, says what runs it is about, and is readable, judged by a parser of
HTML and, where it is installed, by Chromium without a window."""

import base64
import html.parser
import json
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from conftest import BUILD, ROOT
from test_curves import QUOTA, THREE, decide

sys.path.insert(0, f"{ROOT}/tools")
from fairground import __main__  # noqa: E402 (found above)

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
    lines = (made[2] / "quota.json").read_text().splitlines()[1:]
    rules = Counter(json.loads(line)["rule"] for line in lines)
    part = made[1][made[1].index('<h2 id="quota.json">'):]
    rows = Counter()
    for _, rule, number in re.findall(r"<tr><td>(\w+)</td><td>(\w+)</td><td class=n>(\d+)</td>", part):
        rows[rule] += int(number)
    assert rows == rules and rows.total() == len(lines) > 50


def test_the_same_runs_give_the_same_page(made):
    again = made[2] / "out.html"
    __main__.main(["report", str(again), *(str(made[2] / name) for name in ("cfs.dat", "eevdf.dat", "quota.json"))])
    assert again.read_text() == made[1]


def test_bad_requests_are_one_line_and_leave_no_page(made, tmp_path, capsys):
    good, out = str(made[2] / "cfs.dat"), tmp_path / "x.html"
    (tmp_path / "empty.dat").write_bytes(b"")
    (tmp_path / "cut.dat").write_bytes(open(good, "rb").read()[:9000])
    (tmp_path / "text.dat").write_bytes(b"hello\n")
    for words, status, message in (([out, tmp_path / "empty.dat"], 1, "the file is empty"),
                                   ([out, good, tmp_path / "text.dat"], 1, "not a file of decisions"),
                                   ([out, tmp_path / "cut.dat"], 1, "cut.dat: "),
                                   ([out, "none.dat"], 1, "No such file"),
                                   ([tmp_path / "x.txt", good], 2, "ends in .html"),
                                   ([out, good, good], 2, "have one name"),
                                   ([out, good, "--range", "7-9"], 2, "nothing is between")):
        assert __main__.main(["report", *map(str, words)]) == status
        err = capsys.readouterr().err
        assert message in err and err.count("\n") == 1 and not out.exists(), err


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
