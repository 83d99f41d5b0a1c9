# SPDX-License-Identifier: GPL-2.0-only
"""The fuzzer that learns, with AFL++ and a machine (docs/fuzzing.md)."""

import os
import re
import subprocess
import sys

import pytest

from tests.e2e.conftest import BUILD, ROOT, TIMEOUT_S

ENTRY = bytes([0, 0, 0, 0, 7, 0, 0, 0])  # the first row of the table, as it stands


def fuzz(*words):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/tools:{ROOT}/tools/scripts",
                   "B": os.path.relpath(BUILD, ROOT)}
    return subprocess.run(["flock", f"{BUILD}/user", sys.executable, "-m", "fuzzing", *words], capture_output=True,
                          text=True, cwd=ROOT, env=environment, check=False, timeout=4 * TIMEOUT_S)


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
