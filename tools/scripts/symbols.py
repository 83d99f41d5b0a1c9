#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Give the kernel the names of its functions.

linker.ld puts an almost empty section .symbols last in the image, in a segment of its own. This script writes the table
(struct symbol_table of kernel/kernel.h) to the end of the file and points that segment at it. No address changes, so
one link is enough.

Usage: symbols.py LINKED OUT
"""
import struct
import sys
from collections.abc import Sequence

import usage

PT_LOAD, SHT_SYMTAB, STT_FUNC = 1, 2, 2
IMAGE_BASE = 0xFFFFFFFF80000000

# Elf64 headers: format and the names of the fields used here.
EHDR = struct.Struct("<16xHHIQQQIHHHHHH")
PHDR = struct.Struct("<IIQQQQQQ")
SHDR = struct.Struct("<IIQQQQIIQQ")
SYM = struct.Struct("<IBBHQQ")


def c_string(data: bytes | bytearray, at: int) -> bytes:
    return data[at : data.index(b"\0", at)]


class Elf:
    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        (*_, self.phoff, self.shoff, _, _, _, self.phnum, _, self.shnum, self.shstrndx) = EHDR.unpack_from(data)
        self.sections = [SHDR.unpack_from(data, self.shoff + i * SHDR.size) for i in range(self.shnum)]

    def section(self, name: bytes) -> tuple[int, tuple[int, ...]]:
        names = self.sections[self.shstrndx][4]
        for index, s in enumerate(self.sections):
            if c_string(self.data, names + s[0]) == name:
                return index, s
        sys.exit(f"symbols.py: no section {name.decode()}")

    def functions(self) -> list[tuple[int, bytes]]:
        """(address, name) of every function, in order of addresses, with one name for each."""
        symtab = next(s for s in self.sections if s[1] == SHT_SYMTAB)
        names = self.sections[symtab[6]][4]
        found: dict[int, bytes] = {}
        for at in range(symtab[4], symtab[4] + symtab[5], SYM.size):
            name, info, _, section, value, _ = SYM.unpack_from(self.data, at)
            if info & 15 == STT_FUNC and section:
                found.setdefault(value, c_string(self.data, names + name))
        return sorted(found.items())

    def replace_last_section(self, name: bytes, blob: bytes) -> None:
        index, old = self.section(name)
        self.data += bytes(-len(self.data) % 4096)
        offset = len(self.data)
        self.data += blob
        SHDR.pack_into(self.data, self.shoff + index * SHDR.size, *old[:4], offset, len(blob), *old[6:])
        for i in range(self.phnum):
            at = self.phoff + i * PHDR.size
            kind, flags, _, va, pa, _, _, align = PHDR.unpack_from(self.data, at)
            if kind == PT_LOAD and va == old[3]:
                PHDR.pack_into(self.data, at, kind, flags, offset, va, pa, len(blob), len(blob), align)
                return
        sys.exit("symbols.py: .symbols does not begin a segment")


def table(functions: Sequence[tuple[int, bytes]]) -> bytes:
    entries, text = b"", b""
    for address, name in functions:
        entries += struct.pack("<II", address - IMAGE_BASE, len(text))
        text += name + b"\0"
    body = entries + text
    return struct.pack("<II", 8 + len(body), len(functions)) + body


def main() -> None:
    linked, out = usage.words(__doc__, 2, 2)
    with open(linked, "rb") as f:
        elf = Elf(f.read())
    elf.replace_last_section(b".symbols", table(elf.functions()))
    with open(out, "wb") as f:
        f.write(elf.data)


if __name__ == "__main__":
    main()
