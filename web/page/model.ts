// SPDX-License-Identifier: GPL-2.0-only
// What a run was: its decisions, who ran when, and who waited.

import {TEXT} from './strings';

export type Decision = Record<string, any>;
export type Span = {cpu: number, from: number, to: number, pid: number};
// How a run here differs from that of its words: at @at ns a policy, a tunable or a nice value changed.
export type Change = {at: number, what: string, value: string};
// Averages of a task (PELT), each as it was at a time.
export type Averages = {time: number[], util: number[], load: number[], runnable: number[]};
// From @from to @to so many CPUs idled while as many tasks waited.
export type Waste = {from: number, to: number, nr: number};
export type Ideal = {name: string, ideal_ns: number};
export type Run = {name: string, head: Decision, decisions: Decision[], spans: Span[], names: Map<number, string>,
  waits: Map<number, number[]>, cpus: number, begin: number, end: number, complete: boolean,
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

/** Who ran and waited, from events in their order. */
export class Timeline {
  spans: Span[] = [];
  names = new Map<number, string>();
  waits = new Map<number, number[]>();
  private running = new Map<number, Span>();
  waste: Waste[] = [];
  averages = new Map<number, Averages>();
  rowOf = new Map<number, number>();
  private since = new Map<number, number>();
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
    this.since.set(pid, time);
  }
  private served(time: number, pid: number) {
    const since = this.since.get(pid);
    if (since !== undefined && !this.waits.get(pid)?.push(time - since))
      this.waits.set(pid, [time - since]);
    this.since.delete(pid);
  }
  /** @prev leaves @cpu, and waits if it @goesOn; @next runs, 0: nobody. */
  switched(time: number, cpu: number, prev: number, goesOn: boolean, next: number) {
    this.count(time);
    const old = this.running.get(cpu);
    if (old)
      this.spans.push({...old, to: time});
    this.running.delete(cpu);
    if (prev && goesOn)
      this.since.set(prev, time);
    if (next) {
      this.served(time, next);
      this.running.set(cpu, {cpu, from: time, to: time, pid: next});
    }
  }
  averaged(time: number, pid: number, util: number, load: number, runnable: number) {
    let of = this.averages.get(pid);
    if (!of)
      this.averages.set(pid, of = {time: [], util: [], load: [], runnable: []});
    of.time.push(time);
    of.util.push(util);
    of.load.push(load);
    of.runnable.push(runnable);
  }
  isRunning(cpu: number, pid: number) {
    return this.running.get(cpu)?.pid === pid;
  }
  close(end: number): Timeline {
    this.count(end);
    for (const span of this.running.values())
      this.spans.push({...span, to: end});
    for (const pid of [...this.since.keys()])
      this.served(end, pid);
    this.spans = this.spans.filter((span) => span.to > span.from);
    return this;
  }
  parts() {
    return {spans: this.spans, names: this.names, waits: this.waits, waste: this.waste, averages: this.averages, rowOf: this.rowOf};
  }
}

/** From the lines of the module's file of events (sim/session.h). */
export function readEvents(text: string, end: number, cpus: number) {
  const line = new Timeline(cpus);
  for (const each of text.split('\n')) {
    const [kind, time, cpu, a, b, c] = each.split(' ');
    if (kind === 'R') {
      line.name(Number(a), each.split(' ').slice(6).join(' '));
      line.rowOf.set(Number(a), Number(c));
      line.runnable(Number(time), Number(a));
    } else if (kind === 'P') {
      line.averaged(Number(time), Number(cpu), Number(a), Number(b), Number(c));
    } else if (kind === 'S') {
      line.switched(Number(time), Number(cpu), Number(a), b === '0', Number(c));
    }
  }
  return line.close(end).parts();
}

/** Of a file without events: a task runs from its pick to the CPU's next. */
export function spansOf(decisions: Decision[], end: number, cpus: number): Timeline {
  const line = new Timeline(cpus);
  for (const d of decisions) {
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
export function essence(d: Decision | undefined): string {
  return d ? [d.kind, d.cpu ?? d.chosen, d.pid, d.answer, d.outcome, d.chosen].join(' ') : '';
}

/** The number of the first decision from @from on in which two runs differ; -1: none. */
export function firstDifference(a: Decision[], b: Decision[], from: number): number {
  for (let i = from; i < Math.max(a.length, b.length); i++)
    if (essence(a[i]) !== essence(b[i]) || a[i]?.time !== b[i]?.time)
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
