# SPDX-License-Identifier: GPL-2.0-only
"""`fairground sweep`: the grid, the addresses of results, workers that are killed, interruptions, failures."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sim.conftest import BUILD, ROOT
from tests.sim.test_scx import loaded
from fairground.study import experiment_file
from fairground.study.compare import figures
from fairground.study.grid import Grid, Store, commit_of, digest_of
from fairground.study.sweep import BATCH_S, LARGEST, Batches, Host, Sweep
from fairground.base import stats
from fairground.base.packages import load
from fairground.base.settings import UsageError

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
TIMEOUT_S = 120
TEXT = '''\
title = "Turns"
policies = ["cfs", "eevdf"]
workloads = ["hogs:n=3 bursts:n=2", "a.json"]
topologies = ["1x1x2x1"]
time = "50ms"
seeds = "1..3"

[tunables]
latency_ns = { policies = ["cfs"], values = [3_000_000, 6_000_000] }

[costs]
switch = "2us"
'''
KERNEL = '''\
title = "Turns"
policies = ["cfs"]
workloads = [{ name = "hogs", kernel = "hog" }]
topologies = ["1x1x2x1"]
time = "50ms"
hosts = ["kernel"]
[kernel]
mem = 512
'''
FILE = '{ "global": { "duration": 1 }, "tasks": { "t": { "run": 1000, "sleep": 2000 } } }'


@pytest.fixture
def grid(tmp_path):
    (tmp_path / "a.json").write_text(FILE)
    path = tmp_path / "grid.toml"
    path.write_text(TEXT)
    return path


@contextlib.contextmanager
def sweeping(path, *words):
    """A sweep under way, with two workers unless @words say otherwise."""
    workers = [] if "--scheduler" in words else ["--workers", "2"]
    env = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools")}
    build, words = (words[1], words[2:]) if words[:1] == ("--build",) else (BUILD, words)
    command = [PYTHON, "-m", "fairground", "--build", build, "sweep", str(path), "--store", str(path.parent / "store"),
               "--out", str(path.parent / "grid.parquet"), *workers, *words]
    with subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as runner:
        try:
            yield runner
        finally:
            runner.kill()


def sweep(path, *words):
    pytest.importorskip("distributed")
    with sweeping(path, *words) as runner:
        out, err = runner.communicate(timeout=TIMEOUT_S)
    return runner.returncode, out, err


def rows(path):
    return load("pyarrow.parquet", "the test").read_table(path.parent / "grid.parquet").to_pylist()


def test_the_cells_of_a_grid(grid):
    cells = list(Grid(grid).cells())
    assert len(cells) == (2 + 1) * 2 * 3 and len({cell.key("") for cell in cells}) == len(cells)
    assert {cell.tunables.get("latency_ns") for cell in cells if cell.policy == "eevdf"} == {None}
    assert {cell.host for cell in cells} == {"simulator"}
    words = cells[0].words()
    assert words[:2] == ["--sched", "cfs"] and words[-2:] == ["hogs:n=3", "bursts:n=2"]
    assert " --seed 1 --vary 1 --cost-switch 2us --set latency_ns=3000000 " in " ".join(words)


def test_the_maps_are_of_the_load_of_x12():
    """59 by 59 values, each pair once, and nothing else that differs."""
    cells = list(Grid(Path(ROOT, "examples/sweep-maps.toml")).cells())
    of, values = experiment_file.load("x12-wakeup-granularity"), range(1_000_000, 30_000_001, 500_000)
    assert {cell.workload for cell in cells} == {of.workload("wakeup-1", 1)} and len(cells) == 59 * 59
    pairs = {(cell.tunables["wakeup_granularity_ns"], cell.tunables["min_granularity_ns"]) for cell in cells}
    assert pairs == {(a, b) for a in values for b in values}
    words = " ".join(cells[0].words())
    for name, cost in of.data["simulator"]["costs"].items():
        assert f"--cost-{name} {cost} " in words
    assert " --topology 1x1x12x1 " in words and of.machine["smp"] == "12"


def test_an_address_has_all_that_a_result_depends_on(grid):
    cell = next(cell for cell in Grid(grid).cells() if cell.files)
    others = [replace(cell, policy="bore"), replace(cell, workload="hogs"), replace(cell, topology="1x1x4x1"),
              replace(cell, hz=1000), replace(cell, time="51ms"), replace(cell, seed=9), replace(cell, costs={}),
              replace(cell, tunables={"latency_ns": 1}), replace(cell, features=("HRTICK",)),
              replace(cell, files={"a.json": FILE + " "}), replace(cell, host="kernel"), replace(cell, run="hogs")]
    assert len({one.key("p") for one in others} | {cell.key("p"), cell.key("q")}) == len(others) + 2
    one, other = (digest_of(f"code {name} code".encode(), name) for name in ("abc123", "def-dirty"))
    assert one == other != digest_of(b"other code", "abc123")
    assert re.fullmatch(r"[0-9a-f]{7,}(-dirty)?|unknown", commit_of(f"{BUILD}/schedsim"))


@pytest.mark.parametrize("old, new, message", [
    ("policies =", "policy =", "2: unknown key policy in the file; is policies meant?"),
    ('"eevdf"]', '"evdf"]', "2: evdf: one of cfs, "), ('["1x1x2x1"]', "[]", "4: topologies is empty"),
    ("values =", "value =", "9: unknown key value in tunables.latency_ns; is values meant?"),
    ('"eevdf"]', '"x.policy"]', "2: x.policy: No such file"), ('"eevdf"]', '"x.txt"]', "2: x.txt: one of cfs, "),
    ('"a.json"', '"b.json"', "b.json: No such file"), ('time = "50ms"\n', "", "1: the file lacks the key time"),
])
def test_a_mistake_is_told_with_its_line(grid, old, new, message):
    grid.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(UsageError) as error:
        list(Grid(grid).cells())
    assert message in str(error.value)


@pytest.mark.parametrize("old, new, message", [
    ('{ name = "hogs", kernel = "hog" }', '"hog"', "3: workload 1: in the kernel a table is expected"),
    ("kernel = ", "colonel = ", "3: unknown key colonel in workloads: name, simulator, kernel"),
    ('["kernel"]', '["kernal"]', "6: hosts: simulator, kernel or both are expected"),
    ('["1x1x2x1"]', '["1x1x512x1"]', "4: topology 1x1x512x1, hz 250: SMP=512: "),
    ('["1x1x2x1"]', '["2xx"]', "4: topology 2xx, hz 250: "),
    ("hosts", "hz = [300]\nhosts", "4: topology 1x1x2x1, hz 300: HZ=300: "),
    ("512", "7", "4: topology 1x1x2x1, hz 250: MEM=7: "), ("mem", "memory", "8: unknown key memory in kernel")])
def test_a_mistake_about_the_kernel_is_told_with_its_line(grid, old, new, message):
    grid.write_text(KERNEL.replace(old, new, 1))
    with pytest.raises(UsageError) as error:
        list(Grid(grid).cells())
    assert message in str(error.value)


def test_a_result_is_there_as_a_whole_or_not_at_all(tmp_path):
    store = Store(tmp_path / "store")
    store.put("abc", {"a": 1})
    assert store.get("abc") == {"a": 1} and store.get("abd") is None
    assert store.changed == []
    whole = store.path("abc").read_text()
    for damage in (whole.replace(": 1", ": 2", 1), '{"a"', "", '{"a": 1}', "[]", "\x00"):
        store.path("abc").write_text(damage)
        assert store.get("abc") is None
    assert store.changed == ["abc"] * 6
    (tmp_path / "store" / "ab").rename(tmp_path / "store" / "xx")
    (tmp_path / "store" / "ab").write_text("a file where the directory should be")
    with pytest.raises(UsageError, match="what was finished before is kept"):
        store.put("abc", {"a": 1})


def test_a_sweep_and_again(grid):
    status, out, err = sweep(grid)
    assert status == 0 and out.startswith("18 cells: 0 were there, 18 run, 0 failed; 18 rows"), out + err
    found = rows(grid)
    one = next(row for row in found if row["workload"] == "hogs:n=3 bursts:n=2" and row["policy"] == "eevdf")
    cell = next(cell for cell in Grid(grid).cells() if cell.policy == "eevdf")
    subprocess.run([f"{BUILD}/schedsim", "--json", grid.parent / "one.json", *cell.words()], check=True,
                   stdout=subprocess.DEVNULL)
    data = json.loads((grid.parent / "one.json").read_text())
    expected = figures(data["results"][0], data["duration_ns"] * data["cpus"])
    assert {name: one[name] for name in expected} == expected and one["seed"] == 1
    # Nothing is run again, so no worker is started; more seeds are only those more.
    status, out, err = sweep(grid)
    assert status == 0 and out.startswith("18 cells: 18 were there, 0 run, 0 failed") and "workers" not in err
    status, out, _ = sweep(grid, "--seeds", "1..4", "--json")
    told = json.loads(out)
    assert (status, told["found"], told["run"], told["failed"]) == (0, 18, 6, []) and len(rows(grid)) == 24


@pytest.mark.nightly("a changed result that is not told")
def test_a_stored_result_that_was_changed_is_told_and_run_again(grid):
    """One digit of one result, in a file that is still JSON."""
    grid.write_text(TEXT.replace(', "a.json"', ""))
    assert sweep(grid)[0] == 0
    before, path = rows(grid), sorted((grid.parent / "store").glob("*/*.json"))[0]
    path.write_text(re.sub(r'"switches": (\d)', r'"switches": 9\1', path.read_text(), count=1))
    status, out, _ = sweep(grid)
    assert status == 0 and out.splitlines()[1].startswith("9 cells: 8 were there, 1 run, 0 failed")
    assert re.match(rf"1 of the results in .*store is not what was kept there: .*{path.stem}$", out.splitlines()[0])
    assert rows(grid) == before and "not what was kept" not in sweep(grid)[1]


@pytest.mark.nightly("statistics of other rows")
def test_statistics_of_each_point(grid):
    """The medians of a point are those of its rows, and its differences those of pairs with the first point."""
    grid.write_text(TEXT.replace(', "a.json"', "").replace("1..3", "1..12"))
    status, out, _ = sweep(grid)
    assert status == 0 and re.search(r"^(\d+) of 16 differences from the first point are shown: ", out, re.M)
    table = load("pyarrow.parquet", "the test").read_table(grid.parent / "grid-statistics.parquet").to_pylist()
    assert len(table) == 3 * 8 and {row["nr"] for row in table} == {12}
    by_point = {point: [row["switches"] for row in rows(grid) if (row["policy"], row["latency_ns"]) == point]
                for point in (("cfs", 3_000_000), ("cfs", 6_000_000), ("eevdf", None))}
    for row in table:
        if row["metric"] == "switches":
            own, first = by_point[row["policy"], row["latency_ns"]], by_point["cfs", 3_000_000]
            assert row["median"] == stats.median(own).median
            assert row["shift"] == (None if own is first else stats.difference(first, own).shift)
    assert {row["verdict"] for row in table if row["shift"]} > {"higher"}


@pytest.mark.nightly("a heat map of a sweep's own table")
def test_a_heat_map_of_the_table_of_a_sweep(grid):
    pytest.importorskip("matplotlib")
    grid.write_text(TEXT.replace(', "a.json"', "").replace('["1x1x2x1"]', '["1x1x1x1", "1x1x2x1"]'))
    assert sweep(grid)[0] == 0
    command = [PYTHON, "-m", "fairground", "graph", "sweep", str(grid.parent / "grid.parquet"), "-o",
               str(grid.parent / "x.svg"), "--x", "topology", "--y", "policy", "--value", "switches"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools")}, cwd=ROOT,
                          capture_output=True, text=True, check=True)
    assert "18 results in 4 of 4 cells" in done.stdout
    means = {(row["topology"], row["policy"]): [] for row in rows(grid)}
    for row in rows(grid):
        means[row["topology"], row["policy"]].append(row["switches"])
    least = min(sum(each) / len(each) for each in means.values())
    assert f"least     {least:.6g} at" in done.stdout
    (grid.parent / "grid.parquet").write_bytes(b"PAR1 and no more")
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools")}, cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "this Parquet is damaged" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.nightly("a policy that does not reach the workers")
def test_own_policies_are_in_a_grid(grid):
    """Its text is part of the address: a changed policy is another cell."""
    text = Path(ROOT, "examples/policies/strides.policy").read_text(encoding="utf-8")
    (grid.parent / "own.policy").write_text(text)
    grid.write_text(TEXT.replace(', "a.json"', "").replace('"eevdf"]', '"own.policy"]').replace("1..3", "1..2"))
    before = {cell.key("") for cell in Grid(grid).cells()}
    status, out, _ = sweep(grid)
    assert status == 0 and out.startswith("6 cells: 0 were there, 6 run, 0 failed")
    cell = next(cell for cell in Grid(grid).cells() if cell.policy == "own.policy")
    assert cell.words()[:4] == ["--plugin", "own.policy", "--sched", "strides"]
    assert {row["policy"] for row in rows(grid)} == {"cfs", "own.policy"}
    (grid.parent / "own.policy").write_text(text + "\n")
    assert len(before & {cell.key("") for cell in Grid(grid).cells()}) == 4


def test_programs_for_sched_ext_are_in_a_grid(grid):
    """A file beside the grid, and an example, each with a constant. The object is part of the address."""
    shutil.copy(loaded("fifo"), grid.parent / "own.so")
    text = TEXT.replace(', "a.json"', "").replace('"eevdf"]', '"scx:own.so,slice_ns=7000000", "scx:vtime"]')
    grid.write_text(text.replace("1..3", "1"))
    status, out, _ = sweep(grid)
    assert status == 0 and out.startswith("4 cells: 0 were there, 4 run, 0 failed"), out
    own = next(cell for cell in Grid(grid).cells() if cell.policy == "scx:own.so,slice_ns=7000000")
    assert own.words()[:2] == ["--scx", "own.so,slice_ns=7000000"]
    assert {row["policy"] for row in rows(grid)} == {"cfs", own.policy, "scx:vtime.so"}
    assert own.key("") != replace(own, files={}).key("")


def test_cells_are_run_in_batches(grid):
    """One at first; then as many as a worker does in BATCH_S, of one host and in order."""
    one = Sweep({"simulator": Host({}, "p")}, Store(grid.parent / "store"), {})
    one.cells = {one.key(cell): cell for cell in Grid(grid, "1..100").cells()}
    batches = Batches(one, list(one.cells))
    assert len(batches.next()) == 1
    batches.ran(1, BATCH_S / 50)
    taken = batches.next()
    assert taken == list(one.cells)[1:51]
    batches.ran(10**6, 1e-3)
    assert len(batches.next()) == LARGEST and len(batches.next()) == LARGEST
    batches.ran(1, 1e12)
    assert len(batches.next()) == 1


@pytest.mark.nightly("a failed cell that ends its sweep")
def test_failures_are_listed_and_the_rest_is_done(grid):
    grid.write_text(TEXT.replace('"a.json"', '"hogz"'))
    status, out, _ = sweep(grid)
    assert status == 1 and "18 cells: 0 were there, 9 run, 9 failed; 9 rows" in out
    assert len(re.findall(r"^failed: schedsim .* hogz: status 2: .*hogz", out, re.M)) == 9
    status, out, _ = sweep(grid)
    assert status == 1 and "18 cells: 9 were there, 0 run, 9 failed" in out


LARGE_TIMEOUT_S = 7200  # only ends a sweep that hangs
LARGE = '''\
title = "Many short runs"
policies = ["cfs", "eevdf"]
workloads = ["hogs:n=3"]
topologies = ["1x1x2x1"]
time = "1ms"
seeds = "1..50000"
'''
LONG = TEXT.replace("50ms", "400ms").replace("hogs:n=3 bursts:n=2", "pipes:groups=1").replace("1..3", "1..20")


def kept(path):
    return len(list(path.parent.glob("store/*/*.json")))


def under_way(runner, path):
    """Wait until some cells are finished; returns the workers' processes."""
    told = None
    while not told:  # Python or Dask may warn before that
        line = runner.stderr.readline()
        assert line, "the sweep ended before it had workers"
        told = re.search(r"2 workers: (\d+) (\d+)", line)
    pids = [int(pid) for pid in told.groups()]
    end = time.monotonic() + TIMEOUT_S
    while kept(path) < 5:
        assert runner.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    return pids


def finished_without_a_worker(grid, timeout_s):
    """How many cells were finished when one of two workers was killed, and what the sweep printed at its end."""
    with sweeping(grid) as runner:
        os.kill(under_way(runner, grid)[0], signal.SIGKILL)
        before = kept(grid)
        out, _ = runner.communicate(timeout=timeout_s)
    assert runner.returncode == 0
    return before, out


@pytest.mark.nightly("a sweep that a worker's death ends")
def test_a_worker_killed_in_the_middle_loses_nothing(grid):
    pytest.importorskip("distributed")
    grid.write_text(LONG.replace("400ms", "200ms"))
    before, out = finished_without_a_worker(grid, TIMEOUT_S)
    assert before < 110
    assert out.startswith("120 cells: 0 were there, 120 run, 0 failed; 120 rows")
    assert len({row["address"] for row in rows(grid)}) == 120


@pytest.mark.nightly("a large sweep that loses cells when a worker dies")
def test_a_hundred_thousand_cells_with_a_worker_killed(grid):
    pytest.importorskip("distributed")
    grid.write_text(LARGE)
    before, out = finished_without_a_worker(grid, LARGE_TIMEOUT_S)
    assert before < 100_000
    assert out.startswith("100000 cells: 0 were there, 100000 run, 0 failed; 100000 rows")
    assert len({(row["policy"], row["seed"], row["address"]) for row in rows(grid)}) == 100_000


@pytest.mark.nightly("an interrupted sweep that begins anew")
def test_an_interrupted_sweep_leaves_its_part_and_goes_on(grid):
    pytest.importorskip("distributed")
    grid.write_text(LONG)
    with sweeping(grid, "--seeds", "1..8") as runner:
        pids = under_way(runner, grid)
        runner.send_signal(signal.SIGINT)
        out, _ = runner.communicate(timeout=TIMEOUT_S)
    assert runner.returncode == 130 and not any(Path(f"/proc/{pid}/exe").exists() for pid in pids)
    done, left = (int(re.search(rf"(\d+) {word}", out)[1]) for word in ("run", "left"))
    assert done >= 5 and left > 0 and done + left == 48 and len(rows(grid)) == done == kept(grid)
    status, out, _ = sweep(grid, "--seeds", "1..8")
    assert status == 0 and out.startswith(f"48 cells: {done} were there, {left} run, 0 failed; 48 rows")


CLUSTER = '''import distributed, sys
if __name__ == "__main__":
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
'''


def test_workers_of_a_scheduler_need_nothing_of_this_project(grid):
    """They are sent the simulator, the files and the function, and run in another directory."""
    pytest.importorskip("distributed")
    script = grid.parent / "cluster.py"
    script.write_text(CLUSTER)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen([PYTHON, str(script)], env=env, cwd=grid.parent, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as cluster:
        status, out, err = sweep(grid, "--scheduler", cluster.stdout.readline().strip())
        cluster.stdin.close()
    assert status == 0 and out.startswith("18 cells: 0 were there, 18 run, 0 failed"), out + err


SRUN = """#!/bin/sh
"$@" & "$@" & wait
"""


@pytest.mark.nightly("a recipe for SLURM that starts no sweep")
def test_the_recipe_for_slurm(grid):
    """With an srun of two tasks on this machine, as sbatch would start it."""
    pytest.importorskip("distributed")
    (grid.parent / "srun").write_text(SRUN)
    (grid.parent / "srun").chmod(0o755)
    env = {**os.environ, "PATH": f"{grid.parent}:{os.environ['PATH']}", "SLURM_JOB_ID": "7",
           "PYTHONPATH": os.path.join(ROOT, "tools"),
           "FAIRGROUND": f"{PYTHON} -m fairground --build {os.path.abspath(BUILD)}"}
    words = [f"{ROOT}/examples/cluster/slurm.sh", "grid.toml", "--store", "store", "--out", "grid.parquet"]
    with subprocess.Popen(words, env=env, cwd=grid.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as job:
        try:
            out, err = job.communicate(timeout=TIMEOUT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGTERM)
    assert job.returncode == 0 and out.startswith("18 cells: 0 were there, 18 run, 0 failed"), out + err
    assert len(rows(grid)) == 18 and not list(grid.parent.glob("scheduler-*"))


@pytest.mark.nightly("a recipe for Kubernetes whose containers do not find each other")
def test_the_recipe_for_kubernetes(grid):
    """The containers' commands as processes; the name of the service is this machine's, and so is its port."""
    pytest.importorskip("distributed")
    parts = list(load("yaml", "the test").safe_load_all(Path(ROOT, "examples/cluster/kubernetes.yaml").read_text()))
    service, *deployments = parts
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    name, own = service["metadata"]["name"], str(service["spec"]["ports"][0]["port"])
    commands = []
    for each in deployments:
        template = each["spec"]["template"]
        assert each["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
        container, = template["spec"]["containers"]
        commands.append([word.replace(f"//{name}:{own}", f"//127.0.0.1:{port}").replace(own, port)
                         for word in container["command"]])
    assert service["spec"]["selector"] == deployments[0]["spec"]["selector"]["matchLabels"]
    with contextlib.ExitStack() as stack:
        for command in commands:
            process = stack.enter_context(subprocess.Popen(command, cwd=grid.parent, stderr=subprocess.DEVNULL))
            stack.callback(process.terminate)
        end = time.monotonic() + TIMEOUT_S
        while True:
            status, out, err = sweep(grid, "--scheduler", f"tcp://127.0.0.1:{port}")
            if status != 125 or time.monotonic() > end:
                break
    assert status == 0 and out.startswith("18 cells: 0 were there, 18 run, 0 failed"), out + err


def test_a_scheduler_that_is_not_there_is_one_sentence(grid):
    status, out, err = sweep(grid, "--scheduler", "nonsense://x")
    assert status == 125 and "no Dask scheduler answers at nonsense://x" in err and len(err.splitlines()) == 1
    assert "18 left" in out


FLAKY = '''#!/bin/sh
# Fails the first time that it is asked for a cell, and then does what the simulator does.
case "$*" in *--json*)
    tried={tried}/$(echo "$*" | sha256sum | cut -c1-20)
    [ -e "$tried" ] || {{ : > "$tried"; echo "out of luck" >&2; exit 1; }} ;;
esac
exec {simulator} "$@"
'''


def test_a_cell_that_fails_once_is_tried_again(grid):
    build, tried = grid.parent / "build", grid.parent / "tried"
    build.mkdir()
    tried.mkdir()
    (build / "schedsim").write_text(FLAKY.format(tried=tried, simulator=f"{BUILD}/schedsim"))
    (build / "schedsim").chmod(0o755)
    grid.write_text(TEXT.replace(', "a.json"', ""))
    status, out, _ = sweep(grid, "--build", str(build))
    assert status == 0 and out.startswith("9 cells: 0 were there, 9 run, 0 failed") and len(os.listdir(tried)) == 9
