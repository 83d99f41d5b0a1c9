// SPDX-License-Identifier: GPL-2.0-only
// What a run was: its decisions, who ran when, and who waited.

import {TEXT} from './strings';

export type Decision = Record<string, any>;
export type Span = {cpu: number, from: number, to: number, pid: number};
/** A wait, on no CPU. It began with a wakeup, or the task lost the CPU @before, and ended on the CPU @after; -1: neither. */
export type Wait = Span & {before: number, after: number};
/** The task @waker, which ran on @cpu, woke @pid at @time, and that ran on the CPU @after from @to on; -1: never. */
export type Wakeup = {time: number, cpu: number, waker: number, pid: number, to: number, after: number};

/** The decisions of a run, in order of their times. */
export abstract class Decisions {
  abstract length: number;
  /** All about decision @index; undefined: there is none. */
  abstract get(index: number): Decision | undefined;
  /** The same without its lists. */
  abstract brief(index: number): Decision;
  abstract time(index: number): number;

  /** The number of the first at @time or later; the length: there is none. */
  at(time: number): number {
    let from = 0, to = this.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.time(middle) < time)
        from = middle + 1;
      else
        to = middle;
    }
    return from;
  }
  /** The number of the first from @from on, without its lists, that @isMeant; -1: there is none. */
  find(isMeant: (d: Decision) => boolean, from = 0): number {
    for (let i = from; i < this.length; i++)
      if (isMeant(this.brief(i)))
        return i;
    return -1;
  }
}

/** Decisions as objects. */
export class Listed extends Decisions {
  constructor(private all: Decision[]) {
    super();
  }
  get length() { return this.all.length; }
  get(index: number): Decision | undefined { return this.all[index]; }
  brief(index: number) { return this.all[index]; }
  time(index: number) { return this.all[index].time; }
}

// How a run here differs from that of its words: at @at ns a policy, a tunable or a nice value changed.
export type Change = {at: number, what: string, value: string};
// Averages of a task (PELT), each as it was at a time: of those told, every first, second, fourth ...
export type Averages = {every: number, told: number, time: number[], util: number[], load: number[], runnable: number[]};
export type Averaged = 'util' | 'load' | 'runnable';
// From @from to @to so many CPUs idled while as many tasks waited.
export type Waste = {from: number, to: number, nr: number};
export type Ideal = {name: string, ideal_ns: number};
export type Run = {name: string, head: Decision, decisions: Decisions, spans: Span[], names: Map<number, string>,
  waits: Map<number, number[]>, unended: Map<number, number>, waiting: Wait[], wakeups: Wakeup[], cpus: number, begin: number, end: number, complete: boolean,
  waste: Waste[], averages: Map<number, Averages>, rowOf: Map<number, number>, ideal: Ideal[],
  made?: {words: string[], changes: Change[], files: Record<string, string>, bug: string}};

// Numbers beyond 2^53, as virtual times are, stay exact as texts of digits.
const LONG = /"(\w+)": (-?\d{16,})/g;

/** The signed distance of two virtual times, which are u64 and wrap. */
export function distance(a: string | number, b: string | number): number {
  return Number(BigInt.asIntN(64, BigInt(a) - BigInt(b)));
}

/** What the lines of JSON of a run say. Those of a run that goes on have no end. */
export function parseDecisions(text: string, goesOn = false): {head: Decision, decisions: Decision[]} {
  const lines = text.replace(LONG, '"$1": "$2"').split('\n');
  if (lines.pop() !== '')
    throw new Error(TEXT.notFile + TEXT.cutOff);
  let parsed: Decision[];
  try {
    parsed = lines.map((line) => JSON.parse(line));
  } catch (error) {
    throw new Error(TEXT.notFile + (error as Error).message);
  }
  const head = parsed.shift(), end = parsed[parsed.length - 1];
  if (end?.kind === 'end')
    parsed.pop();
  if (head?.schema !== 'fairground-decisions/4' || parsed.some((each) => typeof each?.kind !== 'string'))
    throw new Error(TEXT.notFile + TEXT.noSchema);
  if (!goesOn && end?.kind !== 'end')
    throw new Error(TEXT.notFile + TEXT.cutOff);
  if (!goesOn && end.decisions !== parsed.length)
    throw new Error(TEXT.notFile + TEXT.damaged);
  return {head, decisions: parsed};
}

const isNumber = (value: any) => Number.isFinite(value) || typeof value === 'string' && /^-?\d{16,20}$/.test(value);
const ROW = ['pid', 'vruntime', 'deadline', 'lag', 'weight', 'flags', 'depth'], OF_FAIR = ['v', 'vruntime', 'deadline', 'lag'];

/** Raises an Error if @d is not a decision that the page can show. */
export function checkDecision(d: Decision, index: number) {
  const isRow = (row: any) => typeof row === 'object' && row !== null && !Array.isArray(row);
  const fair = d?.candidates;
  if (!isRow(d) || typeof d.kind !== 'string' || !Number.isFinite(d.time) ||
      ['cpus', 'runqueues', 'parts', 'tasks', 'candidates'].some((name) => name in d && !(Array.isArray(d[name]) && d[name].every(isRow))) ||
      fair && !(OF_FAIR.every((name) => isNumber(d[name])) && fair.every((row: any) => ROW.every((name) => isNumber(row[name])))))
    throw new Error(TEXT.notFile + TEXT.notDecision.replace('N', String(index + 1)));
}

const MOST_POINTS = 2000;   // of a task's averages: more than are seen

// Keep every other one.
function thin(of: Averages) {
  const kept = (values: number[]) => values.filter((_, i) => i % 2 === 0);
  Object.assign(of, {every: 2 * of.every, time: kept(of.time), util: kept(of.util), load: kept(of.load), runnable: kept(of.runnable)});
}

/** Who ran and waited, from events in their order. */
export class Timeline {
  spans: Span[] = [];
  names = new Map<number, string>();
  waits = new Map<number, number[]>();
  unended = new Map<number, number>();
  waiting: Wait[] = [];
  wakeups: Wakeup[] = [];
  private woken = new Map<number, Wakeup>();   // those that did not run since
  private started = new Map<number, {to: number, after: number}>();   // when and where each last began to run
  private running = new Map<number, Span>();
  waste: Waste[] = [];
  averages = new Map<number, Averages>();
  rowOf = new Map<number, number>();
  private since = new Map<number, {time: number, before: number}>();
  private counted = 0;

  constructor(private cpus: number) {}

  // Before the number of running or waiting tasks changes at @time.
  private count(time: number) {
    const nr = Math.min(this.cpus - this.running.size, this.since.size), last = this.waste[this.waste.length - 1];
    if (nr > 0 && time > this.counted) {
      if (last?.to === this.counted && last.nr === nr)
        last.to = time;
      else
        this.waste.push({from: this.counted, to: time, nr});
    }
    this.counted = time;
  }
  name(pid: number, name: string) {
    if (pid)
      this.names.set(pid, name);
  }
  runnable(time: number, pid: number) {
    this.count(time);
    this.since.set(pid, {time, before: -1});
  }
  /** The task @waker, on @cpu, wakes @pid. Of one time on two CPUs, its run may have been told before. */
  wakes(time: number, cpu: number, waker: number, pid: number) {
    const started = this.started.get(pid), runs = started?.to === time ? started : undefined, wakeup = {time, cpu, waker, pid, to: -1, after: -1, ...runs};
    this.wakeups.push(wakeup);
    if (!runs)
      this.woken.set(pid, wakeup);
  }
  private served(time: number, cpu: number, pid: number) {
    Object.assign(this.woken.get(pid) ?? {}, {to: time, after: cpu});
    this.woken.delete(pid);
    const since = this.since.get(pid);
    if (!since)
      return;
    if (!this.waits.get(pid)?.push(time - since.time))
      this.waits.set(pid, [time - since.time]);
    this.waiting.push({cpu: -1, from: since.time, to: time, pid, before: since.before, after: cpu});
    this.since.delete(pid);
  }
  /** @prev leaves @cpu, and waits if it @goesOn; @next runs, 0: nobody. */
  switched(time: number, cpu: number, prev: number, goesOn: boolean, next: number) {
    this.count(time);
    const old = this.running.get(cpu);
    if (old)
      this.spans.push({...old, to: time});
    this.running.delete(cpu);
    this.woken.delete(prev);   // while it ran
    if (prev && goesOn)
      this.since.set(prev, {time, before: cpu});
    if (next) {
      this.started.set(next, {to: time, after: cpu});
      this.served(time, cpu, next);
      this.running.set(cpu, {cpu, from: time, to: time, pid: next});
    }
  }
  averaged(time: number, pid: number, util: number, load: number, runnable: number) {
    let of = this.averages.get(pid);
    if (!of)
      this.averages.set(pid, of = {every: 1, told: 0, time: [], util: [], load: [], runnable: []});
    if (of.told++ % of.every)
      return;
    of.time.push(time);
    of.util.push(util);
    of.load.push(load);
    of.runnable.push(runnable);
    if (of.time.length === MOST_POINTS)
      thin(of);
  }
  isRunning(cpu: number, pid: number) {
    return this.running.get(cpu)?.pid === pid;
  }
  close(end: number): Timeline {
    this.count(end);
    for (const span of this.running.values())
      this.spans.push({...span, to: end});
    this.unended = new Map([...this.since].map(([pid, {time}]) => [pid, end - time]));
    this.waiting.push(...[...this.since].map(([pid, {time, before}]) => ({cpu: -1, from: time, to: end, pid, before, after: -1})));
    const lasts = (span: Span) => span.to > span.from;
    this.spans = this.spans.filter(lasts);
    this.waiting = this.waiting.filter(lasts);
    return this;
  }
  /** Waits are not known: the wakeups that begin most of them were not recorded. */
  withoutWaits(): Timeline {
    [this.waits, this.unended, this.waiting, this.waste, this.wakeups] = [new Map(), new Map(), [], [], []];
    return this;
  }
  parts() {
    return {spans: this.spans, names: this.names, waits: this.waits, unended: this.unended, waiting: this.waiting, wakeups: this.wakeups, waste: this.waste, averages: this.averages, rowOf: this.rowOf};
  }
}

/**
 * The number of waits of @pids that ended, their mean, and the longest of all. A wait that the end of the run cuts off
 * is no sample of a latency. It is at least so long, so it counts in the longest, as in schedsim.
 */
export function waitsOf(run: Run, pids: number[]) {
  const ended = pids.flatMap((pid) => run.waits.get(pid) ?? []), sum = ended.reduce((a, b) => a + b, 0);
  const all = [...ended, ...pids.map((pid) => run.unended.get(pid) ?? 0)];
  return {nr: ended.length, mean: sum / (ended.length || 1), longest: all.reduce((a, b) => Math.max(a, b), 0)};
}

const EVENT_BYTES = 32, SWITCH = 0, RUNNABLE = 1, NAME = 2;   // of sim/session.h

/** Tell @line what a @piece of the module's file of events says (sim/session.h). */
export function hear(line: Timeline, piece: Uint8Array) {
  const view = new DataView(piece.buffer, piece.byteOffset, piece.byteLength);
  for (let at = 0; at < piece.length; at += EVENT_BYTES) {
    const time = Number(view.getBigUint64(at, true)), pid = view.getInt32(at + 8, true), kind = view.getUint16(at + 12, true);
    const number = (nr: number) => view.getUint32(at + 16 + 4 * nr, true);
    if (kind === NAME) {
      line.name(pid, new TextDecoder().decode(piece.subarray(at + 16, at + EVENT_BYTES)).split('\0')[0]);
    } else if (kind === RUNNABLE) {
      line.rowOf.set(pid, number(0));
      line.runnable(time, pid);
      if (number(1))
        line.wakes(time, view.getUint16(at + 14, true), number(1), pid);
    } else if (kind === SWITCH) {
      line.switched(time, view.getUint16(at + 14, true), pid, number(0) === 0, number(1));
    } else {
      line.averaged(time, pid, number(0), number(1), number(2));
    }
  }
}

/** Of a file without events: a task runs from its pick to the CPU's next. */
export function spansOf(decisions: Decisions, end: number, cpus: number): Timeline {
  const line = new Timeline(cpus);
  for (let i = 0; i < decisions.length; i++) {
    const d = decisions.brief(i);
    if (d.pid)
      line.name(d.pid, String(d.comm));
    if (d.kind === 'pick' && !d.subject_group)
      line.switched(d.time, d.cpu, 0, false, d.answer && d.pid);
    else if (d.kind === 'leave' && line.isRunning(d.cpu, d.pid) && d.nr_queued <= 1)
      line.switched(d.time, d.cpu, 0, false, 0);
  }
  return line.close(end);
}

/** The ns that task @pid ran in @run. */
export function sumOfTimes(run: Run, pid: number): number {
  return run.spans.reduce((sum, span) => span.pid === pid ? sum + span.to - span.from : sum, 0);
}

/** What decides, without times: two futures differ where this does. */
export function essence(d: Decision): string {
  return [d.kind, d.cpu ?? d.chosen, d.pid, d.answer, d.outcome, d.chosen].join(' ');
}

/** The number of the first decision from @from on in which two runs differ; -1: none. */
export function firstDifference(a: Decisions, b: Decisions, from: number): number {
  for (let i = from; i < Math.max(a.length, b.length); i++)
    if (i >= a.length || i >= b.length || a.time(i) !== b.time(i) || essence(a.brief(i)) !== essence(b.brief(i)))
      return i;
  return -1;
}

/** Parent of each row of the tree, by the rows' order and depths (docs/decisions.md); -1: the root, -2: not in it. */
export function treeLinks(rows: Decision[]): number[] {
  return rows.map((row, i) => {
    if (!row.depth)
      return -2;
    for (const step of [-1, 1])
      for (let at = i + step; at >= 0 && at < rows.length; at += step) {
        if (!rows[at].depth)
          continue;
        if (rows[at].depth === row.depth - 1)
          return at;
        if (rows[at].depth < row.depth)
          break;
      }
    return -1;
  });
}
