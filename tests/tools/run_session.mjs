// SPDX-License-Identifier: GPL-2.0-only
// Make runs in steps, and save what they decided.
//
// Usage: node run_session.mjs SESSION.wasm DIRECTORY <runs.json
// where runs.json is a list of {words, step, at}: a run by steps of so many decisions, which is forked at @at ns. Leaves
// DIRECTORY/N.run, N.fork and N.other: what the run, an unchanged fork of it, and one with another policy decided, and
// N.err, which the run said on its way.
// Prints for each the number of steps, or the error.
import fs from 'fs';
import path from 'path';
import {Session} from '../../web/session.mjs';

const [program, directory] = process.argv.slice(2);
const compiled = await WebAssembly.compile(fs.readFileSync(program));
const results = [];

function go(session, step) {
  let steps = 1;
  while (session.run(session.length(), step) === 'decision')
    steps++;
  return steps;
}

for (const [number, {words, step, at, policy, files}] of JSON.parse(fs.readFileSync(0, 'utf8')).entries()) {
  const inputs = Object.fromEntries((files ?? []).map((name) => [name, new Uint8Array(fs.readFileSync(name))]));
  const save = (name, bytes) => fs.writeFileSync(path.join(directory, `${number}.${name}`), bytes);
  try {
    const session = new Session(compiled, words, inputs);
    session.run(at);
    const fork = session.fork(), other = session.fork();
    other.policy(policy);
    const steps = go(session, step);
    go(fork, 0);
    go(other, step);
    for (const [name, each] of Object.entries({run: session, fork, other}))
      save(name, each.close());
    save('err', session.errors());
    results.push(steps);
  } catch (error) {
    results.push(error.message);
  }
}
console.log(JSON.stringify(results));
