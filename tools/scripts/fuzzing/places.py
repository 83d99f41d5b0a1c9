# SPDX-License-Identifier: GPL-2.0-only
"""Which places of the kernel there are, by file, and which of them scripts reached."""

import re
import subprocess
from collections import Counter

from .guest import PLACE_SIZE, symbols

CALL = re.compile(r"^\s*([0-9a-f]+):\s.*\bcall\b.*<__sanitizer_cov_trace_pc>")


def return_addresses(kernel: str) -> list[int]:
    """Where the calls that report a place return to."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", kernel], capture_output=True, text=True,
                          check=True).stdout
    return [int(match[1], 16) + 5 for match in map(CALL.match, text.splitlines()) if match]


def in_tree(name: str) -> str:
    """The file's name in the tree. Headers are found through a link in BUILD/inc."""
    return re.sub(r"^(.*\binc/\w+/|\./)", "", name)


def files_of(kernel: str, addresses: list[int]) -> list[str]:
    """The source file of each address."""
    given = "".join(f"{address - 5:#x}\n" for address in addresses)
    lines = subprocess.run(["addr2line", "-e", kernel], input=given, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [in_tree(line.rpartition(":")[0]) for line in lines]


def by_file(kernel: str, ever: bytes) -> dict[str, tuple[int, int]]:
    """File -> how many of its places were reached, and how many there are."""
    addresses, begin = return_addresses(kernel), symbols(kernel)["image_start"]
    total: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    for address, file in zip(addresses, files_of(kernel, addresses)):
        total[file] += 1
        reached[file] += ever[(address - begin) // PLACE_SIZE]
    return {file: (reached[file], total[file]) for file in sorted(total)}


def by_room(files: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The same by directory."""
    rooms: dict[str, tuple[int, int]] = {}
    for file, (reached, total) in files.items():
        before = rooms.get(room := file.rpartition("/")[0], (0, 0))
        rooms[room] = before[0] + reached, before[1] + total
    return rooms
