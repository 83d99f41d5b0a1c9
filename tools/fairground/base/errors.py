# SPDX-License-Identifier: GPL-2.0-only
"""What a command says and ends with when the user's input cannot be used, and the one place that makes a sentence of
a file that is damaged."""

import contextlib
import lzma
import os
import signal
import struct
import subprocess
import tarfile
import zlib
from collections.abc import Iterator

from .expect import Missing

# Exceptions of code that reads a file whose bytes make no sense. MemoryError: such bytes ask for a size nobody meant.
DAMAGE = (Missing, struct.error, ValueError, LookupError, ArithmeticError, RecursionError, MemoryError, EOFError,
          zlib.error, lzma.LZMAError, tarfile.TarError)


class InputError(Exception):
    """A setting, an option or a file that a command cannot use. The text is one sentence for the user."""


class FileError(InputError):
    """What is in a file is not what is expected there, or is damaged. The text does not name the file."""


def why_failed(done: subprocess.CompletedProcess[str]) -> str:
    """Why the program @done failed: its own words, or how it was ended without any."""
    ended = f"status {done.returncode}" if done.returncode > 0 else \
        f"ended by signal {-done.returncode}, {signal.strsignal(-done.returncode)}"
    return done.stderr.strip() or ended


@contextlib.contextmanager
def damage(kind: type[InputError], sentence: str) -> Iterator[None]:
    """Within, a file is read. What is wrong with it becomes an error of @kind: with this @sentence if its bytes make no
    sense."""
    try:
        yield
    except kind:
        raise
    except FileError as error:
        raise kind(str(error)) from error
    except DAMAGE as error:
        raise kind(sentence) from error


@contextlib.contextmanager
def reading(path: str | os.PathLike[str], kind: type[InputError],
            sentence: str = "the file is damaged") -> Iterator[None]:
    """As damage(), and the sentence begins with the name of the file, @path. Also if it cannot be opened."""
    try:
        with damage(FileError, sentence):
            yield
    except BrokenPipeError:  # of the output
        raise
    except (OSError, FileError) as error:
        raise kind(f"{path}: {getattr(error, 'strerror', None) or error}") from error
