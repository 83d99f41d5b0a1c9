#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The slides of the chapters (docs/term/slides), as HTML and PDF, by Marp. Their pictures are the book's.

npm fetches Marp once, in the version below; Chromium prints the PDF.

Usage: slides.py [CHAPTER...]    writes B/slides/NN.html and NN.pdf, of all or of these chapters (6 14);
       environment: B (build directory)
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from fairground.base.settings import UsageError

import usage
from book import find

MARP = "@marp-team/marp-cli@4.5.1"
SLIDES, PICTURES = pathlib.Path("docs/term/slides"), pathlib.Path("docs/book/img")
CONFIG = '{"options": {"markdown": {"breaks": false}}}'  # a line of a paragraph ends where the slide does
HEAD = """---
marp: true
math: mathjax
paginate: true
footer: Fairground, chapter {chapter} · CC BY-SA 4.0
style: |
  section {{ font-size: 30px; padding: 50px 60px }}
  pre {{ font-size: 22px }}
  img {{ background: white }}
---

"""


def wanted(words: list[str]) -> list[pathlib.Path]:
    """The files of the chapters @words, or all. UsageError if one has no slides."""
    paths = [SLIDES / f"{word:0>2}.md" for word in words] or sorted(SLIDES.glob("*.md"))
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path}; the chapters are 1 to {len(list(SLIDES.glob('*.md')))}")
    return paths


def stage(paths: list[pathlib.Path], directory: pathlib.Path) -> None:
    """Write the slides of @paths to @directory, as Marp reads them, and the book's pictures beside them."""
    shutil.copytree(PICTURES, directory / "img", dirs_exist_ok=True)
    (directory / "marp.json").write_text(CONFIG, encoding="utf-8")
    for path in paths:
        text = path.read_text(encoding="utf-8")
        (directory / path.name).write_text(HEAD.format(chapter=int(path.stem)) + text, encoding="utf-8")


def marp(directory: pathlib.Path, out: pathlib.Path, *options: str) -> None:
    done = subprocess.run([find("npm"), "exec", "--yes", "--package", MARP, "--", "marp", "--input-dir", directory,
                           "--output", out, "--config-file", directory / "marp.json",
                           "--allow-local-files", *options], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, env={**os.environ, "CHROME_PATH": find("chromium")})
    if done.returncode:
        raise UsageError(f"Marp failed; npm fetches it once, from the network: {done.stderr.strip()[-300:]}")


def make(paths: list[pathlib.Path], out: pathlib.Path) -> None:
    """Write the slides of @paths to the directory @out."""
    with tempfile.TemporaryDirectory() as directory:
        stage(paths, pathlib.Path(directory))
        marp(pathlib.Path(directory), out)
        marp(pathlib.Path(directory), out, "--pdf")
        shutil.copytree(pathlib.Path(directory) / "img", out / "img", dirs_exist_ok=True)


def main() -> None:
    words = usage.words(__doc__)
    out = pathlib.Path(os.environ.get("B", "build")) / "slides"
    try:
        paths = wanted(words)
        make(paths, out)
    except UsageError as error:
        sys.exit(f"slides: {error}")
    print(f"{out}: {len(paths)} chapters as HTML and PDF")


if __name__ == "__main__":
    main()
