# SPDX-License-Identifier: GPL-2.0-only
"""The fuzzer that learns, with AFL++ and a machine (docs/fuzzing.md)."""

import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

from tests.e2e.conftest import BUILD, ROOT, TIMEOUT_S

ENTRY = bytes([0, 0, 0, 0, 7, 0, 0, 0])  # the first row of the table, as it stands


def fuzz(*words):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/tools:{ROOT}/tools/scripts",
                   "B": os.path.relpath(BUILD, ROOT)}
    return subprocess.run(["flock", f"{BUILD}/user", sys.executable, "-m", "fuzzing", *words], capture_output=True,
                          text=True, cwd=ROOT, env=environment, check=False, timeout=4 * TIMEOUT_S)


def is_running(pid):
    """Nobody waits for a machine whose fuzzer was killed, so it may stay as a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.nightly("scripts of calls after which the kernel stops, or loses something; a fuzzer that learns nothing")
def test_the_fuzzer_learns_and_finds_nothing(tmp_path):
    out = tmp_path / "fuzz"
    done = fuzz("--runs", "1500", "--out", str(out), "--files")
    assert done.returncode == 0, done.stdout + done.stderr
    reached, share = re.search(r"^all places +(\d+) of +1\d{4} +([\d.]+) %$", done.stdout, re.M).groups()
    runs, calls, kept = map(int, re.search(r"^(\d+) scripts, (\d+) calls .* corpus of (\d+); 0 wrong$", done.stdout,
                                           re.M).groups())
    assert int(reached) > 7000 and float(share) > 40
    assert 1400 < runs < 3000 and calls > 5 * runs
    assert kept > 60  # it began with 40
    assert re.search(r"^kernel/fs/pipe\.c +[1-9]\d+ of ", done.stdout, re.M)
    smaller = fuzz("--minimise", "--out", str(out))
    after = re.search(r"corpus: (\d+) scripts of (\d+)$", smaller.stdout, re.M)
    assert smaller.returncode == 0 and 10 < int(after[1]) <= int(after[2]) == kept, smaller.stdout + smaller.stderr


@pytest.mark.nightly("a script that is run alone and whose end is not told")
def test_one_script(tmp_path):
    script = tmp_path / "script"
    script.write_bytes(b"\0" + ENTRY)
    done = fuzz("--run", str(script))
    assert (done.returncode, done.stdout) == (0, f"{script}: nothing is wrong\n"), done.stdout + done.stderr


@pytest.mark.nightly("a fuzzer that was killed and whose machine stays")
def test_a_killed_fuzzer_leaves_nothing(tmp_path):
    script = tmp_path / "script"
    script.write_bytes(b"\0" + ENTRY)
    fuzz("--run", str(script))  # builds the kernel
    words = ("import os, sys; from fuzzing.guest import Guest, machine_of\n"
             f"guest = Guest(machine_of('{BUILD}-cover', 'cfs', '2')); guest.start(); print(guest.pid, flush=True)\n"
             "sys.stdin.read()")
    before = set(os.listdir("/dev/shm"))
    with subprocess.Popen([sys.executable, "-c", words], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": f"{ROOT}/tools:{ROOT}/tools/scripts"}) as proxy:
        machine = int(proxy.stdout.readline())
        assert "qemu" in pathlib.Path(f"/proc/{machine}/cmdline").read_text(encoding="ascii")
        assert not {name for name in os.listdir("/dev/shm") if name.startswith("fairground")} - before
        proxy.kill()
    end = time.monotonic() + TIMEOUT_S
    while is_running(machine):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_script_leaves_the_machine_as_it_was(boot):
    """It takes a CPU and makes a group; the next script, and the shell, find none of that."""
    table = subprocess.run([f"{BUILD}/user/fuzz", "--table"], capture_output=True, text=True, check=True).stdout
    names = [line.split("\t")[1] for line in table.splitlines()]
    rows = [names.index(name) for name in ("write cpu off", "write group max")]
    script = b"\0" + b"".join(bytes([0, 0, row & 255, row >> 8, 7, 0, 0, 0]) for row in rows)
    text = "".join(f"\\{byte:03o}" for byte in script)
    outcome = boot(f"printf '{text}' > /tmp/s; fuzz --replay -n 2 /tmp/s; cat /sys/devices/system/cpu/online; "
                   "ls -d /sys/fs/cgroup/calls", cpus=4, icount=True)
    said = outcome.console.replace("\r", "")
    assert "/tmp/s: nothing is wrong\n0-3\n" in said and "calls: No such file" in said, said
