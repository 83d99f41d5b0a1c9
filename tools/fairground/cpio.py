# SPDX-License-Identifier: GPL-2.0-only
"""Archives in the cpio "newc" format, which the kernel unpacks into its root file system.

The kernel accepts several archives one after the other. So we add files to the initramfs by appending an archive; a
later file replaces an earlier one with the same name, and a directory stays.
"""

import bz2
import gzip
import lzma
import os
import pathlib
import shutil
import stat
import tarfile
from collections.abc import Callable, Mapping
from typing import IO, Any, BinaryIO

from .errors import FileError, reading

ALIGN = 4
HEADER = "070701" + "{:08X}" * 13
NEWC = (b"070701", b"070702")
MOST = (1 << 32) - 1  # bytes of a file: the header has eight hexadecimal digits
OPENERS: dict[bytes, Callable[..., IO[Any]]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
CHUNK = 1 << 20


class ArchiveError(FileError):
    """A file or archive cannot be packed. One sentence for the user."""


class Writer:
    """One archive, written to @out as it grows. Every entry belongs to root and has the time 0, so that the archive
    depends only on names, modes and contents.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._inodes = 0
        self._links: dict[tuple[int, int], int] = {}  # a file with several names, on the host -> its number here
        self._directories: set[str] = set()

    def _entry(self, name: str, mode: int, data: bytes | None, nlink: int = 1, ino: int = 0, size: int = 0,
               device: tuple[int, int] = (0, 0)) -> None:
        """One entry; if @data is None, the caller writes its @size bytes."""
        if not ino:
            self._inodes += 1
            ino = self._inodes
        raw_name = name.encode("utf-8", "surrogateescape") + b"\0"
        size = size if data is None else len(data)
        header = HEADER.format(ino, mode, 0, 0, nlink, 0, size, 0, 0, *device, len(raw_name), 0).encode()
        self._out.write(header + raw_name + b"\0" * (-(len(header) + len(raw_name)) % ALIGN))
        if data is not None:
            self._out.write(data + b"\0" * (-len(data) % ALIGN))

    def _parents(self, name: str) -> None:
        for parent in reversed(pathlib.PurePosixPath(name).parents[:-1]):
            if str(parent) not in self._directories:
                self._directories.add(str(parent))
                self._entry(str(parent), stat.S_IFDIR | 0o755, b"")

    def _stream(self, name: str, mode: int, source: IO[bytes], size: int, **more: Any) -> None:
        if size > MOST:
            raise ArchiveError(f"{name}: a file in the initramfs has less than 4 GiB")
        self._entry(name, mode, None, size=size, **more)
        start = self._out.tell()
        shutil.copyfileobj(source, self._out, CHUNK)
        if self._out.tell() - start != size:
            raise ArchiveError(f"{name}: its size changed while it was read")
        self._out.write(b"\0" * (-size % ALIGN))

    def file(self, path: str, data: bytes, mode: int = 0o755) -> None:
        """The file @path of the guest with this content."""
        name = path.lstrip("/")
        self._parents(name)
        self._entry(name, stat.S_IFREG | mode, data)

    def copy(self, source: str | pathlib.Path, path: str) -> None:
        """The host's file, link or device @source as @path; links are copied as links."""
        name, info = path.lstrip("/"), os.lstat(source)
        kind = stat.S_IFMT(info.st_mode)
        self._parents(name)
        if kind == stat.S_IFLNK:
            self._entry(name, info.st_mode, os.fsencode(os.readlink(source)))
        elif kind == stat.S_IFDIR:
            self._directories.add(name)
            self._entry(name, info.st_mode, b"")
        elif kind == stat.S_IFREG:
            self._copy_file(source, name, info)
        elif kind in (stat.S_IFCHR, stat.S_IFBLK):
            self._entry(name, info.st_mode, b"", device=(os.major(info.st_rdev), os.minor(info.st_rdev)))
        elif kind == stat.S_IFIFO:
            self._entry(name, info.st_mode, b"")  # a socket is nothing without its server

    def _copy_file(self, source: str | pathlib.Path, name: str, info: os.stat_result) -> None:
        key, ino = (info.st_dev, info.st_ino), 0
        if info.st_nlink > 1:
            if key in self._links:
                self._entry(name, info.st_mode, b"", info.st_nlink, self._links[key])
                return
            self._inodes += 1
            ino = self._links[key] = self._inodes
        with open(source, "rb") as f:
            self._stream(name, info.st_mode, f, info.st_size, nlink=info.st_nlink, ino=ino)

    def tree(self, source: str | pathlib.Path, path: str = "", keep: frozenset[str] = frozenset()) -> None:
        """What lies below the directory @source, below @path. Names in @keep are not replaced by links at the top."""
        for directory, names, files in os.walk(source):
            names.sort()
            below = os.path.relpath(directory, source)
            for name in sorted(names + files):
                at, full = os.path.normpath(os.path.join(path, below, name)), os.path.join(directory, name)
                if not (at in keep and os.path.islink(full)):
                    self.copy(full, at)

    def tar(self, source: str, keep: frozenset[str] = frozenset()) -> None:
        """The members of the tar archive @source."""
        with tarfile.open(source) as archive:
            linked = {os.path.normpath(m.linkname).lstrip("/"): 0 for m in archive if m.islnk()}
            for member in archive:
                name = os.path.normpath(member.name).lstrip("/")
                if not (name == "." or name.startswith("..") or (name in keep and member.issym())):
                    self._parents(name)
                    self._member(archive, member, name, linked)

    def _member(self, archive: tarfile.TarFile, member: tarfile.TarInfo, name: str, linked: dict[str, int]) -> None:
        """One member. @linked: the numbers of files with several names, by the first of these."""
        if member.isdir():
            self._directories.add(name)
            self._entry(name, stat.S_IFDIR | member.mode, b"")
        elif member.issym():
            self._entry(name, stat.S_IFLNK | 0o777, os.fsencode(member.linkname))
        elif member.islnk():
            self._entry(name, stat.S_IFREG | member.mode, b"", 2, linked[os.path.normpath(member.linkname).lstrip("/")])
        elif member.isreg():
            content = archive.extractfile(member)
            assert content
            if name in linked:
                self._inodes += 1
                linked[name] = self._inodes
            self._stream(name, stat.S_IFREG | member.mode, content, member.size, nlink=1 + (name in linked),
                         ino=linked.get(name, 0))
        elif member.ischr() or member.isblk():
            self._entry(name, (stat.S_IFCHR if member.ischr() else stat.S_IFBLK) | member.mode, b"",
                        device=(member.devmajor, member.devminor))

    def end(self) -> None:
        self._entry("TRAILER!!!", 0, b"")


def opened(path: str) -> IO[Any]:
    """The file @path, unpacked if it is compressed."""
    with open(path, "rb") as f:
        start = f.read(8)
    for magic, opener in OPENERS.items():
        if start.startswith(magic):
            return opener(path, "rb")
    return open(path, "rb")


def add_cpio(path: str, out: BinaryIO) -> None:
    """Append the cpio archive @path, unpacked."""
    with opened(path) as source:
        if source.read(6) not in NEWC:
            raise ArchiveError("neither a directory nor an archive that is known: tar, or cpio of the kind "
                               "\"newc\"; plain, or compressed with gzip, bzip2 or xz")
        source.seek(0)
        shutil.copyfileobj(source, out, CHUNK)
    out.write(b"\0" * (-out.tell() % ALIGN))


def add_root(root: str, out: BinaryIO, keep: frozenset[str]) -> None:
    """Append what the directory or archive @root holds. Top-level links named in @keep give way to directories."""
    with reading(root, ArchiveError, "the archive is damaged"):
        writer = Writer(out)
        if os.path.isdir(root):
            writer.tree(root, keep=keep)
        elif tarfile.is_tarfile(root):
            writer.tar(root, keep)
        else:
            add_cpio(root, out)
            return
        writer.end()


def archive(files: Mapping[str, bytes], out: BinaryIO) -> None:
    """Append the archive of @files, a mapping from guest path to content. All are executable."""
    writer = Writer(out)
    for path, data in files.items():
        writer.file(path, data)
    writer.end()
