# SPDX-License-Identifier: GPL-2.0-only
"""Every field is used with the locks that its structure declares: a kernel of DEBUG=1 SAN=thread notes its accesses."""

import os
import re

import pytest

import guards
from tests.conftest import ROOT
from tests.e2e.conftest import settings
from tests.e2e.test_debug import build_kernel
from fairground.machine.machine import run_batch

GROUPS = """cd /sys/fs/cgroup; echo +cpu > cgroup.subtree_control
for g in 1 2; do
  mkdir g$g; mkdir g$g/h; echo $$ > g$g/cgroup.procs; hog -n 4 -t 200ms > /dev/null; cat g$g/cpu.stat > /dev/null
  echo $$ > cgroup.procs; rmdir g$g/h g$g
done
hotplugstorm -n 5; swapstorm -n 5; perfcheck
cgroupcheck occupied removed v1_bandwidth v2_max v2_stat v2_threaded own_group users_of_v1 fdl_removal writers; true
"""  # not those of a thousand groups, and one storm: others take minutes, and no field is seen there alone
# Each access is a call: too slow for bounds on time, so only the machine's end counts.
RUNS = ["taskcheck; true", "filecheck; true", "fuzz -n 6000 -s 3 scripts; true", GROUPS]


@pytest.fixture(scope="module")
def guards_build(tmp_path_factory):
    return build_kernel(tmp_path_factory.mktemp("guards"), "guards", "DEBUG=1", "SAN=thread")


def memory_after(build, command, directory, **more):
    """What is in a machine's memory once it has run @command."""
    ram = os.path.join(directory, "ram")
    how = settings(command, ram_file=ram, **more)
    how.build = build
    outcome = run_batch(how)
    assert outcome.status == 0, outcome.console
    with open(ram, "rb") as file:
        return file.read()


@pytest.mark.nightly("a field that is written, or read, without the lock that its structure declares")
def test_fields_are_used_as_declared(guards_build, tmp_path, monkeypatch):
    """Of every field that docs/fields.md calls checked an access is seen."""
    monkeypatch.chdir(ROOT)
    memories = [memory_after(guards_build, command, tmp_path) for command in RUNS]
    verdict = guards.compare(os.path.join(guards_build, "fairground.elf"), memories)
    assert not verdict.wrong, "\n".join(verdict.wrong)
    checked = {f"{g.kind}.{m}" for g in guards.declared() if guards.is_checked(g) for m in g.members}
    checked = {name for name in checked if not name.startswith("misused.")}
    assert len(checked) > 100 and not checked - set(verdict.seen), sorted(checked - set(verdict.seen))


@pytest.mark.nightly("a check of the locks of fields that sees nothing")
def test_a_field_that_is_used_otherwise_is_said(guards_build, tmp_path, monkeypatch):
    """With the function, the locks, and the rule; and a field that is used rightly is not."""
    monkeypatch.chdir(ROOT)
    memory = memory_after(guards_build, "", tmp_path, append="selftest=guards*")
    verdict = guards.compare(os.path.join(guards_build, "fairground.elf"), [memory])
    said = {sentence.split(" by ")[0]: sentence for sentence in verdict.wrong if sentence.startswith("misused.")}
    place = r"use \(kernel/base/guards_test.c:\d+, called by misuse\) with "
    for field, held in (("written_without is written", "no lock; declared: lock"),
                        ("read_without is read", "no lock; declared: lock"),
                        ("with_another_lock is written", "misused; declared: lock"),
                        ("torn is written", "no lock; declared: atomic"),
                        ("changing is written", "no lock; declared: constant")):
        assert re.search(place + held, said[f"misused.{field}"]), said
    assert verdict.seen["misused.right"] and not any("misused.right" in name for name in said)
