#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make the golden numbers of tests/unit with the models of this directory, and compare them with the tests.

A block of golden numbers is a table or a list of assertions in a C test. BLOCKS says where each stands and which
model makes it. A model shares nothing with sched/: it was written from the rules alone (docs/sources.md), so the two
can only agree if both are right or both misunderstood the rule.

Usage: golden.py            print a line for each block; exit 1 if a number differs
       golden.py --write    write the models' numbers into the tests
"""

import argparse
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import bore
import cfs
import eevdf
import hogs
import pelt
from arithmetic import (IDLE, MS, NICE_0, SCALE_BITS, WEIGHTS, calc_delta, group_weight, of_idle, of_nice, of_sum,
                        virtual)

TESTS = pathlib.Path(__file__).resolve().parent.parent / "unit"
Value = int | str
WORDS = {"MS": str(MS), "~0ull": str((1 << 64) - 1)}


# --- C -------------------------------------------------------------------------------------------


class Unreadable(Exception):
    """The test does not have the shape that BLOCKS expects. One line."""


@dataclass(frozen=True)
class Place:
    """A value in the text of a test: what it is, and where it stands."""

    value: Value
    start: int
    end: int


def evaluate(text: str) -> Value:
    """A C initializer or argument: a number, a product or quotient or shift of numbers, a character, a string."""
    text = text.strip()
    if text[:1] in "'\"":
        return text[1:-1]
    for word, value in WORDS.items():
        text = text.replace(word, value)
    text = re.sub(r"(?<=\d)(?:ull|ul|u)\b", "", text).replace("/", "//")
    if not re.fullmatch(r"[\d\s*/+<>()-]+", text):
        raise Unreadable(f"{text!r} is no number")
    return int(eval(text))  # digits and operators only


def places(text: str, start: int, end: int) -> list[Place]:
    """The values between @start and @end, where braces nest and commas separate."""
    found = []
    for match in re.finditer(r"\"[^\"]*\"|'[^']*'|[^{},\s](?:[^{},]*[^{},\s])?", text[start:end]):
        found.append(Place(evaluate(match.group()), start + match.start(), start + match.end()))
    return found


def span_of(text: str, function: str) -> tuple[int, int]:
    """Where the body of @function is; the whole text if the name is empty."""
    if not function:
        return 0, len(text)
    match = re.search(rf"^static void {function}\(.*?\n\}}", text, re.MULTILINE | re.DOTALL)
    if not match:
        raise Unreadable(f"there is no {function}()")
    return match.span()


def table(text: str, function: str) -> list[Place]:
    """The values of `golden[] = { ... };`"""
    start, end = span_of(text, function)
    match = re.compile(r"golden\[\] = \{(.*?)\};", re.DOTALL).search(text, start, end)
    if not match:
        raise Unreadable(f"{function or 'the file'} has no table golden[]")
    return places(re.sub(r"/\*.*?\*/", lambda comment: " " * len(comment.group()), text, flags=re.DOTALL),
                  *match.span(1))


def asserted(text: str, function: str, pattern: str) -> list[Place]:
    """The last argument of each assertion of @function whose first one matches @pattern."""
    start, end = span_of(text, function)
    call = re.compile(rf"assert_(?:int|string)_equal\((?:{pattern}),\s*([^;]*?)\);")
    return [Place(evaluate(match[1]), *match.span(1)) for match in call.finditer(text, start, end)]


def lists(text: str, function: str) -> list[Place]:
    """The golden lists, the last arguments, of the CHECK_SLICES() of @function."""
    start, end = span_of(text, function)
    return [place for match in re.compile(r"CHECK_SLICES\(.*LIST\(([^)]*)\)\);").finditer(text, start, end)
            for place in places(text, *match.span(1))]


# --- blocks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Golden numbers in one test, and the model's. An `open` table says 0 for what it does not check."""

    file: str
    function: str
    model: Callable[[], list[Value]]
    find: Callable[[str, str], list[Place]] = table
    open: bool = False

    @property
    def path(self) -> pathlib.Path:
        return TESTS / self.file

    def differences(self, text: str) -> Iterator[tuple[Place, Value]]:
        """(what stands in the test, what the model says) wherever they differ."""
        wanted, found = self.model(), self.find(text, self.function)
        if len(wanted) != len(found) or not found:
            raise Unreadable(f"{self.function}: the model makes {len(wanted)} values, the test has {len(found)}")
        for place, value in zip(found, wanted):
            if place.value != value and not (self.open and place.value == 0):
                yield place, value


def asserts(pattern: str) -> Callable[[str, str], list[Place]]:
    return lambda text, function: asserted(text, function, pattern)


def flat(rows: Iterator[tuple[Value, ...]] | list[tuple[Value, ...]]) -> list[Value]:
    return [value for row in rows for value in row]


# --- the models' numbers -----------------------------------------------------------------------------

SAMPLES = (1, 750_000, MS, 3 * MS, 4 * MS)
TRACE_NICES = {"A": 0, "B": 0, "C": 5}
CFS_TIMES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 17)
EEVDF_TASKS = [("A", 0, 3 * MS), ("B", 0, 3 * MS), ("C", 5, 3 * MS)]
EEVDF_MIXED = [("A", 0, 3 * MS), ("B", 0, 3 * MS), ("S", 0, MS)]
EEVDF_TIMES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 18, 21)
LEVELS = (-20, -19, -10, -5, -1, 0, 1, 5, 10, 19)


def weights() -> list[Value]:
    return flat([(nice, of_nice(nice).stored >> SCALE_BITS, of_nice(nice).inverse) for nice in LEVELS])


def virtual_times() -> list[Value]:
    return flat([(nice, *(virtual(ns, of_nice(nice)) for ns in SAMPLES)) for nice in LEVELS if nice != -19])


def group_weights() -> list[Value]:
    return flat([(stored, calc_delta(MS, NICE_0 << SCALE_BITS, of_sum(stored))) for stored in
                 (524288, 786432, 262144, 2)])


def group_shares() -> list[Value]:
    rows = ((1024, 0, 0), (15 * 1024, 1024, 8 * 1024), (1024, 512, 1536), (1024, 1024, 1536), (1024, 0, 1 << 40))
    return flat([(shares, here, of_group, group_weight(shares, NICE_0, here, here, of_group))
                 for shares, here, of_group in rows])


def pieces() -> list[Value]:
    return [3 * virtual(MS, of_nice(5)), virtual(3 * MS, of_nice(5))]


def pelt_rise() -> list[Value]:
    return flat([(n, *(lambda a: (a.util, a.load_sum))(pelt.runner(1 << 20, n)))
                 for n in (1, 2, 4, 8, 16, 32, 64, 96, 128, 256, 345, 400)])


def pelt_long() -> list[Value]:
    return flat([(n, *(lambda a: (a.util, a.load_sum))(pelt.runner(n << 20, 1))) for n in (8, 16, 32, 64, 345)])


def pelt_ticks() -> list[Value]:
    one, two, many, most = (pelt.runner(MS, n) for n in (1, 2, 32, 100))
    return [one.load_sum, one.rest, one.util, two.load_sum, two.rest, two.util,
            many.load_sum, many.rest, many.util, most.load_sum, most.util]


def pelt_sleep() -> list[Value]:
    rows: list[tuple[Value, ...]] = []
    for n in (1, 8, 16, 32, 64, 96, 128, 256, 320, 352):
        average = pelt.runner(1 << 20, 500)
        average.update(average.last + (n << 20), False, False)
        rows.append((n, average.util))
    return flat(rows)


def pelt_guesses() -> list[Value]:
    found: list[Value] = []
    util = 0
    for nr in range(3):
        guess = pelt.first_guess(util, nr * NICE_0, NICE_0 << SCALE_BITS)
        util += guess
        found.append(guess)
    return found


def pelt_guesses_by_weight() -> list[Value]:
    """Linux 6.12 compares weight with load, 6.1 the weight as it is stored."""
    rows = (("cfs", 0), ("cfs", 19), ("fdl", 0), ("bore-cfs", 0),
            ("eevdf", 0), ("eevdf", 5), ("eevdf", 19), ("eevdf", -10), ("bore", 0))
    return flat([(policy, nice, pelt.first_guess(100, 1023, of_nice(nice).stored >> later * SCALE_BITS))
                 for policy, nice in rows for later in [policy in ("eevdf", "bore")]])


def cfs_trace() -> list[Value]:
    steps = list(islice(hogs.under_cfs(1000, TRACE_NICES), max(CFS_TIMES) + 1))
    return flat([(at, step.ran, *step.v.values(), step.now, step.following)
                 for at, step in ((at, steps[at]) for at in CFS_TIMES)])


def cfs_picks() -> list[Value]:
    return ["".join(step.following for step in islice(hogs.under_cfs(250, TRACE_NICES), 12))]


def cfs_trace_slices() -> list[Value]:
    return [slices(1, tuple(TRACE_NICES.values()))[which] for which in (0, 2)]


def slices(factor: int, *queues: tuple[int, ...]) -> list[Value]:
    weights = [[WEIGHTS[nice + 20] for nice in queue] for queue in queues]
    return [cfs.slice_of(weight, queue, 6 * MS * factor, 750_000 * factor) for queue in weights for weight in queue]


def stretched_slices() -> list[Value]:
    return [cfs.slice_of(NICE_0, [NICE_0] * nr, 6 * MS, 750_000, floor)
            for nr, floor in ((8, False), (9, False), (9, True))]


def granularities() -> list[Value]:
    return flat([(nice, virtual(MS, of_nice(nice))) for nice in (-20, -10, -5, 0, 5, 10, 19)])


def eevdf_trace() -> list[Value]:
    steps = list(islice(hogs.under_eevdf(1000, EEVDF_TASKS), max(EEVDF_TIMES) + 1))
    return flat([(at, int(step.asked), step.now,
                  *(value for name in step.v for value in (step.v[name], step.deadline[name])),
                  step.eligible, step.following) for at, step in ((at, steps[at]) for at in EEVDF_TIMES)])


def eevdf_picks() -> list[Value]:
    steps = enumerate(islice(hogs.under_eevdf(1000, EEVDF_MIXED), 16))
    return [" ".join(f"{ms}{step.following}" for ms, step in steps if step.asked)]


def eevdf_placement() -> list[Value]:
    rows = ((2048, 1024, MS), (2048, 1024, -2 * MS), (1024, 1024, MS), (1024, 88761, MS), (1024, 15, MS),
            (3, 1024, 333_333), (2048, 1024, 0))
    return flat([(resident, weight, lag, eevdf.inflated(lag, resident, weight),
                  eevdf.realised(eevdf.inflated(lag, resident, weight), resident, weight))
                 for resident, weight, lag in rows])


def eevdf_limits() -> list[Value]:
    rows = ((1000, 0, 3 * MS), (1000, 5, 3 * MS), (1000, -20, 3 * MS), (1000, 19, 3 * MS), (1000, 0, 750_000),
            (250, 0, 750_000), (1000, 0, 100_000), (1000, 19, 100 * MS))
    return flat([(hz, nice, slice_ns, eevdf.limit(slice_ns, 1000 * MS // hz, of_nice(nice)))
                 for hz, nice, slice_ns in rows])


def eevdf_renices() -> list[Value]:
    rows = [(9 * MS, 12 * MS, weight) for weight in (335, 820, 1277, 2048, 3121, 15)] + [(11 * MS, 13 * MS, 335)]
    return flat([(v, deadline, weight, *eevdf.reweighted(10 * MS, v, deadline, 6 * MS, NICE_0, weight))
                 for v, deadline, weight in rows])


def bore_5_scores() -> list[Value]:
    bursts = (*(10**n for n in range(3, 11)), (1 << 64) - 1 >> 1)
    return flat([(burst, bore.penalty_5(burst), bore.score_5(burst), bore.weight_5(0, bore.score_5(burst)))
                 for burst in (0, *bursts)])


def bore_5_history() -> list[Value]:
    rows: list[tuple[Value, ...]] = []
    past = 0
    for burst_ms in (1, 100, 100, 100, 1, 100):
        past = bore.smoothed_5(past, bore.penalty_5(burst_ms * MS))
        rows.append((burst_ms, past, past >> 2))
    return flat(rows)


def bore_5_yields() -> list[Value]:
    rows: list[tuple[Value, ...]] = []
    for score, rest in ((5, MS), (10, MS), (10, -MS)):
        rows.append((bore.first_burst(bore.score_5, score), 20 + score, rest, bore.rescaled_5(rest, 20 + score, 20)))
    return flat(rows)


BORE_2_BURSTS = (0, 1000, 4095, 4096, 10_000, 50_000, 100_000, 500_000, MS, 2 * MS, 4 * MS, 5 * MS, 8 * MS, 10 * MS,
                 1 << 24, 50 * MS, 100 * MS, 200 * MS, 500 * MS, 1000 * MS, 10_000 * MS, 100_000 * MS)


def bore_2_scores() -> list[Value]:
    return flat([(burst, bore.log2_plus_1(burst, 10), bore.penalty_2(burst), bore.score_2(burst),
                  bore.stretched_2(MS, bore.score_2(burst))) for burst in BORE_2_BURSTS])


def bore_2_history() -> list[Value]:
    rows: list[tuple[Value, ...]] = []
    past = 0
    for burst_ms in (1, 1, 1, 100, 1, 1, 1):
        past = bore.smoothed_2(past, burst_ms * MS, 1)
        rows.append((burst_ms, past, bore.score_2(past)))
    return flat(rows)


def bore_2_granularities() -> list[Value]:
    pairs = ((0, 0), (0, 1), (20, 0), (0, 2), (5, 7), (0, 4), (0, 8), (0, 12), (0, 20), (0, 38), (0, 39))
    return flat([(running, woken, bore.granularity_2(MS, running, woken)) for running, woken in pairs])


def first_bursts(score_of: Callable[[int], int], *scores: int) -> list[Value]:
    return flat([(score, bore.first_burst(score_of, score)) for score in scores])


BLOCKS = (
    Block("test_weight.c", "nice_levels_have_linux_weights_and_inverses", weights),
    Block("test_weight.c", "nice_levels_have_linux_weights_and_inverses",
          lambda: [IDLE << SCALE_BITS, of_idle().inverse], asserts(r"weight_of_idle\(\)\.\w+")),
    Block("test_weight.c", "virtual_time_of_a_nice_level_is_golden", virtual_times),
    Block("test_weight.c", "virtual_time_of_sched_idle_is_golden",
          lambda: [virtual(ns, of_idle()) for ns in SAMPLES[:3]], asserts(r"calc_delta_fair\(\d+, &e\)")),
    Block("test_weight.c", "pieces_of_a_delta_may_lose_a_nanosecond_against_the_whole", pieces,
          asserts(r"(?:3 \* )?calc_delta_fair\(\d+, &e\)")),
    Block("test_weight.c", "weights_outside_the_table_convert_as_golden", group_weights),
    Block("test_group.c", "shares_follow_from_averages", group_shares),
    Block("test_pelt.c", "a_runner_updated_each_period_rises_as_golden", pelt_rise),
    Block("test_pelt.c", "one_long_update_differs_from_many_by_rounding_only", pelt_long),
    Block("test_pelt.c", "millisecond_ticks_keep_the_rest_of_a_period", pelt_ticks, asserts(r"t->fair\.avg\.\w+")),
    Block("test_pelt.c", "a_sleeper_decays_by_half_in_32_periods", pelt_sleep),
    Block("test_pelt.c", "first_tasks_are_guessed_to_use_half_of_what_is_left", pelt_guesses),
    Block("test_pelt.c", "a_new_task_is_guessed_by_its_weight_as_its_kernel_does", pelt_guesses_by_weight),
    Block("test_cfs.c", "three_hogs_at_1000_hz_follow_the_golden_trace", cfs_trace),
    Block("test_cfs.c", "three_hogs_at_1000_hz_follow_the_golden_trace", cfs_trace_slices,
          asserts(r"slice_of\(m, t\[\d\]\)")),
    Block("test_cfs.c", "three_hogs_at_250_hz_follow_the_golden_picks", cfs_picks,
          lambda text, function: string(text, function, r"\*golden = (\"\w+\")")),
    Block("test_cfs.c", "slices_on_one_cpu_are_golden",
          lambda: slices(1, (0,), (0, 0), (0, 5), (0, 0, 0), (0, 19), (-5, 0, 5)), lists),
    Block("test_cfs.c", "slices_of_bigger_machines_are_golden",
          lambda: slices(3, (0, 5)) + slices(4, (0, 5), (-5, 0, 5)), lists),
    Block("test_cfs.c", "the_period_stretches_beyond_eight_tasks", stretched_slices, asserts(r"slice_of\(m, t\)")),
    Block("test_choice.c", "the_wakeup_granularity_is_in_the_wakees_virtual_time", granularities),
    Block("test_eevdf.c", "", eevdf_trace),
    Block("test_eevdf.c", "a_short_slice_among_long_ones_follows_the_golden_picks", eevdf_picks, asserts("picks")),
    Block("test_eevdf_lag.c", "lag_is_inflated_as_golden", eevdf_placement),
    Block("test_eevdf_lag.c", "the_clamp_is_golden", eevdf_limits),
    Block("test_eevdf_lag.c", "a_renice_leaves_v_where_it_is_as_golden", eevdf_renices),
    Block("test_bore.c", "scores_and_weights_of_bursts_are_golden", bore_5_scores),
    Block("test_bore.c", "scores_begin_where_they_should", lambda: first_bursts(bore.score_5, 1, 5, 10, 19)),
    Block("test_bore.c", "the_past_is_smoothed_as_golden", bore_5_history),
    Block("test_bore.c", "a_yield_stretches_the_rest_of_the_request", bore_5_yields),
    Block("test_bore_cfs.c", "scores_of_bursts_are_golden", bore_2_scores, open=True),
    Block("test_bore_cfs.c", "scores_begin_where_they_should",
          lambda: first_bursts(bore.score_2, 1, 2, 5, 10, 15, 20, 25, 30, 39)),
    Block("test_bore_cfs.c", "the_past_is_smoothed_as_golden", bore_2_history),
    Block("test_bore_cfs.c", "smoothness_is_how_slowly_a_burst_counts",
          lambda: [bore.smoothed_2(0, 8 * MS, k) for k in range(4)]),
    Block("test_bore_cfs.c", "the_granularity_grows_with_half_the_difference_while_bit_1_is_set",
          bore_2_granularities),
)


def string(text: str, function: str, pattern: str) -> list[Place]:
    """The string that @pattern captures in @function."""
    start, end = span_of(text, function)
    match = re.compile(pattern).search(text, start, end)
    return [Place(evaluate(match[1]), *match.span(1))] if match else []


# --- comparing ------------------------------------------------------------------------------------------


def in_c(old: Place, value: Value, text: str) -> str:
    """@value as C, quoted as the old one was."""
    quote = text[old.start] if isinstance(value, str) else ""
    return f"{quote}{value}{quote}"


def compare(block: Block, write: bool) -> list[str]:
    """The differences, one line each. With @write the test is changed."""
    text = block.path.read_text(encoding="utf-8")
    found = list(block.differences(text))
    if write:
        for place, value in reversed(found):
            text = text[:place.start] + in_c(place, value, text) + text[place.end:]
        block.path.write_text(text, encoding="utf-8")
    return [f"tests/unit/{block.file}:{text.count(chr(10), 0, place.start) + 1}: {place.value} stands there, the model "
            f"says {value}" for place, value in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="write the models' numbers into the tests")
    write, bad, numbers = parser.parse_args().write, 0, 0
    for nr, block in enumerate(BLOCKS, 1):
        try:
            complaints = compare(block, write)
            numbers += len(block.model())
        except Unreadable as error:
            complaints = [f"tests/unit/{block.file}:1: {error}"]
        bad += bool(complaints)
        print(f"{'not ok' if complaints else 'ok'} {nr} - golden numbers of {block.file}: {block.function or 'trace'}")
        for complaint in complaints:
            print(f"# {complaint}")
    print(f"1..{len(BLOCKS)}\n# {numbers} values, {'rewritten' if write else 'compared'}")
    sys.exit(bool(bad) and not write)


if __name__ == "__main__":
    main()
