# SPDX-License-Identifier: GPL-2.0-only
"""What the judges of one family of decisions each have in common: they count verdicts, and print a table of a file."""

import argparse
import collections
from collections.abc import Callable, Iterable, Mapping

Key = tuple[str, ...]
Verdict = str | None  # why a decision is wrong; "" if it is right; None if it is not judged
Counts = dict[Key, list[int]]

PRINTED = 5  # wrong decisions of each key


def count(path: str, judged: Iterable[tuple[Key, str, Verdict]]) -> Counts:
    """{key: [right, not judged, wrong]} of (key, decision in words, verdict). Prints the first wrong ones of each."""
    counts: Counts = collections.defaultdict(lambda: [0, 0, 0])
    for key, words, verdict in judged:
        of_key = counts[key]
        of_key[2 if verdict else 1 if verdict is None else 0] += 1
        if verdict and of_key[2] <= PRINTED:
            print(f"{path}: {words}: {verdict}")
    return counts


def main(doc: str | None, columns: Mapping[str, int], judge: Callable[[str, argparse.Namespace], Counts],
         options: Mapping[str, int] | None = None) -> int:
    """The command FILE... [--hz N]: 1 if a decision is wrong. @columns: what the parts of a key are, and their widths.
    @options: further numbers and their defaults."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--hz", type=int, default=250, help="of the run (default 250)")
    for name, default in (options or {}).items():
        parser.add_argument(name, type=int, default=default)
    arguments = parser.parse_args()
    wrong_ones = 0
    for path in arguments.files:
        counts = judge(path, arguments)
        head = " ".join(f"{name:{width}}" for name, width in columns.items())
        print(f"{path}: {head} {'right':>10} {'not judged':>11} {'wrong':>7}")
        for key, (right, unjudged, wrong) in sorted(counts.items()):
            cells = " ".join(f"{part:{width}}" for part, width in zip(key, columns.values(), strict=True))
            print(f"{path}: {cells} {right:10} {unjudged:11} {wrong:7}")
            wrong_ones += wrong
    return int(wrong_ones > 0)
