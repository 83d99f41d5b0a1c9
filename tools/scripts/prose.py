#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Plain words: what can be counted of them.

    pages       a sentence has at most 40 words, a line of prose at most 120 columns (tables and blocks are exempt)
    both        neither a sentence of a page nor a comment begins with a relative pronoun used as a noun ("Who is picked
                again ran on", "Of those that wait, the one whose ...", "What a task is charged"); a question may

Comments of code are counted per room, against the ratchet in prose.toml: a room may have no more than that.

Usage: prose.py [-v]             counts by room; -v lists all findings
       prose.py --lower          lowers the ratchet to what is found
       prose.py --wrap PAGE...   refills the paragraphs of pages that have a line too long
"""

import pathlib
import re
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator

import usage

WORDS, COLUMNS = 40, 120
RATCHET = pathlib.Path("tools/scripts/prose.toml")
GENERATED = {"docs/events.md", "docs/features.md", "docs/tunables.md"}  # their sentences are those of the .def files

PRONOUN = re.compile(r"(?:Who|Whom|So many|Whose|Whoever|Whatever|What|Of (?:those|these|which|whom|what)|"
                     r"(?:One|The one|Those) (?:that|who|whom|whose|which)|Those (?:of|in|on|with))\b(?!.*\?)")
END_OF_SENTENCE = re.compile(r"(?<=[.!?])[\"'*)_]*\s+(?=[\"'*(_`\[]*[A-Z0-9`]|\([a-z]\))")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")
COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """(number of the first line, words) of each paragraph and list item of a page, but no heading, table or comment."""
    text = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    inside, start, words = False, 0, ""
    for number, line in enumerate(text.splitlines() + [""], 1):
        fence = line.lstrip().startswith("```")
        literal = line.startswith(("#", "    ")) and not words or line.lstrip()[:1] in ("", "|", "!", "<")
        prose = not inside and not fence and not literal
        if words and (not prose or ITEM.match(line)):
            yield start, words
            words = ""
        if prose:
            start = start if words else number
            words = f"{words} {line.strip()}" if words else ITEM.sub("", line, count=1).strip()
        inside ^= fence


def refill(text: str) -> str:
    lines = text.splitlines()
    for start, words in reversed(list(paragraphs(text))):
        end = start - 1
        while end < len(lines) and len(" ".join(line.strip() for line in lines[start - 1:end])) < len(words):
            end += 1
        if any(len(line) > COLUMNS for line in lines[start - 1:end]):
            match = ITEM.match(lines[start - 1]) or re.match(r"\s*", lines[start - 1])
            head = match[0] if match else ""
            lines[start - 1:end] = textwrap.wrap(words, COLUMNS, initial_indent=head, subsequent_indent=" " * len(head),
                                                 break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def page_problems(path: str, text: str) -> Iterator[str]:
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        inside ^= line.lstrip().startswith("```")
        if not inside and len(line) > COLUMNS and not line.startswith(("|", "!", "    ")) and path not in GENERATED:
            yield f"{path}:{number}: prose of {len(line)} columns; at most {COLUMNS}"
    for number, paragraph in paragraphs(text):
        for sentence in END_OF_SENTENCE.split(paragraph):
            count = sum(bool(re.search(r"\w", word)) for word in sentence.split())
            if count > WORDS:
                yield f"{path}:{number}: a sentence of {count} words; at most {WORDS}: {sentence[:60]} ..."
            match = PRONOUN.match(sentence.lstrip("("))
            if match and path not in GENERATED:
                yield f"{path}:{number}: name the subject: {sentence[:60]} ..."


def comment_problems(path: str, text: str) -> Iterator[str]:
    for comment in COMMENT.finditer(text):
        words = re.sub(r"\s*\n\s*\*?\s*", " ", comment[1]).strip("* \t")
        if PRONOUN.match(words):
            yield f"{path}:{text.count(chr(10), 0, comment.start()) + 1}: name the subject: {words[:60]} ..."


def found() -> dict[str, list[str]]:
    """{room: findings in its comments}; the room of pages is "pages"."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h", "*.def", "*.S", "*.md"],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    rooms: dict[str, list[str]] = {"pages": []}
    for name in sorted(listed):
        path = pathlib.Path(name)
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            rooms["pages"] += page_problems(name, text)
        else:
            rooms.setdefault("/".join(path.parts[:2][:len(path.parts) - 1]), []).extend(comment_problems(name, text))
    return rooms


def ratchet() -> dict[str, int]:
    return tomllib.loads(RATCHET.read_text(encoding="utf-8"))["most"] if RATCHET.exists() else {}


def problems() -> Iterator[str]:
    """For tidy: all findings of each room that has more of them than it may."""
    most = ratchet()
    for room, findings in found().items():
        if len(findings) > most.get(room, 0):
            yield from findings
            if most.get(room):
                yield f"{room}: {len(findings)} of these, at most {most[room]} ({RATCHET}); mend one"


def lower() -> None:
    head = "".join(line for line in RATCHET.open(encoding="utf-8") if line.startswith("#"))
    most = {room: min(len(findings), ratchet().get(room, 0)) for room, findings in found().items()}
    lines = [f'"{room}" = {count}\n' for room, count in sorted(most.items()) if count]
    RATCHET.write_text(head + "[most]\n" + "".join(lines), encoding="utf-8")


def main() -> None:
    words = usage.words(__doc__, options=("-v", "--lower", "--wrap"))
    if words == ["--lower"]:
        lower()
        return
    if words[:1] == ["--wrap"]:
        for page in map(pathlib.Path, words[1:]):
            page.write_text(refill(page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    rooms = found()
    for room, findings in sorted(rooms.items()):
        if "-v" in words:
            print("\n".join(findings)) if findings else None
        print(f"{room:24}{len(findings):5} of {ratchet().get(room, 0)}")


if __name__ == "__main__":
    main()
