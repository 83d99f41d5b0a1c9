# SPDX-License-Identifier: GPL-2.0-only
"""Mutate sched/ and count how much of that the fast tests notice (docs/mutation.md).

N mutations are drawn from all that there are, by a seed. They are built once, all into one tree, and each then meets
the tests that come by its place, cheapest first, until one fails. Each result is a line of JSON in
BUILD/mutate/SEED.jsonl; a run that was ended goes on where it was. The seeded bugs of tests/mutants, which people wrote
and each of which has a test that must notice it, are another thing: `make mutants`.

Usage: python3 -m mutation [--seed S] [--jobs J] [--only TEXT] [--layers NAME] [--list] [--page] [N]
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

import mutants

from . import layers, page, verdicts
from .points import Mutation, find_mutations
from .schema import Schema

SCRATCH = pathlib.Path(os.environ.get("B", "build")) / "mutate"
TREE = SCRATCH / "tree"
TESTED = ("sched", "lib", "sim", "tests", "examples", "tools/scripts/mutation")
SPARE = 1.1  # drawn for each that is wanted, because some do not compile
Result = dict[str, Any]


def digest() -> str:
    """Of everything that a result depends on."""
    total = hashlib.sha256()
    for name in mutants.list_sources(*TESTED):
        total.update(name.encode() + b"\0" + pathlib.Path(name).read_bytes())
    return total.hexdigest()[:16]


def make(*words: str) -> None:
    """Build @words in the tree."""
    command = [os.environ.get("MAKE", "make"), f"-j{os.cpu_count()}", "B=build", f"CC={layers.CC}", *words]
    environment = layers.environment(TREE.resolve(), {})
    done = subprocess.run(command, cwd=TREE, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(command)}: {done.stderr[-2000:]}")


def find_all() -> list[Mutation]:
    return find_mutations(mutants.list_sources("sched/*.c"), pathlib.Path.cwd(), ["-std=gnu11", f"-I{os.getcwd()}"])


def copy_tree() -> None:
    """Bring the tree up to date, but for sched/, which the mutations are written into."""
    TREE.mkdir(parents=True, exist_ok=True)
    tops = {name.split("/")[0] for name in mutants.list_sources()} - {"sched"}
    mutants.refresh(TREE, sorted(tops))


def draw(mutations: list[Mutation], count: int, seed: int, only: str | None) -> dict[int, Mutation]:
    """By number from 1 on, in the order drawn."""
    if only:
        chosen = [mutation for mutation in mutations if only in mutation.key]
        if not chosen:
            raise ValueError(f"no mutation's key contains \"{only}\": --list prints them")
    else:
        chosen = random.Random(seed).sample(mutations, min(int(count * SPARE) + 1, len(mutations)))
    return dict(enumerate(chosen, 1))


def prepare(schema: Schema, count: int) -> None:
    """Write the mutations into the tree, @count of those that compile, and build all programs."""
    schema.install()
    schema.drop_invalid()
    for number in sorted(schema.mutations)[count:]:
        del schema.mutations[number]
    for file in schema.original:
        schema.write(file)
    make("build/schedsim", "unit-programs", "prop-programs")


def meet(number: int, mutation: Mutation, all_layers: list[layers.Layer], tree: pathlib.Path) -> Result:
    """Run the layers that come by a mutation until one notices it."""
    result: Result = {"key": mutation.key, "file": mutation.file, "line": mutation.line, "operator": mutation.operator,
                      "before": mutation.before, "after": mutation.after, "verdict": "unreached", "cpu_s": 0.0}
    waiting = [layer for layer in all_layers if number in layer.reached]
    for layer in sorted(waiting, key=lambda each: (each.phase, each.promise(mutation.file))):
        result["verdict"] = "survived"
        with layer.alone:
            outcome = layers.run(layer, tree, MUTATION=str(number))
        result["cpu_s"] = round(result["cpu_s"] + outcome.cpu_s, 2)
        if outcome.status:
            layer.kills[mutation.file] = layer.kills.get(mutation.file, 0) + 1
            return {**result, "verdict": "killed", "by": layer.name, "reason": layers.reason(layer, outcome)}
    return result


def judge(number: int, schema: Schema, all_layers: list[layers.Layer]) -> Result:
    result = meet(number, schema.mutations[number], all_layers, schema.tree)
    if result["verdict"] != "killed" and schema.is_equal(number):
        result["verdict"] = "same code"
    return result


class Log:
    """The file of results. Its first line says of what; one of something else is begun anew."""

    def __init__(self, path: pathlib.Path, about: Result) -> None:
        self.path = path
        self.results: dict[str, Result] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and json.loads(lines[0]) == about:
            self.results = {each["key"]: each for each in map(json.loads, lines[1:])}
        else:
            path.write_text(json.dumps(about) + "\n", encoding="utf-8")

    def add(self, result: Result) -> None:
        self.results[result["key"]] = result
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")


def measure_all(log: Log, wanted: str) -> list[layers.Layer]:
    """The layers, each run once without a mutation, now or when these results were begun."""
    all_layers = layers.list_layers(TREE, wanted)
    path = log.path.with_suffix(".layers.json")
    if log.results and path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
    else:
        for layer in all_layers:
            layers.measure(layer, TREE.resolve())
        known = {layer.name: [layer.cpu_s, sorted(layer.reached)] for layer in all_layers}
        path.write_text(json.dumps(known), encoding="utf-8")
    for layer in all_layers:
        layer.cpu_s, layer.reached = known[layer.name][0], frozenset(known[layer.name][1])
    return all_layers


def run_all(schema: Schema, log: Log, options: argparse.Namespace) -> None:
    todo = [number for number, mutation in sorted(schema.mutations.items()) if mutation.key not in log.results]
    if not todo:
        return
    all_layers = measure_all(log, options.layers)
    print(f"# {len(all_layers)} layers, {sum(layer.cpu_s for layer in all_layers):.0f} s of CPU without a mutation",
          flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in concurrent.futures.as_completed(pool.submit(judge, each, schema, all_layers) for each in todo):
            result = future.result()
            log.add(result)
            print(page.line(result), flush=True)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutation", description="Mutate sched/; do the fast tests notice?")
    parser.add_argument("count", nargs="?", type=int, default=100, metavar="N", help="how many (default: 100)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="J", help="how many at a time")
    parser.add_argument("--only", metavar="TEXT", help="those whose key contains TEXT")
    parser.add_argument("--layers", default="", metavar="NAME", help="layers whose name begins so: unit, explore, sim")
    parser.add_argument("--list", action="store_true", help="print the keys of those drawn and do nothing")
    parser.add_argument("--page", action="store_true", help="write the results into docs/mutation.md")
    options = parser.parse_args(arguments)
    if options.count < 1 or options.jobs < 1:
        parser.error("N and J are at least 1")
    return options


def mutate(options: argparse.Namespace) -> int:
    known = verdicts.read_verdicts()
    mutations = find_all()
    for key in verdicts.stale(known, mutations):
        print(f"# {verdicts.FILE}: no such mutation any more: {key}")
    schema = Schema(pathlib.Path.cwd(), TREE.resolve(), draw(mutations, options.count, options.seed, options.only))
    if options.list:
        print(*(mutation.key for mutation in schema.mutations.values()), sep="\n")
        return 0
    copy_tree()
    prepare(schema, len(mutations) if options.only else options.count)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True,
                            check=True).stdout.strip()
    about = {"seed": options.seed, "of": len(mutations), "only": options.only, "layers": options.layers,
             "source": digest()}
    log = Log(SCRATCH / (f"{options.seed}.jsonl" if not options.only else "only.jsonl"), about)
    run_all(schema, log, options)
    results = [log.results[mutation.key] for _, mutation in sorted(schema.mutations.items())]
    table = page.Table(results, known, len(mutations), options.seed, commit, len(schema.invalid))
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
