# SPDX-License-Identifier: GPL-2.0-only
"""The site (make site): every page is there, every link leads somewhere, and its gallery tells the truth."""

import json
import os
import re
import shlex
import shutil
import subprocess
import urllib.parse

import pytest

from tests.conftest import BUILD, ROOT
from tests.sim.conftest import browse, page_or_skip
from tests.tools.test_book import tools

import book
import gallery
import website
from fairground.base.settings import SCHEDULERS, UsageError


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A build directory with a page and two images, of a few bytes each."""
    monkeypatch.chdir(ROOT)
    for name in (website.PAGE, "fairground.elf", "initramfs.cpio"):
        (tmp_path / name).write_text(f"<p>{name}</p>")
    return tmp_path


def test_every_page_is_there_and_no_link_leads_nowhere(built):
    tools()
    site = built / "site"
    website.make(website.pathlib.Path("."), built, site)
    front = (site / "index.html").read_text()
    assert 'href="fairground.html"' in front and 'href="fairground.html#tour=1"' in front
    assert re.search(r'<a href="fairground.html"><img src="docs/img/page.png"', front)
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for page in map(website.pathlib.Path, listed.split()):
        made = (site / website.in_site(page).with_suffix(".html")).exists()
        assert made == (page.name not in website.LEFT_OUT and page.parent.name != "slides"), page
    boot = (site / "boot.html").read_text()
    assert 'href="boot/fairground.elf"' in boot and "fairground.iso</a>" not in boot
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=site / "boot", check=True)
    assert not [path for path in site.rglob("*") if path.suffix in (".md", ".toml")]


@pytest.mark.parametrize("text, told", [
    ('<a href="/docs/a.html">', "/docs/a.html leaves the site"),
    ('<img src="https://example.org/a.png">', "https://example.org/a.png leaves the site"),
    ('<a href="javascript:alert(1)">', "javascript:alert(1) leaves the site"),
    ('<a href="../outside.html">', "../outside.html: there is no such file"),
    ('<a href="b/">', "b/: there is no such file"),
    ('<a href="b/c.html#there">', "b/c.html#there: there is no such place"),
    ('<a href="b/c.html#here"><a href="https://example.org/"><a href="page.html#any">', None)])
def test_links(tmp_path, text, told):
    (tmp_path / "site" / "b").mkdir(parents=True)
    (tmp_path / "outside.html").write_text("")
    (tmp_path / "site" / "a.html").write_text(text)
    (tmp_path / "site" / "page.html").write_text("")
    (tmp_path / "site" / "b" / "c.html").write_text('<p id="here">')
    if not told:
        return book.check_links(tmp_path / "site", may_leave=True, whole=("page.html",))
    with pytest.raises(UsageError) as said:
        book.check_links(tmp_path / "site", may_leave=True, whole=("page.html",))
    assert str(said.value).split("\n")[1:] == [f"a.html: {told}"]


def given(link):
    """What the page reads of the address @link."""
    return json.loads(urllib.parse.unquote(link))


def test_each_picture_of_the_book_has_its_commands(monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = list(gallery.pictures())
    assert {picture.name for picture in shown} == {path.name for path in book.BOOK.glob("img/*")}
    for picture in shown:
        last = picture.commands[-1]
        assert last == "make page-pictures" or f"-o {picture.name}" in last and last.startswith("make graph"), picture
    without = {picture.name for picture in shown if not picture.link}
    assert without == {"01-turns.svg", "16-side.svg"}  # of the kernel, and of plugins


def decided(words, path):
    """All decisions of the simulator's run of @words, in its first 50 ms, without the line that has the command."""
    for option in (*gallery.OUTPUTS, "--time"):
        words = gallery.without(words, option)
    subprocess.run([f"{BUILD}/schedsim", *words, "--time", "50ms", "--decisions", path], check=True,
                   capture_output=True)
    return path.read_bytes().partition(b"\n")[2]


def test_a_link_of_the_gallery_is_the_run_of_its_commands(monkeypatch, tmp_path):
    """The same decisions follow from the words in the link and from one of the commands."""
    monkeypatch.chdir(ROOT)
    compared = 0
    for picture in gallery.pictures():
        runs = [command.replace("\\\n", "") for command in picture.commands if command.startswith("build/schedsim")
                and "--plugin" not in command]
        if not picture.link or not runs:
            continue
        link = given(picture.link)
        (tmp_path / "workload.json").write_text(link["file"])
        words = ["--sched", link["policies"][-1], *link["work"].split()]
        words += [] if {"--topology", "--opp"} & set(words) else ["--cpus", str(link["cpus"])]
        words += [str(tmp_path / "workload.json")] if link["file"] else []
        asked = decided(words, tmp_path / "link.json")
        found = [run for run in runs if decided(shlex.split(run)[1:], tmp_path / "run.json") == asked]
        assert found, picture.name
        assert any(time in found[0] for time in (f" {link['ms']}ms ", f" {link['ms'] // 1000}s ")) or (
            link["ms"] == 10_000 and "--time" not in found[0])
        compared += 1
    assert compared > 15


@pytest.mark.nightly("a site that asks the network or is wider than a phone; its links are followed every day")
def test_the_site_in_a_browser(tmp_path, monkeypatch):
    tools()
    page = page_or_skip()
    monkeypatch.chdir(ROOT)
    build, site = tmp_path / "build", tmp_path / "site"
    build.mkdir()
    shutil.copy(page, build)
    website.make(website.pathlib.Path("."), build, site)
    seen = browse("site", site / "index.html", tmp_path)
    assert seen["console"] == []
    assert all(url.startswith((f"file://{site}/", "blob:", "data:")) for url in seen["requests"]), seen["requests"]
    assert all(width <= int(name.split()[1]) for name, width in seen["widths"].items()), seen["widths"]
    assert len(seen["pictures"]) == len(os.listdir(f"{ROOT}/docs/book/img")) and all(seen["pictures"])
    assert "docs/book/07-bore.html" in " ".join(seen["found"])
    assert "fdl" in seen["lanes"] and seen["error"] == ""
