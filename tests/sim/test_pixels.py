# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of sparse, long traces: the area of each colour is the time of its task, to a thousandth of the picture.

In the hour of the fixture CPUs are busy for 2.6 % of the time, in runs of a thirtieth of a pixel. Pixels of a PNG are
counted: each is a mixture of white and three colours, which three equations tell apart.
"""

import argparse
import re
import zlib
from collections import defaultdict
from xml.etree import ElementTree

import pytest

from tests.sim.conftest import simulated

np = pytest.importorskip("numpy")
pytest.importorskip("matplotlib")
from fairground.pictures import graph, pixels, style
from fairground.pictures.kinds import dat2graph2, opp, running_waiting
from matplotlib.colors import to_rgb
from matplotlib.image import imread

ZOOMS = ("0-3600", "100-900", "300-420", "300-330", "310-312")
SHARE = 1e-3   # of a row's time, by which an area may differ
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def hour(tmp_path_factory):
    path = tmp_path_factory.mktemp("hour") / "hour.dat"
    simulated("--trace", path, "--cpus", "2", "--time", "3600s", "periodic:n=2,run=100ms,period=10s,policy=normal",
              "bursts:n=1,run=1s,sleep=30s")
    return str(path)


def drawn(kind, path, zoom, out):
    """The picture @out of @kind without text and lines: (its source, its axis)."""
    parser = argparse.ArgumentParser()
    graph.options(parser)
    arguments = parser.parse_args([kind, "--range", zoom, str(path)])
    graph.take_range(arguments)
    module = graph.load(kind)
    source = module.open_source(str(path), arguments)
    figure = module.draw([source], arguments, [])
    axis = figure.axes[0]
    axis.axis("off")
    for line in (*axis.lines, *axis.texts):
        line.set_visible(False)
    style.save(figure, str(out))
    return source, axis


def areas(out, axis, low, high, colours):
    """What part of the axis's width and of its height from @low to @high, in its units, each of @colours takes."""
    image = imread(out)[::-1, :, :3].astype(float)
    colours = np.array([to_rgb(colour) for colour in colours]).T
    parts = (1 - image) @ np.linalg.pinv(1 - colours).T
    y = sorted(axis.transData.transform([(0, low), (0, high)])[:, 1])
    middle = (y[0] + y[1]) / 2
    reach = (y[1] - y[0]) / 0.84 / 2  # a little more than the row, less than the gap between two
    here = parts[round(middle - reach):round(middle + reach), int(axis.bbox.x0) - 1:int(axis.bbox.x1) + 2]
    return here.sum((0, 1)) / axis.bbox.width / (y[1] - y[0])


@pytest.mark.parametrize("zoom", ZOOMS)
def test_each_tasks_colour_is_its_time_on_each_cpu(tmp_path, hour, zoom, monkeypatch):
    monkeypatch.setattr(dat2graph2, "LABELS", 0)
    source, axis = drawn("dat2graph2", hour, zoom, tmp_path / "x.png")
    tasks = dat2graph2.Tasks([source], False, None)
    cpus, pids, start, end = source.runs()
    for cpu in range(2):
        found = areas(tmp_path / "x.png", axis, cpu - 0.42, cpu + 0.42, [tasks.style(key).colour for key in tasks.keys])
        for key, area in zip(tasks.keys, found):
            mine = (cpus == cpu) & (pids == int(key.rpartition("-")[2]))
            assert area == pytest.approx((end - start)[mine].sum() / source.window.length, abs=SHARE / 4), (cpu, key)


@pytest.mark.parametrize("zoom", ZOOMS)
def test_green_and_red_are_the_integrals(tmp_path, hour, zoom):
    """Also where three tasks share two CPUs for a moment."""
    source, axis = drawn("running_waiting", hour, zoom, tmp_path / "x.png")
    found, (_, top) = running_waiting.counts(source), axis.get_ylim()
    (left, low), (right, high) = axis.bbox.min - 1, axis.bbox.max + 2  # title and legend are further out
    image = imread(tmp_path / "x.png")[::-1][int(low):int(high), int(left):int(right), :3].astype(float)
    colours = np.array([to_rgb(running_waiting.GREEN), to_rgb(running_waiting.RED)]).T
    green, _ = ((1 - image) @ np.linalg.pinv(1 - colours).T).sum((0, 1)) / axis.bbox.width / axis.bbox.height * top
    assert green == pytest.approx(found.integral(found.running) / source.window.length, abs=SHARE * top / 4)


@pytest.mark.parametrize("zoom", ZOOMS)
def test_a_row_of_side_is_its_tasks_time(tmp_path, hour, zoom):
    """Lines of waits are 0.12 high, where bars are 0.66, and have six tenths of the colour."""
    source, axis = drawn("side", hour, zoom, tmp_path / "x.png")
    _, pids, start, end = source.runs()
    wait_pids, wait_start, wait_end = source.waits()
    known = sorted(set(pids.tolist()))
    for row, pid in enumerate(known):
        area, = areas(tmp_path / "x.png", axis, row - 0.33, row + 0.33, [style.style(row).colour])
        time = (end - start)[pids == pid].sum() + 0.6 * 0.12 / 0.66 * (wait_end - wait_start)[wait_pids == pid].sum()
        assert area == pytest.approx(time / source.window.length, abs=SHARE / 2), pid


def rectangles(path):
    """(colour, points of a rectangle) of all filled shapes of an SVG or a PDF."""
    if path.suffix == ".svg":
        for shape in ElementTree.parse(path).iter(f"{SVG}path"):
            fill = re.search(r"fill: (#\w+)", shape.get("style", ""))
            for part in shape.get("d", "").split("z") if fill else ():
                yield fill[1], [tuple(map(float, point)) for point in re.findall(r"[ML] (\S+) (\S+)", part)]
        return
    text = b"".join(zlib.decompress(stream) for stream in re.findall(
        rb"FlateDecode.*?stream\r?\n(.*?)\r?\nendstream", path.read_bytes(), re.DOTALL) if stream[:1] == b"\x78")
    colour = None
    for found in re.finditer(rb"(\S+) (\S+) (\S+) rg\b|((?:-?[\d.]+ -?[\d.]+ [ml]\s+)+)h\b", text):
        if found[4]:
            yield colour, [tuple(map(float, point)) for point in re.findall(rb"(\S+) (\S+) [ml]", found[4])]
        else:
            colour = "#" + "".join(f"{round(255 * float(found[nr])):02x}" for nr in (1, 2, 3))


@pytest.mark.parametrize("form", ["svg", "pdf"])
@pytest.mark.parametrize("zoom", ZOOMS)
def test_shapes_have_the_same_areas(tmp_path, hour, zoom, form, monkeypatch):
    """In a column of pixels a later shape lies on those before it, so the visible part is the difference."""
    monkeypatch.setattr(dat2graph2, "LABELS", 0)
    out = tmp_path / f"x.{form}"
    source, axis = drawn("dat2graph2", hour, zoom, out)
    tasks = dat2graph2.Tasks([source], False, None)
    colours, columns = [tasks.style(key).colour for key in tasks.keys], defaultdict(list)
    for colour, points in rectangles(out):
        if len(points) >= 4 and colour in colours:
            x, y = zip(*points)
            if max(x) <= 72 * style.WIDTH * axis.get_position().x1 + 0.01:  # the legend is further right
                columns[min(x), max(x), round((max if form == "svg" else min)(y), 1)].append((max(y) - min(y), colour))
    area = dict.fromkeys(colours, 0.0)
    for (left, right, _), heights in columns.items():
        heights.sort()
        for (height, colour), (below, _) in zip(heights, [(0, ""), *heights]):
            area[colour] += (right - left) * (height - below)
    _, pids, start, end = source.runs()
    row = 0.84 * 72 * axis.figure.get_size_inches()[1] * axis.get_position().height / 2.2
    width = 72 * style.WIDTH * axis.get_position().width
    for key, colour in zip(tasks.keys, colours):
        time = (end - start)[pids == int(key.rpartition("-")[2])].sum() / source.window.length
        assert area[colour] / row / width == pytest.approx(time, abs=1e-5, rel=1e-3), key


def test_a_column_is_divided_by_hand():
    """Four pixels. The second holds the end of 0, all of 1 and the begin of 2; the fourth a tenth of 1."""
    row = pixels.Row(0, 1, np.array([0.0, 1.5, 1.75, 3.2]), np.array([1.25, 1.6, 3.0, 3.3]), np.array([0, 1, 2, 1]))
    found = pixels.in_pixels(row, np.arange(5.0))
    pieces = {(key, a, b): round(top, 9) for key, a, b, top in zip(
        found.keys.tolist(), found.start.tolist(), found.end.tolist(), found.top.tolist())}
    assert pieces == {(0, 0, 1): 1, (2, 2, 3): 1,                         # bars
                      (0, 1, 2): 0.25, (1, 1, 2): 0.35, (2, 1, 2): 0.6,   # shares, one above the other
                      (1, 3, 4): 0.1}


def test_steps_within_a_pixel_are_their_mean_by_hand():
    """A change in the second pixel is where it was; the short step is divided between the third and the fourth."""
    times, values = np.array([0, 1.5, 2.75, 3.25, 4.5]), np.array([1.0, 3.0, 7.0, 3.0])
    borders = pixels.averaged(times, np.arange(6.0))
    assert borders.tolist() == [0, 1.5, 2, 3, 4, 4.5]
    assert pixels.means(times, values, borders).tolist() == [1, 3, 4, 4, 3]


def test_busy_time_of_frequencies_is_counted_exactly(tmp_path):
    """Whatever the period of the tasks is, beside that of the pixels: the area is the busy time."""
    path = tmp_path / "juno.dat"
    simulated("--trace", path, "--topology", "packages=1,cores=6,llcs=1", "--opp", "juno", "--governor", "schedutil",
              "--time", "2s", "bursts:n=4,run=1ms,sleep=2ms")
    parser = argparse.ArgumentParser()
    graph.options(parser)
    arguments = parser.parse_args(["opp", str(path)])
    source = opp.open_source(str(path), arguments)
    figure = opp.draw([source], arguments, [])
    own = [axis for axis in figure.axes if axis.get_ylabel() == "busy, %"]
    assert len(own) == len(opp.alike(source)) >= 1
    cpus, _, start, end = source.runs()
    for axis, group in zip(own, opp.alike(source)):
        times, part = opp.busy(source, group)
        want = (end - start)[np.isin(cpus, group)].sum() / len(group)
        assert (np.diff(times) * part).sum() == pytest.approx(want, rel=1e-12)
        mean, = (line for line in axis.lines if line.get_gid() == f"mean {group[0]}")
        level = mean.get_ydata()[200:-200]
        assert level.mean() == pytest.approx(100 * want / source.window.length, abs=4)
        assert level.std() <= 0.1 * level.mean()  # 667 periods in 1,350 columns: no beat
