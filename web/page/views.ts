// SPDX-License-Identifier: GPL-2.0-only
// What lies behind a decision: the sum behind V, scores, FDL's deadlines, the CPUs that a placement looked at, averages.

import {TEXT} from './strings';
import {Averaged, Decision, Run, distance} from './model';
import {colour, cpusInWords, el, ms, named, svg, table} from './ui';

const ELIGIBLE = 0x8, QUEUED = 0x800, OWN_DEADLINE = 0x200, MOST_SCORE = 39;
const CPU = {idle: 0x1, free: 0x2, allowed: 0x4};

const heading = (text: string, ...parts: Node[]) => parts.length ? [el('h3', {}, text), ...parts] : [];

/** {total, weight, v} of the sum that EEVDF's V is, from the candidates of @d; null: they are not all there. */
export function sumBehindV(d: Decision): {base: string, total: bigint, weight: bigint, v: bigint} | null {
  const rows: Decision[] = d.candidates.filter((row: Decision) => row.flags & QUEUED);
  if (!rows.length || rows.length !== d.nr_queued)
    return null;
  const base = rows.reduce((a, b) => distance(a.vruntime, b.vruntime) <= 0 ? a : b).vruntime;
  let total = 0n, weight = 0n;
  for (const row of rows) {
    total += BigInt(row.weight) * BigInt(distance(row.vruntime, base));
    weight += BigInt(row.weight);
  }
  return {base: String(base), total, weight, v: BigInt.asUintN(64, BigInt(base) + total / weight)};
}

// The sum, if V is what @d goes by.
const sumOf = (d: Decision) => d.policy === 'eevdf' || d.policy === 'bore' ? sumBehindV(d) : null;

/** Of the rows of @d: what of that which the scheduler says is not so? Is it eligible, and if it was picked for its
 * deadline, is another due before it? '': nothing, or that cannot be told. */
export function doubtAbout(d: Decision): (row: Decision) => string {
  const sum = sumOf(d);
  if (!sum)
    return () => '';
  const isOwed = (row: Decision) => BigInt(distance(row.vruntime, sum.base)) * sum.weight <= sum.total;
  const due = d.candidates.filter((row: Decision) => row.flags & QUEUED && isOwed(row)).reduce(earlier, null);
  return (row) => {
    const says = !!(row.flags & ELIGIBLE), isPicked = d.kind === 'pick' && d.rule === 'earliest_deadline' && row.pid === d.pid && row.group === d.subject_group;
    if (!(row.flags & QUEUED))
      return '';
    if (isOwed(row) !== says)
      return says ? TEXT.notOwed : TEXT.isOwed;
    return isPicked && earlier(row, due) !== row ? `${TEXT.dueBefore} ${due.comm} ${due.pid || ''}` : '';
  };
}

const earlier = (a: Decision | null, b: Decision) => a && distance(a.deadline, b.deadline) <= 0 ? a : b;

function viewOfV(d: Decision): Node[] {
  const sum = sumOf(d);
  if (!sum)
    return [];
  const rows: Decision[] = d.candidates.filter((row: Decision) => row.flags & QUEUED).slice(0, 12);
  const cells = rows.map((row) => [named(row.pid, `${row.comm} ${row.pid || ''}`), ms(distance(row.vruntime, sum.base)), String(row.weight),
    (Number(BigInt(row.weight) * BigInt(distance(row.vruntime, sum.base))) / 1e6).toFixed(0), ms(distance(row.vruntime, d.v) * -1)]);
  cells.push([TEXT.sum, '', String(sum.weight), (Number(sum.total) / 1e6).toFixed(0), '']);
  return heading(TEXT.sumBehindV, table(TEXT.sumBehindV, [TEXT.task, TEXT.fromLeft, TEXT.weight, TEXT.product, TEXT.lagNow], cells, rows.length),
    el('p', {className: 'soft', id: 'sum'}, `V = ${TEXT.leftmost} + ${(Number(sum.total) / 1e6).toFixed(0)} / ${sum.weight} = ` +
      `${TEXT.leftmost} + ${ms(Number(sum.total / sum.weight))} ms`));
}

function viewOfScores(d: Decision): Node[] {
  const rows: Decision[] = d.policy.startsWith('bore') ? d.candidates.slice(0, 16) : [];
  if (!rows.length)
    return [];
  const {node, add} = svg(560, rows.length * 18 + 4, TEXT.scores);
  rows.forEach((row, i) => {
    const y = i * 18 + 2;
    add('text', {x: 0, y: y + 11}, `${row.comm} ${row.pid || ''}`);
    add('rect', {x: 130, y, width: 390, height: 12, fill: 'none', stroke: 'currentColor', 'stroke-opacity': 0.25});
    add('rect', {x: 130, y, width: 390 * row.score / MOST_SCORE, height: 12, fill: colour(row.pid)});
    add('text', {x: 528, y: y + 11}, String(row.score));
  });
  return heading(TEXT.scores, node, el('p', {className: 'soft'}, TEXT.scoresHelp));
}

// FDL: each entity with a deadline of its own is a bucket; all others share the container's.
function viewOfBuckets(d: Decision): Node[] {
  const rows: Decision[] = d.policy === 'fdl' && String(d.container) !== '0' ? d.candidates.filter((row: Decision) => row.flags & QUEUED) : [];
  const own = rows.filter((row) => row.flags & OWN_DEADLINE).slice(0, 12), others = rows.filter((row) => !(row.flags & OWN_DEADLINE));
  if (!own.length)
    return [];
  const buckets = [...own.map((row) => ({name: `${row.comm} ${row.group || row.pid}`, at: distance(row.deadline, d.v), fill: colour(row.pid || row.group)})),
    {name: `${TEXT.container}: ${others.length}`, at: distance(d.container, d.v), fill: 'gray'}];
  const far = Math.max(...buckets.map((each) => Math.abs(each.at)), 1), {node, add} = svg(560, buckets.length * 20 + 6, TEXT.buckets);
  const first = Math.min(...buckets.map((each) => each.at)), x = (at: number) => 330 + at / far * 190;
  add('line', {x1: x(0), x2: x(0), y1: 0, y2: buckets.length * 20 + 6, stroke: 'currentColor', 'stroke-dasharray': '3 3'});
  buckets.forEach(({name, at, fill}, i) => {
    add('rect', {x: Math.min(x(0), x(at)), y: i * 20 + 3, width: Math.abs(x(at) - x(0)), height: 13, fill});
    add('text', {x: 0, y: i * 20 + 14, 'font-weight': at === first ? 'bold' : 'normal'}, `${name}: ${ms(at)} ms`);
  });
  return heading(TEXT.buckets, node, el('p', {className: 'soft'}, TEXT.bucketsHelp));
}

/** What a fair policy's decision rests on. */
export const behind = (d: Decision): Node[] => [...viewOfV(d), ...viewOfScores(d), ...viewOfBuckets(d)];

// --- where a task goes ---------------------------------------------------------------------------

// How many CPUs each level has: "8 CPUs, 1 node, 1 package, 2 llcs, 4 cores", outermost first.
function levels(run: Run): {name: string, size: number}[] {
  const parts = [...String(run.head.topology ?? '').matchAll(/(\d+) (node|package|llc|core)s?\b/g)];
  return parts.map(([, nr, name]) => ({name, size: run.cpus / Number(nr)})).filter(({size}) => Number.isInteger(size) && size < run.cpus && size > 1);
}

/** The machine at a placement: boxes are nodes, caches and cores; the path of the choice is told below. */
export function viewOfPlacement(d: Decision, run: Run): Node[] {
  const rows = new Map<number, Decision>(d.cpus.map((row: Decision) => [row.of_cpu, row])), nr = Math.min(run.cpus, 128);
  const columns = Math.min(nr, 16), cell = 34, {node, add} = svg(Math.max(columns * cell, 280) + 4, Math.ceil(nr / columns) * 44 + 4, TEXT.machine);
  const x = (cpu: number) => 2 + cpu % columns * cell, y = (cpu: number) => 2 + Math.floor(cpu / columns) * 44;
  for (let cpu = 0; cpu < nr; cpu++) {
    const row = rows.get(cpu), flags = row?.flags ?? 0, chosen = cpu === d.chosen;
    add('rect', {x: x(cpu) + 4, y: y(cpu) + 6, width: cell - 8, height: 26, rx: 3, stroke: chosen ? 'var(--accent)' : 'currentColor',
      'stroke-width': chosen ? 3 : 1, 'stroke-opacity': row ? 1 : 0.2, fill: flags & CPU.free ? 'none' : 'gray', 'fill-opacity': 0.5,
      'stroke-dasharray': flags & CPU.allowed ? '' : '2 2'});
    add('text', {x: x(cpu) + cell / 2, y: y(cpu) + 23, 'text-anchor': 'middle'}, String(cpu));
    add('text', {x: x(cpu) + cell / 2, y: y(cpu) + 42, 'text-anchor': 'middle', style: 'font-size:9px'},
      [cpu === d.aimed ? 'A' : '', cpu === d.waker ? 'W' : '', cpu === d.last ? 'L' : ''].join(''));
  }
  levels(run).forEach(({size}, depth) => {
    for (let cpu = 0; cpu < nr; cpu += size)
      for (let from = cpu; from < Math.min(cpu + size, nr); from += columns - from % columns)   // a piece on each line
        add('rect', {x: x(from) + depth, y: y(from) + depth, width: Math.min(cpu + size - from, columns - from % columns) * cell - 2 * depth - 1,
          height: 36 - 2 * depth, fill: 'none', stroke: 'var(--accent)', 'stroke-opacity': 0.6, rx: 4});
  });
  return heading(TEXT.machine, node, el('p', {className: 'soft'},
    `${TEXT.machineHelp} ${levels(run).map(({name, size}) => `${name}: ${cpusInWords(size)}`).join(', ')}`));
}

// --- averages ------------------------------------------------------------------------------------

const SHOWN = 8, POINTS = 500;   // tasks that have a line; points of it, as many as are seen
const WIDTH = 520, HEIGHT = 125;

type Chart = {run?: Run, what?: Averaged, lines: Map<number, Element>, now?: Element, own?: Element, legend?: Element};
let chart: Chart = {lines: new Map()};

// Where the moment @time of @run is drawn.
const across = (run: Run, time: number) => 30 + (time - run.begin) / (run.end - run.begin || 1) * WIDTH;

// The line of @values, which are drawn to @most.
function pointsOf(run: Run, times: number[], values: number[], most: number): string {
  const step = Math.max(1, Math.floor(values.length / POINTS)), points = [];
  for (let i = 0; i < values.length; i += step)
    points.push(`${across(run, times[i]).toFixed(1)},${(135 - values[i] / most * HEIGHT).toFixed(1)}`);
  return points.join(' ');
}

// The lines of the first tasks, one for another task, and the mark of a moment.
function makeChart(place: Element, run: Run, what: Averaged): (pid: number) => string {
  const all = [...run.averages], most = all.reduce((high, [, of]) => of[what].reduce((a, b) => Math.max(a, b), high), 1024);
  const {node, add} = svg(560, 150, TEXT.averages), known = new Map<number, string>();
  const points = (pid: number) => {
    const of = run.averages.get(pid)!;
    known.has(pid) || known.set(pid, pointsOf(run, of.time, of[what], most));
    return known.get(pid)!;
  };
  for (const value of [0, most / 2, most]) {
    const y = 135 - value / most * HEIGHT;
    add('line', {x1: 30, x2: 30 + WIDTH, y1: y, y2: y, stroke: 'currentColor', 'stroke-opacity': 0.15});
    add('text', {x: 0, y: y + 4, style: 'font-size:10px'}, String(Math.round(value)));
  }
  const line = (pid: number, of: string) => add('polyline', {points: of, fill: 'none', stroke: colour(pid)});
  const lines = new Map(all.slice(0, SHOWN).map(([pid]) => [pid, line(pid, points(pid))]));
  const own = all.length > SHOWN ? line(0, '') : undefined, now = add('line', {y1: 5, y2: 140, stroke: 'currentColor'}), legend = el('span');
  const names = [...lines.keys()].flatMap((pid) => [named(pid, `${run.names.get(pid) ?? ''} ${pid}`), ' ']);
  chart = {run, what, lines, own, now, legend};
  place.replaceChildren(...(all.length ? [node, el('p', {className: 'soft'}, ...names, legend), el('p', {className: 'soft'}, TEXT.averagesHelp)] : []));
  return points;
}
let points: ReturnType<typeof makeChart>;

/** Draw in @place the averages of the first tasks of @run and of the subject of @d, whose moment is marked. Of the same
 * run only what differs is drawn anew. */
export function drawAverages(place: Element, run: Run, d: Decision | undefined, what: Averaged) {
  const pid = run.averages.has(d?.pid) ? d!.pid : 0;
  if (chart.run !== run || chart.what !== what)
    points = makeChart(place, run, what);
  const {lines, own, now, legend} = chart, other = pid && !lines.has(pid) ? pid : 0;
  lines.forEach((line, of) => line.setAttribute('stroke-width', of === pid ? '3' : '1.2'));
  if (own && own.getAttribute('data-pid') !== String(other)) {
    for (const [name, value] of Object.entries({'data-pid': other, points: other ? points(other) : '', stroke: colour(other), 'stroke-width': 3}))
      own.setAttribute(name, String(value));
    legend!.replaceChildren(...(other ? [named(other, `${run.names.get(other) ?? ''} ${other}`)] : []));
  }
  const x = d ? across(run, d.time) : -1;
  now!.setAttribute('x1', String(x));
  now!.setAttribute('x2', String(x));
}
