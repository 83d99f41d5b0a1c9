# SPDX-License-Identifier: GPL-2.0-only
"""The box of labs: what a program under test, and a tool beside it, can reach, and what ends it."""

import concurrent.futures
import contextlib
import errno
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]

from fairground.lab import box, spec
from tests.tools.test_machine import marked_processes

HEAD = "".join(f"#include <{name}>\n" for name in (
    "errno.h", "fcntl.h", "pthread.h", "signal.h", "stdio.h", "stdlib.h", "string.h", "sys/mman.h", "sys/socket.h",
    "sys/stat.h", "sys/syscall.h", "sys/wait.h", "unistd.h"))
LIMITS = box.Limits(cpu_s=1, wall_s=20, memory_mb=200)
CLOSED, OPENS = box.View(()), box.View((), opens=True)


@pytest.fixture(name="program")
def a_program(tmp_path):
    """program(code, view, **more) runs the body of a main() in the box."""
    def run(code, view=CLOSED, limits=LIMITS, words=(), flags=(), **more):
        (tmp_path / "a.c").write_text(f"{HEAD}int main(int argc, char **argv)\n{{\n{code}\n}}\n", encoding="utf-8")
        subprocess.run(["gcc", "-w", "-g", "-O1", *flags, "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
        return box.program(["./a", *words], tmp_path, limits, view, **more)
    return run


@pytest.mark.parametrize("code", [
    'execl("/box/a", "a", NULL);', "fork();", "vfork();", "kill(1, SIGKILL);", 'unlink("a");', 'rename("a", "b");',
    'mkdir("b", 0700);', "setsid();", "socket(AF_INET, SOCK_STREAM, 0);", "syscall(SYS_ptrace, 0, 1, 0, 0);",
    'symlink("a", "b");', "int p[2]; pipe(p);", 'system("id");', "syscall(SYS_getpid | 0x40000000);",
    "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);", 'truncate("a", 0);', "setpgid(0, 0);",
    "syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0);", "syscall(SYS_io_uring_setup, 1, 0);",
    'asm("syscall" : : "a"(SYS_fork));'])
@pytest.mark.parametrize("view", [CLOSED, OPENS], ids=["closed", "opens"])
def test_a_system_call_that_reaches_out_ends_the_program(program, code, view):
    ended = program(f'{code}\nputs("reached");', view)
    assert ended.status == -signal.SIGSYS and "reached" not in ended.text and not ended.timed_out
    assert "files, processes or network" in ended.how


@pytest.mark.parametrize("code", [
    "syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
    "syscall(SYS_mmap, page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)",
    "syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE)", "syscall(SYS_mremap, page, 4096, 8192, 1)"])
def test_a_program_cannot_change_its_code(program, code):
    """Nor the table of what it calls in libraries. One that loads libraries later can."""
    code = f"char *page = (char *)((long)main & -4096); return {code} < 0 ? errno : 0;"
    assert [program(code, view).status for view in (CLOSED, OPENS)] == [errno.EACCES] * 2
    assert program(code, box.View((), loads=True)).status != errno.EACCES


def test_memory_is_given(program):
    assert program("return !memset(malloc(1 << 23), 1, 1 << 23);").status == 0


@pytest.mark.parametrize("code, status", [
    ("pid_t p = fork(); if (!p) { syscall(SYS_ptrace, 0, 0, 0, 0); __builtin_trap(); } int s; "
     "return waitpid(p, &s, 0) == p && WIFSTOPPED(s) && !syscall(SYS_ptrace, 7, p, 0, SIGKILL) ? 5 : 6;", 5),
    ('execl("/box/a", "a", NULL);', -signal.SIGSYS), ("kill(1, SIGKILL);", -signal.SIGSYS),
    ('unlink("a");', -signal.SIGSYS), ("setsid();", -signal.SIGSYS)])
def test_a_judge_may_start_and_trace_a_process(program, code, status):
    """And nothing more; what it traces is in the same box, of which no process is left."""
    assert program(code, box.View((), opens=True, traces=True)).status == status


def test_there_is_nothing_to_read(program, tmp_path):
    """Neither the host's files nor the tree's, but what is in its view; and nothing at all where it may not open."""
    (tmp_path / "given").write_text("for you", encoding="utf-8")
    (tmp_path / "secret").write_text("not for you", encoding="utf-8")
    code = "".join(f'printf("%d ", open("{name}", {how}) >= 0);' for name, how in (
        ("given", "O_RDONLY"), ("secret", "O_RDONLY"), (str(ROOT / "README.md"), "O_RDONLY"),
        (f"{tmp_path}/secret", "O_RDONLY"), ("/etc/passwd", "O_RDONLY"), (f"/proc/{os.getpid()}/environ", "O_RDONLY"),
        ("given", "O_RDWR"), ("new", "O_WRONLY | O_CREAT, 0600"), ("/proc/self/environ", "O_RDONLY")))
    assert program(code, box.View(("given",), opens=True)).text == "1 0 0 0 0 0 0 0 1 "
    assert program(code, box.View(("given",))).text == "0 " * 9
    assert program('printf("%s", getenv("HOME"));').text == "(null)"


def test_what_does_not_end_or_eats_memory_is_ended(program):
    assert program("for (;;) ;").timed_out
    assert program("abort();").how == "it was ended by SIGABRT"
    assert program("return 5;").status == 5
    left = program('puts("ok 1 - all"); fflush(stdout); syscall(SYS_exit_group, 0);')  # as machine code would
    assert left.status == box.LEFT and "before it was through" in left.how
    assert program("for (long i = 0;; i++) { char *p = malloc(1 << 20); if (!p) return 7; memset(p, 1, 1 << 20); }"
                   ).status == 7
    assert program("static volatile char all[1 << 28]; return all[argc];").status == -signal.SIGSEGV  # it never began
    sleeps = program("sleep(100);", limits=box.Limits(cpu_s=1, wall_s=1))
    assert sleeps.timed_out and sleeps.how == "it did not end"


def test_a_program_may_be_stopped_for_a_while(program, tmp_path):
    """Its kernel goes on with an interrupted sleep by a call of its own."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        ended = pool.submit(program, 'for (int i = 0; i < 40; i++) usleep(50000);\nputs("slept");',
                            environment={"MARK": str(tmp_path)})
        while not ended.done():
            for pid in marked_processes(f"MARK={tmp_path}"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                    os.kill(pid, signal.SIGCONT)
            time.sleep(0.02)
    assert ended.result().text == "slept\n"


def test_a_sanitizer_says_where(program):
    options = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:hard_rss_limit_mb=300"}
    how = {"view": OPENS, "limits": box.Limits(5, 20), "flags": ("-O0", "-fsanitize=address,undefined"),
           "environment": options}
    ended = program("char *p = malloc(3);\nmemset(p, 0, 3 + argc);", **how)
    assert "heap-buffer-overflow" in ended.text and "in main" in ended.text and "a.c:" in ended.text
    assert "hard rss limit exhausted" in program("for (;;) memset(malloc(1 << 20), 1, 1 << 20);", **how).text


def test_a_flood_of_output_is_cut_and_the_record_is_kept(program, tmp_path):
    record = tmp_path / "record"
    done = program('FILE *f = fdopen(atoi(argv[1] + strlen("/dev/fd/")), "w"); fprintf(f, "kept\\n"); fflush(f);\n'
                   'for (int i = 0; i < 100000; i++) puts("thirty characters of nothing much");',
                   words=["RECORD"], record=record)
    assert done.status == 0 and 200_000 < len(done.text) < 300_000
    assert record.read_text(encoding="utf-8") == "kept\n"


def test_a_tool_sees_its_own_tree_and_leaves_no_process(tmp_path):
    def said(command):
        return box.tool(["sh", "-c", command], tmp_path, box.Limits(5, 20, writes_files=True), dict(os.environ))

    assert not said(f"ls {ROOT}").text
    assert said("echo mine > here; cat here").text == "mine\n" and (tmp_path / "here").exists()
    assert said("echo x > /etc/here").status and "Read-only" in said("echo x > /etc/here").text
    assert said(f"{sys.executable} -c 'import socket; print([name for _, name in socket.if_nameindex()])'"
                ).text.strip() == "['lo']"
    said("setsid sh -c 'exec 9>held; flock 9; echo > begun; exec sleep 1000' >/dev/null 2>&1 & "
         "until [ -s begun ]; do sleep 0.05; done")
    assert not subprocess.run(["flock", "-w", "600", tmp_path / "held", "true"], check=False).returncode  # it has ended


def test_a_host_without_namespaces_is_refused_and_trust_is_a_choice(monkeypatch, program):
    monkeypatch.setattr(box, "why_not", lambda: box.NO_BOX.format(" is not installed"))
    with pytest.raises(spec.LabError, match="--trusted grades your own work"):
        program('puts("ran");')
    monkeypatch.setattr(box, "trusted", True)
    assert program('puts("ran");').text == "ran\n"
    assert program("fork();").status == -signal.SIGSYS  # system calls are taken away all the same
