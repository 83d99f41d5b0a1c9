// SPDX-License-Identifier: GPL-2.0-only
// Runs simulations away from the page's own thread, so that the page can end a run that takes too long.

import {Session} from '../session.mjs';

const MOST = 200000;   // decisions kept
const BATCH = 5000;

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

self.onmessage = async ({data}: MessageEvent) => {
  try {
    const compiled = await WebAssembly.compile(data.wasm);
    const results = [];
    for (const run of data.runs) {
      let session = new Session(compiled, run.words, {});
      if (run.change) {
        session.run(run.change.at);
        session = session.fork();
        apply(session, run.change);
      }
      const before = new TextDecoder().decode(session.newDecisions());
      const {text, complete} = collect(session);
      results.push({name: run.name, decisions: before + text, events: new TextDecoder().decode(session.newEvents()),
        complete, end: session.now(), rules: session.rules()});
    }
    (self as any).postMessage({results});
  } catch (error) {
    (self as any).postMessage({error: (error as Error).message});
  }
};
