# SPDX-License-Identifier: GPL-2.0-only
"""Which tests look at which file of kernel/: read by `make check` (changes.py) and by `make mutate` (mutation/).

A row is a pattern for files; the objects of tests/hosted that run them, whose name is that of their file; and what
looks at them in the machine: the patterns of selftests, and commands of the guest. SESSIONS has the tests of pytest
that look at a directory from outside of the machine: a terminal, a file of events, a parameter of the kernel.
"""

import fnmatch
import pathlib
import re
from collections.abc import Iterator

SIGNALS = ("taskcheck handlers parents-are-told ignored-ends pending-ends first-process nesting masks queues "
           "sigwait restart stop continue tied-groups timers-share-a-signal timers-count-their-own")
FUTEXES = ("taskcheck futex-errors futex-stopped futex-bits futex-order futex-shared futex-unmapped "
           "unmapped-shared-futex robust")
TIMES = ("taskcheck sleep sleep-rest itimer posix-timers timers-share-a-signal timers-count-their-own cpu-clocks "
         "busy-neighbours idle-cpus-help slack silent-timers")
TRACER_FILES = "filecheck settings-are-cut instances-have-a-place"
PERMISSIONS = ("taskcheck files-have-owners noatime-is-for-owners file-size set-id-bits set-id-is-safe "
               "difference-is-told")
ROWS = (
    ("kernel/fs/dentry.c", "tmpfs", ("fs_*",), ("filecheck",)),
    ("kernel/fs/pipe.c", "pipe socketpair", ("fs_pipe*",),
     ("filecheck", "limitcheck pipes-of-a-user pipes-of-others")),
    ("kernel/fs/epoll.c", "epoll", (), ("filecheck",)),
    ("kernel/fs/eventfd.c", "eventfd epoll", (), ("filecheck",)),
    ("kernel/fs/fdtable.c", "fdtable", ("fs_*",), ("filecheck",)),
    ("kernel/fs/file.c", "fdtable", ("fs_*",), ("filecheck",)),
    ("kernel/fs/flock.c", "flock", (), ("filecheck",)),
    ("kernel/fs/mount.c", "tmpfs", ("fs_*",), ("filecheck",)),
    ("kernel/fs/nameless.c", "eventfd timerfd", (), ("filecheck",)),
    ("kernel/fs/open.c", "tmpfs", ("fs_*",), ("filecheck",)),
    ("kernel/fs/path.c", "tmpfs", ("fs_*",), ("filecheck", PERMISSIONS)),
    ("kernel/fs/permission.c", "tmpfs", ("fs_*",), ("filecheck", PERMISSIONS)),
    ("kernel/fs/poll.c", "pipe eventfd", (), ("filecheck",)),
    ("kernel/fs/record.c", "record", (), ("filecheck",)),
    ("kernel/fs/signalfd.c", "signal", (), ("filecheck", SIGNALS)),
    ("kernel/fs/socket.c", "socketpair", (), ("filecheck",)),
    ("kernel/fs/timerfd.c", "timerfd", (), ("filecheck", TIMES)),
    ("kernel/fs/tmpfs.c", "tmpfs", ("fs_*",), ("filecheck", "memcheck file-shorter file-shorter-forks")),
    ("kernel/fs/tree.c", "tmpfs", ("fs_*",), ("filecheck",)),
    ("kernel/fs/*", "", ("fs_*",), ("filecheck", "limitcheck")),
    ("kernel/mm/fault.c", "vma", ("mm_*",), ("memcheck",)),
    ("kernel/mm/limit.c", "vma", ("mm_*",), ("limitcheck", "memcheck")),
    ("kernel/mm/map.c", "vma", ("mm_*",), ("memcheck", "limitcheck")),
    ("kernel/mm/oom.c", "oom", ("mm_*",), ("limitcheck", "memcheck")),
    ("kernel/mm/vma.c", "vma", ("mm_*",), ("memcheck",)),
    ("kernel/mm/*", "", ("mm_*",), ("memcheck", "limitcheck")),
    ("kernel/pseudo/pseudo.c", "cgroup instance", (),
     ("cgroupcheck", "filecheck texts-in-pieces files-of-the-kernel cpus-that-leave settings-are-cut long-settings "
      "modes-of-links")),
    ("kernel/task/account.c", "account signal", ("account_*",), ("limitcheck",)),
    ("kernel/task/delivery.c", "signal", (), (SIGNALS,)),
    ("kernel/task/signal.c", "signal", (), (SIGNALS, "exec filecheck sessions-and-terminals")),
    ("kernel/task/futex*.c", "futex", (), (FUTEXES, "filecheck")),
    ("kernel/task/mutex.c", "mutex", ("mutex_*",), ("filecheck",)),
    ("kernel/task/wait.c", "pipe epoll futex", ("waitq_*",), ("filecheck",)),
    ("kernel/task/*", "", ("*thread*", "waitq_*", "mutex_*"), ("taskcheck", "limitcheck")),
    ("kernel/time/itimer.c", "posix_timer timerfd", (), (TIMES,)),
    ("kernel/time/sleep.c", "futex", ("sleep_*",), (TIMES, "memcheck vdso-set-time")),
    ("kernel/time/timer.c", "timerfd posix_timer", ("timer*", "idle_*"),
     (TIMES, "cgroupcheck v2_throttled")),
    ("kernel/time/*", "", ("timer*", "sleep_*", "thread_time*"), (TIMES,)),
    ("kernel/trace/fields.c", "filter", ("trace_*",), ("perfcheck",)),
    ("kernel/trace/filter.c", "filter", ("trace_*",), ("perfcheck",)),
    ("kernel/trace/instance.c", "instance", ("trace_*",), ("perfcheck", TRACER_FILES)),
    ("kernel/trace/ring.c", "ring instance", ("trace_*",), ("perfcheck",)),
    ("kernel/trace/trace.c", "instance", ("trace_*",), ("perfcheck", TRACER_FILES)),
    ("kernel/trace/perf*", "perf", (), ("perfcheck",)),
    ("kernel/trace/*", "", ("trace_*",), ("perfcheck", TRACER_FILES)),
    ("kernel/tty/[fsv]*", "", (), ("filecheck",)),  # a screen: tests/unit/test_vt.c, tests/e2e/test_screen.py
    ("kernel/tty/*", "ldisc", (), ("exec filecheck",)),
    ("kernel/cgroup/bandwidth.c", "cgroup", ("cgroup_*",), ("cgroupcheck",)),
    ("kernel/cgroup/cgroup.c", "cgroup", ("cgroup_*",), ("cgroupcheck",)),
    ("kernel/cgroup/core.c", "cgroup", ("cgroup_*",), ("cgroupcheck",)),
    ("kernel/cgroup/cpu.c", "cgroup", ("cgroup_*",), ("cgroupcheck",)),
    ("kernel/cgroup/fs.c", "cgroup", ("cgroup_*",), ("cgroupcheck",)),
    ("kernel/cgroup/type.c", "cgroup", ("cgroup_*",), ("cgroupcheck",)),
    ("kernel/cgroup/*", "", ("cgroup_*",), ("cgroupcheck",)),
    ("kernel/exec/*", "", (), ("taskcheck", "memcheck")),
    ("kernel/syscall/pipe.c", "socketpair", (), ("filecheck",)),
    ("kernel/syscall/socket.c", "socketpair", (), ("filecheck",)),
    ("kernel/syscall/*", "", (), ("taskcheck", "filecheck", "memcheck", "limitcheck")),
    ("kernel/*", "", ("all",), ("taskcheck", "filecheck")),
)

SESSIONS = {
    "kernel/cgroup": "cgroup autogroup schedtune",
    "kernel/fs": "files own_files",
    "kernel/mm": "memory",
    "kernel/pseudo": "files topology hotplug uclamp",
    "kernel/syscall": "files tasks",
    "kernel/task": "tasks limits",
    "kernel/time": "boot watchdog hotplug",
    "kernel/trace": "trace tracefs hist perf stat",
    "kernel/tty": "files shell boot",
}
OTHER_SESSIONS = "programs tasks memory files"


def row(file: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """(objects, selftests, commands) for a file of kernel/: those of the first pattern that fits."""
    for pattern, objects, selftests, commands in ROWS:
        if fnmatch.fnmatch(file, pattern):
            return tuple(objects.split()), selftests, commands
    raise ValueError(f"{file}: no tests are known for it")


def sessions(file: str) -> tuple[str, ...]:
    """The files of tests/e2e for a file of kernel/."""
    names = SESSIONS.get(file.rpartition("/")[0], OTHER_SESSIONS)
    return tuple(f"tests/e2e/test_{name}.py" for name in names.split())


def hosted_tests(file: str) -> Iterator[str]:
    """The tests of pytest that run @file on this host."""
    for name in row(file)[0]:
        yield f"tests/prop/test_prop.py::test_object_of_the_kernel[{name}]"


def objects(root: pathlib.Path) -> list[str]:
    """The names of all objects of tests/hosted."""
    return sorted(re.findall(r"\b(\w+)_object[,;]", (root / "tests/hosted/object.h").read_text("utf-8")))
