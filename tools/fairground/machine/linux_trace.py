# SPDX-License-Identifier: GPL-2.0-only
"""Record a command on a Debian kernel in our machine: the same initramfs, the host's trace-cmd, counted time."""

import base64
import binascii
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

from ..base.expect import Missing
from ..base.settings import Settings
from .linux import END, MARK, on_linux, sections
from .machine import Machine

TRACER = "trace-cmd"
TRACE = "trace"
FILE = "/linux.dat"
# Linux puts some things off after its start, and does not wait for its console before it powers down.
# The tracer copies the list of the kernel's symbols, which no event of the scheduler needs: 7 MB on a slow console.
SCRIPT = f"""\
sleep 4
mount -o bind /dev/null /proc/kallsyms
cd /
{TRACER} record -q --compression none %s -o {FILE} sh -c %s || echo failed
echo '{MARK}{TRACE}'
base64 {FILE}
echo '{END}'
sleep 1
"""


def record_on_linux(settings: Settings, release: str, command: str, out: str, events: Iterable[str]) -> None:
    """Run @command on Debian's kernel @release and save the trace of @events as @out, a trace.dat of Linux's own.

    Missing: the kernel or the tracer is not there, or the command failed.
    """
    tracer = shutil.which(TRACER)
    if tracer is None:
        raise Missing(f"{TRACER} is not installed: sh tools/setup.sh --compare brings it")
    script = SCRIPT % (" ".join(f"-e {event}" for event in events), shlex.quote(command))
    with Machine(on_linux(settings, release, script, own_files=tracer)) as machine:
        outcome = machine.run()
    found = sections(outcome.console)
    try:
        data = base64.b64decode("".join(found[TRACE].split()), validate=True)
    except (KeyError, binascii.Error):
        data = b""
    if not data or "failed" in outcome.console.split(MARK + TRACE)[0].splitlines()[-1:]:
        raise Missing(f"Linux {release} left no trace of {command}: {outcome.problem or outcome.console[-500:]}")
    Path(out).write_bytes(data)
