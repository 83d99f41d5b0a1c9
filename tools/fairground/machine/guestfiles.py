# SPDX-License-Identifier: GPL-2.0-only
"""FILES= and ROOT=: the user's own files in the guest.

FILES="a.out data.json" puts each file or directory into /root, where the command starts; NAME:/path puts it elsewhere.
A dynamic program brings the libraries that ldd(1) names, at their paths. ROOT=DIR or an archive is laid over the root
directory.
"""

import os
import re
import shlex
import stat
import subprocess
from typing import BinaryIO

from ..base.settings import UsageError
from . import cpio

HOME = "/root"
ELF = b"\x7fELF"
MIB, PAGE = 1 << 20, 4096
OBJECTS = 1024  # bytes that the kernel keeps of each file, at most
KERNEL_MIB = 8  # of the kernel itself; it keeps 1/64 of memory besides


def libraries(program: str) -> list[str]:
    """The files that the dynamic linker maps for @program, itself included; none for anything else."""
    with open(program, "rb") as f:
        if f.read(4) != ELF:
            return []
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    missing = re.search(r"^\s*(\S+) => not found", said, re.MULTILINE)
    if missing:
        raise UsageError(f"FILES={program}: its library {missing[1]} is not on this machine")
    found: list[str] = re.findall(r"(/\S+) \(0x", said)
    # glibc loads this one by name when a thread ends itself.
    beside = (os.path.join(os.path.dirname(path), "libgcc_s.so.1") for path in found if path.endswith("/libc.so.6"))
    return found + [path for path in beside if os.path.exists(path) and path not in found]


def wanted(text: str) -> list[tuple[str, str]]:
    """(file of the host, path in the guest) for each word of FILES=@text."""
    pairs = []
    for word in shlex.split(text):
        source, colon, path = word.partition(":")
        if colon and not path.startswith("/"):
            raise UsageError(f"FILES={word}: the path in the guest begins with a slash")
        if not os.path.exists(source):
            raise UsageError(f"FILES={source}: there is no such file")
        pairs.append((source, path or f"{HOME}/{os.path.basename(os.path.abspath(source))}"))
    return pairs


def add(files: str, root: str, out: cpio.Limited) -> None:
    """Append ROOT=@root and FILES=@files, where they are given, to the initramfs @out."""
    if root:
        if not os.path.exists(root):
            raise UsageError(f"ROOT={root}: there is no such directory or archive")
        cpio.add_root(root, out)
    if files:
        writer, brought = cpio.Writer(out), set()
        for source, path in wanted(files):
            if os.path.isdir(source):
                writer.copy(os.path.realpath(source), path)
                writer.tree(source, path.lstrip("/"))
                continue
            writer.copy(os.path.realpath(source), path)
            brought.update(libraries(source))
        for library in sorted(brought):
            writer.copy(os.path.realpath(library), library)
        writer.end()


def links_of_programs(packed: BinaryIO) -> dict[str, str]:
    """A link in /bin for each program in /usr/bin, if a tree in @packed has bin as a link to that: path -> target. Our
    own programs stay; in the initramfs the others are links to busybox, and its shell looks nowhere else."""
    merged, own, found = False, set[str](), dict[str, str]()
    for entry in cpio.entries(packed):
        directory, name = os.path.split(entry.name)
        if entry.name == "bin" and entry.target.strip("/") == "usr/bin":
            merged = True
        elif directory == "bin" and entry.target != "busybox":
            own.add(f"bin/{name}")
        elif directory == "usr/bin" and not stat.S_ISDIR(entry.mode):
            found[f"bin/{name}"] = f"/usr/bin/{name}"
    return {path: target for path, target in found.items() if merged and path not in own}


def add_links(packed: BinaryIO) -> None:
    """Append the links_of_programs() to @packed."""
    packed.seek(0)
    if links := links_of_programs(packed):
        writer = cpio.Writer(packed)
        for path, target in links.items():
            writer.link(path, target)
        writer.end()


def _with_kernel(size: int) -> int:
    return size * 64 // 63 // MIB + KERNEL_MIB


def need_mib(packed: BinaryIO) -> int:
    """The memory that a machine needs for the initramfs @packed. The archive is there until all is unpacked, and files
    may have half of the rest."""
    packed.seek(0)
    found = list(cpio.entries(packed))
    pages = sum(-(-entry.size // PAGE) for entry in found if stat.S_ISREG(entry.mode))
    return _with_kernel(packed.tell() + 2 * pages * PAGE + len(found) * OBJECTS)


def check_fits(packed: BinaryIO, room: cpio.Limited, mem_mib: int) -> None:
    """UsageError if the machine has too little memory for the initramfs @packed, of which @room has written what fits
    into that memory at all."""
    need = need_mib(packed) if room.fits() else _with_kernel(3 * room.size)
    if need > mem_mib:
        raise UsageError(f"the initramfs has {room.size // MIB} MiB and needs three times that while it is unpacked: "
                         f"MEM={need}")
