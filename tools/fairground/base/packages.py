# SPDX-License-Identifier: GPL-2.0-only
"""Python packages that Debian 12 does not have: tools/setup.sh puts them into a directory of their own."""

import importlib
import os
import pathlib
import sys
from typing import Any

from .settings import UsageError

SYSTEM = pathlib.Path("/opt/fairground/python")


def directories() -> list[pathlib.Path]:
    """Where tools/setup.sh may have put packages: for all users if root ran it, otherwise for this user; or where
    $FAIRGROUND_PYTHON says."""
    if named := os.environ.get("FAIRGROUND_PYTHON"):
        return [pathlib.Path(named)]
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return [SYSTEM, pathlib.Path(data, "fairground", "python")]


def load(module: str, purpose: str) -> Any:
    """The @module; Debian's, if there is one. UsageError with a sentence if it is missing: @purpose needs it."""
    sys.path += [path for path in map(str, directories()) if path not in sys.path]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(f"{purpose} needs the Python package {module.partition('.')[0]}: sh tools/setup.sh --for "
                         "pictures brings it") from error
