# SPDX-License-Identifier: GPL-2.0-only
"""Which places of the kernel there are, by file, and which of them scripts reached."""

import hashlib
import pathlib
import re
import struct
import subprocess
import tempfile
from collections import Counter


def addresses_of(kernel: str) -> list[int]:
    """The address of each place, in the order in which the kernel counts (kernel/base/place.h)."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["objcopy", "--dump-section", f".cover_places={file.name}", kernel, "/dev/null"], check=True)
        return [address for address, in struct.iter_unpack("<Q", file.read())]


def keep(file: pathlib.Path, kernel: str, ever: bytes) -> None:
    """Add the places @ever of @kernel to @file, which has what earlier runs of the same kernel reached."""
    addresses = addresses_of(kernel)
    if before := kept_of(file, addresses):
        ever = bytes(a | b for a, b in zip(ever, before, strict=True))
    file.write_bytes(sign_of(addresses) + ever)


def sign_of(addresses: list[int]) -> bytes:
    """The same for kernels with the same places."""
    return hashlib.sha256(repr(addresses).encode()).digest()


def kept(file: pathlib.Path, kernel: str) -> bytes:
    """The places of @kernel in @file; none if it has those of another, or is damaged."""
    return kept_of(file, addresses_of(kernel))


def kept_of(file: pathlib.Path, addresses: list[int]) -> bytes:
    """The places in @file; none if they are not those at @addresses."""
    text, sign = file.read_bytes() if file.is_file() else b"", sign_of(addresses)
    return text[len(sign):] if text.startswith(sign) and len(text) == len(sign) + len(addresses) else b""


def in_tree(name: str) -> str:
    """The file's name in the tree. Headers are found through a link in BUILD/inc."""
    return re.sub(r"^(.*\binc/\w+/|\./)", "", name)


def files_of(kernel: str, addresses: list[int]) -> list[str]:
    """The source file of each address."""
    given = "".join(f"{address:#x}\n" for address in addresses)
    lines = subprocess.run(["addr2line", "-e", kernel], input=given, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [in_tree(line.rpartition(":")[0]) for line in lines]


def by_file(kernel: str, ever: bytes) -> dict[str, tuple[int, int]]:
    """File -> how many of its places were reached, and how many there are."""
    total: Counter[str] = Counter()
    reached: Counter[str] = Counter()
    for was_reached, file in zip(ever, files_of(kernel, addresses_of(kernel)), strict=True):
        total[file] += 1
        reached[file] += was_reached
    return {file: (reached[file], total[file]) for file in sorted(total)}


def by_room(files: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """The same by directory."""
    rooms: dict[str, tuple[int, int]] = {}
    for file, (reached, total) in files.items():
        before = rooms.get(room := file.rpartition("/")[0], (0, 0))
        rooms[room] = before[0] + reached, before[1] + total
    return rooms


def page(files: dict[str, tuple[int, int]]) -> str:
    """A table of Markdown: a row for each directory, with the share of each of its files in per cent."""
    lines = ["| directory | places | reached | % | files, each with its % |", "|---|---|---|---|---|"]
    for room, (reached, total) in by_room(files).items():
        shares = [f"{file.rpartition('/')[2]} {100 * some // all_of}" for file, (some, all_of) in files.items()
                  if file.rpartition("/")[0] == room]
        lines.append(f"| {room or '(inline)'} | {total} | {reached} | {100 * reached // total} | {', '.join(shares)} |")
    return "\n".join(lines) + "\n"
