# SPDX-License-Identifier: GPL-2.0-only
"""Runs a student's filter, FILE, as a program: guard.py FILE MODULE... It reads sys.stdin, prints, may use the modules,
and reaches nothing else.

Python says of itself whatever it is about to do that another program could notice (PEP 578). All but what the modules
of a filter need is refused here, however the filter came by it. No Python code can take the hook away again.
"""

import importlib
import sys

# Classes and named tuples are made by compile() and exec(); frames tell which module does so.
HARMLESS = {"compile", "exec", "sys._getframe", "sys._getframemodulename", "sys.excepthook", "sys.unraisablehook",
            "builtins.input", "builtins.input/result", "builtins.id", "object.__getattr__", "object.__setattr__",
            "object.__delattr__"}


def refuse(event: str, _: object) -> None:
    if event not in HARMLESS:
        raise PermissionError(f"a filter reads sys.stdin and prints; it may not do more ({event})")


def main() -> None:
    path, *modules = sys.argv[1:]
    for name in modules:
        importlib.import_module(name)
    with open(path, encoding="utf-8") as f:
        code = compile(f.read(), path, "exec")
    sys.argv = [path]
    sys.addaudithook(refuse)
    exec(code, {"__name__": "__main__"})  # pylint: disable=exec-used


if __name__ == "__main__":
    main()
