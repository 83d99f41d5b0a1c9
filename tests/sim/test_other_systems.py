# SPDX-License-Identifier: GPL-2.0-only
"""The simulator's sources are nobody's in particular: clang takes them for macOS on arm64, with headers that know
nothing of Linux's own."""

import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import ROOT

MUSL = "/usr/include/x86_64-linux-musl"
# Musl's header has MADV_HUGEPAGE and macOS's has not.
OVERLAY = """#pragma push_macro("MADV_HUGEPAGE")
#undef MADV_HUGEPAGE
#include_next <sys/mman.h>
#undef MADV_HUGEPAGE
#pragma pop_macro("MADV_HUGEPAGE")
"""
# Musl has no such header, and glibc's needs glibc.
BACKTRACE = "int backtrace(void **frames, int nr);\n"
STANDARD = {"assert", "ctype", "errno", "limits", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint",
            "stdio", "stdlib", "string", "time"}
# Of all these macOS has a copy.
POSIX = {"dlfcn", "execinfo", "fcntl", "getopt", "sys/ioctl", "sys/mman", "sys/stat", "sys/time", "unistd"}
JSON = {"jsmn"}


def compiled():
    """(file, the words that compile it) for each file of the simulator, where `uname -s` says Darwin."""
    said = subprocess.run(["make", "-nB", "sim", "CC=clang"], cwd=ROOT, capture_output=True, text=True, check=True,
                          env={**os.environ, "SIM_SYSTEM": "Darwin", "MAKEFLAGS": ""}).stdout
    lines = [shlex.split(line) for line in said.replace("\\\n", " ").splitlines() if re.search(r"^clang .* -c ", line)]
    return [(words[words.index("-c") + 1], words) for words in lines]


def test_no_header_is_of_one_system():
    for path, _ in compiled():
        with open(os.path.join(ROOT, path), encoding="utf-8") as source:
            found = set(re.findall(r"^#include <([\w/]+)\.h>", source.read(), re.MULTILINE))
        assert found <= STANDARD | POSIX | JSON, path


@pytest.mark.nightly("a simulator that clang does not compile for macOS")
def test_clang_compiles_it_for_macos(tmp_path):
    if not shutil.which("clang") or not os.path.isdir(MUSL):
        pytest.skip("clang or musl is not here: sh tools/setup.sh --test")
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/mman.h").write_text(OVERLAY)
    (tmp_path / "execinfo.h").write_text(BACKTRACE)
    target = ["--target=arm64-apple-macos12", "-nostdlibinc", "-isystem", str(tmp_path), "-isystem", MUSL, "-idirafter",
              "/usr/include", "-fsyntax-only"]

    def check(each):
        path, words = each
        without = [word for word in words if word not in ("-MMD", "-MP")]
        done = subprocess.run([*without[:-2], *target], cwd=ROOT, capture_output=True, text=True, check=False)
        return path, done.stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(check, compiled()))
    assert len(said) > 100 and [each for each in said if each[1]] == []
