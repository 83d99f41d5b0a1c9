# SPDX-License-Identifier: GPL-2.0-only
"""The gallery of the site (website.py): each picture of the book, the commands that draw it, and a link into the page
for browsers, where the same run is made.

Commands are those of the sessions of the book (docblocks.py), which the tests compare. Pictures of the page itself are
taken by tests/tools/book_pictures.mjs.
"""

import json
import pathlib
import re
import shlex
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairground.base.option_values import parse_time
from fairground.base.settings import SCHEDULERS
from fairground.decisions.futures import OUTPUTS, without

import docblocks

BOOK = pathlib.Path("docs/book")
PAGE_PICTURES = pathlib.Path("tests/tools/book_pictures.mjs")
PICTURE = re.compile(r"^!\[([^]]+)\]\(img/([\w-]+\.(?:svg|png))\)$", re.MULTILINE)
READY = re.compile(r"^const (\w+) = await ready\('([^']+)', (\d+), \[([^]]+)\]\);", re.MULTILINE)
TAKEN = re.compile(r"^await take\((\w+), '([\w-]+)'", re.MULTILINE)
PAGE_MS = 10_000  # the page simulates no longer
DEFAULT_MS = 10_000  # of schedsim


class Picture(NamedTuple):
    """A picture of a @chapter of the book."""

    name: str
    text: str
    chapter: str
    commands: list[str]
    link: str  # what stands behind the page's "#"; "": the page cannot make that run


def address(work: str, milliseconds: int, policies: Sequence[str], cpus: int = 1, file: str = "") -> str:
    """What stands behind the page's "#" for a run (web/page/page.ts)."""
    return urllib.parse.quote(json.dumps({"work": work, "file": file, "cpus": cpus, "ms": milliseconds,
                                          "policies": list(policies), "shown": 0, "at": 0}), safe="")


def _value(words: Sequence[str], option: str, default: str) -> str:
    return words[words.index(option) + 1] if option in words else default


def link_of(commands: Sequence[str]) -> str:
    """The address() of the first run of the simulator whose file the last of @commands draws, and that the page can
    make; with all policies under which they make it."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for command in commands:
        words = [word for word in shlex.split(command.replace("\\\n", ""))[1:] if word != "--narrow"]
        drawn = any(_value(words, option, " ") in commands[-1] for option in OUTPUTS if option in words)
        if not command.startswith("build/schedsim ") or "--plugin" in words or not drawn:
            continue
        for option in OUTPUTS:
            words = without(words, option)
        runs.setdefault(tuple(without(words, "--sched")), []).append(_value(words, "--sched", SCHEDULERS[0]))
    for run, policies in runs.items():
        cpus, time = _value(run, "--cpus", "1"), _value(run, "--time", f"{DEFAULT_MS}ms")
        rest = without(without(run, "--cpus"), "--time")
        files = [word for word in rest if word.endswith(".json")]
        milliseconds = (parse_time("--time", time) or 0) // 1_000_000
        if milliseconds <= PAGE_MS and len(files) <= 1:
            return address(" ".join(word for word in rest if word not in files), milliseconds, policies, int(cpus),
                           "".join(pathlib.Path(file).read_text(encoding="utf-8") for file in files))
    return ""


def _drawn(chapter: pathlib.Path) -> dict[str, list[str]]:
    """name -> the commands of the session of the @chapter that draws that picture."""
    found = {}
    for _, lines in docblocks.blocks(str(chapter)):
        steps = docblocks.session(lines)
        commands = [command for command, _ in steps]
        for name in docblocks.drawn(str(chapter), steps):
            others = [other for other in commands if docblocks.DRAWN.search(other) and name not in other]
            found[name] = [command for command in commands if command not in others
                           and command.startswith(("make plugin", "make trace", "make graph", "build/schedsim"))]
    return found


def _of_the_page() -> dict[str, str]:
    """name -> the address() of each picture of the page itself."""
    text = PAGE_PICTURES.read_text(encoding="utf-8")
    runs = {tab: address(work, int(ms), re.findall(r"[\w-]+", policies))
            for tab, work, ms, policies in READY.findall(text)}
    return {f"{name}.png": runs[tab] for tab, name in TAKEN.findall(text)}


def pictures() -> Iterator[Picture]:
    """All pictures of the book, in its order."""
    of_the_page = _of_the_page()
    for chapter in sorted(BOOK.glob("[0-9]*.md")):
        drawn = _drawn(chapter)
        for text, name in PICTURE.findall(chapter.read_text(encoding="utf-8")):
            if name in drawn:
                yield Picture(name, text, chapter.name, drawn[name], link_of(drawn[name]))
            else:
                yield Picture(name, text, chapter.name, ["make page-pictures"], of_the_page[name])


def markdown(page: str) -> str:
    """The gallery as a page of Markdown at the root of the tree; @page is the address of the page for browsers."""
    parts = ["# Gallery", "Each picture with the commands that draw it, in the root of the tree. A link makes the same "
             f"run [in the page]({page}), where each decision can be looked at; other policies are chosen there."]
    for picture in pictures():
        title = (BOOK / picture.chapter).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        links = [f"[Chapter {title}]({BOOK}/{picture.chapter})"]
        links += [f"[open this run in the page]({page}#{picture.link})"] if picture.link else []
        parts += [f"## {picture.text}", f"![{picture.text}]({BOOK}/img/{picture.name})",
                  "\n".join(["```", *picture.commands, "```"]), " · ".join(links)]
    return "\n\n".join(parts) + "\n"
