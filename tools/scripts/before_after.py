#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Comments and sentences of pages that changed since a revision, picked at random: before and after.

A comment that is gone from a file and the comment of the same file that is most like it are a pair, unless they are
too different to be the same thought. Files that moved are followed (git diff -M).

Usage: before_after.py REVISION SEED [COUNT]    default: 20 pairs
"""

import difflib
import random
import re
import subprocess

from prose import COMMENT, END_OF_SENTENCE, paragraphs
import usage

ALIKE = 0.35
SHORTEST = 25


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def texts(path: str, source: str) -> list[str]:
    """Comments of a C file, sentences of a page, each on one line."""
    if path.endswith(".md"):
        found = [sentence for _, paragraph in paragraphs(source) for sentence in END_OF_SENTENCE.split(paragraph)]
    else:
        found = [re.sub(r"\s*\n\s*\*?\s*", " ", match[1]).strip("* \t\n") for match in COMMENT.finditer(source)]
    return [text for text in found if len(text) >= SHORTEST and "SPDX" not in text]


def pairs(revision: str) -> list[tuple[str, str, str]]:
    """(path, before, after) of all that changed."""
    found = []
    for line in git("diff", "-M40", "--name-status", "--diff-filter=MR", revision, "HEAD").splitlines():
        _, old, new = (line.split("\t") + [line.split("\t")[-1]])[:3]
        if not new.endswith((".c", ".h", ".def", ".md")):
            continue
        before, after = texts(old, git("show", f"{revision}:{old}")), texts(new, git("show", f"HEAD:{new}"))
        gone, fresh = [t for t in before if t not in after], [t for t in after if t not in before]
        for text in gone:
            likeness = {other: difflib.SequenceMatcher(None, text.split(), other.split()).ratio() for other in fresh}
            best = max(likeness, key=lambda other: likeness[other], default=None)
            if best and likeness[best] >= ALIKE:
                fresh.remove(best)
                found.append((new, text, best))
    return found


def main() -> None:
    revision, seed, *rest = usage.words(__doc__, 2, 3)
    found, count = pairs(revision), int(rest[0]) if rest else 20
    for path, before, after in random.Random(int(seed)).sample(found, min(count, len(found))):
        print(f"{path}\n  - {before}\n  + {after}\n")
    print(f"{len(found)} comments and sentences changed; {min(count, len(found))} of them with seed {seed}")


if __name__ == "__main__":
    main()
