# SPDX-License-Identifier: GPL-2.0-only
"""Files, pipes, the terminal and /proc as programs see them. Everything that also runs on Linux must give the same
result there."""

import os
import re
import select
import subprocess
import time

import pytest

from tests.e2e.conftest import BUILD, TIMEOUT_S, on_linux, settings
from fairground.machine.machine import Machine

# Shell scripts for unmodified busybox. They run in an empty directory and print the same on every run.
SCRIPTS = {
    "redirection": r"""
        echo a > f; echo b >> f; cat < f; cat f nofile 2>&1; wc -c f; (echo x; echo y >&2) 2>&1 | sort
        exec 5> g; echo five >&5; exec 5>&-; cat g
        cat <<E
here $((6 * 7))
E""",
    "pipelines": r"""
        seq 1 100000 | tail -1; yes | head -3; false | true; echo $?; seq 5 | xargs -n 2 echo
        seq 9 | while read n; do echo $((n * n)); done | sort -n | tr '\n' ' '
        head -c 300000 /dev/zero | md5sum""",
    "names": r"""
        mkdir -p a/b/c; touch a/f; ln a/f a/g; ln -s ../f a/b/l; ls -R a; cat a/b/l; mv a/f a/h; ls a
        rmdir a 2>&1; rm -r a; ls; mkdir d; cd d; pwd | sed 's,.*/,,'; rmdir ../d; touch x 2>&1; cd ..
        find . | sort""",
    "metadata": r"""
        echo hi > f; chmod 640 f; touch -d '2020-01-02 03:04:05' f; stat -c '%a %s %h %F %Y' f
        truncate -s 70000 f; stat -c '%s' f; mkfifo p; stat -c '%F %t:%T' p; umask 077; touch u; stat -c %a u""",
    "devices": r"""
        mknod n c 1 3; stat -c '%F %t:%T' n; echo gone > n; cat n""",
    "processes": r"""
        sh -c 'exit 7'; echo $?; sh -c 'kill -9 $$'; echo $?; sleep 9 & kill $!; wait $! 2>/dev/null; echo $?
        sh -c 'trap "echo caught" USR1; kill -USR1 $$; echo on'
        (sleep 0.5; echo late) & echo early; wait; x=$(echo sub); echo $x; timeout 0.1 sleep 9; echo $?
        ./none 2>/dev/null; echo $?; echo 'echo plain $1' > s; ./s 2>/dev/null; echo $?; chmod +x s; ./s arg""",
    "tools": r"""
        seq 300 > n; hexdump -C n | head -3; od -c n | tail -2; dd if=n of=m bs=7 skip=3 count=10 2>/dev/null
        cat m; cp n o; cmp n o; gzip -c n | gunzip | md5sum; tar cf t n o; tar tf t; sed -n '5,7p' n
        awk '{s += $1} END {print s}' n; cut -c1 n | sort | uniq -c | sort -rn | head -2; diff n m | wc -l
        grep -c 7 n; tac n | head -2; paste n o | tail -1; od -An -tx1 -N4 /dev/zero""",
}


def run_on_linux(script, directory):
    return on_linux(["busybox", "sh", "-c", f"(exec </dev/null 2>/dev/null; {script}\n) | cat"], cwd=directory).stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_busybox_prints_what_it_prints_on_linux(guest, tmp_path, name):
    script = SCRIPTS[name]
    if name == "devices" and os.geteuid():
        pytest.skip("on Linux only root makes devices")
    console = guest(f"cd /tmp; echo BEGIN; (exec </dev/null 2>/dev/null; {script}\n) | cat; echo END")
    printed = console.split("BEGIN\n", 1)[1].rsplit("END\n", 1)[0]
    assert printed == run_on_linux(script, tmp_path)


def test_file_semantics_on_linux():
    done = on_linux([f"{BUILD}/user/filecheck"])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("cpus", [1, 4])
def test_file_semantics(guest, cpus):
    assert re.search(r"^[1-9]\d* passed, 0 failed$", guest("exec filecheck", cpus=cpus), re.M)


# --- the terminal -----------------------------------------------------------------------------------------------

PATIENCE_S = 1


class Terminal:
    """A machine with an interactive shell that gets keys. No key is typed before the program that it is for has
    reported."""

    def __init__(self, machine):
        self.process = machine.start("stdio,id=console,signal=off", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL)
        self.seen = b""
        self.at = 0

    def read(self):
        """Reads more output if it comes within a second."""
        if select.select([self.process.stdout], [], [], 1)[0]:
            piece = os.read(self.process.stdout.fileno(), 4096)
            assert piece, f"ended:\n{self.seen.decode(errors='replace')}"
            self.seen += piece

    def sees(self, text, seconds):
        """Wait for @text after what was expected before; False if it does not come in time."""
        deadline = time.monotonic() + seconds
        while text.encode() not in self.seen[self.at:]:
            if time.monotonic() > deadline:
                return False
            self.read()
        self.at = self.seen.index(text.encode(), self.at) + len(text)
        return True

    def expect(self, text):
        assert self.sees(text, TIMEOUT_S), f"no {text!r} in:\n{self.seen[self.at:].decode(errors='replace')}"

    def expect_after(self, keys, text):
        """Type @keys until @text comes: once, unless the machine is slow."""
        for tries in range(TIMEOUT_S // PATIENCE_S):
            self.type(keys(tries))
            if self.sees(text(tries), PATIENCE_S):
                return
        self.expect(text(0))

    def type(self, keys):
        os.write(self.process.stdin.fileno(), keys.encode())

    def start(self, cats):
        """Start @cats, which copy what is typed, and wait until they do: each line comes twice."""
        self.type(f"{cats}\r")
        self.expect_after(lambda n: f"up{n}\r", lambda n: f"up{n}\r\nup{n}\r\n")

    def prompt(self):
        """Wait until the shell reads again: it forgets what is typed before."""
        self.expect("# ")


@pytest.fixture(scope="module")
def terminal():
    with Machine(settings(cpus=2, append="interactive")) as machine:
        t = Terminal(machine)
        t.expect("built-in shell")
        t.expect("# ")
        yield t
        t.process.kill()
        t.process.wait()


def test_without_a_terminal_input_has_ended(guest):
    """Nobody will type: what reads the console finds the end, however it waits, and a shell ends."""
    text = guest("for reader in sh cat 'head -c 1' 'sh -c \"read x || exit 7\"' 'sh -i'; do\n"
                 "    eval timeout 20 $reader; echo status $?\ndone\n"
                 "stty raw; timeout 20 cat; echo status $?; stty -raw\n"
                 "timeout 20 sleep 1000 & wait $!; echo status $?", cpus=1)
    assert re.findall(r"^status (\d+)\s*$", text, re.MULTILINE) == ["0", "0", "0", "7", "0", "0", "143"], text


def test_line_editing(terminal):
    terminal.start("cat")
    terminal.type("wrong\x15abc\x7fd one two\x17three\r")
    terminal.expect("three\r\nabd one three\r\n")
    terminal.type("\x04")
    terminal.prompt()
    terminal.type("echo hel\x7f\x7fXY\r")
    terminal.expect("hXY\r\n")
    terminal.prompt()


def test_job_control(terminal):
    terminal.start("cat")
    terminal.type("\x03")
    terminal.expect("^C")
    terminal.prompt()
    terminal.start("cat | cat")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.prompt()
    terminal.type("bg\r")
    # Before each prompt the shell reports on its jobs: before bg's own report if they were quick.
    terminal.expect_after(lambda tries: "\r" if tries else "", lambda _: "Stopped (tty input)")
    terminal.prompt()
    terminal.type("kill -9 %1; wait; sleep 100 &\r")
    terminal.expect("sleep 100 &\r\n")
    terminal.prompt()
    terminal.type("jobs\r")
    terminal.expect("Running")
    terminal.prompt()
    # By its name: without one the shell prefers a job that it has not yet heard to be killed.
    terminal.type("fg %sleep\r")
    terminal.expect("\r\nsleep 100\r\n")
    # The shell says so before it hands the terminal over: a key that comes between goes to the shell.
    terminal.expect_after(lambda _: "\x03", lambda _: "# ")
    terminal.start("cat")
    terminal.type("\x1c")
    terminal.expect("Quit")
    terminal.prompt()


def test_full_screen_editor(terminal):
    terminal.type("vi /tmp/new\r")
    terminal.expect("- /tmp/new")  # its status line
    terminal.type("ihello\x1b")
    terminal.expect("[Modified]")  # an escape with more characters at once would be the sequence of one key
    terminal.type(":wq\r")
    terminal.expect("6C")
    terminal.prompt()
    terminal.type("cat /tmp/new\r")
    terminal.expect("\r\nhello\r\n")
    terminal.prompt()


def test_terminal_settings(terminal):
    terminal.type("stty rows 40 cols 100; stty size\r")
    terminal.expect("40 100\r\n")
    terminal.prompt()
    terminal.type("read -t 1 x; echo timeout $?\r")
    terminal.expect("timeout 1\r\n")
    terminal.prompt()
    terminal.type("ps -o tty,args | grep [-]l\r")
    terminal.expect("4,64   /bin/sh -l")
    terminal.prompt()


# --- /proc and /sys ------------------------------------------------------------------------------------------------

def test_proc_files_have_the_form_that_tools_read(guest):
    text = guest("cat /proc/self/stat; grep -E '^(Name|Cpus_allowed|Threads)' /proc/self/status; cat /proc/stat; "
                 "cat /proc/uptime /proc/loadavg; cat /proc/self/schedstat; cat /sys/devices/system/cpu/online; "
                 "cat /proc/$$/task/*/comm; readlink /proc/self/exe; readlink /proc/self/cwd", cpus=4)
    stat = re.search(r"^\d+ \(cat\) R .*$", text, re.M).group(0).split()
    assert len(stat) == 52
    assert re.search(r"^Cpus_allowed:\tf$", text, re.M) and re.search(r"^Cpus_allowed_list:\t0-3$", text, re.M)
    assert len(re.findall(r"^cpu\d( \d+){10}$", text, re.M)) == 4
    assert re.search(r"^\d+\.\d\d \d+\.\d\d\n(\d+\.\d\d ){3}\d+/\d+ \d+\n\d+ \d+ \d+\n0-3\n", text, re.M)
    assert "/bin/busybox\n/\n" in text or "/bin/busybox\n/root\n" in text


def test_tunables_answer_like_linux(guest):
    text = guest("cd /sys/kernel/debug/sched; exec 2>/dev/null; echo 0x10 > latency_ns; cat latency_ns; "
                 "echo abc > latency_ns; echo $?; echo NO_LAST_BUDDY > features; grep -o NO_LAST_BUDDY features; "
                 "echo NONSENSE > features; echo $?; cd /proc/sys/kernel; echo -1 > sched_rt_runtime_us; "
                 "cat sched_rt_runtime_us; echo 2000000 > sched_rt_runtime_us; echo $?; true")
    assert re.search(r"^16\n1\nNO_LAST_BUDDY\n1\n-1\n1$", text, re.M)


def test_sysfs_refuses_at_open_what_nobody_may_write(guest):
    text = guest("cd /sys/devices/system; (: > cpu/online) 2>&1; (echo 1 > cpu/online) 2>&1; "
                 "cat clocksource/clocksource0/*_clocksource; true")
    assert text.count("Permission denied") == 2 and "write error" not in text
    assert re.search(r"^tsc\ntsc$", text, re.M)


def test_long_write_is_cut_to_a_page(guest):
    text = guest("head -c 5000 /dev/zero | tr '\\0' x > /tmp/long; sleep 9 & "
                 "dd if=/tmp/long of=/proc/$!/comm bs=5000 2>&1; dd if=/tmp/long of=/proc/self/comm bs=5000 2>&1 && "
                 "echo WRITTEN")
    assert text.count("Invalid argument") == 1  # the first is of another process
    assert re.search(r"^WRITTEN$", text, re.M), text


@pytest.mark.nightly("a longest wait that is not kept")
def test_longest_waits_with_schedstats(guest):
    """Two hogs take turns on one CPU; a third process sleeps 100 ms at a time."""
    text = guest("echo 1 > /proc/sys/kernel/sched_schedstats; hog -n 2 -t 1s > /dev/null & "
                 "(while :; do sleep 0.1; done) & s=$!; sleep 0.55; for p in $(pidof hog) $s; do "
                 "grep -E '^(wait_max|wait_sum|sleep_max|sum_sleep_runtime|block_max)' /proc/$p/sched; done; kill $s",
                 cpus=1, icount=True)
    longest = [float(ms) for ms in re.findall(r"^wait_max +: +(\d+\.\d+)$", text, re.M)]
    sums = [float(ms) for ms in re.findall(r"^wait_sum +: +(\d+\.\d+)$", text, re.M)]
    assert len(longest) == len(sums) >= 3 and all(a <= b for a, b in zip(longest, sums))
    assert any(1 < ms < 50 for ms in longest)
    assert any(float(ms) > 90 for ms in re.findall(r"^sleep_max +: +(\d+\.\d+)$", text, re.M))
