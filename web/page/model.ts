// SPDX-License-Identifier: GPL-2.0-only
// What a run was: its decisions, who ran when, and who waited.

import {TEXT} from './strings';

export type Decision = Record<string, any>;
export type Span = {cpu: number, from: number, to: number, pid: number};
export type Run = {name: string, head: Decision, decisions: Decision[], spans: Span[], names: Map<number, string>,
  waits: Map<number, number[]>, cpus: number, end: number, complete: boolean, rules: Record<string, string>};

// Virtual times pass 2^53: they stay exact as texts of digits.
const LONG = /"(vruntime|deadline|v|container|clock|replenish_at)": (\d{16,})/g;

/** The signed distance of two virtual times, which are u64 and wrap. */
export function distance(a: string | number, b: string | number): number {
  return Number(BigInt.asIntN(64, BigInt(a) - BigInt(b)));
}

export function parseDecisions(text: string): {head: Decision, decisions: Decision[]} {
  const lines = text.replace(LONG, '"$1": "$2"').split('\n');
  if (lines.pop() !== '')
    throw new Error(TEXT.notFile + TEXT.cutOff);
  let parsed: Decision[];
  try {
    parsed = lines.map((line) => JSON.parse(line));
  } catch (error) {
    throw new Error(TEXT.notFile + (error as Error).message);
  }
  const head = parsed.shift();
  if (head?.schema !== 'fairground-decisions/2' || parsed.some((each) => typeof each?.kind !== 'string'))
    throw new Error(TEXT.notFile + TEXT.noSchema);
  return {head, decisions: parsed};
}

/** Who ran and waited, from the lines of the module's file of events (sim/session.h). */
export function readEvents(text: string, end: number) {
  const spans: Span[] = [], names = new Map<number, string>(), waits = new Map<number, number[]>();
  const running = new Map<number, Span>(), since = new Map<number, number>();
  const stopWaiting = (pid: number, time: number) => {
    if (since.has(pid))
      waits.set(pid, [...(waits.get(pid) ?? []), time - since.get(pid)!]);
    since.delete(pid);
  };
  for (const line of text.split('\n')) {
    const [kind, time, cpu, a, b, c] = line.split(' ');
    const now = Number(time);
    if (kind === 'R') {
      names.set(Number(a), line.split(' ').slice(5).join(' '));
      since.set(Number(a), now);
    } else if (kind === 'S') {
      const old = running.get(Number(cpu)), pid = Number(c);
      if (old)
        spans.push({...old, to: now});
      running.delete(Number(cpu));
      if (Number(a) && b === '0')
        since.set(Number(a), now);
      if (pid) {
        stopWaiting(pid, now);
        running.set(Number(cpu), {cpu: Number(cpu), from: now, to: end, pid});
      }
    }
  }
  spans.push(...running.values());
  for (const pid of [...since.keys()])
    stopWaiting(pid, end);
  return {spans: spans.filter((span) => span.to > span.from), names, waits};
}

/** Of a file without events: a task runs from its pick to the CPU's next. */
export function spansOf(decisions: Decision[], end: number) {
  const spans: Span[] = [], names = new Map<number, string>(), last = new Map<number, Span>();
  for (const d of decisions) {
    if (d.pid)
      names.set(d.pid, d.comm);
    if ((d.kind === 'pick' || (d.kind === 'leave' && last.get(d.cpu)?.pid === d.pid && d.nr_queued <= 1)) && !d.subject_group) {
      const old = last.get(d.cpu);
      if (old)
        spans.push({...old, to: d.time});
      last.delete(d.cpu);
      if (d.kind === 'pick' && d.answer && d.pid)
        last.set(d.cpu, {cpu: d.cpu, from: d.time, to: end, pid: d.pid});
    }
  }
  spans.push(...last.values());
  return {spans: spans.filter((span) => span.to > span.from), names, waits: new Map<number, number[]>()};
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
