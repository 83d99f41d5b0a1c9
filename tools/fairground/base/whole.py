# SPDX-License-Identifier: GPL-2.0-only
"""Files that are there as a whole or not at all, also if the disk is full or the program is stopped."""

import contextlib
import os
import pathlib
from collections.abc import Iterator

from .settings import UsageError


def check_place(option: str, path: str) -> None:
    """Refuse, before the work and not after it, a file that cannot be written: @option is how the user named it."""
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise UsageError(f"{option}{path}: there is no such directory")
    if os.path.isdir(path):
        raise UsageError(f"{option}{path}: this is a directory; the name of a file is expected")
    if not os.access(path if os.path.exists(path) else directory, os.W_OK):
        raise UsageError(f"{option}{path}: it cannot be written")


@contextlib.contextmanager
def unfinished(path: str | os.PathLike[str]) -> Iterator[str]:
    """The name under which to write the file @path, with the same suffix. At the end it becomes @path; after an error
    it is removed, and a file that was there stays. What is no regular file is written itself: a device, a pipe."""
    name = os.fspath(path)
    if os.path.exists(name) and not os.path.isfile(name):
        yield name
        return
    stem, suffix = os.path.splitext(os.path.realpath(name))
    part = f"{stem}.part{suffix}"
    try:
        yield part
        os.replace(part, os.path.realpath(name))
    finally:
        with contextlib.suppress(OSError):
            os.remove(part)


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write @data as the file @path."""
    with unfinished(path) as part:
        pathlib.Path(part).write_bytes(data)
