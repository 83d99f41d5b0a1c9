#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write docs/failures.md: the places where each system call can fail for lack of memory or of an address.

Reads what `failcheck && cat /sys/kernel/debug/fail_sites` prints in a debug kernel.

Usage: fail_table.py < CONSOLE > docs/failures.md
"""

import re
import sys
from collections import defaultdict

SITE = re.compile(r"^fail(slab|_page_alloc|_usercopy) (\S+) (\d+) (\d+) (\w+)\+0x[0-9a-f]+ (\w+)\+\S+$")
TOTAL = re.compile(r"^(\d+) failures came: (\d+) without harm, (\d+) killed the process; (\d+) wrong$")
LETTER = {"slab": "object", "_page_alloc": "page", "_usercopy": "copy"}

HEAD = """# Where system calls fail

For each system call the places where it asks for memory or copies from or to a program, and how many of them were made
to fail by `failcheck` ([machine.md](machine.md#failures-on-order)). A place is a kind of failure, the function that
asks and that one's caller. A second table has the places that were not taken; `-` is a page fault of the program.
Written by:

    make image B=build-debug DEBUG=1
    make run B=build-debug DEBUG=1 ICOUNT=1 CMD="failcheck && cat /sys/kernel/debug/fail_sites" | \\
        python3 tools/scripts/fail_table.py > docs/failures.md
"""

MISSED = """
Not taken, since a slab, or a table of pages, is full only now and then, and in a later place of a long call only some
are tried:

| call | place | called by |
|---|---|---|"""


def main() -> int:
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 2
    places: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    functions: dict[str, set[str]] = defaultdict(set)
    missed = []
    total = None
    for line in sys.stdin:
        total = TOTAL.match(line.rstrip()) or total
        if not (site := SITE.match(line.rstrip())):
            continue
        kind, call, _, taken, function, caller = site.groups()
        places[call][0] += 1
        places[call][1] += taken != "0"
        functions[call].add(f"{function} ({LETTER[kind]})")
        if taken == "0":
            missed.append(f"| {call} | {function} ({LETTER[kind]}) | {caller} |")
    if not total or not places:
        print("fail_table.py: this is no output of failcheck and fail_sites", file=sys.stderr)
        return 2
    print(HEAD)
    print(f"{total[1]} failures: {total[2]} were made good or answered by a short count, {total[3]} killed the\n"
          f"process (signal frames, new programs), {total[4]} were wrong. {sum(p[0] for p in places.values())} places, "
          f"{sum(p[1] for p in places.values())} taken.\n")
    print("| call | places | taken | functions |\n|---|---|---|---|")
    for call, (nr, taken) in sorted(places.items()):
        print(f"| {call} | {nr} | {taken} | {', '.join(sorted(functions[call]))} |")
    print(MISSED)
    print("\n".join(sorted(missed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
