#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The book (docs/book) as a site, by mdBook, and as a PDF, by chromium. Every link of the site is followed.

Links of the pages that leave the book become the name of the file in the tree, which a reader has or finds.

Usage: book.py [--no-pdf]    writes B/book/index.html and B/book.pdf; environment: B (build directory)
"""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Callable, Collection

from fairground.base.packages import directories
from fairground.base.settings import UsageError

import usage

BOOK = pathlib.Path("docs/book")
UNLINKED = ("404.html",)  # mdBook makes it for a site at the root of a server
LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?![a-z]+:)([^)\s#]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def find(program: str) -> str:
    """The path of @program. UsageError with a sentence if it is missing."""
    places = [os.environ.get("PATH", ""), *(str(directory / "bin") for directory in directories())]
    found = shutil.which(program, path=os.pathsep.join(places))
    if not found:
        raise UsageError(f"the book needs {program}: sh tools/setup.sh --for book brings it")
    return found


def leave_by_name(text: str, page: pathlib.Path, stays: Callable[[str], bool]) -> str:
    """@text, of the @page of the tree, with the name of the file in place of each link to one that does not stay()."""
    def name(match: re.Match[str]) -> str:
        path = os.path.normpath(page.parent / match[2])
        shown = match[1].strip("`")
        if stays(path):
            return match[0]
        return f"`{path}`" if path.endswith(shown) else f"{match[1]} (`{path}`)"
    return "".join(part if part.startswith("```") else LINK.sub(name, part) for part in FENCED.split(text))


def stage(source: pathlib.Path, directory: pathlib.Path) -> None:
    """Copy the book to @directory, as mdBook is to read it."""
    shutil.copytree(source, directory, dirs_exist_ok=True)
    for page in directory.glob("*.md"):
        page.write_text(leave_by_name(page.read_text(encoding="utf-8"), BOOK / page.name,
                                      lambda path: path.startswith(f"{BOOK}/")), encoding="utf-8")


def make_html(staged: pathlib.Path, site: pathlib.Path) -> None:
    """Let mdBook make the directory @site anew of what is in @staged."""
    shutil.rmtree(site, ignore_errors=True)
    subprocess.run([find("mdbook"), "build", staged, "--dest-dir", site.resolve()], check=True,
                   stderr=subprocess.PIPE, text=True)
    for name in UNLINKED:
        (site / name).unlink(missing_ok=True)


def make_site(source: pathlib.Path, site: pathlib.Path) -> None:
    """Write the site of the book in @source to the directory @site."""
    with tempfile.TemporaryDirectory() as staged:
        stage(source, pathlib.Path(staged))
        make_html(pathlib.Path(staged), site)


class Page(html.parser.HTMLParser):
    """What a page of the site points at, and the places in it that can be pointed at."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.targets: list[tuple[str, bool]] = []  # and whether a reader has to follow it: all else is loaded
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.targets += [(given[name], tag == "a") for name in ("href", "src") if name in given]
        self.places |= {given[name] for name in ("id", "name") if name in given}


def broken_links(site: pathlib.Path, may_leave: bool = False, whole: Collection[str] = ()) -> list[str]:
    """A line for each link of the @site that leads to no file of it, or to no place in a page. Links to elsewhere are
    broken, too, unless they @may_leave and somebody has to follow them. Pages that are @whole have no places: a program
    in them reads what stands behind the "#"."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if path.name not in whole}
    found = []
    for path, page in pages.items():
        shown = path.relative_to(site.resolve())
        for target, is_followed in page.targets:
            link = urllib.parse.urlsplit(target)
            aim = (path.parent / urllib.parse.unquote(link.path)).resolve() if link.path else path
            if link.scheme or link.netloc or link.path.startswith("/"):
                if not (may_leave and is_followed and link.scheme in ("https", "http", "mailto")):
                    found.append(f"{shown}: {target} leaves the site")
            elif not aim.is_file() or not aim.is_relative_to(site.resolve()):
                found.append(f"{shown}: {target}: there is no such file")
            elif link.fragment and aim in pages and urllib.parse.unquote(link.fragment) not in pages[aim].places:
                found.append(f"{shown}: {target}: there is no such place")
    return found


def check_links(site: pathlib.Path, may_leave: bool = False, whole: Collection[str] = ()) -> None:
    """Raise UsageError if a link of the @site is broken_links()'s."""
    if found := broken_links(site, may_leave, whole):
        raise UsageError(f"{site}: links that lead nowhere\n" + "\n".join(found))


def make_pdf(site: pathlib.Path, pdf: pathlib.Path) -> None:
    """Print the page of the @site that holds the whole book to the file @pdf."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([find("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={profile}", "--no-pdf-header-footer", f"--print-to-pdf={pdf}",
                               (site / "print.html").resolve().as_uri()], capture_output=True, text=True, check=False)
    if done.returncode or not pdf.exists():
        raise UsageError(f"{pdf}: chromium could not print it: {done.stderr[-300:]}")


def main() -> None:
    words = usage.words(__doc__, 0, 0, ("--no-pdf",))
    build = pathlib.Path(os.environ.get("B", "build"))
    build.mkdir(parents=True, exist_ok=True)
    try:
        make_site(BOOK, build / "book")
        check_links(build / "book")
        print(f"{build}/book/index.html: the book as a site; every link in it leads somewhere")
        if not words:
            make_pdf(build / "book", build / "book.pdf")
            print(f"{build}/book.pdf: the book to print")
    except UsageError as error:
        sys.exit(f"book: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"book: {error.cmd[0]} failed: {error.stderr}")


if __name__ == "__main__":
    main()
