# SPDX-License-Identifier: GPL-2.0-only
"""The page for browsers (docs/browser.md), used in Chromium: runs, steps, forks, links, files, a phone's width."""

import json
import os
import re
import shutil
import subprocess

import pytest

from tests.sim.conftest import BUILD, PAGE, ROOT, browse, page_or_skip
from fairground.decisions import lateness, why


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    page, place = page_or_skip(), tmp_path_factory.mktemp("page")
    for form in ("json", "bin", "dat"):
        subprocess.run([f"{BUILD}/schedsim", "--sched", "eevdf", "--time", "20ms", "--topology", "2x2", "--decisions",
                        place / f"a.{form}", "hogs:n=3", "bursts:n=2,run=1ms,sleep=3ms"], check=True,
                       capture_output=True)
    return browse("page", page, place) | {"decisions": (place / "a.json").read_text().count("\n") - 2}


@pytest.mark.nightly("a page that asks the network")
def test_page_is_one_small_file_and_asks_nobody(seen):
    assert os.path.getsize(PAGE) < 1_000_000
    assert seen["console"] == []
    assert all(re.match(r"file://.*/fairground\.html|blob:", url) for url in seen["requests"]), seen["requests"]


def test_first_run_and_steps(seen):
    assert seen["lanes"] == ["cfs", "eevdf"] and "hog 1" in seen["shares"] and "burst 3" in seen["shares"]
    assert seen["stepped"].startswith("61 / ") and seen["rule"] != seen["first"]
    assert "because" in seen["rule"] and seen["rows"] >= 1 and seen["drawn"] > 6


def test_tasks_have_rows_and_the_longest_wait_is_named(seen, tmp_path):
    for sched, worst, (left, width, top) in zip(("cfs", "eevdf"), seen["worst"], seen["frames"], strict=True):
        result = result_of(tmp_path, "--sched", sched, "--time", "100ms", "hogs:n=2", "bursts:run=2ms,sleep=10ms")
        tasks = result["tasks"]
        longest = max(task["wait_ns"]["max"] for task in tasks)
        names = [task["name"] for task in tasks if task["wait_ns"]["max"] == longest]
        name, pid, told = re.fullmatch(r"longest wait: (\w+) (\d), ([\d.]+) ms", worst).groups()
        assert name in names and told == f"{longest / 1e6:.3f}" and top == 24 * (int(pid) - 1)
        assert width == pytest.approx(longest / 1e6, abs=0.001) and 0 <= left <= 100 - width  # of 100 ms
    assert seen["byTask"][:2] == ["By CPU", [72, 72]] and "red while it waits" in seen["byTask"][2]
    assert seen["byCpu"] == ["By task", [24, 24], 0]


def test_the_longest_wait_is_explained_and_any_other(seen, tmp_path):
    """As `fairground why` does; a row's time goes to its decision."""
    trace = tmp_path / "e.dat"
    subprocess.run([f"{BUILD}/schedsim", "--sched", "eevdf", "--cpus", "1", "--time", "100ms", "--decisions", trace,
                    "hogs:n=2", "bursts:run=2ms,sleep=10ms"], check=True, stdout=subprocess.DEVNULL)
    for (said, rows), task, nr in ((seen["why"], None, 0), (seen["whyOther"], "1", 1)):
        found = why.find(str(trace), task, nr + 1)
        late = found.explained[nr].late
        assert said == lateness.conclusion(late, found.line, True)
        assert [row[0] for row in rows] == [why.ms(stretch.start) for stretch in late.stretches]
        assert [row[3] for row in rows] == [found.line.label(stretch.pid) for stretch in late.stretches]
    assert seen["whyFutures"] == why.in_words(why.find(str(trace), "1", 2, BUILD).explained[1].futures) + "."
    where, rule = seen["whyGone"]
    assert f"{float(seen['whyOther'][1][0][0]):.3f} ms" in where and rule.startswith("pick: ")


def test_a_mark_counts_from_its_moment(seen):
    """All three tasks run or wait, or one sleeps; nine decisions on, some time has passed."""
    first, then, hidden, last = seen["counted"]
    assert re.fullmatch(r"1 running, [12] waiting", first) and last == first and hidden == [False, False]
    running, waiting, after = re.fullmatch(r"(\d) running, (\d) waiting, ([\d.]+) ms after the mark", then).groups()
    assert running == "1" and waiting in "12" and 1 < float(after) < 50


def test_decisions_are_played_until_one_says_stop(seen):
    assert int(seen["paused"].split(" / ")[0]) in (4, 5) and seen["stays"] == seen["paused"]


def test_page_tells_the_shares_of_the_program(seen, tmp_path):
    subprocess.run([f"{BUILD}/schedsim", "--sched", "cfs", "--time", "100ms", "--json", tmp_path / "r.json", "hogs:n=2",
                    "bursts:run=2ms,sleep=10ms"], check=True, capture_output=True)
    tasks = json.loads((tmp_path / "r.json").read_text())["results"][0]["tasks"]
    burst = next(row for row in tasks if row["name"] == "burst")
    ran, waits = burst["cpu_ns"] / 1e6, burst["wait_ns"]
    # name and number, share of 100 ms, what it ran, how often it waited, the mean
    assert f"burst 3{ran:.2f}{ran:.1f}{waits['n']}{waits['mean'] / 1e6:.3f}" in seen["shares"]


def test_fork(seen):
    assert seen["forked"] == ["cfs", "eevdf", "cfs → eevdf"] and "The first decision that differs" in seen["differs"]
    assert "refused" in seen["badNice"]


def test_several_futures_side_by_side(seen, tmp_path):
    futures = seen["futures"]
    names = [f"cfs → wakeup_granularity_ns={ns}" for ns in (1000000, 9000000)]
    assert futures["lanes"] == ["cfs", "eevdf", *names] and futures["marks"] == 2 and futures["error"] == ""
    assert futures["told"].startswith("2 futures") and [row[0] for row in futures["rows"]] == ["cfs", *names]
    for row, ns, waits in zip(futures["rows"], (None, "1000000", "9000000"), seen["futureWaits"], strict=True):
        words = ["--set", f"wakeup_granularity_ns={ns}"] if ns else []
        result = result_of(tmp_path, "--sched", "cfs", "--time", "100ms", *words, "hogs:n=2",
                           "bursts:run=1ms,sleep=9ms")
        longest = max(task["wait_ns"]["max"] for task in result["tasks"])
        assert row[4:] == [f"{longest / 1e6:.3f}", f"{result['waste_ns'] / 1e6:.3f}"]
        assert float(row[3]) == pytest.approx(sum(n * mean for n, mean in waits) / sum(n for n, _ in waits), abs=2e-3)
        # A wait that the end of the run cuts off is no sample: one hog always waits then.
        samples = [task["wait_ns"] for task in result["tasks"]]
        number, ns = (sum(values) for values in zip(*((wait["n"], wait["n"] * wait["mean"]) for wait in samples)))
        assert sum(n for n, _ in waits) == number
        assert float(row[3]) == pytest.approx(ns / number / 1e6, abs=2e-3)
    assert len({tuple(row[3:]) for row in futures["rows"]}) > 1 and "ms" in futures["rows"][2][1]
    assert seen["future"][0] == names[1] and not seen["future"][1].startswith("1 /")
    assert seen["tooMany"] == "At most 7 forks at a time."
    assert seen["others"][-4:] == [f"eevdf → {name}" for name in ("cfs", "bore-cfs", "bore", "fdl")]


def test_workload_is_edited_and_mistakes_are_named(seen):
    assert "burst 3" in seen["edited"] and "hog" not in seen["edited"]
    assert "n=x" in seen["mistake"]


def test_a_link_holds_the_state(seen):
    assert seen["shared"] == seen["edited"] and seen["phoneWidth"] <= 390


def test_hostile_links_do_nothing(seen):
    assert [images for _, images in seen["hostile"]] == [0] * 8 and all(error for error, _ in seen["hostile"])
    assert "<img" in seen["hostile"][-1][0]  # a key of a machine, told as text


def result_of(tmp_path, *words):
    subprocess.run([f"{BUILD}/schedsim", *words, "--json", tmp_path / "r.json"], check=True, capture_output=True)
    return json.loads((tmp_path / "r.json").read_text())["results"][0]


def test_the_sum_behind_v_is_the_v_of_the_record(seen):
    assert len(seen["sums"]) > 10
    for text, positions in seen["sums"]:
        leftmost = min(float(position) for position in positions)  # from the recorded V
        assert float(re.search(r"= leftmost \+ (-?[\d.]+) ms$", text)[1]) == pytest.approx(-leftmost, abs=0.0015), text


def test_shares_stand_beside_the_ideal(seen, tmp_path):
    result = result_of(tmp_path, "--sched", "eevdf", "--cpus", "1", "--time", "100ms", "hogs:n=2", "hogs:nice=5",
                       "bursts:run=2ms,sleep=10ms")
    expected = [[row["name"], f"{row['cpu_ns'] / 1e6:.2f}", f"{row['ideal_ns'] / 1e6:.2f}"] for row in result["tasks"]]
    assert seen["ideal"] == expected


def test_wasted_time_is_what_the_scheduler_counts(seen, tmp_path):
    result = result_of(tmp_path, "--sched", "eevdf", "--time", "100ms", "--topology", "2x4x1",
                       "messages:n=2,workers=6,run=2ms,work=50us", "hogs:n=2")
    assert result["waste_ns"] > 1_000_000
    assert f"{result['waste_ns'] / 1e6:.3f} ms" in seen["wasted"]


def test_each_policy_shows_what_it_decides_by(seen):
    assert "because no part of the machine is idler" in seen["placed"] and "llc: 4 CPUs" in seen["placed"]
    assert "Burst scores" in seen["scores"] and "container" in seen["buckets"]
    assert len(seen["averages"]) == 5 and min(seen["averages"]) > 5
    assert seen["placedWidth"] <= 390


def test_shares_and_waits_fit_a_phone(seen):
    assert len(seen["widest"]) >= 9 and len(seen["tooWide"]) == 2 and max(seen["tooWide"]) <= 0


def test_workloads_as_json_and_presets(seen):
    assert seen["jsonMistake"] == 'workload.json:2: unknown key "lop"'
    assert "x-0 1" in seen["json"][0] and seen["json"][1] == ""
    assert "--features HRTICK" in seen["preset"] and "hogs:n=3,slice=700us" in seen["preset"]


def test_machines_as_json(seen, tmp_path):
    assert seen["machine"]["error"] == "" and seen["machine"]["canvas"].endswith(": 8 CPUs, 200 ms")
    assert seen["alone"].endswith(": 1 CPU, 10 ms")
    assert seen["platform"].endswith(": 6 CPUs, 200 ms") and seen["machineWidth"] <= 390
    assert seen["machineLinked"] == [seen["machine"]["canvas"], True]
    (tmp_path / "a.opp").write_text("type big\nopp 1000 1024 90 40\nidle 6 56 0\ntype small\nopp 450 256 30 20\n"
                                    "opp 900 512 60 30\nidle 2 20 0\ndomain 0-3 big\ndomain 4-7 small\n")
    sched = seen["machine"]["canvas"].partition(":")[0]
    result = result_of(tmp_path, "--sched", sched, "--time", "200ms", "--topology", "llcs=2,cores=4", "--hz", "1000",
                       "--opp", tmp_path / "a.opp", "bursts:n=9,run=3ms,sleep=3ms", "hogs:n=2")
    native = [[row["name"], f"{row['cpu_ns'] / 2e6 / 8:.2f}"] for row in result["tasks"]]
    assert [row[:2] for row in seen["machine"]["shares"] if len(row) == 3] == native


def test_mistakes_in_a_machine_have_line_and_key(seen):
    unknown, word, syntax, cost, rows, name, array, option, table = seen["machineMistakes"]
    assert unknown == 'machine:2: "core" is not known here.'
    assert word == 'machine:2: "cores" must be a number or one word.'
    assert syntax.startswith("machine:2: ") and cost == 'machine:3: "swich" is not known here.'
    assert rows == 'machine:1: "opp" must be a list of lists of 4 whole numbers.'
    assert name == 'machine:2: "domains" must be a number or one word.'
    assert array == 'machine:1: "machine" must be an object.'
    assert option == 'machine:1: "cores" must be a number or one word.'
    assert "machine.opp" in table and "1024" in table  # the simulator's own sentence


def test_every_preset_runs(tmp_path):
    if not shutil.which("node") or not os.path.exists(f"{BUILD}/web/presets.json"):
        pytest.skip("make page was not run")
    with open(f"{BUILD}/web/presets.json", encoding="utf-8") as file:
        presets = json.load(file)
    assert {preset["group"] for preset in presets} == {"labs", "cards", "experiments"} and len(presets) > 60
    runs = []
    for nr, preset in enumerate(presets):
        words = ["--sched", "cfs", "--time", "100us", *preset["words"].split()]
        path = tmp_path / f"{nr}.json"
        path.write_text(preset["file"])
        runs.append({"words": words + [str(path)] * bool(preset["file"]), "step": 0, "at": 1, "policy": "cfs",
                     "files": [str(path)] * bool(preset["file"])})
    done = subprocess.run(["node", f"{ROOT}/tests/tools/run_session.mjs", f"{BUILD}/session.wasm", tmp_path],
                          input=json.dumps(runs), text=True, capture_output=True, check=True)
    assert [(preset["name"], steps) for preset, steps in zip(presets, json.loads(done.stdout), strict=True)
            if not isinstance(steps, int)] == []


def test_the_three_forms_of_decisions_say_the_same(seen):
    told = {name: each["told"] for name, each in seen["files"].items()}
    assert len(told["a.json"]) == seen["decisions"] > 80
    assert told["a.bin"] == told["a.json"] == seen["chosen"]
    # A trace.dat is in order of time and CPU; the simulator's own order of one moment is another.
    assert sorted(map(without_number, told["a.dat"])) == sorted(map(without_number, told["a.json"]))
    assert [each["lanes"] for each in seen["files"].values()] == [["eevdf"]] * 3
    assert not any(each["error"] for each in seen["files"].values())


def without_number(text):
    return re.sub(r"\d+ / \d+ ", "", text)


def test_a_trace_tells_shares_and_waits(seen, tmp_path):
    subprocess.run([f"{BUILD}/schedsim", "--sched", "eevdf", "--time", "20ms", "--topology", "2x2", "--json",
                    tmp_path / "r.json", "hogs:n=3", "bursts:n=2,run=1ms,sleep=3ms"], check=True, capture_output=True)
    tasks = json.loads((tmp_path / "r.json").read_text())["results"][0]["tasks"]
    shares = seen["files"]["a.dat"]["shares"]
    assert len(shares) == sum(row["tasks"] for row in tasks) == 5
    for row in tasks:
        mine = [cells for cells in shares if cells[0].startswith(row["name"] + " ")]
        # A trace ends with its last event, the last but one tick, 2 ms before the run does.
        rest = 2.0 * row["tasks"] if row["name"] == "hog" else 0
        assert sum(float(cells[2]) for cells in mine) == pytest.approx(row["cpu_ns"] / 1e6 - rest), row
        assert sum(int(cells[3]) for cells in mine) == row["wait_ns"]["n"], row
        assert max(float(cells[5]) for cells in mine) == row["wait_ns"]["max"] / 1e6, row


def test_bad_files_get_a_sentence(seen):
    assert all(text.startswith("This is not a file of decisions or a trace.dat: ") for text in seen["badFiles"])
    endings = [text.partition(": ")[2] for text in seen["badFiles"]]
    assert endings[0] == "it is cut off." and endings[3] == "it is empty."
    assert endings[4] == endings[5] == endings[7] == endings[8] == "it ends too early."
    assert "another version of the compact form" in endings[6] and "trace-cmd convert" in endings[9]
    assert endings[10] == "its record 1 is not a decision that this page knows."
    assert endings[-2:] == ["it is cut off.", "it is damaged."]


def test_hostile_files_do_nothing(seen):
    error, elements, rule = seen["hostileFile"]
    assert error == "" and elements == 0 and "<script>alert(1)</script>" in rule
