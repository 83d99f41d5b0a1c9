// SPDX-License-Identifier: GPL-2.0-only
// The rows of a timeline, from top to bottom: the CPUs of a run, or its tasks with their waits.

import {Run, Span, Wait} from './model';
import {TEXT} from './strings';
import {ms} from './ui';

export type By = 'cpu' | 'task';
/** Time in which the task @pid runs on @cpu, or waits for one. */
export type Piece = Span & {waits: boolean};
/** A row's name, and its pieces in order of time. */
export type Row = {name: string, pieces: Piece[]};

const MOST_TASKS = 64, FEW_TASKS = 12;

export const label = (run: Run, pid: number) => `${run.names.get(pid) ?? ''} ${pid}`.trim();
/** Are the waits of @run known? Decisions alone do not tell them. */
export const knowsWaits = (run: Run) => run.waits.size + run.unended.size > 0;
/** May the rows of all @runs be their tasks? */
export const canBeTasks = (runs: Run[]) => runs.length > 0 && runs.every((run) => knowsWaits(run) && run.names.size <= MOST_TASKS);
/** Rows that show most at a glance: of one CPU and few tasks who waits for whom. */
export const usualRows = (runs: Run[]): By =>
  canBeTasks(runs) && runs.every((run) => run.cpus === 1 && run.names.size <= FEW_TASKS) ? 'task' : 'cpu';

function makeRows(run: Run, by: By): Row[] {
  const runs = run.spans.map((span) => ({...span, waits: false}));
  if (by === 'cpu') {
    const rows: Row[] = Array.from({length: run.cpus}, (_, cpu) => ({name: `CPU ${cpu}`, pieces: []}));
    runs.forEach((piece) => rows[piece.cpu]?.pieces.push(piece));
    return rows;
  }
  const rows = new Map<number, Row>([...run.names.keys()].map((pid) => [pid, {name: label(run, pid), pieces: []}]));
  for (const piece of [...runs, ...run.waiting.map((span) => ({...span, waits: true}))])
    rows.get(piece.pid)?.pieces.push(piece);
  return [...rows.values()];
}

const made = new WeakMap<Run, Partial<Record<By, Row[]>>>();
export function rowsOf(run: Run, by: By): Row[] {
  const known = made.get(run) ?? {};
  made.set(run, known);
  if (!known[by]) {
    known[by] = makeRows(run, by);
    known[by]!.forEach(({pieces}) => pieces.sort((a, b) => a.from - b.from));
  }
  return known[by]!;
}

/** The longest wait of @run; undefined: nobody waited, or nothing is known of waits. */
export function longestWait(run: Run): Wait | undefined {
  return run.waiting.reduce<Wait | undefined>((most, span) => !most || span.to - span.from > most.to - most.from ? span : most, undefined);
}

/** What happens in row @nr of @run at @time, in words. */
export function inWords(run: Run, by: By, nr: number, time: number): string {
  const {name, pieces} = rowsOf(run, by)[nr] ?? {name: '', pieces: []};
  let low = 0, high = pieces.length;
  while (low < high) {   // the first piece that begins after @time
    const middle = (low + high) >> 1;
    if (pieces[middle].from > time)
      high = middle;
    else
      low = middle + 1;
  }
  const piece = pieces[low - 1], is = piece && time < piece.to;
  const what = !is ? by === 'cpu' ? TEXT.idle : TEXT.sleeps : by === 'cpu' ? label(run, piece.pid) : piece.waits ? TEXT.isWaiting : `${TEXT.isRunning} ${piece.cpu}`;
  return `${run.name}, ${name}, ${ms(time - run.begin)} ms: ${what}` +
    (is ? `, ${ms(piece.to - piece.from)} ms (${ms(piece.from - run.begin)} – ${ms(piece.to - run.begin)})` : '');
}
