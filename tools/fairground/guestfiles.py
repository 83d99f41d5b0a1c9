# SPDX-License-Identifier: GPL-2.0-only
"""FILES= and ROOT=: the user's own files in the guest.

FILES="a.out data.json" puts each file or directory into /root, where the command starts; NAME:/path puts it elsewhere.
A dynamic program brings the libraries that ldd(1) names, at their paths. ROOT=DIR or an archive is laid over the root
directory.
"""

import os
import re
import shlex
import subprocess
from typing import BinaryIO

from . import cpio
from .settings import UsageError

HOME = "/root"
# Directories of the initramfs. In a tree of Debian, bin and sbin are links into usr: the directories stay.
TOP = frozenset({"bin", "sbin", "etc", "root", "tmp", "run", "proc", "sys", "dev"})
ELF = b"\x7fELF"
MIB = 1 << 20


def libraries(program: str) -> list[str]:
    """The files that the dynamic linker maps for @program, itself included; none for anything else."""
    with open(program, "rb") as f:
        if f.read(4) != ELF:
            return []
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    missing = re.search(r"^\s*(\S+) => not found", said, re.MULTILINE)
    if missing:
        raise UsageError(f"FILES={program}: its library {missing[1]} is not on this machine")
    return re.findall(r"(/\S+) \(0x", said)


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


def add(files: str, root: str, out: BinaryIO) -> None:
    """Append ROOT=@root and FILES=@files, where they are given, to the initramfs @out."""
    if root:
        if not os.path.exists(root):
            raise UsageError(f"ROOT={root}: there is no such directory or archive")
        cpio.add_root(root, out, TOP)
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


def check_fits(size: int, mem_mib: int) -> None:
    """The archive and the files that it becomes are in memory together, until it is given back."""
    need = 2 * size // MIB + 64
    if need > mem_mib:
        raise UsageError(f"the initramfs has {size // MIB} MiB and needs twice that while it is unpacked: MEM={need}")
