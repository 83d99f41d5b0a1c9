// SPDX-License-Identifier: GPL-2.0-only
// Why a task waited: who had its CPU meanwhile, by which rule, in the policy's own numbers. The words are those of
// `fairground why` (tools/fairground/decisions/lateness.py, PHRASES), and a test compares what both say of a run.

import {Decision, Run, Wait, distance} from './model';
import {TEXT} from './strings';
import {$, el, named} from './ui';

declare const PHRASES: Record<string, string>, RULES: Record<string, Record<string, string>>, POLICIES: Record<string, string[]>;

const NEAR = 200_000;   // ns: a kernel decides so shortly before it switches
const RUNS = 0x1, ELIGIBLE = 0x8, DUE = 0x200, QUEUED = 0x800, RELATIVE = 0x1000;   // flags of a candidate
const NICE_0 = 1024, OFFERED = 5, MOST_ROWS = 24;   // waits to choose from; rows that are shown

// A decision with its number in the run; of a class above the fair one with its own names of both.
type Reason = {at: number, d: Decision, kind: string, rows: Decision[]};
/** From @start to @end the task @pid, or nobody if that is 0, had the CPU; then so many ticks let it go on. */
export type Stretch = {start: number, end: number, cpu: number, pid: number, reason?: Reason, ticks: number};
type Late = {wait: Wait, stretches: Stretch[], rivals: Set<string>, near: Reason[], lost?: Reason};

const fill = (phrase: string, values: Record<string, unknown> = {}) => PHRASES[phrase].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
const ms = (ns: number) => `${ns < 0 ? '-' : ''}${Math.floor(Math.abs(ns) / 1e6)}.${String(Math.abs(ns) % 1e6).padStart(6, '0')}`;
const nameOf = (comm: string, pid: number, group = 0) => group ? `group ${group} ${comm}`.trimEnd() : comm || pid ? `${comm}-${pid}` : PHRASES.nobody;
const label = (run: Run, pid: number) => `${run.names.get(pid) ?? '?'}-${pid}`;
const key = (pid: number, group = 0) => group ? `group ${group}` : String(pid);
const claims = (d: Decision, trait: string) => !!POLICIES[String(d.policy).replace('_', '-')]?.includes(trait);
const last = <T>(all: T[]): T | undefined => all[all.length - 1];

/** Where a task of ext waits, in words: in the queue of this number. */
export const placeOf = (queue: unknown) => PHRASES[`queue ${queue}`] ?? `queue 0x${BigInt(String(queue)).toString(16)}`;

function subjectOf({d}: Reason): string {
  if (d.kind !== 'class' || d.pid)
    return nameOf(d.comm, d.pid, d.subject_group);
  return d.policy === 'fair_server' ? 'the fair server' : 'the class';
}

// --- what happened meanwhile ---------------------------------------------------------------------

// The decisions of @run from @from to @to about who gets a CPU.
function decisionsBetween(run: Run, from: number, to: number): Reason[] {
  const found: Reason[] = [];
  for (let at = run.decisions.at(from); at < run.decisions.length && run.decisions.time(at) <= to; at++) {
    const {kind} = run.decisions.brief(at), isClass = kind === 'class';
    if (!isClass && !['pick', 'preempt', 'tick', 'place'].includes(kind))
      continue;
    const d = run.decisions.get(at)!;
    found.push({at, d, kind: isClass ? d.act : kind, rows: isClass ? d.tasks : d.candidates});
  }
  return found;
}

// The entities that compete for @pid: itself, and the groups in which it is.
function rivalsOf(near: Reason[], pid: number): Set<string> {
  const above = new Map<string, number>(), found = new Set([key(pid)]);
  for (const {d, rows} of near)
    if (d.kind !== 'class')
      rows.forEach((row) => above.set(key(row.pid, row.group), d.group));
  for (let at = key(pid), group; (group = above.get(at)) && found.size < 100;)
    found.add(at = key(0, group));
  return found;
}

const entity = ({rows}: Reason, rivals: Set<string>) => rows.find((row) => rivals.has(key(row.pid, row.group)));
const isAbout = ({d}: Reason, rivals: Set<string>) => rivals.has(key(d.pid, d.subject_group));

// Since when the task of @wait was on which CPU's queue.
function homesOf(wait: Wait, near: Reason[]): {since: number, cpu: number}[] {
  const found = wait.before < 0 ? [] : [{since: wait.from, cpu: wait.before}];
  for (const {d, kind} of near)
    if ((kind === 'place' || kind === 'enter') && d.pid === wait.pid && d.answer && d.time < wait.to)
      found.push({since: Math.max(wait.from, d.time), cpu: d.cpu});
  if (!found.length && wait.after >= 0)
    found.push({since: wait.from, cpu: wait.after});
  return found.filter(({cpu}, i) => !i || cpu !== found[i - 1].cpu).map((home, i) => i ? home : {...home, since: wait.from});
}

type Piece = {start: number, end: number, cpu: number, pid: number, began: number};

// The wait, cut where another had the CPU.
function piecesOf(run: Run, wait: Wait, homes: {since: number, cpu: number}[]): Piece[] {
  const found: Piece[] = [], runs = run.spans.filter(({from, to}) => from <= wait.to && to >= wait.from).sort((a, b) => a.from - b.from);
  homes.forEach(({since, cpu}, i) => {
    const until = homes[i + 1]?.since ?? wait.to;
    let at = since;
    for (const span of runs) {
      if (span.cpu !== cpu || span.to <= at || span.from >= until)
        continue;
      if (span.from > at)
        found.push({start: at, end: span.from, cpu, pid: 0, began: at});
      at = Math.min(span.to, until);
      found.push({start: Math.max(span.from, since), end: at, cpu, pid: span.pid, began: span.from});
    }
    if (at < until)
      found.push({start: at, end: until, cpu, pid: 0, began: at});
  });
  return found;
}

// The decision after which another had the CPU, and the ticks that let it go on.
function stretchOf({start, end, cpu, pid, began}: Piece, near: Reason[], rivals: Set<string>): Stretch {
  const here = near.filter((each) => each.d.cpu === cpu && each.d.time < end && entity(each, rivals));
  const lasting = here.filter(({d, kind}) => kind === 'tick' && !d.answer);
  const ticks = lasting.filter(({d}) => start < d.time).length;
  const lost = here.filter((each) => each.kind === 'pick' && each.d.answer && !isAbout(each, rivals) && began - NEAR <= each.d.time && each.d.time <= began);
  if (began >= start && lost.length && pid)   // of a tree of groups one on each level
    return {start, end, cpu, pid, ticks, reason: lost.find(({d}) => d.time === last(lost)!.d.time)};
  const asked = here.find((each) => each.kind === 'preempt' && !each.d.answer && isAbout(each, rivals) && start - NEAR <= each.d.time);
  const queued = here.find((each) => each.d.policy === 'ext' && ['enter', 'stop'].includes(each.kind) && isAbout(each, rivals));
  return {start, end, cpu, pid, ticks, reason: asked ?? lasting.find(({d}) => start - NEAR <= d.time) ?? queued};
}

/** What happened in the @wait of @run. */
export function explain(run: Run, wait: Wait): Late {
  const near = decisionsBetween(run, wait.from - NEAR, wait.to), rivals = rivalsOf(near, wait.pid);
  const stretches = piecesOf(run, wait, homesOf(wait, near)).map((piece) => stretchOf(piece, near, rivals));
  const lost = wait.before < 0 ? undefined : last(near.filter((each) => each.d.answer && each.d.time <= wait.from &&
    (each.kind === 'tick' && isAbout(each, rivals) || each.kind === 'preempt' && !isAbout(each, rivals) && entity(each, rivals))));
  return {wait, stretches, rivals, near, lost};
}

// --- in words ------------------------------------------------------------------------------------

const ruleOf = ({d}: Reason) => RULES[d.kind === 'class' ? 'class' : 'fair'][d.rule] || d.rule;
const rowName = (row: Decision) => nameOf(row.comm, row.pid, row.group);
const due = (row: Decision) => String(BigInt(row.deadline) + (row.flags & RELATIVE ? BigInt(row.vruntime) : 0n));

function farther(ns: number, number: string, late: Decision, other: Decision): string {
  return fill(!ns ? 'equal' : ns > 0 ? 'after' : 'before', {number: PHRASES[number], late: rowName(late), other: rowName(other), ms: ms(Math.abs(ns))});
}

// To the nearest whole number, of two the even one.
function rounded(value: number): number {
  const below = Math.floor(value), rest = value - below;
  return rest > 0.5 || rest === 0.5 && below % 2 ? below + 1 : below;
}

// The ns of CPU time by which @late is ahead of its share; undefined: the record does not tell.
function aheadBy(d: Decision, late: Decision): number | undefined {
  const queued: Decision[] = d.candidates.filter((row: Decision) => row.flags & QUEUED), weights = queued.reduce((sum, row) => sum + row.weight, 0);
  if (!weights || d.candidates.length !== d.nr_rows)
    return undefined;
  const sum = queued.reduce((all, row) => all + BigInt(row.weight) * BigInt(distance(row.vruntime, d.v)), 0n);
  return rounded(-(Number(sum) / weights - distance(late.vruntime, d.v)) * late.weight / NICE_0);
}

function fairNumbers(d: Decision, late: Decision, other: Decision): string {
  const parts: string[] = [];
  if (claims(d, 'eligible')) {
    const ahead = aheadBy(d, late);
    if (ahead !== undefined && late.flags & QUEUED && !(late.flags & ELIGIBLE))
      parts.push(fill('ahead', {late: rowName(late), ms: ms(ahead)}));
    parts.push(farther(distance(due(late), due(other)), 'virtual_deadline', late, other));
  } else if (late.flags & other.flags & DUE) {
    parts.push(farther(distance(late.deadline, other.deadline), 'deadline', late, other));
  } else {
    parts.push(farther(distance(late.vruntime, other.vruntime), 'vruntime', late, other));
  }
  if (claims(d, 'scores'))
    parts.push(fill('score', {late: rowName(late), ours: late.score, other: rowName(other), theirs: other.score}));
  return parts.join('; ');
}

function classNumbers(policy: string, late: Decision, other: Decision): string {
  if (policy === 'ext')
    return fill('place', {late: rowName(late), place: placeOf(late.replenish_at)});
  return String(late.deadline) !== '0' || String(other.deadline) !== '0' ? farther(distance(late.deadline, other.deadline), 'deadline', late, other)
    : fill('priority', {late: rowName(late), ours: late.prio, other: rowName(other), theirs: other.prio});
}

// The task that waits, or its group, beside the one that has the CPU.
function numbers(reason: Reason, rivals: Set<string>): string {
  const {d, kind, rows} = reason, late = entity(reason, rivals);
  const other = rows.find((row) => row !== late && (kind === 'preempt' ? row.flags & RUNS : row.pid === d.pid && (row.group ?? 0) === (d.subject_group ?? 0)));
  if (d.kind === 'class' && ['enter', 'stop'].includes(d.act))
    return fill('place', {late: subjectOf(reason), place: placeOf(d.replenish_at)});
  return !late || !other ? '' : d.kind === 'class' ? classNumbers(d.policy, late, other) : fairNumbers(d, late, other);
}

function beginning({wait, lost}: Late): string {
  return wait.before < 0 ? PHRASES.woken : !lost ? PHRASES.lost : lost.kind === 'tick' ? PHRASES.ended : fill('taken', {subject: subjectOf(lost)});
}

// Why @stretch was: its rule, then numbers. '' if that is not known.
function because({reason, pid}: Stretch, late: Late): string {
  if (!pid)
    return PHRASES.idle;
  if (reason) {
    const more = numbers(reason, late.rivals);
    return `${fill(reason.kind, {policy: reason.d.policy, subject: subjectOf(reason)})}: ${ruleOf(reason)}${more && '; '}${more}`;
  }
  const rank = (of: number) => [undefined, 'deadline'].indexOf(late.near.find(({d}) => d.kind === 'class' && d.pid === of)?.d.policy);   // -1: real-time
  return rank(pid) === 1 && rank(late.wait.pid) !== 1 ? PHRASES.deadlines : rank(pid) < 0 && !rank(late.wait.pid) ? PHRASES.real_time : '';
}

/** What is said of a wait: how it began, the rule by which it did, a row for each that ran instead, and one sentence. */
export type Told = {length: string, beginning: string, lost: string, rows: {start: string, length: string, cpu: number, pid: number, name: string, because: string[], at?: number}[],
  conclusion: string};

export function tell(run: Run, late: Late): Told {
  const {wait, stretches} = late, ran = new Map<number, number>(), name = label(run, wait.pid), length = ms(wait.to - wait.from);
  stretches.forEach(({pid, start, end}) => ran.set(pid, (ran.get(pid) ?? 0) + end - start));
  const order = [...ran].sort(([, a], [, b]) => b - a);
  const who = order.slice(0, 3).map(([pid, ns]) => fill('part', {name: pid ? label(run, pid) : PHRASES.nobody, ms: ms(ns)}));
  if (order.length > 3)
    who.push(fill(order.length > 4 ? 'others' : 'other', {number: order.length - 3}));
  const most = stretches.reduce((a, b) => b.end - b.start > a.end - a.start ? b : a, stretches[0]), reason = most && because(most, late);
  const why = reason ? fill(stretches.length > 1 ? 'chiefly' : 'because', {why: reason}) : PHRASES.no_reason;
  const listed = [who.slice(0, -1).join(', '), last(who)].filter(Boolean).join(PHRASES.and);
  const cpus = [...new Set(stretches.map(({cpu}) => cpu))].join(PHRASES.and);
  return {length, beginning: beginning(late), lost: late.lost ? ruleOf(late.lost) : '',
    rows: stretches.map((each) => ({start: ms(each.start), length: ms(each.end - each.start), cpu: each.cpu, pid: each.pid, name: each.pid ? label(run, each.pid) : '-', at: each.reason?.at,
      because: [...(because(each, late) || PHRASES.unknown).split('; '), ...(each.ticks ? [fill(each.ticks > 1 ? 'went_on_often' : 'went_on', {number: each.ticks})] : [])]})),
    conclusion: stretches.length ? fill('conclusion', {name, ms: length, cpus, beginning: beginning(late), who: listed, why}) : fill('nowhere', {name, ms: length})};
}

/** The waits of @pid in @run, the longest first, of equal ones the earliest. */
export function waitsOf(run: Run, pid: number): Wait[] {
  return run.waiting.filter((wait) => wait.pid === pid).sort((a, b) => a.from - a.to + b.to - b.from || a.from - b.from);
}

// --- other policies ------------------------------------------------------------------------------

/** Simulates the runs @asked, and calls @done with what became of them. */
export type Futures = {policies(): string[], simulate(asked: object[], done: (found: Run[]) => void): void};

const LEAST = 100_000_000;   // ns that a future lasts at least

/** The runs to ask for: that of the @wait once more, under each other of @policies from the wait on. As futures.py. */
export function futuresOf(run: Run, wait: Wait, policies: string[]) {
  const {words, changes, ...rest} = run.made!, at = wait.before < 0 ? wait.from - 1 : wait.from + 1;   // a wakeup is decided anew; the end of a turn stands
  const before = changes.filter((change) => change.at <= at), valueOf = (option: string) => words.indexOf(option) + 1;
  const now = last(before.filter(({what}) => what === 'policy'))?.value ?? words[valueOf('--sched')];
  const length = wait.from + Math.max(4 * (wait.to - wait.from), LEAST);
  return policies.filter((name) => name !== now).map((name) => ({...rest, name, words: words.map((word, i) => i === valueOf('--time') ? `${length}ns` : word), changes: [...before, {at, what: 'policy', value: name}]}));
}

/** How long the @wait was in those futures, in words. */
export function tellFutures(found: Run[], wait: Wait): string {
  const under = new Map<string, string[]>();
  found.map((run) => ({run, same: run.waiting.find(({pid, from}) => pid === wait.pid && from === wait.from)}))
    .map(({run, same}) => ({name: run.name, ns: same ? same.to - same.from : 0, ends: !same || same.to < run.end}))
    .sort((a, b) => a.ns - b.ns || Number(b.ends) - Number(a.ends))
    .forEach(({name, ns, ends}) => {
      const length = ns ? fill(ends ? 'as_long' : 'longer', {ms: ms(ns)}) : PHRASES.no_wait;
      under.set(length, [...(under.get(length) ?? []), name]);
    });
  return fill('futures', {futures: [...under].map(([length, names]) => `${length} (${names.join(', ')})`).join('; ')});
}

// --- in the page ---------------------------------------------------------------------------------

const chosen = {run: undefined as Run | undefined, pid: 0, nr: 0};

// What asks for the futures of a wait, and then is what is said of them.
function offerFutures(run: Run, wait: Wait, futures: Futures) {
  const said = el('p', {id: 'whyfutures'}, el('button', {type: 'button', title: TEXT.whyFuturesHelp, onclick: () => futures.simulate(futuresOf(run, wait, futures.policies()), (found) => {
    said.textContent = `${tellFutures(found, wait)}.`;
  })}, TEXT.whyFutures));
  return said;
}

function drawWait(run: Run, wait: Wait, go: (at: number) => void, futures?: Futures) {
  const told = tell(run, explain(run, wait));
  const more = told.rows.length - MOST_ROWS, why = (parts: string[]) => el('td', {}, ...parts.flatMap((part, i) => i ? [el('br'), part] : [part]));
  const from = (text: string, at?: number) => at === undefined ? text : el('button', {type: 'button', title: TEXT.whyGo, onclick: () => go(at)}, text);
  $('why').querySelector('div')!.replaceChildren(el('p', {id: 'whysaid'}, told.conclusion), ...(told.lost ? [el('p', {className: 'soft'}, `${TEXT.because} ${told.lost}`)] : []),
    el('div', {className: 'scroll'}, el('table', {ariaLabel: TEXT.why}, el('thead', {}, el('tr', {}, ...[TEXT.whyFrom, TEXT.whyMs, TEXT.whyCpu, TEXT.whyRan, TEXT.because].map((text) =>
      el('th', {scope: 'col'}, text)))), el('tbody', {}, ...told.rows.slice(0, MOST_ROWS).map((row) => el('tr', {}, el('td', {}, from(row.start, row.at)), el('td', {}, row.length), el('td', {}, String(row.cpu)),
        el('td', {}, row.pid ? named(row.pid, row.name) : row.name), why(row.because)))))), ...(more > 0 ? [el('p', {className: 'soft'}, TEXT.whyMore.replace('N', String(more)))] : []),
    ...(futures && run.made ? [offerFutures(run, wait, futures)] : []));
}

/** Tell why a task of @run waited, at first the one with the longest wait. @go goes to a decision. */
export function drawWhy(run: Run, worst: Wait | undefined, go: (at: number) => void, futures?: Futures) {
  $('why').hidden = !worst || !run.decisions.length;
  if (!worst || !run.decisions.length)
    return;
  if (chosen.run !== run)
    Object.assign(chosen, {run, pid: worst.pid, nr: 0});
  const late = [...new Set(run.waiting.map(({pid}) => pid))].sort((a, b) => a - b), waits = waitsOf(run, chosen.pid);
  const choice = (id: string, name: string, texts: [number, string][], value: number, then: (to: number) => void) => {
    const select = el('select', {id, ariaLabel: name}, ...texts.map(([of, text]) => el('option', {value: String(of), selected: of === value}, text)));
    select.onchange = () => {
      then(Number(select.value));
      drawWhy(run, worst, go, futures);
      $(id).focus();
    };
    return select;
  };
  $('why').querySelector('h2')!.replaceChildren(TEXT.why, ' ',
    choice('whytask', TEXT.task, late.map((pid) => [pid, label(run, pid)]), chosen.pid, (pid) => Object.assign(chosen, {pid, nr: 0})), ' ',
    choice('whywait', TEXT.waits, waits.slice(0, OFFERED).map((wait, nr) => [nr, `${nr + 1}. ${ms(wait.to - wait.from)} ms`]), chosen.nr, (nr) => { chosen.nr = nr; }));
  drawWait(run, waits[chosen.nr], go, futures);
}
