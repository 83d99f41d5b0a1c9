# SPDX-License-Identifier: GPL-2.0-only
"""What a student hands in: a tree, some files of it, or an archive of either.

Only the regions are taken from it; everything else is the grader's own. What else was changed is found by comparing
with the hand-out, said, and costs points once.
"""

import ast
import bz2
import functools
import gzip
import io
import lzma
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, cast

from ..base import edit
from ..base.errors import DAMAGE
from ..base.tree import ROOT
from . import handout, regions
from .spec import Lab, LabError, Wrong, all_labs

FILE_LIMIT = 1 << 20          # of a file with regions
ARCHIVE_LIMIT = 64 << 20      # of all that an archive unpacks to
MEMBERS_LIMIT = 20_000
ZIP_LIMIT = 128 << 20         # of a zip archive itself
UNPACKED_LIMIT = 1 << 30      # of a tar archive, with what is skipped of it
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
TOO_BIG = f"it is too big: more than {ARCHIVE_LIMIT >> 20} MiB or {MEMBERS_LIMIT} files"
COMPRESSED: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
# what readers of archives raise when bytes are missing, changed or encrypted
DAMAGED = (*DAMAGE, zipfile.BadZipFile, OSError, RuntimeError)
POLICY_LINES = 350
OWN_INCLUDE = re.compile(r'^#include "(?:sched|lib)/[\w/]+\.h"$', re.MULTILINE)
OPERAND = r"(?:%r\w+|-?\d*\(%r\w+\)|\$-?(?:0x)?[\da-fA-F]+)"
INSTRUCTION = re.compile(rf"(?:FUNCTION|END)\(x86_switch_stacks\)|\s+(?:(?:pushq|popq)\s+%r\w+|ret|"
                         rf"(?:movq|leaq|addq|subq|xchgq)\s+{OPERAND},\s*{OPERAND})\s*")
COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)  # one without end: looked for once, not at each /*
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
SKIPPED = {"build", ".git"}  # directories of a student's tree
# C as the compiler reads it: comments, strings and characters; a line that ends with \ goes on in the next
SPLICE = re.compile(r"\\[ \t]*\n")
NO_CODE = re.compile(COMMENT.pattern + r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?P<open>["'])[^\n]*""", re.DOTALL)
RAW_STRING = re.compile(r'\b(?:u8|[uUL])?R"')
DIGRAPHS = {"%:": "#", "<:": "[", ":>": "]"}
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)", re.MULTILINE)
DIRECTIVES = {"define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif"}
FORBIDDEN = {"asm": "has assembly", "__asm__": "has assembly", "__asm": "has assembly",
             "__attribute__": "has an attribute", "__attribute": "has an attribute", "_Pragma": "has a #pragma",
             "__has_include": "looks for a file", "__has_include_next": "looks for a file"}
BUILTIN = re.compile(r"__builtin_(?!(?:ctz|clz|ffs|popcount|expect|unreachable|add_overflow|sub_overflow|mul_overflow|"
                     r"memcpy|memset|constant_p)l*\b)\w+")
PLAIN_C = "what is handed in is plain C, which calls no more than this lab allows"


class Refused(Exception):
    """Nothing of the submission can be graded. One sentence for the student."""


@dataclass(frozen=True)
class Submission:
    """The code of a student, and what else they changed."""

    code: dict[str, str]
    changed: tuple[str, ...] = ()    # files outside of the regions, with what is wrong with each
    notes: tuple[str, ...] = field(default=())


def _cause(error: BaseException) -> str:
    """What @error says, in a line."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")


def _is_skipped(name: str) -> bool:
    return not SKIPPED.isdisjoint(name.split("/"))


class _Files:
    """Files of a submission by their path, wherever the path begins."""

    def names(self) -> Iterator[tuple[str, int]]:
        """(path, size)"""
        raise NotImplementedError

    def read(self, name: str) -> bytes:
        raise NotImplementedError


class _Tree(_Files):
    def __init__(self, root: pathlib.Path) -> None:
        self._root = root

    def names(self) -> Iterator[tuple[str, int]]:
        if not os.access(self._root, os.R_OK | os.X_OK):
            raise Refused(f"the directory {self._root.name} cannot be read: its permissions do not allow it")
        for path in sorted(self._root.rglob("*")):
            name = str(path.relative_to(self._root))
            if not _is_skipped(name) and path.is_file() and not path.is_symlink():
                yield name, path.stat().st_size

    def read(self, name: str) -> bytes:
        return (self._root / name).read_bytes()


class _Zip(_Files):
    def __init__(self, path: pathlib.Path) -> None:
        if path.stat().st_size > ZIP_LIMIT:  # which may be all names
            raise Refused(TOO_BIG)
        self._zip = zipfile.ZipFile(path)

    def names(self) -> Iterator[tuple[str, int]]:
        for info in self._zip.infolist():
            if not info.is_dir() and not _is_skipped(info.filename):
                yield info.filename, info.file_size

    def read(self, name: str) -> bytes:
        with self._zip.open(name) as f:
            return f.read(FILE_LIMIT + 1)


class _Unpacked(io.BufferedIOBase):
    """What a tar archive unpacks to. A few bytes can unpack to more than a host has time and memory for, even where it
    is skipped, or is but a name.
    """

    def __init__(self, path: pathlib.Path) -> None:
        with open(path, "rb") as f:
            begin = f.read(6)
        marks = [mark for mark in COMPRESSED if begin.startswith(mark)]
        self._stream = COMPRESSED[marks[0]](path) if marks else open(path, "rb")

    def tell(self) -> int:
        return int(self._stream.tell())

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= 2 * FILE_LIMIT or self.tell() + size > UNPACKED_LIMIT:
            raise Refused(TOO_BIG)
        return bytes(self._stream.read(size))

    def seek(self, to: int, whence: int = io.SEEK_SET, /) -> int:
        if whence != io.SEEK_SET or to > UNPACKED_LIMIT:
            raise Refused(TOO_BIG)
        return int(self._stream.seek(to))


class _Tar(_Files):
    """What is compressed as a whole is read once, from its beginning to its end."""

    def __init__(self, path: pathlib.Path) -> None:
        self._tar = tarfile.open(fileobj=cast(IO[bytes], _Unpacked(path)), mode="r:")
        self._files: dict[str, bytes] = {}

    def names(self) -> Iterator[tuple[str, int]]:
        for number, info in enumerate(self._tar):
            if number >= 10 * MEMBERS_LIMIT:  # with what is skipped, and directories
                raise Refused(TOO_BIG)
            if _is_skipped(info.name):
                continue
            if info.isfile():
                name = info.name.removeprefix("./")
                yield name, info.size
                f = self._tar.extractfile(info) if info.size <= FILE_LIMIT else None
                self._files[name] = f.read() if f else b""
            elif not info.isdir():
                raise Refused(f"the archive has something that is neither file nor directory: {info.name[:80]}")

    def read(self, name: str) -> bytes:
        return self._files[name]


def _open(path: pathlib.Path) -> _Files:
    if path.is_dir():
        return _Tree(path)
    if not path.exists():
        raise Refused(f"{path}: there is no such file or directory")
    try:
        if path.name.endswith(".zip"):
            return _Zip(path)
        if path.name.endswith(ARCHIVES):
            return _Tar(path)
    except DAMAGED as error:
        raise Refused(f"{path.name} is no archive that can be read ({_cause(error)})") from error
    raise Refused(f"{path.name} is neither a directory nor an archive ({', '.join(ARCHIVES)})")


def _listed(files: _Files) -> dict[str, int]:
    """{path: size} of a submission that is small enough."""
    sizes: dict[str, int] = {}
    total = 0
    for name, size in files.names():
        total += size
        if total > ARCHIVE_LIMIT or len(sizes) >= MEMBERS_LIMIT:
            raise Refused(TOO_BIG)
        sizes[name] = size
    if not sizes:
        raise Refused("it is empty: no file is in it")
    return sizes


def _found(name: str, sizes: dict[str, int]) -> str | None:
    """The path in the submission of file @name: the same, below another directory, or the file alone."""
    ends = [path for path in sizes if path == name or path.endswith("/" + name)]
    if not ends:
        ends = [path for path in sizes if path.rpartition("/")[2] == name.rpartition("/")[2] and path.count("/") <= 1]
    return min(ends, key=len) if ends else None


def _text(files: _Files, path: str, size: int) -> str:
    if size > FILE_LIMIT:
        raise Refused(f"{path} has {size >> 20} MiB; it should have a few hundred lines")
    try:
        text = files.read(path).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise Refused(f"{path} is not UTF-8 text (byte {error.start})") from error
    odd = CONTROL.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        raise Refused(f"{path}:{line} has a control character (0x{ord(odd[0]):02x}), which no source has")
    return text


def _regions_of(lab: Lab, files: _Files, sizes: dict[str, int]) -> tuple[dict[str, str], dict[str, str]]:
    """The files with regions: {their names in the trunk: text}, {name: path in the submission}"""
    found, paths = {}, {}
    for name in lab.files:
        path = _found(name, sizes)
        if path is None:
            raise Refused(f"{name} is not in it; of this lab {' and '.join(lab.files)} are to be handed in")
        found[name], paths[name] = _text(files, path, sizes[path]), path
    return found, paths


def _first_difference(text: str, right: str) -> int:
    lines, wanted = text.splitlines(), right.splitlines()
    pairs = zip(lines, wanted)
    return next((number for number, (a, b) in enumerate(pairs, 1) if a != b), min(len(lines), len(wanted)) + 1)


def _without_end(lab: Lab, name: str, text: str) -> str:
    """What follows from an end line that the @text of the file @name lacks."""
    ends = (regions.end_line(lab, hole) for hole in lab.holes if hole.file == name and not hole.whole)
    return next((f"; the line \"{end.strip()}\" is gone, so your code there ends with its first function"
                 for end in ends if end not in text), "")


def _changes(lab: Lab, files: _Files, sizes: dict[str, int], found: dict[str, str], paths: dict[str, str],
             known: dict[str, str]) -> Iterator[str]:
    """What was changed besides the regions."""
    right = regions.cut(handout.texts(lab), lab)
    outside = regions.outside(right, lab)
    for name, text in regions.outside(found, lab).items():
        if text != outside[name]:
            line = _first_difference(text, outside[name])
            yield (f"{name}: its line {line}, counted without the regions, is not that of the hand-out"
                   + _without_end(lab, name, found[name]))
    base = next((paths[name][:-len(name)] for name in lab.files if paths[name].endswith(name)), None)
    if base is None:
        return
    regions_of_others = {name for other in all_labs() for name in other.files}  # a public tree has stubs there
    for name, was in known.items():
        if name in regions_of_others or name.startswith("labs/") or base + name not in sizes:
            continue
        if sizes[base + name] > FILE_LIMIT or handout.digest(files.read(base + name)) != was:
            yield f"{name}: it is not that of the hand-out"


@functools.cache
def _known() -> dict[str, str]:
    """{file: digest} of what this tree hands out."""
    made_of = handout.manifest(ROOT)
    if made_of:
        return dict(made_of["files"])
    return {name: handout.digest((ROOT / name).read_bytes()) for name in handout.source_files()}


def _code(name: str, text: str) -> str:
    """The C in @text as the compiler reads it: lines joined, no comments, empty strings."""
    text = SPLICE.sub("", text)
    if RAW_STRING.search(text):
        raise Refused(f"{name} has a raw string (R\"...\"), which this course does not use")

    def blank(found: re.Match[str]) -> str:
        if found["open"]:  # to the compiler, all up to the line's end is one thing
            raise Refused(f"{name} has a quotation mark without another in its line: {found[0][:40]}")
        return " " if found[0].startswith("/") else found[0][0] * 2

    text = NO_CODE.sub(blank, text)
    for written, meant in DIGRAPHS.items():
        text = text.replace(written, meant)
    return text


def _check_c(name: str, text: str, refused: tuple[str, ...]) -> None:
    code = _code(name, text)
    if "##" in code:
        raise Refused(f"{name} makes names of pieces (##), so nobody sees what it uses")
    words = re.findall(r"\w+", code)
    for word in refused:
        if word in words:
            raise Refused(f"{name} uses {word}, which is not for this lab")
    for directive in DIRECTIVE.findall(code):
        if directive not in DIRECTIVES:
            what = "includes a file" if directive == "include" else "has a directive that is not for a lab"
            raise Refused(f"{name} {what} (#{directive}); {PLAIN_C}")
    for word in words:
        if word in FORBIDDEN:
            raise Refused(f"{name} {FORBIDDEN[word]} ({word}); {PLAIN_C}")
    if re.search(r"\[\s*\[", code):
        raise Refused(f"{name} has an attribute ([[...]]); {PLAIN_C}")
    builtin = BUILTIN.search(code)
    if builtin:
        raise Refused(f"{name} uses {builtin[0]}; {PLAIN_C}")


def _check_assembly(name: str, text: str) -> None:
    for number, line in enumerate(COMMENT.sub(lambda m: "\n" * m[0].count("\n"), text).splitlines(), 1):
        if line.strip() and not INSTRUCTION.fullmatch(line):
            raise Refused(f"{name}, line {number} of the region: \"{line.strip()[:60]}\" is not for this lab: "
                          "pushq, popq, movq, leaq, addq, subq, xchgq and ret, with registers, numbers and addresses "
                          "such as 8(%rdi), one to a line")


def _check_python(name: str, text: str) -> None:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where, what = getattr(error, "lineno", 0), getattr(error, "msg", error)
        raise Refused(f"{name}:{where}: it is no Python: {what}") from error


def _check_header(name: str, text: str) -> None:
    """A header is read by files that are not the student's, too: its names would be others there."""
    directive = DIRECTIVE.search(_code(name, text))
    if directive:
        raise Refused(f"{name} has a #{directive[1]} in a header, where it would change other files; {PLAIN_C}")


def check_code(lab: Lab, code: dict[str, str]) -> None:
    """Refuse code that reaches for more than it may use. What it calls is checked when it is built."""
    for hole in lab.holes:
        text = code[hole.name]
        if hole.file.endswith(".py"):
            _check_python(hole.file, text)
        if hole.file.endswith(".S"):
            _check_assembly(hole.name, text)
        if not hole.file.endswith((".c", ".h")):
            continue
        if hole.whole:
            lines = text.count("\n")
            if lines > POLICY_LINES:
                raise Refused(f"{hole.file} has {lines} lines; a policy has at most {POLICY_LINES}")
            text = OWN_INCLUDE.sub("", text)
        _check_c(hole.name, text, lab.refused)
        if hole.file.endswith(".h"):
            _check_header(hole.name, text)


def wrong_code(lab: Lab, wrong: Wrong) -> dict[str, str]:
    """The code of a wrong solution. Raises LabError if it cannot be made from the reference."""
    texts = handout.texts(lab)
    try:
        changed = texts | edit.changed(wrong.edits, texts.__getitem__)
    except KeyError as error:
        raise LabError(f"{wrong.where}: the lab has no {error.args[0]}") from error
    except edit.EditError as error:
        raise LabError(f"{wrong.where}: {error}") from error
    if regions.outside(changed, lab) != regions.outside(texts, lab):
        raise LabError(f"{wrong.where}: it changes more than the regions of the lab")
    return regions.read(changed, lab)


def read(lab: Lab, path: pathlib.Path) -> Submission:
    """The submission at @path. Raises Refused."""
    files = _open(path)
    try:
        sizes = _listed(files)
        found, paths = _regions_of(lab, files, sizes)
        try:
            code = regions.read(found, lab)
        except regions.RegionError as error:
            raise Refused(str(error)) from error
        check_code(lab, code)
        changed = tuple(_changes(lab, files, sizes, found, paths, _known()))
        crlf = tuple(f"{name} has CRLF at the ends of lines; it is read as if it had LF"
                     for name in lab.files if sizes[paths[name]] <= FILE_LIMIT and b"\r\n" in files.read(paths[name]))
    except DAMAGED as error:
        if path.is_dir():
            raise Refused(f"{path.name}: a file in it cannot be read ({_cause(error)})") from error
        raise Refused(f"{path.name}: the archive is damaged, breaks off or is locked ({_cause(error)})") from error
    return Submission(code, changed, crlf)
