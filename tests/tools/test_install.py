# SPDX-License-Identifier: GPL-2.0-only
"""The command `fairground` as pip installs it, outside of the tree; its helps; Tab in bash."""

import fcntl
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import venv
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINUX = ROOT / "tests/sim/linux-6.1.dat"

from fairground.__main__ import COMMANDS, make_parser
from fairground.helps import parsers

HELPS = [path for path, _ in parsers(make_parser()) if path]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The directory of the programs of an environment into which pip installed the tree, without network."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, with_pip=False, system_site_packages=True)
    words = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", str(ROOT)]
    with open(ROOT / "setup.py", encoding="utf-8") as lock:  # it builds in one place of the tree
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([sys.executable, "-m", "pip", "--python", place / "bin/python", *words], cwd=place,
                              capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place / "bin"


@pytest.fixture
def command(installed, tmp_path):
    """command("graph --help") runs the installed program, in an empty directory, without variables of the tree's."""
    def run(text, **environment):
        return subprocess.run([installed / "fairground", *shlex.split(text)], cwd=tmp_path, capture_output=True,
                              text=True, check=False, env={"PATH": f"{installed}:/usr/bin:/bin", **environment})
    return run


def test_it_says_what_it_is(command):
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    assert command("--version").stdout == f"fairground {version}\n"
    text = command("--help").stdout
    assert all(f"    {name} " in text for name in COMMANDS)


def test_what_reads_files_needs_no_tree(command, tmp_path):
    done = command(f"convert {LINUX} -o runs.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs.csv").read_text(encoding="utf-8").count("\n") > 100
    done = command(f"graph running_waiting {LINUX} -o p.svg")
    assert done.returncode == 0 and (tmp_path / "p.svg").stat().st_size > 1000, done.stderr


def test_lists_and_experiments_are_packed(command):
    names = {path.stem for path in (ROOT / "experiments").glob("*.toml")}
    assert names and all(name in command("experiment").stdout for name in names)
    assert "cfs, eevdf" in command("run --sched none").stderr              # policies.def
    assert "sched_pelt" not in command("run --append slice_n=1").stderr    # param.def: a near name is told
    done = command("run --append shed=eevdf")
    assert done.returncode == 2 and "is sched meant?" in done.stderr
    assert "moved" in command("decisions --help").stdout                   # rule.def


def test_what_policies_claim_is_packed(command, tmp_path):
    if not (ROOT / "build/schedsim").exists():
        pytest.skip("make sim")
    subprocess.run([ROOT / "build/schedsim", "--sched", "bore", "--time", "9ms", "--decisions", tmp_path / "run.json",
                    "hogs:n=2"], check=True, capture_output=True)
    assert "eligible    deadline  score" in command("decisions run.json --full").stdout


def test_a_built_viewer_is_packed(command, tmp_path):
    if not (ROOT / "build/viewer.html").exists():
        pytest.skip("make page")
    done = command(f"report out.html {LINUX}")
    assert done.returncode == 0 and "<iframe" in (tmp_path / "out.html").read_text(encoding="utf-8"), done.stderr


def test_the_simulator_of_another_directory_is_used(command):
    build = ROOT / "build"
    if not (build / "schedsim").exists():
        pytest.skip("make sim")
    done = command(f"--build {build} compare cfs eevdf shares --seeds 1..3 --time 50ms")
    assert done.returncode == 0 and "eevdf" in done.stdout, done.stderr


@pytest.mark.parametrize("words", ["lab list", "fidelity", "scenarios", "gdb", "profile"])
def test_what_needs_the_tree_says_so_and_finds_it(command, words):
    done = command(words)
    assert done.returncode == 2 and "needs the project's tree" in done.stderr and done.stderr.count("\n") == 1
    if words == "lab list":
        done = command(words, FAIRGROUND_TREE=str(ROOT))
        assert done.returncode == 0 and "tournament" in done.stdout.lower(), done.stderr


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The directory of the programs of an environment with the wheel and no package beside it: what pip brings by
    itself. Without network, as the fixture above."""
    place = tmp_path_factory.mktemp("bare")
    venv.create(place, with_pip=False)
    with open(ROOT / "setup.py", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps",
                        "--no-build-isolation", "--wheel-dir", place, ROOT], cwd=place, check=True, capture_output=True)
    wheel, = place.glob("fairground-*.whl")
    subprocess.run([sys.executable, "-m", "pip", "--python", place / "bin/python", "install", "--quiet", "--no-index",
                    "--no-deps", wheel], cwd=place, check=True, capture_output=True)
    return place, wheel


def typed(bare, text, to):
    return subprocess.run(["sh", "-c", text], cwd=to, capture_output=True, text=True, check=False,
                          env={"PATH": f"{bare[0]}/bin:/usr/bin:/bin", "HOME": str(to),
                               "FAIRGROUND_PYTHON": "/nowhere"})


@pytest.mark.nightly("a wheel that does nothing where nothing else is installed")
@pytest.mark.skipif(not (ROOT / "build/schedsim").exists(), reason="make sim")
def test_the_wheel_alone_simulates_and_reads(bare, tmp_path):
    """Simulator, tables and causes need no package; what does names the one command that brings it."""
    program = (ROOT / "build/schedsim").read_bytes()
    asked = {tuple(map(int, each)) for each in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", program)}
    assert "-py3-none-manylinux_{}_{}_".format(*max(asked)) in bare[1].name
    with zipfile.ZipFile(bare[1]) as wheel:  # auditwheel wants a program there, and not under purelib/
        assert "fairground/packed/schedsim" in wheel.namelist()
    done = typed(bare, """set -e
        schedsim --time 50ms --decisions run.dat hogs:n=2 bursts:run=2ms,sleep=6ms
        fairground latency run.dat; fairground timehist --summary run.dat; fairground stat run.dat
        fairground why run.dat --task burst; fairground decisions run.dat
        fairground convert run.dat -o runs.csv
        python -c 'import fairground as fg; print(fg.simulate("hogs", time="9ms").tasks(form="columns")["cpu_ns"])'""",
                 tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "avg:" in done.stdout and done.stdout.endswith("[9000000]\n")
    assert "burst" in (tmp_path / "runs.csv").read_text(encoding="utf-8")
    done = typed(bare, "fairground graph dat2graph2 run.dat", tmp_path)
    assert done.returncode == 2 and done.stderr == (
        "fairground: pictures need numpy: pip install numpy\n")
    done = typed(bare, "fairground compare cfs eevdf hogs:n=2 --seeds 1..2 --time 20ms", tmp_path)
    assert done.returncode == 2 and done.stderr.endswith("scipy: pip install scipy brings it\n")
    done = typed(bare, "python -c 'import fairground as fg; fg.Trace(\"run.dat\").runs()'", tmp_path)
    assert "MissingPackage: a table needs the Python package pandas: pip install pandas brings it" in done.stderr
    done = typed(bare, "fairground convert run.dat -o run.pftrace", tmp_path)
    assert "perfetto: pip install 'fairground[forms]' brings it" in done.stderr


def brought(packages):
    """The places of this host's Python @packages, and of those that they load."""
    names = ", ".join(name.replace("matplotlib", "matplotlib.figure") for name in packages)
    text = f"import sys, {names}\nfor name, m in list(sys.modules.items()):\n" \
           "    if '.' not in name and 'dist-packages' in (getattr(m, '__file__', '') or ''): print(m.__file__)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    found = map(pathlib.Path, done.stdout.split())
    return [path.parent if path.name == "__init__.py" else path for path in found]


@pytest.mark.nightly("an installed package that draws no picture, or has no intervals and tables")
@pytest.mark.skipif(not (ROOT / "build/schedsim").exists(), reason="make sim")
def test_what_pip_brings_draws_reports_and_compares(bare, tmp_path):
    """With the packages that the wheel asks for, and theirs: links to this host's, for there may be no network."""
    with zipfile.ZipFile(bare[1]) as wheel:
        name, = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        asked = re.findall(r"^Requires-Dist: ([\w-]+)$", wheel.read(name).decode(), re.MULTILINE)
    (tmp_path / "packages").mkdir()
    for place in brought(asked):
        (tmp_path / "packages" / place.name).symlink_to(place)
    done = typed(bare, """set -e
        export PYTHONPATH=packages
        schedsim --time 50ms --trace run.dat --decisions run.json hogs:n=2 bursts:run=2ms,sleep=6ms
        fairground graph dat2graph2 run.dat -o runs.png
        fairground graph lag run.json -o lag.svg
        fairground report report.html run.dat run.json
        fairground compare cfs eevdf hogs:n=2 --seeds 1..6 --time 20ms --out two.png
        python -c 'import fairground as fg; print(fg.Trace("run.dat").runs().groupby("comm").run_ns.sum())'""",
                 tmp_path)
    assert done.returncode == 0, done.stderr
    assert "missing" not in done.stdout + done.stderr and re.search(r"^hog +\d{8}$", done.stdout, re.MULTILINE)
    for name in ("runs.png", "two.png"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("runs.png", "two.png", "lag.svg", "report.html"))


MAN = "share/man/man1"


@pytest.mark.nightly("a manual page that lacks a command, or that man cannot show")
def test_the_manual_pages_are_installed(bare):
    page = (bare[0] / MAN / "fairground.1").read_text(encoding="utf-8").replace("\\-", "-")
    assert all(f".SS fairground {path}\n" in page for path in HELPS) and len(HELPS) > 30
    options = {name for path, parser in parsers(make_parser()) if path for action in parser._actions
               for name in action.option_strings if name.startswith("--") and name != "--help"}
    assert len(options) > 60 and not {name for name in options if name not in page}
    for path in (bare[0] / MAN).iterdir():
        if shutil.which("groff"):
            said = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path], capture_output=True, text=True,
                                  check=True).stderr
            assert not [line for line in said.splitlines() if "can't break line" not in line]
    if (ROOT / "build/schedsim").exists():
        text = (bare[0] / MAN / "schedsim.1").read_text(encoding="utf-8").replace("\\-", "-")
        told = subprocess.run([ROOT / "build/schedsim", "--help"], capture_output=True, text=True, check=True).stdout
        assert all(f"\\fB{name}" in text for name in re.findall(r"^  (--\S+)", told, re.MULTILINE))


def test_a_missing_image_is_a_sentence(command):
    done = command("run --cmd true")
    assert done.returncode == 125 and "build/" in done.stderr and done.stderr.count("\n") == 1
    assert "in the project's tree" in done.stderr


@pytest.mark.parametrize("path", HELPS)
def test_every_help_has_examples_that_parse(path, capsys):
    with pytest.raises(SystemExit) as left:
        make_parser().parse_args([*path.split(), "--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0 and "examples:\n" in text
    shown = re.findall(rf"^  fairground ({path}\b.*)$", text, re.MULTILINE)
    assert shown
    for words in shown:
        make_parser().parse_args(shlex.split(words))


def test_a_module_is_all_that_a_command_needs(tmp_path):
    """The one that docs/command.md adds, in a copy of the tools. What the tree has besides is linked."""
    for path in ROOT.iterdir():
        if path.name not in ("tools", "build"):
            (tmp_path / path.name).symlink_to(path)
    shutil.copytree(ROOT / "tools/fairground", tmp_path / "tools/fairground")
    page = (ROOT / "docs/command.md").read_text(encoding="utf-8")
    module = re.search(r"module `switches` of the room `trace`:\n\n```\n(.*?)```", page, re.DOTALL)[1]
    (tmp_path / "tools/fairground/trace/switches.py").write_text(module)

    def said(*words):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "tools"})
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout

    program = (sys.executable, "-m", "fairground")
    assert re.search("^    switches +count how often each CPU switched$", said(*program, "--help"), re.MULTILINE)
    assert "examples:\n  fairground switches hack.dat\n" in said(*program, "switches", "--help")
    assert re.fullmatch(r"(CPU \d: \d+\n)+", said(*program, "switches", str(LINUX)))
    assert sum(row["switches"] for row in json.loads(said(*program, "switches", str(LINUX), "--json"))["rows"]) > 100
    assert said("make", "-s", "switches", f"ARGS={LINUX}") == said(*program, "switches", str(LINUX))
    assert re.search(r"\bswitches\b", said("make", "help"))


def tab(installed, line):
    """What bash completes @line to, after what `fairground completion` prints."""
    script = f"""eval "$(fairground completion)"
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)} COMP_TYPE=9 COMP_WORDBREAKS=$' \\t\\n"=:'
        _python_argcomplete fairground
        printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=ROOT,
                          env={"PATH": f"{installed}:/usr/bin:/bin"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    return {word.strip() for word in done.stdout.splitlines()}


@pytest.mark.parametrize("line, has, lacks", [
    ("fairground fi", {"fidelity", "first-difference"}, "run"),
    ("fairground graph run", {"running_waiting"}, "dat2graph2"),
    ("fairground graph lag --ta", {"--tasks"}, "--cpu"),
    ("fairground run --sched ", {"cfs", "eevdf"}, "run"),
    ("fairground experiment x1", {"x1-fdl", "x14-real-time"}, "x3-burst"),
    ("fairground lab ha", {"handout"}, "grade"),
])
def test_tab_completes(installed, line, has, lacks):
    found = tab(installed, line)
    assert has <= found and lacks not in found
