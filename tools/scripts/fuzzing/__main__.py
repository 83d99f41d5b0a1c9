# SPDX-License-Identifier: GPL-2.0-only
"""Let AFL++ draw scripts of system calls by what they reach in the kernel, and run them in a machine (docs/fuzzing.md).

The corpus, OUT/corpus, stays for the next run. A script after which the machine stops, a process does not end or
objects are lost each time is told of and kept: OUT/wrong-N.script, with the console in wrong-N.log.

Usage: python3 -m fuzzing [--runs N | --seconds N] [--out DIR] [--sched POLICY] [--smp N] [--files]
       python3 -m fuzzing --shrink SCRIPT | --source SCRIPT | --run SCRIPT | --minimise | --page
       environment: B (build directory), MAKE
"""

import argparse
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys

from fairground.base.errors import InputError
from fairground.base.settings import Settings
from fairground.machine.qemu import QemuError

from . import places
from .guest import Guest, machine_of
from .proxy import MOST_KEPT
from .shrink import shortest

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT = "fuzz"
MOST = 10 ** 9  # of whatever an option counts
ROWS_OF_A_SEED = 8
QUIET = {"AFL_NO_UI": "1", "AFL_SKIP_CPUFREQ": "1", "AFL_NO_AFFINITY": "1", "AFL_SKIP_BIN_CHECK": "1",
         "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_FORKSRV_INIT_TMOUT": "300000", "AFL_MAP_SIZE": "262144",
         "AFL_CUSTOM_MUTATOR_ONLY": "1", "AFL_PYTHON_MODULE": "fuzzing.mutator", "AFL_AUTORESUME": "1",
         "AFL_DISABLE_TRIM": "1", "AFL_KILL_SIGNAL": "15", "AFL_ALLOW_TMP": "1", "AFL_FAST_CAL": "1"}
# Whether a machine hangs is told by its own watchdogs, in counted time. This is for a QEMU that does.
TIMEOUT_MS = "120000"


PAGE = """# Places that the fuzzer reached

Places are basic blocks of `kernel/`, and of headers where `kernel/` includes them. A place is reached if a thread of a
script runs it, and not an interrupt ([fuzzing.md](fuzzing.md)). Written after some runs by:

    make fuzz ARGS=--page > docs/reached.md

"""


class FuzzError(Exception):
    """One sentence for the user."""


def build(image: str) -> str:
    """Build the kernel that says what is reached. Returns its build directory."""
    cover = f"{image}-cover"
    make = os.environ.get("MAKE", "make")
    subprocess.run([make, "-s", f"B={cover}", "DEBUG=1", "COVER=1", "kernel"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "MAKEFLAGS": ""})
    shutil.copy(ROOT / image / "initramfs.cpio", ROOT / cover / "initramfs.cpio")
    return cover


def table_of(image: str) -> str:
    """The calls: `fuzz --table`, which runs here as in the guest."""
    return subprocess.run([ROOT / image / "user/fuzz", "--table"], capture_output=True, text=True, check=True).stdout


def script_of(rows: list[int]) -> bytes:
    """Each of the calls @rows once, as they stand."""
    return b"\0" + b"".join(bytes([0, 0, row & 255, row >> 8, 7, 0, 0, 0]) for row in rows)


def write_seeds(corpus: pathlib.Path, table: str) -> None:
    """A first corpus: every call of the table."""
    rows = list(range(len(table.splitlines())))
    random.Random(1).shuffle(rows)
    corpus.mkdir(parents=True)
    for at in range(0, len(rows), ROWS_OF_A_SEED):
        (corpus / f"rows-{at}").write_bytes(script_of(rows[at:at + ROWS_OF_A_SEED]))
    (corpus.parent / "table").write_text(table, encoding="ascii")


def ready_corpus(out: pathlib.Path, table: str) -> pathlib.Path:
    """The scripts to begin with: those in @out, or a first corpus."""
    corpus, of = out / "corpus", out / "table"
    if not corpus.exists():
        write_seeds(corpus, table)
        return corpus
    if not of.is_file():
        wrong = f"{of} is missing, which says of what table of calls {corpus} is"
    elif of.read_text(encoding="ascii", errors="replace") != table:
        wrong = f"{corpus} is of another table of calls than this tree's"
    elif not any(corpus.iterdir()):
        wrong = f"{corpus} has no script"
    else:
        return corpus
    raise FuzzError(f"{wrong}; rm -r {out} begins anew")


def environment(table: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT / "tools"), str(ROOT / "tools/scripts")])
    return {**os.environ, **QUIET, "FUZZ_TABLE": table, "PYTHONPATH": path}


def proxy(cover: str, out: pathlib.Path, arguments: argparse.Namespace) -> list[str]:
    return [sys.executable, "-m", "fuzzing.proxy", cover, str(out), arguments.sched, str(arguments.smp)]


def afl(words: list[str], table: str, log: pathlib.Path, seconds: int | None = None) -> None:
    """Run a program of AFL++; what it says goes to @log. It is asked to end after @seconds.

    Its own limit of time begins only when it has run each script of the corpus, three times or more.
    """
    if not shutil.which(words[0]):
        raise FuzzError(f"{words[0]} is missing: sh tools/setup.sh --for fuzz")
    with open(log, "w", encoding="utf-8") as file, subprocess.Popen(
            words, env=environment(table), stdout=file, stderr=subprocess.STDOUT, cwd=ROOT) as program:
        try:
            status = program.wait(seconds)
        except subprocess.TimeoutExpired:
            program.send_signal(signal.SIGINT)
            status = program.wait()
    if status:
        raise FuzzError(f"{words[0]} ended with status {status}; what it said is in {log}")


def keep(out: pathlib.Path, corpus: pathlib.Path) -> None:
    """What AFL++ found to reach something new is the next corpus."""
    queue = sorted((out / "afl/default/queue").glob("id:*"))
    if not queue:  # it was ended before it had read the corpus
        return
    shutil.rmtree(corpus)
    corpus.mkdir()
    for number, path in enumerate(queue):
        shutil.copy(path, corpus / f"{number:06}")
    shutil.rmtree(out / "afl")


def write_page(image: str, out: pathlib.Path) -> int:
    """Print docs/reached.md: all runs with the corpus, and what those of the last kernel reached."""
    if not (out / "runs").is_file():
        raise FuzzError(f"{out} has no run to print; make fuzz makes one")
    kernel = str(ROOT / build(image) / "fairground.elf")
    if not (ever_reached := places.kept(out / "places", kernel)):
        raise FuzzError(f"{out}/places is damaged, or of another kernel than this tree's; make fuzz runs this one")
    sums: dict[str, list[int]] = {}
    for at, line in enumerate((out / "runs").read_text(encoding="ascii", errors="replace").splitlines(), 1):
        if not (row := re.fullmatch(r"(\w[^\t]*)\t(\d+)\t(\d+)\t(\d+)", line, re.ASCII)):
            raise FuzzError(f"{out}/runs: line {at} is not a run: its machine and three numbers are expected")
        sums[row[1]] = [a + int(b) for a, b in zip(sums.get(row[1], [0, 0, 0]), row.groups()[1:])]
    print(PAGE, end="")
    print("| runs under | scripts | calls and accesses | wrong |\n|---|---|---|---|")
    for name, (runs, calls, wrong) in sorted(sums.items()):
        print(f"| {name} | {runs:,} | {calls:,} | {wrong} |")
    reached = places.by_file(kernel, ever_reached)
    ever, total = (sum(numbers[i] for numbers in reached.values()) for i in (0, 1))
    print(f"\nReached: {ever:,} of {total:,} places.\n\n{places.page(reached)}", end="")
    return 0


def report(out: pathlib.Path, cover: str, arguments: argparse.Namespace) -> int:
    """Print what was run and reached. Returns how many scripts something was wrong with."""
    files = arguments.files
    if not (out / "totals").is_file():
        raise FuzzError(f"no script was run; what AFL++ said is in {out}/afl.log")
    runs, calls, wrong = map(int, (out / "totals").read_text(encoding="ascii").split())
    with open(out / "runs", "a", encoding="ascii") as file:
        file.write(f"{arguments.sched}, {arguments.smp} CPUs\t{runs}\t{calls}\t{wrong}\n")
    kernel = str(ROOT / cover / "fairground.elf")
    reached = places.by_file(kernel, places.kept(out / "places", kernel))
    rows = reached if files else places.by_room(reached)
    for name, (ever, total) in rows.items():
        print(f"{name:<32} {ever:>6} of {total:>6}  {100 * ever / total:5.1f} %")
    ever, total = (sum(numbers[i] for numbers in reached.values()) for i in (0, 1))
    print(f"{'all places':<32} {ever:>6} of {total:>6}  {100 * ever / total:5.1f} %")
    kept = len(list((out / "corpus").iterdir()))
    print(f"{runs} scripts, {calls} calls and accesses; corpus of {kept}; {wrong} wrong")
    for script in sorted(out.glob("wrong-*.script")):
        log = script.with_suffix(".log")
        first = log.read_text(encoding="utf-8", errors="replace").partition("\n")[0] if log.is_file() else ""
        print(f"{script}: {first or 'its log is missing'}; make fuzz ARGS=\"--shrink {script}\"")
    return wrong


def nr_wrong(out: pathlib.Path) -> int:
    """How many scripts of this run something was wrong with; 0 also if there was no run."""
    totals = out / "totals"
    return int(totals.read_text(encoding="ascii").split()[2]) if totals.is_file() else 0


def learn(image: str, out: pathlib.Path, arguments: argparse.Namespace) -> int:
    table = table_of(image)
    corpus, cover = ready_corpus(out, table), build(image)
    (out / "totals").unlink(missing_ok=True)
    shutil.rmtree(out / "afl", ignore_errors=True)
    bound = [] if arguments.seconds else ["-E", str(arguments.runs)]
    try:
        afl(["afl-fuzz", "-i", str(corpus), "-o", str(out / "afl"), "-t", TIMEOUT_MS, "-m", "none",
             "-s", str(arguments.seed), *bound, "--", *proxy(cover, out, arguments)], table, out / "afl.log",
            arguments.seconds)
        keep(out, corpus)
    except FuzzError:
        if not nr_wrong(out):  # AFL++ gives up if each script of the corpus is wrong
            raise
    return 1 if report(out, cover, arguments) else 0


def shrink(image: str, out: pathlib.Path, arguments: argparse.Namespace) -> int:
    """A shorter script with the same fault."""
    name = arguments.shrink
    guest = Guest(machine(arguments, str(ROOT / build(image))))
    out.mkdir(parents=True, exist_ok=True)

    def wrong(script: bytes) -> str:
        said = guest.run(script)
        if said:
            (out / "shrink.log").write_text(guest.console(), encoding="utf-8")
            guest.stop()
        return said

    try:
        script = pathlib.Path(name).read_bytes()
        if not (fault := wrong(script)):
            raise FuzzError(f"{name}: nothing is wrong with it, so nothing can be left out")
        short = shortest(script, lambda shorter: wrong(shorter) == fault)
    finally:
        guest.stop()
    pathlib.Path(f"{name}.short").write_bytes(short)
    print(f"{name}.short: {len(short)} bytes of {len(script)}: {fault}; as C: make fuzz ARGS=\"--source {name}.short\"")
    return 0


def minimise(image: str, out: pathlib.Path, arguments: argparse.Namespace) -> int:
    """A smaller corpus that reaches the same, by afl-cmin."""
    table = table_of(image)
    corpus, smaller = ready_corpus(out, table), out / "smaller"
    before = len(list(corpus.iterdir()))
    shutil.rmtree(smaller, ignore_errors=True)
    afl(["afl-cmin", "-i", str(corpus), "-o", str(smaller), "-t", TIMEOUT_MS, "-m", "none", "--",
         *proxy(build(image), out, arguments)], table, out / "cmin.log")
    shutil.rmtree(corpus)
    smaller.rename(corpus)
    print(f"{corpus}: {len(list(corpus.iterdir()))} scripts of {before}")
    return 0


def machine(arguments: argparse.Namespace, cover: str) -> Settings:
    """The machine that runs scripts; a sentence if there is none of that kind."""
    try:
        return machine_of(cover, arguments.sched, str(arguments.smp))
    except InputError as error:
        raise FuzzError(str(error)) from error


def run_one(image: str, script: str, arguments: argparse.Namespace) -> int:
    """Run one script and show how the machine takes it."""
    guest = Guest(machine(arguments, str(ROOT / build(image))))
    try:
        wrong = guest.run(pathlib.Path(script).read_bytes())
        print(guest.console() if wrong else "", end="")
    finally:
        guest.stop()
    print(f"{script}: {wrong or 'nothing is wrong'}")
    return 1 if wrong else 0


def main() -> int:
    image = os.environ.get("B", "build")
    parser = argparse.ArgumentParser(prog="fuzz", description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=3000, help="about so many scripts, default 3000")
    parser.add_argument("--seconds", type=int, help="instead, so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default=f"{image}/{OUT}", metavar="DIR", help="corpus and what was found")
    parser.add_argument("--sched", default="cfs", metavar="POLICY")
    parser.add_argument("--smp", type=int, default=2)
    parser.add_argument("--files", action="store_true", help="what was reached by file, not by directory")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--shrink", metavar="SCRIPT", help="make a script that is wrong shorter")
    what.add_argument("--source", metavar="SCRIPT", help="print a script as a program in C")
    what.add_argument("--run", metavar="SCRIPT", help="run a script, and print the console if something is wrong")
    what.add_argument("--minimise", action="store_true", help="leave out of the corpus what reaches nothing of its own")
    what.add_argument("--page", action="store_true", help="print docs/reached.md: all runs, what they reached by file")
    arguments = parser.parse_args()
    out = pathlib.Path(arguments.out).resolve()
    for name, least in (("runs", 1), ("seconds", 1), ("smp", 1), ("seed", 0)):
        if (number := getattr(arguments, name)) is not None and not least <= number <= MOST:
            raise FuzzError(f"--{name} {number}: a number from {least} to {MOST} is expected")
    machine(arguments, image)
    script: str = arguments.shrink or arguments.source or arguments.run or ""
    if script and not os.path.isfile(script):
        raise FuzzError(f"{script}: there is no such file")
    if arguments.source:
        return subprocess.run([ROOT / image / "user/fuzz", "--source", arguments.source], check=False).returncode
    if arguments.run:
        return run_one(image, arguments.run, arguments)
    if arguments.shrink:
        return shrink(image, out, arguments)
    if arguments.page:
        return write_page(image, out)
    return (minimise if arguments.minimise else learn)(image, out, arguments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (FuzzError, QemuError) as error:
        sys.exit(f"fuzz: {error}")
    except OSError as error:
        sys.exit(f"fuzz: {error.filename or 'output'}: {error.strerror}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"fuzz: {shlex.join(map(str, error.cmd))}: ended with status {error.returncode}")
