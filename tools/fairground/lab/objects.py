# SPDX-License-Identifier: GPL-2.0-only
"""Compiled code, looked at: what it calls by name, where it calls through pointers, and how it reaches around both."""

import collections
import pathlib
import re
import subprocess
from dataclasses import dataclass, field

BEFORE_MAIN = re.compile(r"\s(\.(?:preinit_array|init_array|fini_array|ctors|dtors|init|fini))[\w.]*\s+([0-9a-f]+)")
LINKERS_OWN = {".init_array": 8, ".fini_array": 8, ".init": 0x20, ".fini": 0x10}  # bytes in any shared object
ENTERS_KERNEL = re.compile(r"^\s*[0-9a-f]+:\s+(syscall|sysenter|int)\b", re.MULTILINE)
FUNCTION = re.compile(r"^[0-9a-f]+ <(\w+)(?:\.[\w.]+)?>:$|\b(?:call|jmp)\s+\*", re.MULTILINE)
# memory functions and 128-bit division, which the compiler calls on its own
COMPILER_CALLS = {"memcpy", "memset", "memmove", "memcmp", "_GLOBAL_OFFSET_TABLE_", "__divti3", "__udivti3", "__modti3",
                  "__umodti3"}



def _objdump(words: list[str], objects: list[pathlib.Path]) -> str:
    if not objects:
        return ""
    return subprocess.run(["objdump", *words, *map(str, objects)], capture_output=True, text=True, check=True).stdout


def around(objects: list[pathlib.Path]) -> str:
    """Code of @objects that runs before main(), or enters the kernel on its own. The linker gives each shared object
    one such function of its own.
    """
    for shared in (False, True):
        some = [path for path in objects if (path.suffix != ".o") == shared]
        for name, size in BEFORE_MAIN.findall(_objdump(["-h"], some)):
            if not shared or int(size, 16) > LINKERS_OWN.get(name, 0):
                return f"has code that runs before everything else ({name}, {int(size, 16)} bytes)"
    instruction = ENTERS_KERNEL.search(_objdump(["-d", "--no-show-raw-insn"], objects))
    return f"has the instruction {instruction[1]}" if instruction else ""


def undefined(objects: list[pathlib.Path]) -> set[str]:
    """Names that @objects use and do not define."""
    out = subprocess.run(["nm", *map(str, objects)], capture_output=True, text=True, check=True).stdout
    used, defined = set(), set()
    for words in map(str.split, out.splitlines()):
        if len(words) == 2 and words[0] == "U":
            used.add(words[1].partition("@")[0])  # a shared object's has the version of the library
        elif len(words) == 3:
            defined.add(words[2])
    return used - defined


def offered(objects: list[pathlib.Path]) -> set[str]:
    """Names that @objects define for all others, in whose place another definition of that name is not used."""
    out = subprocess.run(["nm", "-g", "--defined-only", *map(str, objects)], capture_output=True, text=True,
                         check=True).stdout
    return {words[2] for words in map(str.split, out.splitlines()) if len(words) == 3}


@dataclass(frozen=True)
class Look:
    """Of some objects: how often each function calls through a pointer, and the names that they define for all."""

    pointers: collections.Counter[str] = field(default_factory=collections.Counter)
    names: frozenset[str] = frozenset()

    def beyond(self, other: "Look", pointers: int) -> str:
        """A sentence on something that is not in @other, nor one of @pointers calls through one; or ""."""
        more = self.pointers - other.pointers
        if more.total() > pointers:
            allowed = (f"this lab needs {pointers} such at most" if pointers
                       else "all that this lab needs is called by its name")
            return (f"your code has a call or jump in {', '.join(f'{name}()' for name in sorted(more))} to an address "
                    f"that it computes; {allowed}; nothing was run")
        for name in sorted(self.names - other.names):
            return (f"your code defines {name} for the whole program; what you add has to be static; nothing was run")
        return ""


def look(objects: list[pathlib.Path]) -> Look:
    return Look(through_pointers(objects), frozenset(offered(objects)))


def through_pointers(objects: list[pathlib.Path]) -> collections.Counter[str]:
    """{function: how often it calls or jumps to an address that it has computed}"""
    found: collections.Counter[str] = collections.Counter()
    name = ""
    for match in FUNCTION.finditer(_objdump(["-d", "--no-show-raw-insn"], objects)):
        name = match[1] or name
        found[name] += not match[1]
    return +found
