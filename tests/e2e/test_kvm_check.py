# SPDX-License-Identifier: GPL-2.0-only
"""The list of programs that `make kvm-check` runs."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.e2e.conftest import BUILD, ROOT, TIMEOUT_S
from fairground.base.settings import make_settings
from fairground.machine import kvm_check, qemu
from fairground.machine.machine import Outcome


@pytest.mark.nightly("a check of make kvm-check that no machine passes")
def test_an_emulated_machine_passes_all(monkeypatch):
    real = kvm_check.run_batch
    monkeypatch.setattr(kvm_check, "run_batch", lambda settings: real(replace(settings, kvm="0")))
    report = list(kvm_check.report(make_settings({"timeout": str(TIMEOUT_S)}, build=BUILD)))
    assert all(row["ok"] for _, row in report), "\n".join(line for lines, _ in report for line in lines)


def test_a_failure_is_told_with_the_end_of_the_console(monkeypatch):
    monkeypatch.setattr(kvm_check, "run_batch", lambda settings: Outcome(1, "one\ntwo\n", "it hangs"))
    report = list(kvm_check.report(make_settings({}, build=BUILD)))
    assert len(report) == len(kvm_check.CHECKS) and not any(row["ok"] for _, row in report)
    assert report[0][0] == ["FAILED   boots on one CPU", "         it hangs", "         | one", "         | two"]


def test_without_hardware_it_says_so():
    if qemu.kvm_works(qemu.candidates()[0]):
        pytest.skip("this host has KVM")
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "kvm-check"], cwd=ROOT,
                          env={"PYTHONPATH": "tools", "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)
    assert done.returncode == 2 and "KVM" in done.stderr.upper() and len(done.stderr.splitlines()) == 1, done.stderr
