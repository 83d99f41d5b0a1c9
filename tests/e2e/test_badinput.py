# SPDX-License-Identifier: GPL-2.0-only
"""Mistakes of programs and users and broken installations are answered by an error, and the machine goes on.

Mistakes of programs (faults, pointers, files, limits) are the subject of user/crash, see test_programs.py; here are
the files of the kernel, the shell's view, and the tools on the host.
"""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.e2e.conftest import BUILD, ROOT, TIMEOUT_S

from fairground.words import COMMANDS as WORDS, PROGRAMS

DEBUG = "/sys/kernel/debug/sched"
SYSCTL = "/proc/sys/kernel"
INVALID, RANGE, ESRCH = "Invalid argument", "Numerical result out of range", "No such process"

WRITES = [
    (f"{DEBUG}/latency_ns", "x", INVALID), (f"{DEBUG}/latency_ns", "", INVALID), (f"{DEBUG}/latency_ns", "-1", INVALID),
    (f"{DEBUG}/latency_ns", "5 6", INVALID), (f"{DEBUG}/tunable_scaling", "7", INVALID),
    (f"{DEBUG}/features", "NONSENSE", INVALID), (f"{DEBUG}/features", "NO_NONSENSE", INVALID),
    (f"{DEBUG}/features", "sis_util", INVALID), (f"{DEBUG}/features", "NO_NO_SIS_UTIL", INVALID),
    (f"{DEBUG}/features", "NO_", INVALID), (f"{DEBUG}/features", "NO_SIS_UTIL NO_HRTICK", INVALID),
    (f"{DEBUG}/features", "", INVALID), (f"{DEBUG}/features", "A" * 4000, INVALID),
    (f"{SYSCTL}/sched_rt_runtime_us", "2000000", INVALID), (f"{SYSCTL}/sched_rt_runtime_us", "-2", INVALID),
    (f"{SYSCTL}/sched_rt_period_us", "0", INVALID), (f"{SYSCTL}/sched_rt_period_us", "x", INVALID),
    (f"{SYSCTL}/sched_schedstats", "2", INVALID), ("/sys/kernel/debug/exit_status", "256", RANGE),
    ("/sys/kernel/debug/exit_status", "x", INVALID),
]
COMMANDS = [
    ("renice -n 1 -p 99999", ESRCH), ("kill 99999", ESRCH), ("taskset -p 1 99999", ESRCH),
    ("taskset -p 100 $$", INVALID), ("chrt -f -p 0 $$", INVALID), ("chrt -f -p 100 $$", INVALID),
    ("cat /proc/99999/stat", "No such file"), ("cat /proc/1/nothing", "No such file"),
    ("cd /proc/self/fd/99", "can't cd"), ("mkdir /proc/x", ""), ("rm /proc/1/stat", ""), ("echo 1 >/proc/1", ""),
    ("ls /dev/null/x", "Not a directory"), ("rmdir /proc", ""), ("cat /bin/../../..", "Is a directory"),
]


def test_rejected_writes_change_nothing(guest):
    lines = []
    for i, (path, value, _) in enumerate(WRITES):
        lines.append(f"a=$(cat {path}); echo '= {i}'; echo '{value}' >{path}; "
                     f"[ \"$a\" = \"$(cat {path})\" ] || echo CHANGED")
    text = guest("\n".join(lines), cpus=2)
    assert "CHANGED" not in text
    parts = re.split(r"^= \d+\n", text, flags=re.MULTILINE)[1:]
    for (path, value, error), part in zip(WRITES, parts):
        assert error in part, f"{value!r} to {path}: {part}"


def test_rejected_commands(guest):
    text = guest("".join(f"echo '= {i}'\n({command}) </dev/null 2>&1 && echo ACCEPTED\n"
                         for i, (command, _) in enumerate(COMMANDS)) + "true")
    parts = re.split(r"^= \d+\n", text, flags=re.MULTILINE)[1:]
    for (command, error), part in zip(COMMANDS, parts):
        assert "ACCEPTED" not in part and error in part, f"{command}: {part}"


@pytest.mark.parametrize("size, error", [(0, None), (20, "Exec format error"), (100, None), (5000, None)])
def test_broken_programs(guest, size, error):
    """Cut off at different places: whatever the shell does with the error, the shell and the machine go on."""
    text = guest(f"head -c {size} /bin/busybox >/tmp/t; chmod +x /tmp/t; /tmp/t >/tmp/out 2>&1; echo over", cpus=1)
    assert re.search(r"^over$", text, re.MULTILINE)
    assert error is None or "panic" not in text


def test_init_does_not_die(guest):
    assert re.search(r"^alive 1$", guest("kill -9 1; kill -TERM 1; kill -SEGV 1; sleep 0.1; echo alive $(pidof init)"),
                     re.MULTILINE)


# --- the tools on the host ------------------------------------------------------------


def fairground(*words, **environment):
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                          env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools"), **environment})
    return done.returncode, done.stderr


@pytest.mark.parametrize("setting", [
    "HZ=77", "SMP=0", "SMP=256", "SMP=x", "SMP=4,cores=3", "SMP=4,wheels=4", "MEM=1", "MEM=lots",
    "SCHED=fifo", "ICOUNT=2",
    "SEED=-1", "BOOT=floppy", "TIMEOUT=0", "APPEND=a\nb", "NUMA=3",
])
def test_bad_settings_name_themselves(setting):
    name, _, value = setting.partition("=")
    status, error = fairground("run", **{name: value})
    assert status == 2
    assert re.fullmatch(rf"fairground: {name}.*\n", error), error


@pytest.mark.parametrize("environment, text", [
    ({"FAIRGROUND_QEMU": "/none/qemu"}, "FAIRGROUND_QEMU"),
    ({"FAIRGROUND_QEMU": "/bin/true"}, "/bin/true"),
    ({"CPU": "no-such-model"}, "no-such-model"),
    ({"KVM": "1", "ICOUNT": "1"}, "KVM"),
])
def test_missing_things_are_one_sentence(environment, text):
    status, error = fairground("run", **environment)
    assert status in (2, 125)
    assert error.count("\n") == 1 and text in error


def test_old_qemu_is_named(tmp_path):
    old = tmp_path / "qemu"
    old.write_text("#!/bin/sh\necho QEMU emulator version 4.2.1\n")
    old.chmod(0o755)
    status, error = fairground("run", FAIRGROUND_QEMU=str(old))
    assert status == 125 and "qemu-system-x86" in error and error.count("\n") == 1


def test_missing_build_is_named(tmp_path):
    status, error = fairground("--build", str(tmp_path), "run")
    assert status == 125 and "make image" in error


@pytest.mark.parametrize("out, text", [("/none/x.dat", "no such directory"), ("/tmp", "a directory")])
def test_a_trace_needs_a_place(out, text):
    """The error comes before the run."""
    status, error = fairground("trace", OUT=out, CMD="true")
    assert status == 2 and error.startswith(f"fairground: OUT={out}: ") and text in error


@pytest.mark.parametrize("word, meant", [("smp=2", "smp: their names are in capitals; is SMP meant?"),
                                         ("SMPP=4", "SMPP; is SMP meant?"), ("TESTT=x", "TESTT; is TEST meant?"),
                                         ("SHOW=1", "SHOW (see make settings; words of a command stand in ARGS=)")])
def test_unknown_settings_are_said_with_the_nearest_name(word, meant):
    done = subprocess.run(["make", "-n", "run", word], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"no setting is called {meant}" in done.stderr


def make(*words, **how):
    return subprocess.run(["make", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **how)


def test_make_settings_has_every_setting_with_its_default():
    text = make("settings").stdout
    assert re.search(r"^  HZ +100 250 1000 +250 +ticks per second$", text, re.MULTILINE)
    sources = "".join(path.read_text(encoding="utf-8") for path in pathlib.Path(ROOT, "mk").glob("*.mk"))
    assert {"ARGS", "TESTS", "TEST", "SRC"} <= set(re.findall(r"[$][(](?:if )?([A-Z]+)[)]", sources))
    assert all(re.search(rf"^  {name} ", text, re.MULTILINE) for name in ("ARGS", "TESTS", "TEST", "SRC", "B", "OUT"))


def test_make_help_fits_a_screen_and_has_every_word():
    lines = make("help").stdout.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 120
    assert {*WORDS, *PROGRAMS} <= set(" ".join(lines).split())
    assert {line.split()[0] for line in lines if re.match(r"[a-z]", line)} == set(
        re.search(r"^TARGETS := ((?:.*\\\n)*.*)$", pathlib.Path(ROOT, "Makefile").read_text(encoding="utf-8"),
                  re.MULTILINE)[1].replace("\\", "").split())


def test_a_word_and_its_words_are_handed_on_as_they_are(tmp_path):
    """And a make that the word starts does not take them for its own."""
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n[ $2 = fairground ] || exit 0\nprintf '%s\\n' \"$@\"\n"
                      "env | grep -E '^(MAKEFLAGS|ARGS|MAKE|HZ)=' | sort\n"
                      "make -s -f /dev/null --eval 'x:;@echo inner $(ARGS)' x\n", encoding="utf-8")
    python.chmod(0o755)
    done = make("decisions", f"PYTHON={python}", "HZ=100", "ARGS=run.json --task 'a b' --full")
    assert done.stdout.splitlines()[2:] == ["--build", "build", "decisions", "run.json", "--task", "a b", "--full",
                                            *sorted(["HZ=100", "MAKE=make", "MAKEFLAGS="]), "inner"], done.stdout


@pytest.mark.parametrize("words, command", [(["lab"], "lab grade"), (["lab", "ARGS=list"], "lab list"),
                                            (["map"], "map")])
def test_a_lab_is_graded_unless_told_otherwise(words, command):
    assert re.search(rf" -m fairground --build \S+ {command} *$", make("-n", *words).stdout.rstrip())


@pytest.mark.parametrize("word, said", [("digset", "digset; is digest meant?"),
                                        ("nosuchword", "nosuchword (fairground --h")])
def test_unknown_words_are_said_with_the_nearest_one(word, said):
    done = make(word)
    assert done.returncode == 2 and f"fairground: no command is called {said}" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 2 and not done.stdout


@pytest.mark.parametrize("word", PROGRAMS)
def test_the_words_of_developers_are_programs_that_are_there(word):
    program, *words = PROGRAMS[word].words
    assert program in ("python3", "node")
    assert all(os.path.exists(os.path.join(ROOT, name)) for name in words if re.search(r"\.(py|mjs)$", name))


@pytest.mark.parametrize("words, text", [
    ("lcc=4", "no boot parameter is called lcc; is llc meant?"),
    ("llc=2 shed=eevdf", "no boot parameter is called shed; is sched meant?"),
    ("topology=4x4", "a shape of 16 CPUs needs SMP=16"),
    ("sched=nosuch", "one of cfs, "),
])
def test_mistyped_boot_parameters_are_refused(words, text):
    status, error = fairground("run", APPEND=words, SMP="4", CMD="true")
    assert status == 2 and error.startswith("fairground: APPEND=") and text in error


def test_unknown_boot_parameters_are_said_and_go_to_init(guest):
    text = guest("echo $COLOUR; echo $nosmt", cpus=1, append="COLOUR=green nosmt=3 single")
    assert re.search(r'unknown boot parameter "nosmt" is passed to init$', text, re.MULTILINE)
    assert re.search(r'unknown boot parameter "single" is passed to init$', text, re.MULTILINE)
    assert "\ngreen\n3\n" in text.replace("\r", "")


def test_a_mistyped_boot_parameter_is_said_with_the_nearest_name(boot):
    """The loader may bring words that `make run` has not seen: here, in capitals, one that it lets pass."""
    assert 'boot parameter "WATCHDOG" is passed to init' in boot("true", cpus=1, append="WATCHDOG=1").console


@pytest.mark.parametrize("command, environment, text", [
    ("trace", {"EVENTS": "foo:bar", "CMD": "true", "OUT": "/tmp/none.dat"}, "EVENTS=foo:bar: no event is called"),
    ("repeat", {"RUNS": "0", "ICOUNT": "1", "CMD": "true"}, "--runs 0: an integer from 2"),
    ("gdb", {"SCRIPT": "/nosuch"}, "--script /nosuch: there is no such file"),
])
def test_values_that_would_make_a_run_mean_nothing(command, environment, text):
    words = {"repeat": ["--runs", environment.get("RUNS", "")], "gdb": ["--script", environment.get("SCRIPT", "")]}
    status, error = fairground(command, *words.get(command, []), **environment)
    assert status == 2 and text in error


@pytest.mark.parametrize("words, text", [
    (["--time", "5", "hogs:n=1"], "--time 5: must be a time with a unit"),
    (["--explain", "5s", "--time", "1s", "hogs:n=2"], "--explain: the run ends before that, after 1000 ms"),
])
def test_times_of_the_simulator(words, text):
    done = subprocess.run([os.path.join(BUILD, "schedsim"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and text in done.stderr


@pytest.mark.parametrize("variable, package", [("CC", "gcc"), ("MUSL_CC", "musl-tools"), ("PYTHON", "python3")])
def test_make_names_the_package(variable, package):
    done = subprocess.run(["make", "-n", "image", f"{variable}=/none/tool", "B=/tmp/none"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert package in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_make_names_an_old_compiler(tmp_path):
    compiler = tmp_path / "gcc"
    compiler.write_text("#!/bin/sh\necho 9.4.0\n")
    compiler.chmod(0o755)
    done = subprocess.run(["make", "-n", "image", f"CC={compiler}", "B=/tmp/none"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and "9 is too old: the package gcc or clang in version 10 or newer" in done.stderr


def without(directory, *missing):
    """A PATH with every program of this system except some."""
    for tool in os.listdir("/usr/bin"):
        if not tool.startswith(missing):
            os.symlink(f"/usr/bin/{tool}", directory / tool)
    return {**os.environ, "PATH": str(directory)}


@pytest.mark.parametrize("tool, command, package", [
    ("ld", ["make", "-n", "image", "B=/tmp/none"], "package binutils"),
    ("cpio", ["sh", "tools/scripts/mkinitramfs.sh", "/tmp/none/out", "/bin/true"], "busybox-static cpio"),
    ("cpio", ["make", "-n", "image"],
     "make image: it needs the package cpio (Debian's name): sh tools/setup.sh --for run"),
    ("xorriso", ["make", "-n", "iso"], "xorriso (Debian's name): sh tools/setup.sh --for run,iso"),
    ("npm", ["make", "-n", "page"], "npm (Debian's name): sh tools/setup.sh --for sim,page"),
    ("mypy", ["make", "-n", "types"], "mypy (Debian's name): sh tools/setup.sh --for types"),
    ("clang-format", ["make", "-n", "format"], "clang-format (Debian's name): sh tools/setup.sh --for format"),
    ("gdb", ["make", "-n", "gdb"], "gdb (Debian's name): sh tools/setup.sh --for run,gdb"),
    ("chromium", ["make", "-n", "book"], "chromium (Debian's name): sh tools/setup.sh --for pictures,traces,book"),
    ("sqlite3", ["make", "-n", "test"], "sqlite3 (Debian's name): sh tools/setup.sh --for run,sim,unit,"),
    ("valgrind", ["make", "-n", "test-all"], "valgrind (Debian's name): sh tools/setup.sh --for run,sim,unit,"),
])
def test_a_missing_tool_is_one_sentence(tmp_path, tool, command, package):
    done = subprocess.run(command, cwd=ROOT, env=without(tmp_path, tool), capture_output=True, text=True, check=False)
    assert done.returncode and package in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr


def set_up(*words, **environment):
    return subprocess.run(["sh", "tools/setup.sh", *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=False, env={**os.environ, **environment})


SYSTEMS = {"dnf": "Fedora: sudo dnf install gcc binutils", "pacman": "Arch: sudo pacman -S gcc binutils",
           "apk": "Alpine: doas apk add gcc binutils", "nix-shell": "Nix: nix-shell -p gcc binutils gnumake"}


@pytest.mark.parametrize("here", [*SYSTEMS, None])
def test_set_up_without_apt_prints_the_command_of_the_system(tmp_path, here):
    """Of the system whose command is here, or of each. Nothing is changed."""
    for tool in ("sh", "id", "uname", "sed"):
        os.symlink(f"/bin/{tool}", tmp_path / tool)
    if here:
        (tmp_path / here).write_text("#!/bin/sh\ntouch /tmp/it-was-called\nexit 1\n")
        (tmp_path / here).chmod(0o755)
    done = set_up(PATH=str(tmp_path))
    first, *commands = done.stderr.splitlines()
    assert done.returncode == 1 and re.match(r"setup: missing here \(Debian's names\): gcc binutils .*\.$", first)
    assert len(commands) == (1 if here else 4) and not os.path.exists("/tmp/it-was-called")
    for line, (command, text) in zip(commands, [each for each in SYSTEMS.items() if here in (None, each[0])]):
        assert line.startswith(f"setup: {text}"), command


@pytest.mark.skipif(os.getuid() != 0, reason="only root installs")
@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_set_up_shows_what_apt_does(tmp_path, term):
    """On a terminal that can write over a line. An apt-get that installs nothing is found out."""
    for tool in ("sh", "id", "uname", "sed", "mktemp", "ln", "rm", "tail", "tr", "sleep"):
        os.symlink(f"/bin/{tool}", tmp_path / tool)
    (tmp_path / "apt-get").write_text(f"#!/bin/sh\necho \"$2\" >> {tmp_path}/words\n"
                                      "echo Unpacking a thing\nsleep 1\n")
    (tmp_path / "apt-get").chmod(0o755)
    terminal, inside = os.openpty()
    with subprocess.Popen(["sh", "tools/setup.sh", "--for", "format"], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=inside, stderr=inside, env={"PATH": str(tmp_path), "TERM": term}) as done:
        os.close(inside)
        said = b""
        with contextlib.suppress(OSError):
            while data := os.read(terminal, 4096):
                said += data
    os.close(terminal)
    assert done.returncode == 1 and (b"\rUnpacking a thing  " in said) == (term == "xterm"), said
    assert said.endswith(b"setup: still missing after installation: git clang-format\r\n"), said
    assert (tmp_path / "words").read_text() == "update\n-y\n"


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("bwrap"), reason="only root installs; in a box without QEMU")
def test_debian_12_gets_the_libraries_of_a_newer_qemu(tmp_path):
    """Its own is installed only if the newer one cannot be fetched."""
    path = tmp_path / "bin"
    path.mkdir()
    without(path, "apt-get", "qemu")
    (path / "apt-get").unlink(missing_ok=True)
    (path / "apt-get").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/words\n')
    (path / "apt-get").chmod(0o755)
    (tmp_path / "os-release").write_text("VERSION_CODENAME=bookworm\n")
    box = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/opt", "--ro-bind", tmp_path / "os-release", "/etc/os-release"]
    done = subprocess.run([*box, "sh", "tools/setup.sh", "--for", "run"], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                          env={"PATH": str(path), "TERM": "dumb"})
    asked = [line for line in (tmp_path / "words").read_text().splitlines() if "-y" in line]
    assert [("libcapstone4" in line, "qemu-system-x86" in line) for line in asked] == [(True, False), (False, True)]
    assert done.returncode == 1 and "still missing after installation: qemu-system-x86" in done.stderr


def test_set_up_knows_each_use_and_each_package():
    """Uses that make asks for, and the names of other systems, are those of the table in tools/setup.sh."""
    with open(f"{ROOT}/tools/setup.sh", encoding="utf-8") as script, \
            open(f"{ROOT}/tools/other-systems.txt", encoding="utf-8") as others, \
            open(f"{ROOT}/mk/tools.mk", encoding="utf-8") as rules:
        needs = re.findall(r"^([a-z,]+) +(?:cmd|file|static|qemu) \S+ +(\S+)", script.read(), re.MULTILINE)
        rows = [line.split() for line in others if not line.startswith("#")]
        asked = set(re.findall(r"[a-z]+", " ".join(re.findall("^USES_.*:=(.*)$", rules.read(), re.MULTILINE))))
    assert len(needs) > 40 and sorted(row[0] for row in rows) == sorted({package for _, package in needs})
    assert all(len(row) == 5 for row in rows)
    known = {use for uses, _ in needs for use in uses.split(",")}
    assert asked - {"USES", "test", "rest"} <= known and set_up("--lacks", ",".join(sorted(known))).returncode == 0
    done = set_up("--for", "nothing")
    assert done.returncode == 2 and "nothing is called nothing" in done.stderr


def test_set_up_is_quick_when_nothing_is_missing():
    for option in ((), ("--all",)):
        done = set_up(*option)
        assert done.returncode == 0 and "everything is there" in done.stderr
