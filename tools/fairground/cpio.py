# SPDX-License-Identifier: GPL-2.0-only
"""Archives in the cpio "newc" format, which the kernel unpacks into its root file system.

The kernel accepts several archives one after the other. So we add a file to the initramfs by appending a small archive;
a later file replaces an earlier one with the same name.
"""

import os
from collections.abc import Mapping

REGULAR = 0o100000
ALIGN = 4
HEADER = "070701" + "{:08X}" * 13


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGN)


def _entry(name: str, mode: int, data: bytes, nlink: int = 1) -> bytes:
    raw_name = name.encode() + b"\0"
    header = HEADER.format(0, mode, 0, 0, nlink, 0, len(data), 0, 0, 0, 0, len(raw_name), 0)
    return _padded(header.encode() + raw_name) + _padded(data)


def archive(files: Mapping[str, bytes]) -> bytes:
    """The archive of @files, a mapping from guest path to content. All are executable. Directories must exist."""
    entries = [_entry(path.lstrip("/"), REGULAR | 0o755, data) for path, data in files.items()]
    return b"".join(entries) + _entry("TRAILER!!!", 0, b"")


def append(initramfs: str, files: Mapping[str, bytes], out: str) -> int:
    """Write to @out the archive @initramfs followed by one with @files."""
    with open(initramfs, "rb") as f:
        base = _padded(f.read())
    with open(out, "wb") as f:
        f.write(base + archive(files))
    return os.path.getsize(out)
