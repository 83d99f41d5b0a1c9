# SPDX-License-Identifier: GPL-2.0-only
"""make bench: its table, the verdicts, what is kept of Linux, its errors."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

from fairground.machine import bench, bench_linux, bench_smp
from fairground.machine.bench_linux import OPERATIONS, RELEASES, RUNS, TWO_CPUS, Kernel, Measured
from fairground.base.expect import Missing

LINUX = {"yield_alone": {"6.1": 811, "6.12": 858, "7.2": 900}, "pick_2": {"6.1": 1976, "6.12": 2470, "7.2": 300}}
OURS = {"cfs": {"pick_2": 100, "yield_alone": 141, "deadline_late": 3167}, "eevdf": {"yield_alone": 271, "pick_2": 101}}
CONSOLE = """noise
@ about
Linux version 7.2.13+deb14 (a compiler) #1
full (lazy)
@ bench
null_syscall 364 ns
bench: pick_10000: no
pick_10000 - ns
hack: 200 tasks
Time: 0.119
@ end
"""


def test_each_policy_is_compared_with_the_best_linux():
    rows = bench.compare(OURS, LINUX)
    assert [row["operation"] for row in rows] == ["yield_alone", "pick_2", "deadline_late"]
    assert rows[0]["best"] == 811 and rows[0]["ratio"]["cfs"] == 141 / 811 and rows[0]["linux"]["6.12"] == 858
    assert rows[0]["pass"] == {"cfs": True, "eevdf": False}            # 270 is a third of 811
    assert rows[1]["best"] == 300 and rows[1]["pass"] == {"cfs": True, "eevdf": False}  # a third itself is met
    assert rows[2]["instructions"] == {"cfs": 3167, "eevdf": None}
    assert rows[2]["linux"] is rows[2]["ratio"] is rows[2]["best"] is rows[2]["pass"] is None


def test_the_table_has_a_column_and_a_ratio_for_each():
    lines = bench.table(bench.compare(OURS, LINUX), ["cfs", "eevdf"]).splitlines()
    assert lines[0].split() == "operation cfs eevdf Linux 6.1 6.12 7.2 cfs/best eevdf/best".split()
    assert lines[1].split() == "yield_alone 141 271 811 858 900 0.174 yes 0.334 no".split()
    assert lines[3].split() == ["deadline_late", "3,167", "-"]
    assert lines[4].startswith("cfs: 2 of 2 operations") and lines[5].startswith("eevdf: 0 of 2")
    ends = {len(line) - (not line.endswith(" ")) for line in lines[:3]}
    assert len(ends) == 1, lines  # columns stand below each other


def test_one_policy_alone_and_what_was_not_measured():
    rows = bench.compare({"bore": {"pick_2": 90}}, LINUX)
    assert bench.table(rows, ["bore"]).splitlines()[1].split() == "pick_2 90 1,976 2,470 300 0.300 yes".split()
    rows = bench.compare({"cfs": {"pick_2": 90}, "eevdf": {}}, LINUX)
    assert bench.table(rows, ["cfs", "eevdf"]).splitlines()[1].split()[-3:] == ["0.300", "yes", "-"]


def test_what_a_boot_of_linux_prints_is_read():
    boot = bench_linux.read_boot(CONSOLE, "QEMU 9", ["null_syscall"])
    assert boot == Measured("Linux version 7.2.13+deb14 (a compiler) #1", "lazy", "QEMU 9", {"null_syscall": 364}, 119)
    with pytest.raises(Missing, match="did not come to the end"):
        bench_linux.read_boot(CONSOLE.partition("@ end")[0], "QEMU 9", [])
    with pytest.raises(Missing, match="no figure of pick_10000"):
        bench_linux.read_boot(CONSOLE, "QEMU 9", ["null_syscall", "pick_10000"])


def test_boots_of_a_kernel_differ_in_their_pauses_only():
    for cpus in bench_linux.CPUS:
        scripts = [bench_linux.script(cpus, run).partition("\n") for run in range(RUNS)]
        assert len({first for first, _, _ in scripts}) == RUNS and len({rest for _, _, rest in scripts}) == 1
    one, two = bench_linux.script(1, 0), bench_linux.script(2, 0)
    assert all(f" {name}" in (two if name in TWO_CPUS else one) for name in OPERATIONS)


def test_rows_are_kept_by_the_machine_that_measures_them(tmp_path):
    def boot(figures, qemu="QEMU 7"):
        return Measured("Linux version 6.1", "voluntary", qemu, figures, 158)
    kernel = bench_linux.together({
        1: [boot({"pick_2": 3}), boot({"pick_2": 1}), boot({"pick_2": 2})],
        2: [boot({name: 10 for name in TWO_CPUS}, "QEMU 9")], 4: [boot({bench_linux.ROUND_TRIP: 40}, "QEMU 9")],
    }, 250, "quiet", {"bench": "0123"})
    assert kernel.operations == {**{name: [10] for name in TWO_CPUS}, "pick_2": [3, 1, 2]}
    assert kernel.smp == {"hack": {"1": [158] * 3, "2": [158], "4": [158]}, "round_trip": {"2": [10], "4": [40]}}
    assert kernel.qemu == "QEMU 7, QEMU 9"
    bench_linux.keep({"6.1": kernel}, tmp_path / "kept.json")
    assert bench_linux.load(tmp_path / "kept.json") == {"6.1": kernel}
    assert bench_linux.medians({"6.1": kernel})["pick_2"] == {"6.1": 2}


def test_every_operation_was_measured_on_each_linux():
    kernels = bench_linux.load()
    assert tuple(kernels) == RELEASES
    for release, kernel in kernels.items():
        assert kernel.version.startswith(f"Linux version {release}.") and kernel.hz == 250
        assert kernel.model == ("lazy" if release == "7.2" else "voluntary")
        assert list(kernel.operations) == OPERATIONS
        assert all(len(runs) == RUNS and min(runs) > 0 for runs in kernel.operations.values())
        assert set(kernel.smp["hack"]) == {str(cpus) for cpus in bench_linux.CPUS}
        assert bench_linux.APPEND in kernel.parameters and "mitigations=off" in kernel.parameters


def test_a_kernel_that_is_missing_keeps_its_figures(monkeypatch, tmp_path, capsys):
    place = tmp_path / "linux/boot"
    place.mkdir(parents=True)
    for release in ("6.1", "6.12"):
        (place / f"vmlinuz-{release}.0-9").touch()
        (place / f"config-{release}.0-9").write_text("CONFIG_HZ=250\n")
    monkeypatch.setattr(bench_linux, "digest", lambda build, program: program)
    monkeypatch.setattr(bench_linux, "measure", lambda settings, run: Measured(
        settings.kernel, "voluntary", "QEMU 9", dict.fromkeys(bench_linux.operations(settings.cpus), run), 1))
    kernels = bench_linux.measure_all(str(tmp_path))
    assert list(kernels) == ["6.1", "6.12"] and kernels["6.12"].version.endswith("vmlinuz-6.12.0-9")
    assert all(sorted(kernel.operations[name]) == [0, 1, 2] for kernel in kernels.values() for name in OPERATIONS)
    told = capsys.readouterr().err
    assert "kernel 7.2 is not in" in told and "setup.sh --compare" in told and told.count("\n") == 1


def test_another_build_of_a_program_is_told(monkeypatch, tmp_path, capsys):
    (tmp_path / "user").mkdir()
    (tmp_path / "user/bench").touch()
    monkeypatch.setattr(bench_linux, "digest", lambda build, program: "now")
    for kept, told in (("now", ""), ("then", "another build of bench than today's")):
        kernel = Kernel("Linux version 6.1.0-9 (x) #1", "voluntary", 250, "QEMU 9", "", {"bench": kept, "hack": "then"})
        line, = bench_linux.describe({"6.1": kernel}, str(tmp_path))
        assert line.startswith("Linux 6.1.0-9, preempt=voluntary, HZ=250, QEMU 9")
        error = capsys.readouterr().err
        assert told in error and bool(error) == bool(told)


def test_operations_are_those_of_the_program():
    source = (ROOT / "user/bench/bench.c").read_text(encoding="utf-8")
    names = {line.split('"')[1] for line in source.splitlines() if line.startswith('\t{ "')}
    assert names == {*OPERATIONS, *bench.ONLY_OURS} - set(bench.GOVERNED)


def test_many_cpus_stand_beside_linux():
    kernel = Kernel("", "", 250, "", "", {}, {}, {"hack": {"1": [150, 158, 170]}, "round_trip": {"2": [9, 9, 8]}})
    machines = {cpus: {"domains": "", **dict.fromkeys((name for name, _, _ in bench_smp.ROWS), 1.0)} for cpus in (1, 2)}
    lines = bench_smp.table(machines, {"7.2": kernel}).splitlines()
    assert [line.split()[2:] for line in lines if "Linux" in line] == [["158.0", "-"], ["-", "9"]]


def run_tool(*words):
    return subprocess.run([sys.executable, "-m", "fairground", "--build", "/nonexistent", *words],
                          capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT / "tools")})


@pytest.mark.parametrize("words, status, says", [
    (("bench", "--fresh"), 1, "sh tools/setup.sh --compare fetches it"),
    (("bench", "--fresh", "--cmd", "bench pick_2"), 2, "without CMD="),
    (("bench", "--sched", "o1"), 2, "SCHED=o1: one of cfs, "), (("bench",), 125, "run make image")])
def test_what_cannot_be_done_is_said_in_one_sentence(words, status, says):
    done = run_tool(*words)
    assert done.returncode == status and says in done.stderr and done.stderr.count("\n") == 1, done.stderr
