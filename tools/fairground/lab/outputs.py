# SPDX-License-Identifier: GPL-2.0-only
"""Files that a command writes: is there a place for them, before any work; and all of a file or nothing of it.

Whatever goes wrong is one sentence for the user.
"""

import contextlib
import os
import pathlib
import stat
from collections.abc import Iterator

from ..base.settings import UsageError


@contextlib.contextmanager
def sentence(path: pathlib.Path) -> Iterator[None]:
    """Within, an error of the system is a sentence about @path."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def is_stream(path: pathlib.Path) -> bool:
    """Is @path a pipe, a device or a link, which is written through and never replaced?"""
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _beside(path: pathlib.Path) -> pathlib.Path:
    """A name in the directory of @path that no other process uses."""
    return path.with_name(f".fairground-{os.getpid()}.new")


def _try_to_open(path: pathlib.Path, replaced: bool = True) -> None:
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(0, "Permission denied")
    if is_stream(path):
        if path.is_dir():
            raise IsADirectoryError(0, "Is a directory")
        return  # a pipe that is opened would wait for its reader
    if path.exists() and not replaced:
        return
    new = _beside(path)
    try:
        new.touch()
    finally:
        new.unlink(missing_ok=True)


def check(path: pathlib.Path, replaced: bool = True) -> None:
    """Refuse, before the work and not after it, a file that cannot be written. One that gets more at its end is not
    @replaced.
    """
    with sentence(path):
        if not path.name:
            raise IsADirectoryError(0, "Is a directory")
        _try_to_open(path, replaced)


def check_directory(path: pathlib.Path) -> None:
    """Make the directory @path, and refuse one in which no file can be written."""
    with sentence(path):
        path.mkdir(parents=True, exist_ok=True)
        _try_to_open(path / ".new")


def write(path: pathlib.Path, text: str) -> None:
    """Write the file @path. A reader sees the old one or the new one and never half of one, if it is a file."""
    data = text.encode("utf-8", "backslashreplace")  # a name of a file may be no text
    with sentence(path):
        if is_stream(path):
            path.write_bytes(data)
            return
        new = _beside(path)
        try:
            new.write_bytes(data)
            os.replace(new, path)
        finally:
            new.unlink(missing_ok=True)


def append(path: pathlib.Path, text: str) -> None:
    """Add @text to the file @path."""
    with sentence(path), open(path, "a", encoding="utf-8") as f:
        f.write(text)
