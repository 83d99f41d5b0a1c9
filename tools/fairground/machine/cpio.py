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
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, BinaryIO, NamedTuple

from ..base.errors import FileError, reading

ALIGN = 4
HEADER = "070701" + "{:08X}" * 13
NEWC = (b"070701", b"070702")
MOST = (1 << 32) - 1  # bytes of a file: the header has eight hexadecimal digits
OPENERS: dict[bytes, Callable[..., IO[Any]]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
CHUNK = 1 << 20
HEADER_SIZE, TRAILER = 110, "TRAILER!!!"
COUNTED = 4 << 30  # bytes of an archive that does not fit are counted so far


class ArchiveError(FileError):
    """A file or archive cannot be packed. One sentence for the user."""


class Limited:
    """The file @out, into which no more than @most bytes go: a small archive may become any size. The others are only
    counted, so that one can say how much room there ought to be."""

    def __init__(self, out: BinaryIO, most: int) -> None:
        self._out, self.most, self.size = out, most, 0

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self.fits():
            self._out.write(data)
        elif self.size > max(self.most, COUNTED):
            raise ArchiveError(f"it has more than {COUNTED >> 30} GiB when it is unpacked")

    def tell(self) -> int:
        return self.size

    def fits(self) -> bool:
        return self.size <= self.most


Out = BinaryIO | Limited


class Entry(NamedTuple):
    """What an archive says of a file."""

    name: str
    mode: int
    size: int
    target: str  # of a link


def entries(source: BinaryIO) -> Iterator[Entry]:
    """What is in the archives that @source is, one after the other. ArchiveError at what is none."""
    base, size = 0, os.fstat(source.fileno()).st_size
    while start := source.read(1):
        if start == b"\0":  # padding between archives; the next begins its own alignment
            base = source.tell()
            continue
        header = start + source.read(HEADER_SIZE - 1)
        if len(header) < HEADER_SIZE or header[:6] not in NEWC:
            raise ArchiveError("the cpio archive is damaged or cut off")
        fields = [int(header[at:at + 8], 16) for at in range(6, HEADER_SIZE, 8)]
        name = source.read(fields[11])[:-1].decode(errors="surrogateescape")
        source.seek(-(source.tell() - base) % ALIGN, os.SEEK_CUR)
        end = source.tell() + fields[6]
        if end > size:
            raise ArchiveError("the cpio archive is damaged or cut off")
        target = source.read(fields[6]).decode(errors="surrogateescape") if stat.S_ISLNK(fields[1]) else ""
        source.seek(end + -(end - base) % ALIGN)
        if name == TRAILER:
            base = source.tell()
        else:
            yield Entry(os.path.normpath(name), fields[1], fields[6], target)


class Writer:
    """One archive, written to @out as it grows. Every entry belongs to root and has the time 0, so that the archive
    depends only on names, modes and contents.
    """

    def __init__(self, out: Out) -> None:
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
        copy(source, self._out)
        if self._out.tell() - start != size:
            raise ArchiveError(f"{name}: its size changed while it was read")
        self._out.write(b"\0" * (-size % ALIGN))

    def file(self, path: str, data: bytes, mode: int = 0o755) -> None:
        """The file @path of the guest with this content."""
        name = path.lstrip("/")
        self._parents(name)
        self._entry(name, stat.S_IFREG | mode, data)

    def link(self, path: str, target: str) -> None:
        """The link @path to @target."""
        self._parents(path)
        self._entry(path, stat.S_IFLNK | 0o777, os.fsencode(target))

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

    def tree(self, source: str | pathlib.Path, path: str = "") -> None:
        """What lies below the directory @source, below @path."""
        for directory, names, files in os.walk(source):
            names.sort()
            below = os.path.relpath(directory, source)
            for name in sorted(names + files):
                self.copy(os.path.join(directory, name), os.path.normpath(os.path.join(path, below, name)))

    def tar(self, source: str) -> None:
        """Add the members of the tar archive @source."""
        with tarfile.open(source) as archive:
            linked = {os.path.normpath(m.linkname).lstrip("/"): 0 for m in archive if m.islnk()}
            for member in archive:
                name = os.path.normpath(member.name).lstrip("/")
                if not (name == "." or name.startswith("..")):
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
        self._entry(TRAILER, 0, b"")


def copy(source: IO[bytes], out: Out) -> None:
    while chunk := source.read(CHUNK):
        out.write(chunk)


def opened(path: str) -> IO[Any]:
    """The file @path, unpacked if it is compressed."""
    with open(path, "rb") as f:
        start = f.read(8)
    for magic, opener in OPENERS.items():
        if start.startswith(magic):
            return opener(path, "rb")
    return open(path, "rb")


def add_cpio(path: str, out: Out) -> None:
    """Append the cpio archive @path, unpacked."""
    with opened(path) as source:
        if source.read(6) not in NEWC:
            raise ArchiveError("neither a directory nor an archive that is known: tar, or cpio of the kind "
                               "\"newc\"; plain, or compressed with gzip, bzip2 or xz")
        source.seek(0)
        copy(source, out)
    out.write(b"\0" * (-out.tell() % ALIGN))


def add_root(root: str, out: Out) -> None:
    """Append what the directory or archive @root holds."""
    with reading(root, ArchiveError, "the archive is damaged"):
        writer = Writer(out)
        if os.path.isdir(root):
            writer.tree(root)
        elif tarfile.is_tarfile(root):
            writer.tar(root)
        else:
            add_cpio(root, out)
            return
        writer.end()


def archive(files: Mapping[str, bytes], out: Out) -> None:
    """Append the archive of @files, a mapping from guest path to content. All are executable."""
    writer = Writer(out)
    for path, data in files.items():
        writer.file(path, data)
    writer.end()
