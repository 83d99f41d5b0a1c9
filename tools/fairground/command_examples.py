# SPDX-License-Identifier: GPL-2.0-only
"""Examples of commands, which `fairground COMMAND --help` ends with. tests/tools/test_install.py parses each."""

import argparse
from collections.abc import Iterable, Iterator

# command -> (its words after the command, what that does)
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "run": (("", "the demonstration, and a shell if there is a terminal"),
            ("--smp 1 --icount 1 --cmd 'hog -N 0,5 -t 1s'", "one command; its status is the status"),
            ("--monitor /dev/shm/machine", "top --attach /dev/shm/machine looks at it meanwhile")),
    "bench": (("", "all operations, beside Linux's"), ("--cmd 'bench yield_switch'", "one of them"),
              ("--sched bore", "another policy"),
              ("--fresh", "Debian's kernels boot, too: sh tools/setup.sh --compare")),
    "bench-smp": (("1 2 4", "machines of one, two and four CPUs"),),
    "trace": (("--icount 1 --cmd 'hack -g 2' --out hack.dat", "for trace-cmd report, KernelShark, fairground graph"),
              ("--cmd 'hog -n 2' --events 'sched:sched_switch decision:*'", "switches, and why")),
    "top": (("--cmd 'hack -g 4 -l 100000'", "a table every second"),
            ("--smp 8 --cmd 'hog -n 12 -t 20s' --delay 5 --out run.dat", "every five seconds; the trace is kept"),
            ("--attach /dev/shm/machine", "the machine of run --monitor /dev/shm/machine")),
    "repeat": (("--smp 4 --cmd 'hack -g 2' --runs 5", "five runs: are all traces the same?"),),
    "gdb": (("--smp 1 --cmd 'hog -n 4'", "then: break fair_tick, continue, rq, why 8"),),
    "latency": (("hack.dat --sort max", "the longest waits first"),),
    "timehist": (("hack.dat --cpus 0", "each turn on CPU 0"), ("hack.dat --summary", "a line for each task")),
    "map": (("hack.dat --pid 7,9", "where two threads ran"),),
    "stat": (("--cmd 'hack -g 2' --icount 1", "one command"), ("hack.dat --per-thread", "the tasks of a trace"),
             ("--cmd 'hack -g 2' --icount 1 --seeds 1..5", "means of five runs, and their errors"),
             ("--all --no-aggr --cmd 'hack -g 2'", "the whole machine, CPU by CPU")),
    "profile": (("--smp 1 --cmd 'hack -g 2'", "one command: which functions it is in"),
                ("--smp 1 --cmd 'pingpong -l 8000 futex' --less 'pingpong -l 4000 futex' --per 4000", "a round trip")),
    "experiment": (("", "the list"), ("x3-burst --hosts simulator --seeds 1..5", "one, five runs of it")),
    "experiments": (("--hosts simulator --out results", "all that the simulator can run"),),
    "compare": (("cfs,eevdf pipes --seeds 1..20", "twenty runs of each, and tests of the differences"),),
    "sweep": (("examples/sweep.toml --workers 2 --out turns.parquet", "180 cells"),
              ("grid.toml --refine wait_p99_ms --points 12 --axis base_slice_ns", "and more where the tail bends")),
    "agreement": (("--scheds cfs,eevdf --show", "with the first disagreement of each row"),),
    "scenarios": (("F-01 F-13 --scheds cfs", "two of the cards"),),
    "decisions": (("run.json --kind pick --limit 20", "the first picks"), ("run.json --stats", "how often each rule"),
                  ("run.json --kind select --stats", "which rule chose CPUs, and how often"),
                  ("run.json --kind balance --full", "every balancing pass, with all that it compared")),
    "graph": (("dat2graph2 hack.dat", "hack.svg: who ran on each CPU"), ("lag run.json --max 0.12", "from decisions")),
    "convert": (("hack.dat -o hack.pftrace", "for ui.perfetto.dev"),
                ("hack.dat -o waits.parquet --table waits", "for pandas.read_parquet()")),
    "fidelity": (("--fast", "the third of the cases that the nightly tests check"),),
    "first-difference": (("cfs linux-6.1 --cmd 'hog -n 3 -t 1s'", "the first switch that differs"),),
    "report": (("runs.html cfs.dat eevdf.dat quota.json", "one page about three runs"),),
    "lab": (("list", "the labs there are"), ("handout 5 lab5", "a student's tree")),
    "lab list": (("", "the labs there are"),),
    "lab handout": (("5 lab5", "the tree of lab 5 in the new directory lab5"),),
    "lab grade": (("--lab 5 --json results.json submission.tar.gz", "with the file that Gradescope reads"),
                  ("--lab 5 --records seen submission.tar.gz", "with files to drop on build/fairground.html")),
    "lab class": (("--lab 5 --seed 4711 --csv grades.csv submissions", "a line for each student"),),
    "lab export": (("--lab 5 submissions sources", "for tools that look for copies"),),
    "lab check": (("--lab 5", "the reference and every wrong solution of one lab"),),
    "settings": (("", "every setting, with its values and default"),),
    "completion": (("", "in ~/.bashrc: eval \"$(fairground completion)\""),),
}


def parsers(parser: argparse.ArgumentParser, path: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """@parser and those of its commands, and theirs: each with the words that lead to it, as "graph lag"."""
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from parsers(sub, f"{path} {name}".strip())


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """@parser, or if it has commands, those of them that have none."""
    for _, sub in parsers(parser):
        if not any(isinstance(action, argparse._SubParsersAction) for action in sub._actions):
            yield sub


def show_examples(parser: argparse.ArgumentParser, path: str, examples: Iterable[tuple[str, str]]) -> None:
    """Let the help of @parser, to which the words @path lead, end with @examples."""
    lines = [f"  fairground {path} {words}".rstrip() + f"\n      {what}" for words, what in examples]
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(["examples:", *lines])


def add_examples(parser: argparse.ArgumentParser) -> None:
    """Let the help of each command of @parser end with its examples."""
    for path, sub in parsers(parser):
        if path in EXAMPLES:
            show_examples(sub, path, EXAMPLES[path])
