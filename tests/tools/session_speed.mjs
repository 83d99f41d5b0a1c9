// SPDX-License-Identifier: GPL-2.0-only
// What a run costs in WebAssembly, recorded as the page records it.
//
// Usage: node session_speed.mjs SESSION.wasm TIMES DECISIONS WORD...
// makes the run of these words so many times, with its file of decisions, "" for none. Prints the CPU time of each, ms,
// and the bytes of its decisions.
import fs from 'fs';
import {Session} from '../../web/session.mjs';

const [program, times, decisions, ...words] = process.argv.slice(2);
const BATCH = 5000;   // as in web/page/worker.ts
const compiled = await WebAssembly.compile(fs.readFileSync(program));
const spent = [];
let bytes = 0;

for (let i = 0; i < Number(times); i++) {
  const before = process.cpuUsage(), session = new Session(compiled, words, {}, decisions);
  bytes = 0;
  for (let state = 'decision'; state === 'decision';) {
    state = session.run(session.length(), BATCH);
    bytes += session.newDecisions().length;
    session.newEvents();
  }
  const {user, system} = process.cpuUsage(before);
  spent.push((user + system) / 1000);
}
console.log(JSON.stringify({spent, bytes}));
