// SPDX-License-Identifier: GPL-2.0-only
// Runs simulations away from the page's own thread, so that the page can end a run that takes too long.

import {patched} from '../delta.mjs';
import {Session} from '../session.mjs';
import {readEvents} from './model';
import {MOST} from './recorded';

const MOST_BYTES = 200 << 20;   // of the decisions of all runs that are asked for at a time
const BATCH = 5000;
const encoder = new TextEncoder();

// At most @room bytes of decisions.
function collect(session: any, room: number) {
  const decisions = [session.newDecisions()], events = [session.newEvents()];
  for (let count = 0; count < MOST && room > 0; count += BATCH) {
    const state = session.run(session.length(), BATCH);
    decisions.push(session.newDecisions());
    room -= decisions[decisions.length - 1].length;
    events.push(session.newEvents());
    if (state === 'failed')
      throw new Error(session.errors().trim());
    if (state !== 'decision')
      return {decisions, events, complete: true};
  }
  return {decisions, events, complete: false};
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
  for (const {from, to, pid} of readEvents([session.newEvents()], session.now(), 1).spans) {
    got.set(pid, (got.get(pid) ?? 0) + to - from);
    since = to;
  }
  return HOGS.map(([nice, weight], i) => ({nice, is: 100 * (got.get(i + 1) ?? 0) / since, due: 100 * weight / sum}))
    .filter(({is, due}) => Math.abs(is - due) > PART);
}

function check(compiled: WebAssembly.Module, {file, text, name, ops, proportional}: any) {
  const found = Session.explored(compiled, file, text, 1, ops, (runs: number) => (self as any).postMessage({runs}));
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
      const session = new Session(compiled, run.words, Object.fromEntries(Object.entries(run.files).map(([name, text]) => [name, encoder.encode(text as string)])), 'decisions.bin');
      for (const change of run.changes) {
        session.run(change.at);
        apply(session, change);
      }
      const found = collect(session, MOST_BYTES / data.runs.length);
      results.push({...run, ...found, end: session.now(), ideal: found.complete && !run.changes.length ? session.ideal() : []});
    }
    return (self as any).postMessage({results}, results.flatMap(({decisions, events}) => [...decisions, ...events].map(({buffer}) => buffer)));
  } catch (error) {
    return (self as any).postMessage({error: (error as Error).message});
  }
};
