// SPDX-License-Identifier: GPL-2.0-only
// One decision: its rule as a sentence, the numbers that it compared, where they lie, their tree.

import {FLAGS, KINDS, TEXT} from './strings';
import {Decision, Run, distance, treeLinks} from './model';
import {behind, doubtAbout, viewOfPlacement} from './views';
import {OWN_FILE, nameOf} from './own';
import {placeOf} from './why';
import {$, colour, el, ms, named, svg, table} from './ui';

declare const RULES: Record<string, Record<string, string>>, POLICIES: Record<string, string[]>;

const label = (row: Decision) => row.group && !row.pid ? `group ${row.comm || row.group}` : `${row.comm} ${row.pid}`;
const notes = (flags: number) => FLAGS.filter(([bit]) => flags & bit).map(([, name]) => name).join(', ');

// A policy that is not built in has a key whose unit only it knows.
const hasKey = (d: Decision) => d.policy === 'guest';
// Are its tasks eligible or not, and have they virtual deadlines?
const isOfEligible = (d: Decision) => POLICIES[d.policy?.replace('_', '-')]?.includes('eligible');

function candidateTable(d: Decision) {
  const rows: Decision[] = d.candidates, keyed = hasKey(d);
  const far = (value: any) => keyed ? String(BigInt.asIntN(64, BigInt(value))) : ms(distance(value, d.v));
  const doubt = doubtAbout(d), noted = (row: Decision) => {
    const doubted = doubt(row);
    return doubted ? el('span', {}, `${notes(row.flags)} `, el('strong', {className: 'doubt'}, doubted)) : notes(row.flags);
  };
  const scored = rows.some((row) => row.score), dated = rows.some((row) => String(row.deadline) !== '0');
  const cells = rows.map((row) => [named(row.pid, label(row)), far(row.vruntime), ...(dated ? [far(row.deadline)] : []),
    ...(keyed ? [] : [ms(row.lag)]), String(row.weight), ...(scored ? [String(row.score)] : []), noted(row)]);
  const chosen = rows.findIndex((row) => row.pid === d.pid && (d.pid || row.group === d.subject_group));
  if (['charge', 'place', 'leave', 'tick'].includes(d.kind))
    cells.push([`${label({...d, group: d.subject_group})}, ${TEXT.after}`, far(d.vruntime), ...(dated ? [far(d.deadline)] : []), ...(keyed ? [] : [ms(d.lag)]),
      String(d.weight), ...(scored ? [''] : []), '']);
  return table(TEXT.queued, [TEXT.task, keyed ? TEXT.key : TEXT.vruntime, ...(dated ? [TEXT.deadline] : []), ...(keyed ? [] : [TEXT.lag]), TEXT.weight, ...(scored ? [TEXT.score] : []), TEXT.notes],
    cells, chosen);
}

// Any other list of rows: the columns that say something.
function plainTable(rows: Decision[]) {
  const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== 'nr' && rows.some((row) => row[name] !== 0));
  return table(TEXT.whatCompared, columns, rows.map((row) => columns.map((name) => String(row[name]))));
}

// Tasks of a program for sched_ext, as `fairground decisions --full` has them.
function programTable(rows: Decision[], chosen: number) {
  const slice = (ns: any) => BigInt(ns) < 0n ? TEXT.endless : ms(Number(ns));
  return table(TEXT.whatCompared, [TEXT.task, TEXT.weight, 'vtime', TEXT.sliceLeft, TEXT.waitsIn], rows.map((row) =>
    [named(row.pid, label(row)), String(row.bw), ms(Number(row.deadline)), slice(row.budget), placeOf(row.replenish_at)]), rows.findIndex(({pid}) => pid === chosen));
}

function numberLine(d: Decision) {
  const rows: Decision[] = d.candidates.filter((row: Decision) => row.flags & 0x800).slice(0, 12);
  const points = rows.flatMap((row) => [distance(row.vruntime, d.v), ...(String(row.deadline) !== '0' && isOfEligible(d) ? [distance(row.deadline, d.v)] : [])]);
  const zero = hasKey(d) ? [] : [0];   // V
  const least = Math.min(...zero, ...points), span = Math.max(...zero, ...points) - least || 1;
  const x = (value: number) => 20 + (value - least) / span * 520;
  const help = hasKey(d) ? TEXT.keyLine : TEXT.line, {node, add} = svg(560, 34 + rows.length * 18, help);
  for (const at of zero) {
    add('line', {x1: x(at), x2: x(at), y1: 16, y2: 24 + rows.length * 18, stroke: 'currentColor', 'stroke-dasharray': '3 3'});
    add('text', {x: Math.min(x(at), 500), y: 12}, 'V');
  }
  rows.forEach((row, i) => {
    const y = 30 + i * 18, at = x(distance(row.vruntime, d.v));
    if (String(row.deadline) !== '0' && isOfEligible(d)) {
      const end = x(distance(row.deadline, d.v));
      add('line', {x1: at, x2: end, y1: y, y2: y, stroke: colour(row.pid), 'stroke-width': 2});
      add('path', {d: `M${end - 5} ${y - 6} h10 l-5 9 z`, fill: colour(row.pid)});
    }
    add('circle', {cx: at, cy: y, r: 5, stroke: colour(row.pid), 'stroke-width': 2, fill: row.flags & 0x8 || !isOfEligible(d) ? colour(row.pid) : 'transparent'});
  });
  return rows.length ? [node, el('p', {className: 'soft'}, help)] : [];
}

function tree(d: Decision) {
  const rows: Decision[] = d.candidates.filter((row: Decision) => row.depth), links = treeLinks(rows);
  if (rows.length < 2 || rows.length > 40)
    return [];
  const x = (i: number) => 30 + i * Math.max(56, 500 / rows.length), y = (row: Decision) => row.depth * 44 - 20;
  const {node, add} = svg(x(rows.length) + 10, Math.max(...rows.map(y)) + 30, TEXT.tree);
  links.forEach((to, i) => to >= 0 && add('line', {x1: x(i), y1: y(rows[i]), x2: x(to), y2: y(rows[to]), stroke: 'currentColor'}));
  rows.forEach((row, i) => {
    add('circle', {cx: x(i), cy: y(row), r: 11, fill: colour(row.pid)});
    add('text', {x: x(i), y: y(row) + 25, 'text-anchor': 'middle'}, label(row));
  });
  return [el('h2', {}, TEXT.tree), node];
}

/** Show decision @at of @run. */
export function drawDecision(run: Run, at: number) {
  const d = run.decisions.get(at), slider = $('slider') as HTMLInputElement;
  slider.max = String(Math.max(run.decisions.length - 1, 0));
  slider.value = String(at);
  $('where').textContent = d ? `${at + 1} / ${run.decisions.length}   ${ms(d.time)} ms` : '0 / 0';
  if (!d) {
    $('rule').textContent = TEXT.noDecisions;
    return ['number', 'tree', 'table', 'behind'].forEach((id) => $(id).replaceChildren());
  }
  const family = d.candidates ? 'fair' : d.kind === 'pool' ? 'quota' : d.kind, why = RULES[family]?.[d.rule];
  $('decision').querySelector('h2')!.textContent = `${KINDS[d.policy === 'ext' ? d.policy : d.kind] ?? d.kind} (${hasKey(d) && run.made?.files[OWN_FILE] ? nameOf(run.made.files[OWN_FILE]) : d.policy ?? run.name}, CPU ${d.cpu ?? d.chosen})`;
  $('rule').textContent = `${d.kind}: ${d.comm || (d.pid ? '' : d.outcome ?? '')} ${d.pid || ''}` +
    `${d.kind === 'select' ? ` → CPU ${d.chosen}` : !['pick', 'preempt', 'tick'].includes(d.kind) ? '' : d.answer ? ': yes' : ': no'}, ` +
    `${TEXT.because} ${why ?? d.rule ?? '?'}` + (d.aim ? `; aimed at CPU ${d.aimed}: ${RULES.aim[d.aim] ?? d.aim}` : '') + '.';
  const fair = d.candidates !== undefined;
  $('number').replaceChildren(...(fair ? numberLine(d) : []));
  $('tree').replaceChildren(...(fair ? tree(d) : []));
  $('behind').replaceChildren(...(fair ? behind(d) : d.kind === 'select' ? viewOfPlacement(d, run) : []));
  $('table').replaceChildren(...(fair ? [candidateTable(d)]
    : ['cpus', 'runqueues', 'parts', 'tasks'].filter((name) => d[name]?.length)
      .map((name) => name === 'tasks' && d.policy === 'ext' ? programTable(d[name], d.pid) : plainTable(d[name]))));
  slider.setAttribute('aria-valuetext', $('rule').textContent!);
}

/** @d in a line: when, what, of whom, the answer, and why. */
export function inWords(d: Decision | undefined): string {
  if (!d)
    return TEXT.nothing;
  const family = d.candidates ? 'fair' : d.kind === 'pool' ? 'quota' : d.kind;
  const chosen = d.kind === 'select' ? ` → CPU ${d.chosen}` : ['pick', 'preempt', 'tick', 'leave'].includes(d.kind) ? `: ${d.answer ? TEXT.yes : TEXT.no}` : '';
  return `${ms(d.time)} ms, ${d.kind} ${d.comm ?? ''} ${d.pid || ''}${chosen} (${RULES[family]?.[d.rule] ?? d.rule ?? d.outcome})`;
}
