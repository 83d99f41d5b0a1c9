# SPDX-License-Identifier: GPL-2.0-only
"""The vDSO in use: C libraries call it and make no system call, which memcheck cannot see."""

import os
import re
import subprocess

import pytest

pytestmark = pytest.mark.exact

BUILD = os.path.abspath(os.environ.get("B", "build"))
NAMES = "vdso-mappings vdso-clocks vdso-times vdso-cpu-number vdso-read-only vdso-private-copy vdso-unmapped"

# The average cost of one call: ns are instructions under icount.
SOURCE = r"""
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
int main(void)
{
    struct timespec start, end, ts;
    struct timeval tv;

    clock_gettime(CLOCK_MONOTONIC, &start); /* binds the symbol, maps the pages */
    gettimeofday(&tv, 0);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < 1000; i++) {
        clock_gettime(CLOCK_REALTIME, &ts);
        gettimeofday(&tv, 0);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%ld ns a call\n", (end.tv_sec - start.tv_sec) * 500000 + (end.tv_nsec - start.tv_nsec) / 2000);
    return 0;
}
"""
SYSCALL_NS = 100  # far below the cost of any system call, which bench measures


def cost(text):
    return int(re.search(r"(\d+) ns a call", text)[1])


@pytest.fixture(scope="module", params=["musl-gcc -static", "gcc -static", "gcc"])
def program(request, tmp_path_factory):
    """The program built one way: (guest path -> bytes, command that runs it)."""
    directory = tmp_path_factory.mktemp("vdso")
    (directory / "clock.c").write_text(SOURCE)
    binary = directory / "clock"
    subprocess.run([*request.param.split(), "-O2", "-o", binary, directory / "clock.c"], check=True)
    files = {"/root/clock": binary.read_bytes()}
    loaded = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
    put = ""
    for i, path in enumerate(re.findall(r"(/\S+) \(0x", loaded)):
        with open(path, "rb") as f:
            files[f"/root/file{i}"] = f.read()
        put += f"mkdir -p {os.path.dirname(path)}; cp /root/file{i} {path}; "
    return files, f"{put} /root/clock"


def test_libraries_use_it(guest, program):
    files, command = program
    assert cost(guest(command, cpus=1, icount=True, files=files)) < SYSCALL_NS


@pytest.mark.parametrize("append", ["vdso=0", "tsc=unstable"])
def test_without_it_there_are_system_calls(guest, program, append):
    files, command = program
    text = guest(f"{command}; cat /proc/self/maps", cpus=1, icount=True, files=files, append=append)
    assert cost(text) > SYSCALL_NS
    assert ("[vdso]" in text) == (append != "vdso=0")


def test_fallback_is_complete(guest):
    """With a TSC that is not a clock every function still works, by system calls."""
    assert re.search(r"^7 passed, 0 failed", guest(f"memcheck {NAMES}", cpus=2, append="tsc=unstable"), re.M)


def test_nodes(guest):
    assert "1 passed, 0 failed" in guest("memcheck vdso-cpu-number", cpus=4, numa=2)


def test_a_new_time_is_seen_at_once(guest):
    text = guest("date -s '2030-05-06 07:08:09'; date '+%Y-%m-%d %H:%M'", cpus=2)
    assert re.search(r"^2030-05-06 07:08$", text, re.M)
