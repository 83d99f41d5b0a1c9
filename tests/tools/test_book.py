# SPDX-License-Identifier: GPL-2.0-only
"""The book: what its chapters name is there, their numbers are printed by their sessions, and the site is whole.

tests/e2e/test_docs.py compares the output and the pictures of the sessions.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
import book
import claims
import docblocks
from fairground.base.edit import definition
from fairground.base.settings import UsageError

BOOK = ROOT / "docs" / "book"
PAGES = sorted(path for path in BOOK.glob("*.md") if path.name != "SUMMARY.md")
ROW = re.compile(r"^\| \[([^]]+)\]\(\.\./\.\./([^)]+)\) \|([^|]*)\|", re.MULTILINE)
VERSION = re.compile(r"\b(?:Linux|BORE|Debian|version|card|chapters?)\s+\d+(?:\.\d+)+(?: (?:and|to) \d+(?:\.\d+)+)?")
PICTURE = re.compile(r"await take\(\w+, '([\w-]+)'")
DECIMAL = re.compile(r"(?<![\w.])\d[\d,]*\.\d+(?![\w.]*\d)")


def prose(text):
    """@text without its fenced blocks, comments, code and links' targets."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    return VERSION.sub("", re.sub(r"`[^`]*`|\]\([^)]*\)", "", text))


def printed(path):
    """All that the sessions of the page @path are and show."""
    return "\n".join(line for _, lines in docblocks.blocks(str(path)) for line in lines)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_sources_are_where_the_chapter_says(path):
    """Each row of a table of sources names a file, and functions or structures that it defines."""
    rows = ROW.findall(path.read_text())
    assert rows or path.name in ("README.md", "answers.md"), "the chapter names no source"
    for shown, target, names in rows:
        assert (ROOT / target).exists() and target.endswith(shown), f"{shown}: {target}"
        for name in re.findall(r"`([^`]+)`", names):
            assert definition((ROOT / target).read_text(), name), f"{target} does not define {name}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_numbers_in_the_text_are_printed_by_a_session(path):
    """A number with a decimal point is one that a command of the same page shows, and that is compared."""
    shown = printed(path)
    wrong = [number for number in DECIMAL.findall(prose(path.read_text()))
             if not re.search(rf"(?<![\d.]){re.escape(number)}0*(?!\d)", shown)]
    assert not wrong, f"no session of {path.name} prints {wrong}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_sentences_that_compare_numbers_are_so(path):
    """Each has a claim, which is computed from what the sessions of the page show."""
    assert claims.complaints(str(path)) == []
    assert claims.unclaimed(str(path)) == [], "a comment behind the paragraph: tools/scripts/claims.py"


PAGE = """# A page

```
$ build/schedsim hogs:n=1 bursts:n=1
task                  tasks share % ideal %  wait ms      p50      p99      max
hog nice 0                1   75.00   83.33    2.000    2.000    2.000    2.000
burst nice 0              1   25.00   16.67    0.500    0.000    1.000    1.000
```

The hog gets 75.00 %, three times
as much as the burst. Nobody waits for longer than 2.000 ms.
<!-- claim "three times as much": CLAIM -->
"""


@pytest.mark.parametrize(("claim", "wrong"), [
    ("[hog nice 0: share %] == 3 * [burst nice 0: share %]", None),
    ("[hog nice 0: #2] > [hog nice 0: share % @ hogs:n=1 bursts] / 2 and not [burst nice 0: p50] > 0", None),
    ("[hog nice 0: share %] == 2 * [burst nice 0: share %]", "is not so: The hog gets 75.00 %, three times"),
    ("[hog nice 0: share] == 75", "[hog nice 0: share] is in 0 lines"),
    ("[nice 0: #1] == 1", "[nice 0: #1] is in 2 lines"),
    ("[nice 0 (2): #2] == 25", None),
    ("[hog nice 0: max @ hogs:n=2] == 2", "is in 0 lines"),
    ("75 == 3 * 25", "it names no number of a session"),
    ("[hog nice 0: share %] - 75", "compares nothing"),
    ("[hog nice 0: share %] == open", "is no arithmetic"),
    ("[hog nice 0: share %] ==", "invalid syntax"),
])
def test_a_claim_that_is_not_so_is_told_with_its_sentence(tmp_path, claim, wrong):
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("CLAIM", claim))
    said = claims.complaints(str(page))
    assert len(said) == (wrong is not None) and (not wrong or wrong in said[0] and "page.md:12: " in said[0])
    assert claims.unclaimed(str(page)) == ["Nobody waits for longer than 2.000 ms."]
    page.write_text(PAGE.replace("CLAIM", claim).replace("75.00 %, three", "75.00 %, four"))
    assert "no sentence of the page has the words" in claims.complaints(str(page))[0]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_tables_and_their_commands_fit_on_paper(path):
    """At most 80 columns, "$ " included, in each session of the simulator that shows a table."""
    steps = [step for _, lines in docblocks.blocks(str(path)) for step in docblocks.session(lines)]
    for command, shown in steps:
        table = "--narrow" in command or any("share %" in line for _, line in shown)
        if table and command.startswith("build/schedsim"):
            lines = ["$ " + command.splitlines()[0], *command.splitlines()[1:], *(line for _, line in shown)]
            assert [line for line in lines if len(line) > 80] == [], "schedsim --narrow, and \\ at the end of a line"


def test_pictures_are_drawn_by_the_page_that_shows_them():
    """By its sessions, or, of the page for browsers, by `make page-pictures`."""
    of_the_page = {f"{name}.png" for name in PICTURE.findall((ROOT / "tests/tools/book_pictures.mjs").read_text())}
    shown, drawn = set(), set()
    for path in PAGES:
        here = set(re.findall(r"\]\(img/([\w.-]+)\)", path.read_text()))
        sessions = [docblocks.session(lines) for _, lines in docblocks.blocks(str(path))]
        made = {name for steps in sessions for name in docblocks.drawn(str(path), steps)}
        made |= {name for name in here if name in of_the_page}
        assert here == made, f"{path.name} shows {sorted(here)} and draws {sorted(made)}"
        shown |= here
        drawn |= made
    assert shown == {path.name for path in (BOOK / "img").glob("*")} and of_the_page <= shown
    assert all((BOOK / "img" / name).stat().st_size < 120_000 for name in of_the_page)


def test_every_page_is_in_the_summary_in_order():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (BOOK / "SUMMARY.md").read_text())
    assert sorted(listed) == [path.name for path in PAGES]
    assert [name for name in listed if name[0].isdigit()] == sorted(name for name in listed if name[0].isdigit())


def tools():
    """Skip without the program that makes a site."""
    try:
        book.find("mdbook")
    except UsageError as missing:
        pytest.skip(str(missing))


def test_the_site_is_whole_and_no_link_leads_nowhere(tmp_path, monkeypatch):
    tools()
    monkeypatch.chdir(ROOT)
    site = tmp_path / "site"
    book.make_site(BOOK, site)
    book.check_links(site)
    whole = (site / "print.html").read_text()
    for path in PAGES:
        title = path.read_text().splitlines()[0].lstrip("# ")
        assert title in whole and (site / f"{path.stem.replace('README', 'index')}.html").exists()


def test_a_link_that_leads_nowhere_is_named(tmp_path, monkeypatch):
    tools()
    monkeypatch.chdir(ROOT)
    shutil.copytree(BOOK, tmp_path / "book")
    with open(tmp_path / "book" / "README.md", "a", encoding="utf-8") as page:
        page.write("\n[a page](nowhere.md) and [a place](#not-here)\n")
    book.make_site(tmp_path / "book", tmp_path / "site")
    with pytest.raises(UsageError) as said:
        book.check_links(tmp_path / "site")
    assert "nowhere" in str(said.value) and "not-here" in str(said.value)


def test_links_that_leave_the_book_become_names():
    text = "see [features](../features.md#a) and [cfs.c](../../sched/fair/cfs/cfs.c)\n```\n[a](../b)\n```\n"
    assert book.leave_by_name(text, book.BOOK / "README.md", lambda path: False) == (
        "see features (`docs/features.md`) and `sched/fair/cfs/cfs.c`\n```\n[a](../b)\n```\n")
    assert book.leave_by_name(text, book.BOOK / "README.md", lambda path: True) == text


def test_the_book_can_be_printed(tmp_path, monkeypatch):
    tools()
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed")
    monkeypatch.chdir(ROOT)
    done = subprocess.run([sys.executable, "tools/scripts/book.py"], capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": "tools", "PATH": "/usr/bin:/bin", "B": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    pdf = (tmp_path / "book.pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and pdf.count(b"/Type /Page\n") >= len(PAGES)
