// SPDX-License-Identifier: GPL-2.0-only
// Runs simulations away from the page's own thread, so that the page can end a run that takes too long.

import {patched} from '../delta.mjs';
import {Session} from '../session.mjs';
import {Timeline, hear} from './model';
import {makePacker} from './packed';
import {MOST, Reader, readHead} from './recorded';

const MOST_BYTES = 128 << 20;   // of the packed decisions of all runs that are asked for at a time
const BATCH = 400;              // decisions of a block
const encoder = new TextEncoder();

// Tell the page what there is so far; @lists it owns then.
const tell = (sofar: object, ...lists: (Uint8Array | Uint32Array)[]) => (self as any).postMessage({sofar}, lists.map(({buffer}) => buffer));

// The run of @session to the time of each of @changes, and then to its end, with at most @room bytes of decisions. It is
// told as run @nr. Returns whether that was all of it.
function collect(session: any, nr: number, changes: any[], room: number): boolean {
  const first = new Reader(session.newDecisions()), head = readHead(first), pack = makePacker(head.formats);
  let length = 0;
  const take = (records: Uint8Array, more = {}) => {
    const block = pack(records), events = session.newEvents();
    length += block.length;
    room -= block.words.byteLength;
    tell({nr, ...more, events, ...(block.length && {block})}, block.words, events);
  };
  const goTo = (time: number) => {
    let state = 'decision';
    while (state === 'decision' && length < MOST && room > 0) {
      state = session.run(time, BATCH);
      take(session.newDecisions());
    }
    if (state === 'failed')
      throw new Error(session.errors().trim());
    return state !== 'decision';
  };
  take(first.bytes.slice(first.at), head);
  return changes.every((change) => goTo(change.at) && (apply(session, change), true)) && goTo(session.length());
}

function apply(session: any, change: any) {
  if (change.what === 'policy')
    session.policy(change.value);
  const [left, right] = change.value.split('=');
  if (change.what === 'tunable')
    session.set(left ?? '', right ?? '');
  if (change.what === 'nice')
    session.nice(Number(left), Number(right));
}

const HOGS: [number, number][] = [[-5, 3121], [0, 1024], [5, 335], [10, 110]];   // nice values and their weights
const PART = 1.5;   // points by which a share may be off

// The shares that are not by weight, of hogs that run for a minute under the policy @name.
function unfair(compiled: WebAssembly.Module, file: string, text: string, name: string) {
  const session = new Session(compiled, ['--plugin', file, '--sched', name, '--cpus', '1', '--time', '60s',
    ...HOGS.map(([nice]) => `hogs:n=1,nice=${nice}`)], {[file]: encoder.encode(text)}, '');
  const got = new Map<number, number>(), sum = HOGS.reduce((all, [, weight]) => all + weight, 0);
  if (session.run(session.length()) === 'failed')
    throw new Error(session.errors().trim());
  let since = 0;
  const line = new Timeline(1);
  hear(line, session.newEvents());
  for (const {from, to, pid} of line.close(session.now()).spans) {
    got.set(pid, (got.get(pid) ?? 0) + to - from);
    since = to;
  }
  return HOGS.map(([nice, weight], i) => ({nice, is: 100 * (got.get(i + 1) ?? 0) / since, due: 100 * weight / sum}))
    .filter(({is, due}) => Math.abs(is - due) > PART);
}

function check(compiled: WebAssembly.Module, {file, text, name, ops, proportional}: any) {
  const found = Session.explored(compiled, file, text, 1, ops, (runs: number) => tell({runs}));
  return {...found, unfair: !found.failed && proportional ? unfair(compiled, file, text, name) : []};
}

self.onmessage = async ({data}: MessageEvent) => {
  try {
    const whole = data.compiled, results = [];
    if (data.checked)
      return (self as any).postMessage({checked: check(whole, data.checked)});
    if (data.exported)
      return (self as any).postMessage({c: Session.exported(whole, data.exported.name, data.exported.text)});
    for (const {parts, ...run} of data.runs) {
      const compiled = parts ? await WebAssembly.compile(patched(new Uint8Array(data.bytes), parts)) : whole;
      const session = new Session(compiled, run.words, {...data.programs, ...Object.fromEntries(Object.entries(run.files).map(([name, text]) => [name, encoder.encode(text as string)]))}, 'decisions.bin');
      const complete = collect(session, results.length, run.changes, MOST_BYTES / data.runs.length);
      results.push({...run, complete, said: session.errors().trim(), end: session.now(), ideal: complete && !run.changes.length ? session.ideal() : []});
    }
    return (self as any).postMessage({results});
  } catch (error) {
    return (self as any).postMessage({error: (error as Error).message});
  }
};
