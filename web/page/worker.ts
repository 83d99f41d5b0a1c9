// SPDX-License-Identifier: GPL-2.0-only
// Runs simulations away from the page's own thread, so that the page can end a run that takes too long.

import {patched} from '../delta.mjs';
import {Session} from '../session.mjs';

const MOST = 200000;   // decisions kept
const BATCH = 5000;
const encoder = new TextEncoder();

function collect(session: any) {
  const decoder = new TextDecoder();
  let text = '', count = 0;
  while (count < MOST) {
    const state = session.run(session.length(), BATCH);
    text += decoder.decode(session.newDecisions(), {stream: true});
    count += BATCH;
    if (state === 'failed')
      throw new Error(session.errors().trim());
    if (state !== 'decision')
      return {text, complete: true};
  }
  return {text, complete: false};
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
  for (const line of new TextDecoder().decode(session.newEvents()).split('\n')) {
    const [what, time, , prev] = line.split(' ').map((word, i) => i ? Number(word) : word) as [string, number, number, number];
    if (what !== 'S')
      continue;
    got.set(prev, (got.get(prev) ?? 0) + time - since);
    since = time;
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
    const whole = await WebAssembly.compile(data.wasm), results = [];
    if (data.checked)
      return (self as any).postMessage({checked: check(whole, data.checked)});
    if (data.exported)
      return (self as any).postMessage({c: Session.exported(whole, data.exported.name, data.exported.text)});
    for (const {parts, ...run} of data.runs) {
      const compiled = parts ? await WebAssembly.compile(patched(new Uint8Array(data.wasm), parts)) : whole;
      const session = new Session(compiled, run.words, Object.fromEntries(Object.entries(run.files).map(([name, text]) => [name, encoder.encode(text as string)])));
      for (const change of run.changes) {
        session.run(change.at);
        apply(session, change);
      }
      const before = new TextDecoder().decode(session.newDecisions());
      const {text, complete} = collect(session);
      results.push({...run, decisions: before + text, events: new TextDecoder().decode(session.newEvents()), complete,
        end: session.now(), ideal: complete && !run.changes.length ? session.ideal() : []});
    }
    return (self as any).postMessage({results});
  } catch (error) {
    return (self as any).postMessage({error: (error as Error).message});
  }
};
