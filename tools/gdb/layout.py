# SPDX-License-Identifier: GPL-2.0-only
"""The layout of structures, and the places and texts at addresses, of a kernel's ELF file, for tools/scripts/guards.py.

gdb runs it: `gdb -batch -x layout.py KERNEL`. Standard input is {"types": [name], "code": [address], "text":
[address]}. The output, in JSON, has "types": name -> [member, offset, size, structure or "", size of an element], also
of the structures of members; "sizes": name -> bytes; "code": address -> [function, file, line]; "text": address ->
string.
"""

import json
import sys

import gdb


def members_of(kind, base=0):
    """Of a structure; those of an unnamed member are its own."""
    for field in kind.fields():
        offset, inner = base + field.bitpos // 8, field.type.strip_typedefs()
        if not field.name:
            yield from members_of(inner, offset)
            continue
        size = inner.sizeof
        while inner.code == gdb.TYPE_CODE_ARRAY:
            inner = inner.target().strip_typedefs()
        name = inner.tag if inner.code == gdb.TYPE_CODE_STRUCT and inner.tag else ""
        yield [field.name, offset, size, name, inner.sizeof]


def layouts(names):
    found, wanted = {}, list(names)
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        try:
            found[name] = list(members_of(gdb.lookup_type(f"struct {name}")))
        except gdb.error:
            found[name] = None  # it is in no object of this kernel
            continue
        wanted += [member[3] for member in found[name] if member[3]]
    return found


def place(address):
    """The function is the one that is called; the line may be of another that is inlined in it."""
    line = gdb.find_pc_line(address)
    block, function = gdb.block_for_pc(address), "?"
    while block:
        function = str(block.function) if block.function else function
        block = block.superblock
    return [function, line.symtab.filename if line.symtab else "?", line.line]


def text(address):
    return gdb.Value(address).cast(gdb.lookup_type("char").pointer()).string()


asked = json.load(sys.stdin)
types = layouts(asked["types"])
sizes = {name: gdb.lookup_type(f"struct {name}").sizeof for name, members in types.items() if members is not None}
json.dump({"types": types, "sizes": sizes, "code": {a: place(a) for a in asked["code"]},
           "text": {a: text(a) for a in asked["text"]}}, sys.stdout)
