# SPDX-License-Identifier: GPL-2.0-only
"""Mutate sched/, or with --only kernel/ that, and count how much of it the tests notice (docs/mutation.md).

N mutations are drawn from all that there are, by a seed. They are built once, all into one tree, and each then meets
the tests that come by its place, cheapest first, until one fails; the tests that cost much meet what is left at the
end. Each result is a line of JSON in
BUILD/mutate/SEED.jsonl; a run that was ended goes on where it was. The seeded bugs of tests/mutants, which people wrote
and each of which has a test that must notice it, are another thing: `make mutants`.

Usage: python3 -m mutation [--seed S] [--jobs J] [--only TEXT] [--layers NAME] [--again FILE] [--list] [--page] [N]
       environment: B (build directory), MAKE, CC
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
from typing import Any

import kernel_tests
import mutants

from . import layers, page, verdicts
from .points import Mutation, find_mutations
from .schema import OPTIONS, Schema

SCRATCH = pathlib.Path(os.environ.get("B", "build")) / "mutate"
TREES = {"sched": SCRATCH / "tree", "kernel": SCRATCH / "kernel"}
TESTED = {"sched": ("sched", "lib", "sim", "tests", "examples", "tools/scripts/mutation"),
          "kernel": ("arch", "kernel", "lib", "sched", "tests/e2e", "tests/guest", "tests/hosted", "tests/kernel",
                     "user", "tools/scripts/mutation", "tools/scripts/kernel_tests.py")}
BUILT = {"sched": ("build/schedsim", "unit-programs", "prop-programs"), "kernel": ("build/unit/hosted",)}
SPARE = 1.1  # drawn for each that is wanted, because some do not compile
ALIVE = ("unreached", "survived")
Result = dict[str, Any]
Numbered = dict[int, Result]


def digest(room: str) -> str:
    """Of everything that a result depends on."""
    total = hashlib.sha256()
    for name in mutants.list_sources(*TESTED[room]):
        total.update(name.encode() + b"\0" + pathlib.Path(name).read_bytes())
    return total.hexdigest()[:16]


def make(tree: pathlib.Path, *words: str) -> None:
    """Build @words in a tree."""
    command = [os.environ.get("MAKE", "make"), f"-j{os.cpu_count()}", "B=build", f"CC={layers.CC}", *words]
    environment = layers.environment(tree.resolve(), {})
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command)}: {done.stderr[-2000:]}")


def hosted_files() -> set[str]:
    """The files of kernel/ that an object of tests/hosted runs."""
    return {file for file in mutants.list_sources("kernel/*.c") if kernel_tests.row(file)[0]}


def find_all(room: str, only: str | None) -> list[Mutation]:
    """All mutations of a room: in sched/, or in the files of kernel/ that are meant: one, or those run on this host."""
    options = ["-std=gnu11", *OPTIONS[room], f"-I{os.getcwd()}"]
    if room == "sched":
        return find_mutations(mutants.list_sources("sched/*.c"), pathlib.Path.cwd(), options)
    file = (only or "").partition(" :: ")[0]
    files = [file] if os.path.isfile(file) else hosted_files()
    return find_mutations(files, pathlib.Path.cwd(), options, headers=False)


def copy_tree(room: str) -> None:
    """Bring the tree up to date, but for the room that the mutations are written into."""
    TREES[room].mkdir(parents=True, exist_ok=True)
    tops = {name.split("/")[0] for name in mutants.list_sources()} - {room}
    mutants.refresh(TREES[room], sorted(tops))


def draw(mutations: list[Mutation], count: int | None, seed: int, only: str | None) -> dict[int, Mutation]:
    """By number from 1 on, in the order drawn. Without a @count all."""
    if only:
        mutations = [mutation for mutation in mutations if only in mutation.key]
        if not mutations:
            raise ValueError(f"no mutation's key contains \"{only}\": --list prints them")
    chosen = mutations
    if count:
        chosen = random.Random(seed).sample(mutations, min(int(count * SPARE) + 1, len(mutations)))
    return dict(enumerate(chosen, 1))


def read_log(path: pathlib.Path) -> dict[str, Result]:
    """The results of a log by key: of each mutation the last one, in the order of the first."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if not lines:
        raise ValueError(f"{path}: there are no results")
    return {each["key"]: each for each in map(json.loads, lines[1:])}


def without_function(key: str) -> tuple[str, ...]:
    """What of a mutation's key stays the same when its code moves to another function of the file."""
    file, _, *change = key.split(" :: ")
    return file, *change


def follow_moved(mutations: list[Mutation], before: dict[str, Result]) -> dict[str, Result]:
    """The results; a survivor by today's key, if its change is in one other function of the file now."""
    known = {mutation.key for mutation in mutations}
    places: dict[tuple[str, ...], list[str]] = {}
    for key in known - set(before):
        places.setdefault(without_function(key), []).append(key)
    followed = {}
    for key, result in before.items():
        moved = key not in known and result["verdict"] in ALIVE
        found = places.get(without_function(key), []) if moved else []
        now = found[0] if len(found) == 1 else key
        followed[now] = {**result, "key": now}
    return followed


def draw_again(mutations: list[Mutation], before: dict[str, Result]) -> dict[int, Mutation]:
    """Those of an earlier run that its tests let pass, as far as the source has them still."""
    chosen = [mutation for mutation in mutations if before.get(mutation.key, {}).get("verdict") in ALIVE]
    if not chosen:
        raise ValueError("nothing survived that the source has still")
    return dict(enumerate(chosen, 1))


def prepare(schema: Schema, count: int | None) -> None:
    """Write the mutations into the tree, @count of those that compile, or all, and build what phase 0 runs."""
    schema.install()
    schema.drop_invalid()
    for number in sorted(schema.mutations)[count or len(schema.mutations):]:
        del schema.mutations[number]
    for file in schema.original:
        schema.write(file)
    make(schema.tree, *BUILT[schema.room])


def begin(mutation: Mutation) -> Result:
    """The result of a mutation that has met no test yet."""
    return {"key": mutation.key, "file": mutation.file, "line": mutation.line, "operator": mutation.operator,
            "before": mutation.before, "after": mutation.after, "verdict": "unreached", "cpu_s": 0.0, "phase": -1}


def meet(number: int, result: Result, some_layers: list[layers.Layer], tree: pathlib.Path) -> Result:
    """The @result so far, and then: run those of the layers that come by the mutation until one notices it."""
    result = dict(result)
    waiting = [layer for layer in some_layers if number in layer.reached]
    for layer in sorted(waiting, key=lambda each: each.promise(result["file"])):
        result["verdict"] = "survived"
        with layer.alone:
            outcome = layers.run(layer, tree, MUTATION=str(number))
        result["cpu_s"] = round(result["cpu_s"] + outcome.cpu_s, 2)
        if outcome.status:
            layer.kills[result["file"]] = layer.kills.get(result["file"], 0) + 1
            return {**result, "verdict": "killed", "by": layer.name, "reason": layers.reason(layer, outcome)}
    return result


def judge(number: int, schema: Schema, result: Result, phase: int, some_layers: list[layers.Layer]) -> Result:
    result = meet(number, result, some_layers, schema.tree)
    if result["phase"] < 0 and result["verdict"] != "killed" and schema.is_equal(number):
        result["verdict"] = "same code"
    return {**result, "phase": phase}


class Log:
    """The file of results; the last of a mutation counts. Its first line says of what; another one is begun anew."""

    def __init__(self, path: pathlib.Path, about: Result) -> None:
        self.path = path
        self.results: dict[str, Result] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and json.loads(lines[0]) == about:
            self.results = read_log(path)
        else:
            path.write_text(json.dumps(about) + "\n", encoding="utf-8")

    def add(self, result: Result) -> None:
        self.results[result["key"]] = result
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")


def measure_all(some_layers: list[layers.Layer], schema: Schema, log: Log) -> None:
    """Run each of the layers once without a mutation, now or when these results were begun."""
    path = log.path.with_suffix(".layers.json")
    known = json.loads(path.read_text(encoding="utf-8")) if log.results and path.exists() else {}
    for layer in some_layers:
        if layer.name not in known:
            layers.measure(layer, schema.tree)
            known[layer.name] = [layer.cpu_s, sorted(layer.reached)]
        layer.cpu_s, layer.reached = known[layer.name][0], frozenset(known[layer.name][1])
        layer.reached |= {number for number, each in schema.mutations.items() if each.file in layer.files}
    path.write_text(json.dumps(known), encoding="utf-8")


def run_phase(phase: int, some_layers: list[layers.Layer], todo: Numbered, schema: Schema, log: Log,
              options: argparse.Namespace) -> None:
    """Let the mutations of which these results are so far meet the layers of a phase."""
    if any(layer.files for layer in some_layers):
        make(schema.tree, "image")
    measure_all(some_layers, schema, log)
    print(f"# phase {phase}: {len(todo)} mutations, {len(some_layers)} layers, "
          f"{sum(layer.cpu_s for layer in some_layers):.0f} s of CPU without a mutation", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in concurrent.futures.as_completed(
                pool.submit(judge, number, schema, result, phase, some_layers) for number, result in todo.items()):
            result = future.result()
            log.add(result)
            print(page.line(result), flush=True)


def run_all(schema: Schema, log: Log, options: argparse.Namespace) -> None:
    """All mutations meet the layers of a phase before the first meets those of the next, which cost more."""
    files = {mutation.file for mutation in schema.mutations.values()}
    all_layers = layers.list_layers(schema.tree, options.layers, files)
    for phase in sorted({layer.phase for layer in all_layers if layer.phase <= options.phases}):
        todo = {}
        for number, mutation in sorted(schema.mutations.items()):
            result = log.results.get(mutation.key) or begin(mutation)
            if result["verdict"] in ALIVE and result["phase"] < phase:
                todo[number] = result
        if todo:
            run_phase(phase, [layer for layer in all_layers if layer.phase == phase], todo, schema, log, options)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutation", description="Mutate sched/ or kernel/; do the tests notice?")
    parser.add_argument("count", nargs="?", type=int, metavar="N", help="how many (default: 100; with --only all)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="J", help="how many at a time")
    parser.add_argument("--only", metavar="TEXT",
                        help="those whose key contains TEXT, in sched/ unless it begins with kernel/")
    parser.add_argument("--layers", default="", metavar="NAME",
                        help="layers whose name begins so: unit, explore, sim; hosted, selftest, guest, session")
    parser.add_argument("--phases", type=int, default=9, metavar="P",
                        help="no layers after this phase (0 unit, 1 short exploration, ... 4 long simulation)")
    parser.add_argument("--again", type=pathlib.Path, metavar="FILE",
                        help="only what survived in the earlier run whose results FILE has; the score counts all of it")
    parser.add_argument("--list", action="store_true", help="print the keys of those drawn and do nothing")
    parser.add_argument("--page", action="store_true", help="write the results into docs/mutation.md")
    options = parser.parse_args(arguments)
    if options.count is None and not options.only:
        options.count = 100
    options.room = "kernel" if (options.only or "").startswith("kernel/") else "sched"
    if options.count is not None and options.count < 1 or options.jobs < 1:
        parser.error("N and J are at least 1")
    return options


def log_of(options: argparse.Namespace, of: int) -> Log:
    about = {"seed": options.seed, "of": of, "only": options.only, "layers": options.layers,
             "source": digest(options.room)}
    if options.again:
        return Log(options.again.with_suffix(".again.jsonl"), {**about, "again": str(options.again)})
    name = options.room if options.only else ""
    return Log(SCRATCH / (f"{name}{options.seed}.jsonl" if options.count else f"{name}-only.jsonl"), about)


def mutate(options: argparse.Namespace) -> int:
    known = verdicts.read_verdicts()
    mutations = find_all(options.room, options.only)
    files = {mutation.file for mutation in mutations}
    for key in verdicts.stale((key for key in known if key.partition(" :: ")[0] in files), mutations):
        print(f"# {verdicts.FILE}: no such mutation any more: {key}")
    before = follow_moved(mutations, read_log(options.again)) if options.again else {}
    chosen = draw_again(mutations, before) if before else draw(mutations, options.count, options.seed, options.only)
    schema = Schema(pathlib.Path.cwd(), TREES[options.room].resolve(), chosen, options.room)
    if options.list:
        print(*(mutation.key for mutation in schema.mutations.values()), sep="\n")
        return 0
    copy_tree(options.room)
    prepare(schema, options.count if not before else None)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True,
                            check=True).stdout.strip()
    log = log_of(options, len(mutations))
    run_all(schema, log, options)
    results = before | {mutation.key: log.results[mutation.key] for _, mutation in sorted(schema.mutations.items())}
    table = page.Table(list(results.values()), known, len(mutations), options.seed, commit, len(schema.invalid),
                       list(before.values()))
    print(table.text())
    if options.page:
        table.write()
    return 0


def main() -> int:
    try:
        return mutate(parse(sys.argv[1:]))
    except ValueError as problem:
        sys.exit(f"mutation: {problem}")


if __name__ == "__main__":
    sys.exit(main())
