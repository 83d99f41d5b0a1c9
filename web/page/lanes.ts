// SPDX-License-Identifier: GPL-2.0-only
// The timelines: a row for each CPU or task of each run (rows.ts), all on one axis of time. The moment shown is a line above them, so that
// going from one decision to the next draws nothing anew.

import {arrowsOf, drawArrows} from './arrows';
import {Run} from './model';
import {By, inWords, label, longestWait, rowsOf} from './rows';
import {TEXT} from './strings';
import {$, colour, cpusInWords, el, ms} from './ui';

const LANE = 24, HIGHEST = 768;   // pixels: of a row, of all of them
const LEAST = 1000, DRAG = 6;     // ns that are drawn at least; pixels from which on a movement is no click

/** What part of time is drawn, in ns since the begin of each run, which tasks are sought, what the rows are, and
 *  whether wakeups have arrows. */
export type View = {from: number, to: number, sought: string, by: By, arrows: boolean};
/** What the timelines tell: a click on a moment or, with no time, on a name; a part of time; what is under the mouse. */
export type Told = {pick(index: number, time?: number): void, zoom(from: number, to: number): void, under(text: string): void};

export const longest = (runs: Run[]) => Math.max(LEAST, ...runs.map((run) => run.end - run.begin));
const laneHeight = (run: Run, by: By) => Math.min(LANE, HIGHEST / rowsOf(run, by).length);
const where = (run: Run, time: number, view: View) => (time - run.begin - view.from) / (view.to - view.from);
const isIn = (part: number) => part >= 0 && part <= 1;

/** The part of time from @from to @to, moved and cut so that it lies in the longest of @runs. */
export function within(runs: Run[], from: number, to: number): {from: number, to: number} {
  const most = longest(runs), size = Math.min(Math.max(to - from, LEAST), most), start = Math.min(Math.max(from, 0), most - size);
  return {from: start, to: start + size};
}

/** A bar of @pid from pixel @from to @to, up to the part @high of the row's height. */
export type Bar = {pid: number, from: number, to: number, high: number};

/** How the spans of one row are drawn that go from pixel @from to @to, in order. A column of pixels in which several begin
 *  or end, or one that is narrower than a pixel, is divided from below by time; all others have their exact ends. So the
 *  area of each colour is its time. In a column the higher bars come first, and the others lie on them. */
export function inPixels(spans: {pid: number, from: number, to: number}[], width: number): Bar[] {
  const users = new Uint8Array(Math.ceil(width) + 1), shares = new Map<number, Map<number, number>>(), bars: Bar[] = [];
  const cut = spans.map(({pid, from, to}) => ({pid, from: Math.max(from, 0), to: Math.min(to, width)})).filter(({from, to}) => from < to);
  const add = (column: number, pid: number, time: number) => {
    const own = shares.get(column) ?? new Map<number, number>();
    own.set(pid, (own.get(pid) ?? 0) + time);
    shares.set(column, own);
  };
  for (const {from, to} of cut) {
    const first = Math.floor(from), last = Math.ceil(to) - 1, more = to - from < 1 ? 2 : 1;
    users[first] = Math.min(users[first] + more, 2);
    if (last > first)
      users[last] = Math.min(users[last] + more, 2);
  }
  for (const span of cut) {
    const first = Math.floor(span.from), last = Math.ceil(span.to) - 1, left = users[first] > 1, right = users[last] > 1;
    if (left)
      add(first, span.pid, Math.min(span.to, first + 1) - span.from);
    if (right && last > first)
      add(last, span.pid, span.to - last);
    const from = left ? first + 1 : span.from, to = right ? last : span.to;
    if (from < to)
      bars.push({pid: span.pid, from, to, high: 1});
  }
  for (const [column, own] of shares) {
    let high = [...own.values()].reduce((a, b) => a + b);
    for (const [pid, part] of [...own].reverse()) {
      bars.push({pid, from: column, to: column + 1, high});
      high -= part;
    }
  }
  return bars;
}

function drawLane(canvas: HTMLCanvasElement, run: Run, view: View) {
  const ratio = devicePixelRatio || 1, width = Math.round(canvas.clientWidth * ratio), rows = rowsOf(run, view.by), lane = laneHeight(run, view.by) * ratio;
  const g = canvas.getContext('2d')!, style = getComputedStyle(document.documentElement), x = (time: number) => where(run, time, view) * width;
  const gap = lane > 8 * ratio ? 2 * ratio : 0, bar = lane - 2 * gap, sought = view.sought.toLowerCase();
  canvas.width = width;
  canvas.height = Math.ceil(rows.length * lane);
  canvas.style.height = `${Math.ceil(rows.length * laneHeight(run, view.by))}px`;
  g.font = `${11 * ratio}px system-ui`;
  g.textBaseline = 'middle';
  rows.forEach(({name, pieces}, row) => {
    const bottom = (row + 1) * lane - gap;
    // A wait is the bar of the task with the number below zero.
    for (const {pid: number, from, to, high} of inPixels(pieces.map((piece) => ({pid: piece.waits ? -piece.pid : piece.pid, from: x(piece.from), to: x(piece.to)})), width)) {
      const waits = number < 0, pid = Math.abs(number), text = label(run, pid);
      g.globalAlpha = (text.toLowerCase().includes(sought) ? 1 : 0.15) * (waits ? 0.35 : 1);
      g.fillStyle = waits ? style.getPropertyValue('--bad') : colour(pid);
      g.clearRect(from, bottom - high * bar, to - from, high * bar);   // of the bars behind a pale one nothing is seen
      g.fillRect(from, bottom - high * bar, to - from, high * bar);
      if (view.by === 'cpu' && lane >= 12 * ratio && to - from > 30 * ratio && to - from > g.measureText(text).width + 8 * ratio) {
        g.fillStyle = '#fff';
        g.fillText(text, from + 4 * ratio, bottom - bar / 2);
      }
    }
    if (view.by === 'task' && lane >= 12 * ratio) {
      g.globalAlpha = 1;
      g.lineWidth = 3 * ratio;
      g.strokeStyle = style.getPropertyValue('--card');
      g.fillStyle = style.getPropertyValue('--fg');
      g.strokeText(name, 4 * ratio, bottom - bar / 2);
      g.fillText(name, 4 * ratio, bottom - bar / 2);
    }
  });
}

/** The longest wait of @run in words; '' if there is none. */
function worstInWords(run: Run): string {
  const wait = longestWait(run);
  return wait ? `${TEXT.longestWait} ${label(run, wait.pid)}, ${ms(wait.to - wait.from)} ms` : '';
}

// A frame around the longest wait, if it is drawn and the rows are tasks.
function worstFrame(run: Run, view: View) {
  const wait = longestWait(run), row = wait ? [...run.names.keys()].indexOf(wait.pid) : -1;
  if (!wait || view.by !== 'task' || row < 0)
    return [];
  const from = Math.max(where(run, wait.from, view), 0), to = Math.min(where(run, wait.to, view), 1), lane = laneHeight(run, view.by);
  return from < to ? [el('div', {className: 'worst', title: worstInWords(run),
    style: `left:${100 * from}%;width:${100 * (to - from)}%;top:${row * lane}px;height:${lane}px`})] : [];
}

// Where CPUs idled while tasks waited, by the same rule: of a pixel its share of the line's height.
function wasteLine(run: Run, view: View) {
  const columns = $('lanes').clientWidth || 1000;
  const marks = inPixels(run.waste.map(({from, to}) => ({pid: 0, from: where(run, from, view) * columns, to: where(run, to, view) * columns})), columns);
  const text = `${TEXT.wasted} ${ms(run.waste.reduce((sum, {from, to, nr}) => sum + (to - from) * nr, 0))} ms`;
  return el('div', {className: 'waste', role: 'img', ariaLabel: text, title: text}, ...marks.map(({from, to, high}) =>
    el('i', {style: `left:${100 * from / columns}%;width:${100 * (to - from) / columns}%;height:${100 * high}%`})));
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
    told.under(inWords(run, view.by, Math.floor(event.offsetY / laneHeight(run, view.by)), run.begin + since(event)));
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

// The arrows of wakeups above @canvas. Returns how many are drawn, and of how many.
function putArrows(canvas: HTMLCanvasElement, run: Run, view: View): {drawn: number, all: number} {
  if (!view.arrows)
    return {drawn: 0, all: 0};
  const {clientWidth: width, clientHeight: height} = canvas;
  const {drawn, all} = arrowsOf(run, view.by, view.sought, laneHeight(run, view.by), width, (time) => where(run, time, view) * width);
  if (all)
    canvas.after(drawArrows(drawn, all, width, height));
  return {drawn: drawn.length, all};
}

/** Draw the part @view of all @runs, of which the one with the number @shown is stepped through. Returns how many arrows of
 *  wakeups are drawn, and of how many. */
export function drawLanes(runs: Run[], shown: number, view: View, told: Told): {drawn: number, all: number} {
  $('lanes').replaceChildren(...runs.map((run, index) => {
    const canvas = el('canvas', {role: 'img', ariaLabel: `${run.name}: ${cpusInWords(run.cpus)}, ${ms(run.end - run.begin, 0)} ms`});
    const forks = (run.made?.changes ?? []).map(({at}) => where(run, at, view)).filter(isIn)
      .map((part) => el('div', {className: 'forked', style: `left:${100 * part}%`}));
    const lane = el('div', {className: 'lane'}, canvas, el('div', {className: 'pinned', hidden: true}), el('div', {className: 'now'}), ...worstFrame(run, view), ...forks);
    listen(canvas, lane, run, index, view, told);
    return el('div', {}, el('button', {type: 'button', className: index === shown ? 'main' : '', onclick: () => told.pick(index),
      ariaPressed: String(index === shown)}, run.name), el('span', {className: 'soft worst-said'}, worstInWords(run)), lane, wasteLine(run, view));
  }));
  const counts = [...document.querySelectorAll<HTMLCanvasElement>('#lanes canvas')].map((canvas, index) => {
    drawLane(canvas, runs[index], view);
    return putArrows(canvas, runs[index], view);
  });
  drawAxis(view);
  return {drawn: counts.reduce((sum, {drawn}) => sum + drawn, 0), all: counts.reduce((sum, {all}) => sum + all, 0)};
}

/** Put the line of the moment shown at @time, and that of the mark at @pinned, ns since the begin of each run. */
export function markTime(runs: Run[], time: number | undefined, view: View, pinned?: number) {
  document.querySelectorAll<HTMLElement>('#lanes .pinned').forEach((line) => {
    const part = ((pinned ?? 0) - view.from) / (view.to - view.from);
    line.hidden = pinned === undefined || !isIn(part);
    line.style.left = `${100 * part}%`;
  });
  document.querySelectorAll<HTMLElement>('#lanes .now').forEach((line, index) => {
    const part = where(runs[index], time ?? 0, view);
    line.hidden = time === undefined || !isIn(part) || time > runs[index].end;
    line.style.left = `${100 * part}%`;
  });
}
