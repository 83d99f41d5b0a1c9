# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures of all end-to-end tests: `boot` runs one command on the machine and returns how it ended.

Without icount=True a machine runs as fast as it can, with real concurrency, and a test must not look at times.
With icount=True times are exact, and an instruction takes 8 ns: a second has an eighth of the instructions, and takes
an eighth of the host's time. In a test marked "exact", which judges what the kernel's own work costs, it takes 1 ns; in
one marked "coarse", which judges shares of long runs, 32 ns: what the kernel does then takes four times as long.
"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
from dataclasses import replace

import pytest


from fairground.machine.machine import run_batch
from fairground.base.settings import make_settings
from tests.conftest import BUILD, ROOT, spent_s

SHIFT = 3  # of machines with icount: the time of an instruction is 2^SHIFT ns
SHIFTS = {"exact": 0, "coarse": 5}  # of tests with these marks, the first that there is
# The shell goes to the control groups of version 1. Those of version 2 are at /sys/fs/cgroup.
V1 = "mkdir /cg; mount -t cgroup -o cpu cgroup /cg; cd /cg; "
TIMEOUT_S = 900  # this only ends machines that hang: the slowest test takes 30 s of a host that has nothing else to do


def settings(cmd="", cpus=4, icount=False, timeout=TIMEOUT_S, files=None, ram_file="", **texts):
    """The settings of a run. Hardware virtualization would make runs differ between hosts, so it is off.

    Boot parameters reach the kernel as they are: what the runner refuses is test_badinput's subject. $APPEND, those of
    whoever runs the tests, come first.
    """
    append = f"{os.environ.get('APPEND', '')} {texts.pop('append', '')}".strip()
    given = {"cmd": cmd, "smp": str(texts.pop("smp", cpus)), "icount": str(int(icount)), "timeout": str(timeout),
             "kvm": "0", **{name: str(value) for name, value in texts.items()}}
    return replace(make_settings(given, build=BUILD, files=files or {}, ram_file=ram_file), append=append)


# The last line that a program of checks prints if all of them passed.
PASSED = re.compile(r"^[1-9]\d* passed, 0 failed$", re.MULTILINE)


def on_linux(words, **how):
    """Run a program of the guest on this machine, with the priority that programs have there (if it may be set).

    Processes that a failed check leaves behind end with it.
    """
    def as_in_the_guest():
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)
    with tempfile.TemporaryFile("w+") as told:
        program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=told, stderr=subprocess.STDOUT,
                                   preexec_fn=as_in_the_guest, start_new_session=True, **how)
        try:
            status = program.wait(TIMEOUT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
        told.seek(0)
        return subprocess.CompletedProcess(words, status, told.read())


def dynamic_program(path, most=8):
    """The program @path of this machine and the files it loads, @most of them: (a command that puts them in their
    places, files). The program is then /root/NAME.
    """
    loaded = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    libraries = re.findall(r"(/\S+) \(0x", loaded)
    if not libraries or len(libraries) > most:
        pytest.skip(f"{path} is no small dynamic program")
    contents = {f"/root/{os.path.basename(path)}": path, **{f"/root/{os.path.basename(at)}": at for at in libraries}}
    put = "".join(f"mkdir -p {os.path.dirname(at)}; mv /root/{os.path.basename(at)} {at}; " for at in libraries)
    return put, {name: pathlib.Path(at).read_bytes() for name, at in contents.items()}


@pytest.fixture
def boot(request, record_property):
    """boot(cmd, cpus=4, icount=False, ...) runs cmd and returns the Outcome."""
    shift = next((SHIFTS[mark] for mark in SHIFTS if request.node.get_closest_marker(mark)), SHIFT)

    def run(cmd="", **how):
        if how.get("icount"):
            how.setdefault("shift", shift)
        before = spent_s()
        outcome = run_batch(settings(cmd, **how))
        record_property("boot", {"cpu_s": round(spent_s() - before, 2)})
        return outcome
    return run


@pytest.fixture
def guest(boot):
    """guest(cmd, ...) returns what cmd printed; it must end with status 0."""
    def run(cmd, **how):
        outcome = boot(cmd, **how)
        assert outcome.status == 0, f"{outcome.problem}\n{outcome.console}"
        return outcome.console
    return run
