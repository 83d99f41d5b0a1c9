# SPDX-License-Identifier: GPL-2.0-only
"""Names of tasks in pictures are text, whatever is in them; colours are told apart in grey; axes fit what they show."""

import argparse
import os
import warnings

import pytest

from tests.sim.conftest import simulated

np = pytest.importorskip("numpy")
pytest.importorskip("matplotlib")
from fairground.pictures import graph, style
from matplotlib.colors import to_rgb
from matplotlib.image import imread

NAMES = {1: "日本語 한국", 2: r"$x^2$ \frac{$", 3: "_worker😀", 4: "Pool$Worker$1"}
FONTS = all(map(os.path.exists, style.OTHER_LETTERS.values()))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "x.dat"
    simulated("--trace", path, "--cpus", "1", "--time", "100ms", "hogs:n=3", "bursts:n=1,run=2ms,sleep=10ms")
    return str(path)


def draw(kind, path, names=NAMES, *words):
    """(figure, texts) of a picture with these @names of threads."""
    parser = argparse.ArgumentParser()
    graph.options(parser)
    arguments = parser.parse_args([kind, path, *words])
    graph.take_range(arguments)
    module = graph.load(kind)
    source = module.open_source(path, arguments)
    source.timeline.comms.update(names)
    figure = module.draw([source], arguments, [f"header of {names[1]}"])
    figure.draw_without_rendering()
    return figure


def said(axis):
    legend = axis.get_legend()
    return {text.get_text() for text in [*axis.get_yticklabels(), *axis.texts, *(legend.get_texts() if legend else ())]}


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
@pytest.mark.parametrize("kind", ["dat2graph2", "side", "share"])
def test_a_name_is_text_as_it_is(tmp_path, capsys, run, kind, form):
    """Dollars and underscores are letters; with the fonts Chinese, Japanese, Korean and emoji have shapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = draw(kind, run) if FONTS else None
    figure = figure or draw(kind, run)
    assert {f"{name}-{pid}" for pid, name in NAMES.items()} <= said(figure.axes[0])
    style.save(figure, str(tmp_path / f"x.{form}"))
    assert ("no font here has some letters" not in capsys.readouterr().err) == FONTS


@pytest.mark.parametrize("kind", ["latency", "cdf", "share", "running_waiting"])
def test_numbers_at_axes_are_no_formulas(run, kind):
    figure = draw(kind, run)
    labels = [label.get_text() for axis in figure.axes for label in (*axis.get_xticklabels(), *axis.get_yticklabels())]
    assert len(labels) > 6 and not [text for text in labels if "$" in text]


def test_the_legend_shows_a_name_that_begins_with_an_underscore(run):
    """Each entry has its own colour beside it: as many patches as texts."""
    legend = draw("dat2graph2", run).axes[0].get_legend()
    assert len(legend.get_patches()) == len(legend.get_texts()) == 4
    assert sum(text.get_text().startswith("_worker") for text in legend.get_texts()) == 1


def test_letters_without_a_font_are_told_in_one_sentence(tmp_path, capsys, run, monkeypatch):
    monkeypatch.setattr(style, "OTHER_LETTERS", {})
    style.save(draw("side", run, {1: "日本語"}), str(tmp_path / "x.png"))
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "fonts-wqy-zenhei fonts-symbola" in err


def test_the_first_eight_threads_differ_in_grey(tmp_path):
    """By 18 of 255 levels of grey, or by their hatches; no look comes twice in five rounds."""
    looks = [style.style(nr) for nr in range(len(style.COLOURS) * len(style.HATCHES))]
    greys = [float(np.dot(to_rgb(look.colour), (0.299, 0.587, 0.114))) for look in looks]
    for a in range(8):
        for b in range(a):
            assert abs(greys[a] - greys[b]) > 0.07 or looks[a].hatch != looks[b].hatch, (looks[a], looks[b])
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("us, text", [(0.001, "1 ns"), (1, "1 µs"), (250, "250 µs"), (1e4, "10 ms"), (1e6, "1 s"),
                                      (1e8, "1.66667 min"), (3.6e9, "1 h"), (0, "0")])
def test_a_duration_is_in_its_own_unit(us, text):
    assert style.duration(us) == text


@pytest.mark.parametrize("sleep, unit", [("1us", "µs"), ("1s", "ms"), ("1h", "h")])
def test_an_axis_of_latencies_fits_from_a_microsecond_to_an_hour(run, sleep, unit):
    """All waits are made as long as that: they are within the axis, whose labels are in such a unit."""
    parser = argparse.ArgumentParser()
    graph.options(parser)
    arguments = parser.parse_args(["latency", "--all", run])
    module = graph.load("latency")
    source = module.open_source(run, arguments)
    length = {"1us": 1_000, "1s": 10 ** 9, "1h": 3600 * 10 ** 9}[sleep]
    for nr, start in enumerate(source.timeline.waits.start):
        source.timeline.waits.end[nr] = start + length
    source = source.__class__(source.path, source.timeline, source.window._replace(end=10 ** 14))
    axis = module.draw([source], arguments, []).axes[1]
    low, high = axis.get_xlim()
    assert low < length / 1e3 < high and high < 10 * length / 1e3
    labels = [style.duration(tick) for tick in axis.get_xticks() if low <= tick <= high]
    assert labels and all(label.split()[1] in (unit, {"µs": "ns", "ms": "s", "h": "min"}[unit]) for label in labels)


def test_a_picture_in_png_has_the_names_in_it(tmp_path, run):
    """With the fonts the four labels are drawn: their pixels differ from those of a picture with boxes."""
    if not FONTS:
        pytest.skip("not installed: fonts-wqy-zenhei, fonts-symbola")
    style.save(draw("side", run), str(tmp_path / "a.png"))
    style.save(draw("side", run, NAMES | {1: "日本話 한국"}), str(tmp_path / "b.png"))
    a, b = imread(tmp_path / "a.png"), imread(tmp_path / "b.png")
    assert a.shape == b.shape and (a != b).any()
