#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""One folder for any web server, or none: the page for browsers, a gallery, all pages of the documentation with the
book, and an image to boot. No address in it is absolute, and every link is followed.

mdBook makes it of the pages of Markdown in the tree. Links to files that are not in it become their names there.

Usage: website.py    writes B/site/index.html; environment: B (build directory), which holds the page and the images
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence

from fairground.base.progress import waiting
from fairground.base.settings import UsageError

import book
import gallery
import usage

PAGES = ("*.md", "docs/*.md", "docs/adr/*.md", "docs/book/*.md", "docs/term/*.md", "labs/**/*.md", "sched/*.md",
         "sim/*.md", "user/*.md", "tests/*/*.md")
LEFT_OUT = {"SUMMARY.md", "instructor.md", "exam.md"}  # the last two have answers
PICTURES = ("docs/img", "docs/book/img")
PAGE = "fairground.html"
IMAGES = {"fairground.iso": "kernel and programs on a CD", "fairground.elf": "the kernel",
          "initramfs.cpio": "its programs"}
SUMS = "SHA256SUMS"
TO_README = re.compile(r"(\]\([^)\s]*)README\.md")
FIRST = re.compile(r"^# .*\n\n(?:[^\n]+\n)+\n", re.MULTILINE)  # title and first paragraph
CONFIGURATION = """
[book]
title = "Fairground"
language = "en"
src = "."

[output.html]
no-section-label = true
additional-css = ["docs/book/book.css"]

[output.html.print]
enable = false
"""
DOORS = f"""**[Open the simulator]({PAGE})** · [a tour of twelve steps]({PAGE}#tour=1) ·
[gallery](gallery.md) · [the book](docs/book/index.md) · [boot the image](boot.md)

"""
BOOT = f"""# Boot the image

These were built from the tree that the pages describe. `{SUMS}` in the same directory has their SHA-256.

| file | bytes | |
|---|---|---|
{{rows}}

    qemu-system-x86_64 -smp 4 -m 256 -nographic -cdrom fairground.iso
    qemu-system-x86_64 -smp 4 -m 256 -nographic -kernel fairground.elf -initrd initramfs.cpio

Either shows what the scheduler does, and then gives a shell, at once if you press a key: `exit` powers off, Ctrl-A X
kills the machine. [The machine](docs/machine.md) has the rest.
"""


def find_pages(root: pathlib.Path) -> list[pathlib.Path]:
    """The pages of the tree, by their paths in it."""
    found = {path.relative_to(root) for pattern in PAGES for path in root.glob(pattern) if path.name not in LEFT_OUT}
    return sorted(found)


def in_site(page: pathlib.Path) -> pathlib.Path:
    """Where mdBook is to find the @page: the one that a web server shows of a directory is its README.md."""
    return page.with_name(page.name.replace("README", "index"))


def title_of(page: pathlib.Path) -> str:
    return next(line.lstrip("# ") for line in page.read_text(encoding="utf-8").split("\n") if line.startswith("# "))


def summary(pages: Sequence[pathlib.Path]) -> str:
    """mdBook's list of chapters."""
    rooms = {"The book": lambda path: path.match("docs/book/*"), "Documentation": lambda path: path.match("docs/*.md"),
             "Labs and a term": lambda path: path.parts[0] == "labs" or path.match("docs/term/*"),
             "Why it is so": lambda path: path.match("docs/adr/*")}
    left = [page for page in pages if page.name != "README.md" or page.parent.name]
    lines = ["# Summary", "[Fairground](index.md)", "[Gallery](gallery.md)", "[Boot the image](boot.md)"]
    for room, belongs in {**rooms, "The tree": lambda path: True}.items():
        here = [page for page in left if belongs(page)]
        here.sort(key=lambda page: (page.name != "README.md" or page.parent.name[0].isdigit(), page))
        left = [page for page in left if page not in here]
        lines += [f"# {room}", *(f"- [{title_of(page)}]({in_site(page)})" for page in here)]
    return "\n\n".join(lines).replace(")\n\n- [", ")\n- [") + "\n"


def sums(paths: Sequence[pathlib.Path]) -> str:
    """What sha256sum prints of @paths in their directory."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def images(build: pathlib.Path) -> Iterator[pathlib.Path]:
    """Those of IMAGES that are there."""
    return (build / name for name in IMAGES if (build / name).exists())


def front(text: str) -> str:
    """README.md as the first page: the simulator is one click away."""
    text = FIRST.sub(lambda first: first[0] + DOORS, text, count=1)
    return re.sub(r"^(!\[[^]]*\]\(docs/img/page\.png\))", rf"[\1]({PAGE})", text, count=1, flags=re.MULTILINE)


def stage(root: pathlib.Path, build: pathlib.Path, directory: pathlib.Path) -> None:
    """Put into @directory what mdBook is to read."""
    pages = find_pages(root)
    kept = {str(page) for page in pages}
    for page in pages:
        text = book.leave_by_name((root / page).read_text(encoding="utf-8"), page, lambda path: path in kept)
        text, to = TO_README.sub(r"\1index.md", text), directory / in_site(page)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(front(text) if str(page) == "README.md" else text, encoding="utf-8")
    for pictures in PICTURES:
        shutil.copytree(root / pictures, directory / pictures)
    shutil.copy(root / "docs/book/book.css", directory / "docs/book")
    rows = "\n".join(f"| [{path.name}](boot/{path.name}) | {path.stat().st_size:,} | {IMAGES[path.name]} |"
                     for path in images(build))
    for name, text in (("gallery.md", gallery.markdown(PAGE)), ("boot.md", BOOT.format(rows=rows)),
                       ("SUMMARY.md", summary(pages)), ("book.toml", CONFIGURATION)):
        (directory / name).write_text(text, encoding="utf-8")


def make(root: pathlib.Path, build: pathlib.Path, site: pathlib.Path) -> None:
    """Make the directory @site anew. UsageError if a link in it leads nowhere."""
    with tempfile.TemporaryDirectory() as staged:
        stage(root, build, pathlib.Path(staged))
        (pathlib.Path(staged) / "boot").mkdir()
        for path in images(build):
            shutil.copy(path, pathlib.Path(staged) / "boot")
        shutil.copy(build / PAGE, staged)
        (pathlib.Path(staged) / "boot" / SUMS).write_text(sums(list(images(build))), encoding="utf-8")
        book.make_html(pathlib.Path(staged), site)
    for unused in ("book.toml", "SUMMARY.md"):
        (site / unused).unlink(missing_ok=True)
    book.check_links(site, may_leave=True, whole=(PAGE,))


def main() -> None:
    usage.words(__doc__, 0, 0)
    build = pathlib.Path(os.environ.get("B", "build"))
    site = build / "site"
    try:
        with waiting("making the site"):
            make(pathlib.Path("."), build, site)
    except UsageError as error:
        sys.exit(f"site: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"site: {error.cmd[0]} failed: {error.stderr}")
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"{site}/index.html: {size / 1e6:.1f} MB for any web server, or to be opened as it is; every link in it "
          "leads somewhere")


if __name__ == "__main__":
    main()
