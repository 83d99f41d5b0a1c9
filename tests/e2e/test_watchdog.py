# SPDX-License-Identifier: GPL-2.0-only
"""The watchdogs: each finds what it watches for, says it in Linux's words, and the machine goes on; or it stops if that
was asked for.

/sys/kernel/debug/provoke-crash/DIRECT breaks the kernel. CPU 1 is the victim, the shell stays on CPU 0. All limits are
seconds of the guest. A busy host may stop a CPU for longer: that a message is absent is tested under icount only.
"""

import re

import pytest

LIMIT = "echo 1 > /proc/sys/kernel/watchdog_thresh; "
PROVOKE = "taskset 2 sh -c 'echo {} > /sys/kernel/debug/provoke-crash/DIRECT'"
ON_CPU_0 = "taskset -p 1 $$ > /dev/null; "
QUEUES = ["\ncpu#0\n", "\ncpu#1\n"]
CROWD = "chrt -f 50 hog -t 3s > /dev/null & i=0; while [ $i -lt 60 ]; do hog -t 3s > /dev/null & i=$((i+1)); done; "


def test_hard_lockup(guest):
    """A CPU without interrupts: another one notices, and an NMI shows where it is."""
    console = guest(ON_CPU_0 + LIMIT + PROVOKE.format("HARDLOCKUP") + " & sleep 4; echo alive", cpus=2)
    assert "watchdog: Watchdog detected hard LOCKUP on cpu 1" in console
    assert re.search(r"NMI backtrace for cpu 1, thread \d+ \(sh\)\n(.*\n)*?.* provoke_hardlockup\+", console), console
    assert "\nalive" in console and "NMI backtrace for cpu 0" in console and all(q in console for q in QUEUES), console


def test_hard_lockup_of_a_cpu_that_came_back(guest):
    """It was offline; then it is watched again."""
    online = "echo {} > /sys/devices/system/cpu/cpu1/online; "
    console = guest(ON_CPU_0 + LIMIT + online.format(0) + online.format(1) + PROVOKE.format("HARDLOCKUP") +
                    " & sleep 4; echo alive", cpus=2)
    assert "watchdog: Watchdog detected hard LOCKUP on cpu 1" in console and "\nalive" in console, console


def test_hard_lockup_in_the_middle_of_a_message(guest):
    """A CPU that keeps the console loses it to the one that has a lockup to tell of."""
    console = guest(ON_CPU_0 + LIMIT + PROVOKE.format("CONSOLELOCKUP") + " & sleep 14; echo alive", cpus=2)
    assert re.search(r"half a line\n.*hard LOCKUP on cpu 1\n(.*\n)*?.* provoke_consolelockup\+", console), console
    assert "\nalive" in console


def test_soft_lockup(guest):
    """
    A CPU that ticks but does not switch although a task waits. That task prints nothing: if it were in the middle of a
    line, it would hold the terminal's lock for good, and the shell on the other CPU could not say that it is alive.
    """
    console = guest(ON_CPU_0 + LIMIT + "taskset 2 hog -t 100s > /dev/null & " + PROVOKE.format("SOFTLOCKUP")
                    + " & sleep 6; echo alive", cpus=2)
    said = r"BUG: soft lockup - CPU#1 stuck for \ds! \[sh:\d+\]\n(.*\n)*?.* provoke_softlockup\+"
    assert re.search(said, console), console
    assert "\nalive" in console and "NMI backtrace for cpu 0" in console and all(q in console for q in QUEUES), console


def test_spinlock_lockup(guest):
    """A lock that is never given back: all CPUs are shown, because one of them may hold it."""
    provoke = PROVOKE.format("SPINLOCKUP")
    console = guest(f"{ON_CPU_0}{LIMIT}{provoke}; {provoke} & sleep 6; echo alive", cpus=2)
    assert re.search(r"BUG: spinlock lockup suspected on CPU#1, sh/\d+", console), console
    assert "NMI backtrace for cpu 0" in console and re.search(r" provoke_spinlockup\+", console)
    assert "\nalive" in console and all(q in console for q in QUEUES), console


def test_stall(guest):
    """A CPU that does not answer another one's call: the caller is told of, too, and every CPU is shown."""
    call = "taskset 4 sh -c 'echo 1 > /proc/sys/kernel/watchdog_thresh' & "
    console = guest(f"{ON_CPU_0}{LIMIT}{PROVOKE.format('HARDLOCKUP')} & sleep 1; {call}sleep 6; echo alive", cpus=3)
    assert re.search(r"INFO: stall detected by CPU#2, sh/\d+: CPU#1 has not answered for \ds", console), console
    assert re.search(r" call_others\+", console) and re.search(r" provoke_hardlockup\+", console), console
    assert "\nalive" in console and all(q in console for q in QUEUES), console


# --- a panic never loses the log ------------------------------------------------------------------


def test_a_panic_takes_the_console_from_a_stopped_cpu(boot):
    """It held the console in the middle of a line. That line is ended, and the stopped CPU is shown with all queues."""
    outcome = boot(ON_CPU_0 + PROVOKE.format("CONSOLELOCKUP") + " & sleep 1; echo c > /proc/sysrq-trigger", cpus=2)
    assert outcome.status == 1 and all(q in outcome.console for q in QUEUES), outcome.console
    assert re.search(r"half a line\n\[.*panic: crash asked for(.*\n)*?NMI backtrace for cpu 1(.*\n)*?"
                     r".* provoke_consolelockup\+", outcome.console.replace("] NMI", "]\nNMI")), outcome.console


def test_a_panic_in_an_nmi_and_in_the_panic(boot):
    """A part of the panic that breaks is left out, and the rest comes: trace, other CPUs, queues, status."""
    outcome = boot(PROVOKE.format("NMI_PANIC").replace("taskset 2", "taskset 1"), cpus=2)
    said = (r"panic: page fault at print_cpu\+.*\n.*panic in the panic: page fault at print_where\+(.*\n)*?"
            r".* x86_nmi\+(.*\n)*?.*NMI backtrace for cpu 1(.*\n)*?cpu#0\n(.*\n)*?cpu#1\n")
    assert outcome.status == 1 and re.search(said, outcome.console), outcome.console


def test_panics_on_all_cpus_at_once(boot):
    """One of them tells, the others are shown where they stopped, and with their reasons if they got so far."""
    outcome = boot(PROVOKE.format("PANICS").replace("taskset 2", "taskset 1"), cpus=4)
    first = re.findall(r"panic: provoked on cpu (\d)", outcome.console)
    assert outcome.status == 1 and len(first) == 1, outcome.console
    others = {cpu: re.search(rf"NMI backtrace for cpu {cpu}.*\n(.*\n)*?.* panic_together\+", outcome.console)
              for cpu in "123" if cpu != first[0]}
    assert all(others.values()) and len(others) == 2 and "does not answer" not in outcome.console, outcome.console
    assert all(f"\ncpu#{cpu}\n" in outcome.console for cpu in range(4)), outcome.console


# --- tasks ----------------------------------------------------------------------------------------


def test_hung_task_is_said_once(guest):
    console = guest("echo 1 > /proc/sys/kernel/hung_task_timeout_secs; " + PROVOKE.format("HUNG_TASK")
                    + " & sleep 20; echo left: $(cat /proc/sys/kernel/hung_task_warnings)", cpus=2, icount=True)
    assert console.count("blocked for more than 1 seconds.") == 1, console
    assert "NMI backtrace for cpu 0" in console and "NMI backtrace for cpu 1" in console, console
    assert all(q in console for q in QUEUES), console
    assert re.search(r"INFO: task sh:\d+ blocked.*\n.*disables this message.\n(.*\n)*?.* provoke_hung_task\+", console)
    assert "left: 9" in console and "LOCKUP" not in console and "lockup" not in console


def test_a_hung_task_names_the_holder_of_its_mutex(guest):
    second = PROVOKE.format("HUNG_TASK").replace("sh -c", "dash -c")
    console = guest("echo 1 > /proc/sys/kernel/hung_task_timeout_secs; " + PROVOKE.format("HUNG_TASK") + " & sleep 2; "
                    + PROVOKE.format("HUNG_TASK") + " & sleep 20; echo alive", cpus=2, icount=True)
    holder = re.search(r"INFO: task sh:(\d+) blocked for", console)
    assert holder and re.search(r"INFO: task sh:(\d+) is blocked on a mutex owned by task sh:" + holder[1] + r"\.\n"
                                r"(.*\n)*?.* provoke_hung_task\+", console), console
    assert console.count("owned by") == 1 and "\nalive" in console


@pytest.mark.nightly("a starving task that nobody tells")
def test_starving_task_is_said_with_the_queues(guest):
    """Fair threads beside a real-time hog share 5 % of a CPU: with 60 of them each waits for more than a second. The
    watchdog may name a shell, which has had no time to become a hog."""
    console = guest(CROWD + "wait; echo alive", cpus=1, icount=True, append="watchdog=1 watchdog_thresh=1")
    said = r"watchdog: (?:hog|sh) \(\d+\) is runnable on cpu 0 but has not run for \d+ s; \d+ such tasks"
    assert 1 <= len(re.findall(said, console)) <= 3, console
    assert "runnable tasks:" in console and "NMI backtrace for cpu 0" in console and "alive" in console
    assert re.search(r"watchdog: cpu 0 runs hog \(\d+\), of real-time priority 50, before them", console)


def test_watchdog_panic_stops_a_starving_machine(boot):
    outcome = boot(CROWD + "wait", cpus=1, icount=True, append="watchdog=1,panic watchdog_thresh=1")
    assert outcome.status == 1 and "panic: watchdog: a task starves" in outcome.console
    assert "has not run for" in outcome.console and "runnable tasks:" in outcome.console


@pytest.mark.nightly("a watchdog that complains without reason")
def test_a_busy_machine_is_no_reason(guest):
    """Hogs, a real-time hog and sleepers for longer than every limit: not a word."""
    console = guest("hog -n 6 -t 3s & chrt -f 1 hog -t 3s & sleep 3; wait", cpus=2, icount=True,
                    append="watchdog=2 watchdog_thresh=1 hung_task_timeout_secs=1")
    assert "watchdog: " not in console and "INFO: " not in console, console


@pytest.mark.parametrize("word, said", [
    ("watchdog=soon", "watchdog=soon: expected seconds, panic, or both (5,panic)"),
    ("watchdog_thresh=61", "watchdog_thresh=61: at most 60"),
])
def test_bad_settings_are_said(guest, word, said):
    console = guest("echo 61 > /proc/sys/kernel/watchdog_thresh; cat /proc/sys/kernel/watchdog_thresh", append=word)
    assert said in console and "Invalid argument" in console and "\n10\n" in console
