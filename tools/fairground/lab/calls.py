# SPDX-License-Identifier: GPL-2.0-only
"""The system calls that a program under test may make, as the kernel's filter (seccomp) wants to have them.

Whatever is not here ends the program with SIGSYS: it starts no process, but for a judge that traces what it starts,
sends no signal, makes no connection, and changes no file. Files it may open for reading only, and what there is to
read, box.py decides.
"""

import errno
import struct
from collections.abc import Iterable

# Numbers of x86-64.
MAY = {
    "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "munmap": 11, "brk": 12, "rt_sigaction": 13,
    "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "readv": 19, "writev": 20, "sched_yield": 24,
    "madvise": 28, "nanosleep": 35, "setitimer": 38, "getpid": 39, "exit": 60, "fcntl": 72, "getrlimit": 97,
    "getrusage": 98, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "sigaltstack": 131,
    "arch_prctl": 158, "gettid": 186, "time": 201, "futex": 202, "sched_getaffinity": 204, "set_tid_address": 218,
    "restart_syscall": 219, "clock_gettime": 228, "clock_nanosleep": 230, "exit_group": 231, "tgkill": 234,
    "set_robust_list": 273, "prlimit64": 302, "getrandom": 318, "rseq": 334}
LOOKS = {"stat": 4, "lstat": 6, "access": 21, "getcwd": 79, "readlink": 89, "getdents64": 217,
         "newfstatat": 262, "readlinkat": 267, "statx": 332, "faccessat2": 439}
HARMLESS = {"ioctl": 16, "dup": 32, "uname": 63, "sysinfo": 99, "prctl": 157}  # C libraries ask; they get an error
TRACES = {"clone": 56, "wait4": 61, "ptrace": 101}
MAPS, CHANGES_MAPS = 9, {"mprotect": 10, "mremap": 25}  # mmap, and what could make code or tables writable
OPENS = {"open": (2, 24), "openat": (257, 32)}  # number, and where the kernel puts its flags

ARCH_X86_64 = 0xC000003E
FIRST_X32 = 0x40000000        # numbers of another interface to the same calls
WRITES = 0o3 | 0o100 | 0o1000  # O_ACCMODE, O_CREAT, O_TRUNC
PROT_EXEC = 4
WHERE_HIGH, PROT = 20, 32  # where the kernel puts the upper half of the address of mmap, and what it may be used for
PROGRAMS = 0x5500, 0x5700   # in that half: where the kernel puts programs, and no library or memory
NUMBER, ARCH = 0, 4  # where the kernel puts the number of a call and the architecture
LOAD, AND, EQUAL, NOT_LESS, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
KILL, ALLOW, ERROR = 0x80000000, 0x7FFF0000, 0x00050000


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _each(numbers: Iterable[int], answer: int) -> list[bytes]:
    """@answer to each of @numbers; any other goes on below."""
    steps = []
    for number in numbers:
        steps += [_step(EQUAL, number, 0, 1), _step(RETURN, answer)]
    return steps


def _for_reading(number: int, flags: int) -> list[bytes]:
    """Allow the call @number if its @flags, at that place, change nothing; any other goes on below."""
    return [_step(EQUAL, number, 0, 5), _step(LOAD, flags), _step(AND, WRITES), _step(EQUAL, 0, 0, 1),
            _step(RETURN, ALLOW), _step(RETURN, ERROR | errno.EACCES)]


def _data_only() -> list[bytes]:
    """Let mmap give memory, but none that is executed, nor in place of the program; any other call goes on below."""
    refuse = _step(RETURN, ERROR | errno.EACCES)
    return [_step(EQUAL, MAPS, 0, 8), _step(LOAD, PROT), _step(AND, PROT_EXEC), _step(EQUAL, 0, 0, 4),
            _step(LOAD, WHERE_HIGH), _step(NOT_LESS, PROGRAMS[1], 1, 0), _step(NOT_LESS, PROGRAMS[0], 1, 0),
            _step(RETURN, ALLOW), refuse]


def filter_of(opens: bool, traces: bool = False, loads: bool = False) -> bytes:
    """The filter of a program that may open files for reading if it @opens, and none otherwise; that may start
    processes of its own, and have them go step by step, if it @traces; and that may make memory code, if it @loads it.
    """
    steps = [_step(LOAD, ARCH), _step(EQUAL, ARCH_X86_64, 1, 0), _step(RETURN, KILL),
             _step(LOAD, NUMBER), _step(NOT_LESS, FIRST_X32, 0, 1), _step(RETURN, KILL),
             *_each(MAY.values(), ALLOW), *_each(HARMLESS.values(), ERROR | errno.EACCES)]
    if traces:
        steps += _each(TRACES.values(), ALLOW)
    if loads or traces:
        steps += _each([MAPS, *CHANGES_MAPS.values()], ALLOW)
    else:
        steps += [*_each(CHANGES_MAPS.values(), ERROR | errno.EACCES), *_data_only()]
    if opens:
        steps += _each(LOOKS.values(), ALLOW)
        for number, flags in OPENS.values():
            steps += _for_reading(number, flags)
    else:
        steps += _each([*LOOKS.values(), *(number for number, _ in OPENS.values())], ERROR | errno.EACCES)
    return b"".join([*steps, _step(RETURN, KILL)])
