// SPDX-License-Identifier: GPL-2.0-only
// Arrows of wakeups above a timeline. Where rows are tasks, one goes down or up at the time of the wakeup, from the task
// that woke to the one woken; where they are CPUs, from the waker's at that time to where and when the woken task ran.

import {Run, Wakeup} from './model';
import {By, label} from './rows';
import {TEXT} from './strings';
import {svg} from './ui';

const GAP = 12, HEAD = 4;   // pixels: at least between the begins of two arrows, and the length of a head

/** An arrow from the wakeup to the row of the woken task, in pixels. */
export type Arrow = {x: number, y: number, toX: number, toY: number};

// The rows between which @wakeup goes, from 0; undefined: it goes nowhere.
function rowsBetween(wakeup: Wakeup, by: By, rows: Map<number, number>): [number, number] | undefined {
  const [from, to] = by === 'cpu' ? [wakeup.cpu, wakeup.after] : [rows.get(wakeup.waker) ?? -1, rows.get(wakeup.pid) ?? -1];
  return from < 0 || to < 0 || by === 'task' && from === to ? undefined : [from, to];
}

/** The arrows of @run where a row is @lane pixels high and @x tells where a time lies of @width pixels, and the number of all that
 *  would be there: where many begin, one is drawn of those in GAP pixels. Only tasks whose name has @sought are meant. */
export function arrowsOf(run: Run, by: By, sought: string, lane: number, width: number, x: (time: number) => number): {drawn: Arrow[], all: number} {
  const rows = new Map([...run.names.keys()].map((pid, row) => [pid, row])), taken = new Set<number>(), drawn: Arrow[] = [];
  const isMeant = (pid: number) => label(run, pid).toLowerCase().includes(sought.toLowerCase());
  let all = 0;
  for (const wakeup of run.wakeups) {
    const between = rowsBetween(wakeup, by, rows), from = x(wakeup.time), to = by === 'cpu' ? x(wakeup.to) : from, place = Math.floor(from / GAP);
    const isShort = between && between[0] === between[1] && to - from < 2 * HEAD;   // nothing of it would be seen
    if (!between || isShort || to < 0 || from > width || sought && !isMeant(wakeup.waker) && !isMeant(wakeup.pid))
      continue;
    all++;
    if (taken.has(place))
      continue;
    taken.add(place);
    drawn.push({x: from, y: (between[0] + 0.5) * lane, toX: to, toY: (between[1] + 0.5) * lane});
  }
  return {drawn, all};
}

// A line with a head; a head needs as much room.
function pathOf({x, y, toX, toY}: Arrow): string {
  const length = Math.hypot(toX - x, toY - y), [a, b] = [HEAD * (toX - x) / length, HEAD * (toY - y) / length];
  const head = length < 2 * HEAD ? '' : `M${toX - a - b / 2} ${toY - b + a / 2}L${toX} ${toY}L${toX - a + b / 2} ${toY - b - a / 2}`;
  return `M${x} ${y}L${toX} ${toY}${head}`.replace(/\d+\.\d+/g, (number) => Number(number).toFixed(1));
}

/** A drawing of @drawn, of @width times @height pixels. */
export function drawArrows(drawn: Arrow[], all: number, width: number, height: number): SVGElement {
  const {node, add} = svg(width, height, `${drawn.length} / ${all} ${TEXT.wakeups}`);
  node.setAttribute('class', 'arrows');
  node.setAttribute('preserveAspectRatio', 'none');
  drawn.forEach((arrow) => add('path', {d: pathOf(arrow)}));
  return node;
}
