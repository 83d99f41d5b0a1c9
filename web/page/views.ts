// SPDX-License-Identifier: GPL-2.0-only
// What lies behind a decision: the sum behind V, scores, FDL's deadlines, the CPUs that a placement looked at, averages.

import {TEXT} from './strings';
import {Averages, Decision, Run, distance} from './model';
import {colour, el, ms, named, svg, table} from './ui';

const QUEUED = 0x800, OWN_DEADLINE = 0x200, MOST_SCORE = 39;
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

function viewOfV(d: Decision): Node[] {
  const sum = d.policy === 'eevdf' || d.policy === 'bore' ? sumBehindV(d) : null;
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
    `${TEXT.machineHelp} ${levels(run).map(({name, size}) => `${name}: ${size} CPUs`).join(', ')}`));
}

// --- averages ------------------------------------------------------------------------------------

const SHOWN = 8;

const POINTS = 500;   // of a line, as many as are seen
const drawn = new WeakMap<number[], {most: number, points: number[]}>();

// The greatest of @values, and the numbers of those that are drawn. A run's values stay, so they are looked at once.
function thinned(values: number[]) {
  let found = drawn.get(values);
  if (!found) {
    const step = Math.max(1, Math.floor(values.length / POINTS));
    found = {most: values.reduce((a, b) => Math.max(a, b), 0), points: Array.from({length: Math.ceil(values.length / step)}, (_, i) => i * step)};
    drawn.set(values, found);
  }
  return found;
}

/** The averages of the subject of @d, or of the first tasks, over the run; @d's moment is marked. */
export function viewOfAverages(run: Run, d: Decision | undefined, what: keyof Averages): Node[] {
  const all = [...run.averages], mine = all.filter(([pid]) => pid === d?.pid), shown = [...mine, ...all.filter(([pid]) => pid !== d?.pid)].slice(0, SHOWN);
  if (!shown.length)
    return [];
  const most = Math.max(1024, ...shown.map(([, of]) => thinned(of[what]).most));
  const {node, add} = svg(560, 150, TEXT.averages), x = (time: number) => 30 + (time - run.begin) / (run.end - run.begin || 1) * 520;
  const y = (value: number) => 135 - value / most * 125;
  for (const value of [0, most / 2, most]) {
    add('line', {x1: 30, x2: 550, y1: y(value), y2: y(value), stroke: 'currentColor', 'stroke-opacity': 0.15});
    add('text', {x: 0, y: y(value) + 4, style: 'font-size:10px'}, String(Math.round(value)));
  }
  for (const [pid, of] of shown) {
    const points = thinned(of[what]).points.map((i) => `${x(of.time[i]).toFixed(1)},${y(of[what][i]).toFixed(1)}`);
    add('polyline', {points: points.join(' '), fill: 'none', stroke: colour(pid), 'stroke-width': pid === d?.pid ? 3 : 1.2});
  }
  if (d)
    add('line', {x1: x(d.time), x2: x(d.time), y1: 5, y2: 140, stroke: 'currentColor'});
  return [node, el('p', {className: 'soft'}, ...shown.flatMap(([pid]) => [named(pid, `${run.names.get(pid) ?? ''} ${pid}`), ' '])),
    el('p', {className: 'soft'}, TEXT.averagesHelp)];
}
