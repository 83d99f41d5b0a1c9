// SPDX-License-Identifier: GPL-2.0-only
// Explore policies in expressions as the page does, and print as JSON what was found, and the operations' sentences.
//
// Usage: node explore_session.mjs SESSION.wasm <runs.json
// where runs.json is a list of {text, seed, ops}.
import fs from 'fs';
import {Session} from '../../web/session.mjs';

const compiled = await WebAssembly.compile(fs.readFileSync(process.argv[2]));
const found = JSON.parse(fs.readFileSync(0, 'utf8')).map(({text, seed, ops}) => {
  let attempts = 0;
  return {...Session.explored(compiled, 'own.policy', text, seed, ops, (nr) => { attempts = nr; }), attempts};
});
console.log(JSON.stringify({found, operations: Session.operations(compiled)}));
