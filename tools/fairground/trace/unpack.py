# SPDX-License-Identifier: GPL-2.0-only
"""Programs that unpack a trace for us: a small file may become any size, so what they write has a limit."""

import os
import resource
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from ..machine.image import TraceError

LEAST, TIMES = 1 << 30, 100  # bytes that may be written, at least, and by the size of the file


def _limit(most: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def run(words: Sequence[str | os.PathLike[str]], path: str | os.PathLike[str], **how: Any) -> None:
    """Run the program that unpacks the file @path. TraceError if that becomes too large; CalledProcessError and
    FileNotFoundError as subprocess.run()."""
    most = max(LEAST, TIMES * os.stat(path).st_size)
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, check=True, **how,
                       preexec_fn=lambda: _limit(most))
    except subprocess.CalledProcessError as error:
        if error.returncode == -signal.SIGXFSZ:
            raise TraceError(f"the file becomes larger than {most >> 20} MiB when {words[0]} unpacks it") from error
        raise
