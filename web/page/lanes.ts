// SPDX-License-Identifier: GPL-2.0-only
// The timelines: a row for each CPU of each run, all on one axis of time. The moment shown is a line above them, so that
// going from one decision to the next draws nothing anew.

import {Run, Span} from './model';
import {TEXT} from './strings';
import {$, colour, cpusInWords, el, ms} from './ui';

const LANE = 24, HIGHEST = 768;   // pixels: of a CPU, of all of them
const LEAST = 1000, DRAG = 6;     // ns that are drawn at least; pixels from which on a movement is no click

/** What part of time is drawn, in ns since the begin of each run, and which tasks are sought. */
export type View = {from: number, to: number, sought: string};
/** What the timelines tell: a click on a moment or, with no time, on a name; a part of time; what is under the mouse. */
export type Told = {pick(index: number, time?: number): void, zoom(from: number, to: number): void, under(text: string): void};

export const longest = (runs: Run[]) => Math.max(LEAST, ...runs.map((run) => run.end - run.begin));
export const label = (run: Run, pid: number) => `${run.names.get(pid) ?? ''} ${pid}`.trim();
const laneHeight = (run: Run) => Math.min(LANE, HIGHEST / run.cpus);
const where = (run: Run, time: number, view: View) => (time - run.begin - view.from) / (view.to - view.from);
const isIn = (part: number) => part >= 0 && part <= 1;

/** The part of time from @from to @to, moved and cut so that it lies in the longest of @runs. */
export function within(runs: Run[], from: number, to: number): {from: number, to: number} {
  const most = longest(runs), size = Math.min(Math.max(to - from, LEAST), most), start = Math.min(Math.max(from, 0), most - size);
  return {from: start, to: start + size};
}

function drawLane(canvas: HTMLCanvasElement, run: Run, view: View) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, lane = laneHeight(run), height = Math.ceil(run.cpus * lane);
  const g = canvas.getContext('2d')!, x = (time: number) => where(run, time, view) * width;
  const gap = lane > 8 ? 2 : 0, sought = view.sought.toLowerCase();
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  g.scale(ratio, ratio);
  g.font = '11px system-ui';
  g.textBaseline = 'middle';
  const drawn = new Array(run.cpus).fill(-1);
  for (const span of run.spans) {
    const from = Math.max(x(span.from), 0), to = Math.min(x(span.to), width), y = span.cpu * lane;
    if (to < drawn[span.cpu] + 0.25 || from > width)
      continue;   // it would lie behind the pixel before, or outside
    drawn[span.cpu] = to;
    const text = label(run, span.pid);
    g.globalAlpha = text.toLowerCase().includes(sought) ? 1 : 0.15;
    g.fillStyle = colour(span.pid);
    g.fillRect(from, y + gap, Math.max(to - from - 0.5, 0.5), lane - 2 * gap);
    if (lane >= 12 && to - from > 30 && to - from > g.measureText(text).width + 8) {
      g.fillStyle = '#fff';
      g.fillText(text, from + 4, y + lane / 2);
    }
  }
}

// Where CPUs idled while tasks waited. What would lie on one pixel is one mark.
function wasteLine(run: Run, view: View) {
  const marks: {from: number, to: number}[] = [], pixel = (view.to - view.from) / 1000;
  let sum = 0;
  for (const {from, to, nr} of run.waste) {
    const last = marks[marks.length - 1];
    sum += (to - from) * nr;
    if (last && from < last.to + pixel)
      last.to = Math.max(to, last.to);
    else
      marks.push({from, to});
  }
  const text = `${TEXT.wasted} ${ms(sum)} ms`;
  return el('div', {className: 'waste', role: 'img', ariaLabel: text, title: text}, ...marks.map(({from, to}) =>
    el('i', {style: `left:${100 * where(run, from, view)}%;width:${100 * (to - from) / (view.to - view.from)}%`})));
}

// The spans of each CPU, in order of time, for who is under the mouse.
const byCpu = new WeakMap<Run, Span[][]>();
export function spansOfCpus(run: Run): Span[][] {
  let found = byCpu.get(run);
  if (!found) {
    found = Array.from({length: run.cpus}, () => [] as Span[]);
    for (const span of run.spans)
      found[span.cpu]?.push(span);
    found.forEach((spans) => spans.sort((a, b) => a.from - b.from));
    byCpu.set(run, found);
  }
  return found;
}

/** What happens on @cpu of @run at @time, in words. */
function inWords(run: Run, cpu: number, time: number): string {
  const spans = spansOfCpus(run)[cpu] ?? [];
  let low = 0, high = spans.length;
  while (low < high) {   // the first span that begins after @time
    const middle = (low + high) >> 1;
    if (spans[middle].from > time)
      high = middle;
    else
      low = middle + 1;
  }
  const span = spans[low - 1], runs = span && time < span.to;
  return `${run.name}, CPU ${cpu}, ${ms(time - run.begin)} ms: ` + (runs ? `${label(run, span.pid)}, ${ms(span.to - span.from)} ms ` +
    `(${ms(span.from - run.begin)} – ${ms(span.to - run.begin)})` : TEXT.idle);
}

// A click on @canvas goes to a moment; a part of time over which the mouse is drawn is zoomed to.
function listen(canvas: HTMLCanvasElement, lane: HTMLElement, run: Run, index: number, view: View, told: Told) {
  const since = (event: MouseEvent) => view.from + event.offsetX / canvas.clientWidth * (view.to - view.from);
  const chosen = el('div', {className: 'marked', hidden: true});
  let start = -1, dragged = false;
  lane.append(chosen);
  canvas.onpointerdown = (event) => {
    start = event.offsetX;
    dragged = false;
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = (event) => {
    told.under(inWords(run, Math.floor(event.offsetY / laneHeight(run)), run.begin + since(event)));
    dragged ||= start >= 0 && Math.abs(event.offsetX - start) > DRAG;
    chosen.hidden = !(start >= 0 && dragged);
    chosen.style.left = `${Math.min(start, event.offsetX)}px`;
    chosen.style.width = `${Math.abs(event.offsetX - start)}px`;
  };
  canvas.onpointerup = (event) => {
    const at = view.from + start / canvas.clientWidth * (view.to - view.from);
    start = -1;
    chosen.hidden = true;
    if (dragged)
      told.zoom(Math.min(at, since(event)), Math.max(at, since(event)));
  };
  canvas.onpointercancel = () => {
    start = -1;
    chosen.hidden = true;
  };
  canvas.onpointerleave = () => told.under('');
  canvas.onclick = (event: MouseEvent) => {
    if (!dragged)
      told.pick(index, run.begin + since(event));
  };
  canvas.onwheel = (event) => {
    if (!event.ctrlKey)
      return;
    event.preventDefault();
    const at = since(event), by = event.deltaY > 0 ? 1.25 : 0.8;
    told.zoom(at - (at - view.from) * by, at + (view.to - at) * by);
  };
}

// Round times below the timelines, in ms.
function drawAxis(view: View) {
  const most = Math.max(2, Math.floor($('lanes').clientWidth / 110)), span = view.to - view.from;
  const power = 10 ** Math.floor(Math.log10(span / most)), step = [1, 2, 5, 10].map((each) => each * power).find((each) => span / each <= most)!;
  const digits = Math.max(0, 6 - Math.floor(Math.log10(step))), ticks = [];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step)
    ticks.push(el('span', {style: `left:${100 * (at - view.from) / span}%`}, `${ms(at, digits)}${ticks.length ? '' : ' ms'}`));
  $('axis').replaceChildren(...ticks);
}

/** Draw the part @view of all @runs, of which the one with the number @shown is stepped through. */
export function drawLanes(runs: Run[], shown: number, view: View, told: Told) {
  $('lanes').replaceChildren(...runs.map((run, index) => {
    const canvas = el('canvas', {role: 'img', ariaLabel: `${run.name}: ${cpusInWords(run.cpus)}, ${ms(run.end - run.begin, 0)} ms`});
    const forks = (run.made?.changes ?? []).map(({at}) => where(run, at, view)).filter(isIn)
      .map((part) => el('div', {className: 'forked', style: `left:${100 * part}%`}));
    const lane = el('div', {className: 'lane'}, canvas, el('div', {className: 'now'}), ...forks);
    listen(canvas, lane, run, index, view, told);
    return el('div', {}, el('button', {type: 'button', className: index === shown ? 'main' : '', onclick: () => told.pick(index),
      ariaPressed: String(index === shown)}, run.name), lane, wasteLine(run, view));
  }));
  document.querySelectorAll('#lanes canvas').forEach((canvas, index) => drawLane(canvas as HTMLCanvasElement, runs[index], view));
  drawAxis(view);
}

/** Put the line of the moment shown at @time. */
export function markTime(runs: Run[], time: number | undefined, view: View) {
  document.querySelectorAll<HTMLElement>('#lanes .now').forEach((line, index) => {
    const part = where(runs[index], time ?? 0, view);
    line.hidden = time === undefined || !isIn(part) || time > runs[index].end;
    line.style.left = `${100 * part}%`;
  });
}
