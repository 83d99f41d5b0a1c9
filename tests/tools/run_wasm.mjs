// SPDX-License-Identifier: GPL-2.0-only
// Run a program in WebAssembly many times: compiled once, each run in a machine of its own.
//
// Usage: node run_wasm.mjs PROGRAM.wasm DIRECTORY <runs.json
// where runs.json is a list of lists of arguments. Run N leaves DIRECTORY/N.out and N.err and the files that it wrote,
// whose names must be in DIRECTORY. Words that are names of files are given to it as such. Prints the list of statuses.
import fs from 'fs';
import path from 'path';
import {run} from '../../web/wasi.mjs';

const [program, directory] = process.argv.slice(2);
const compiled = await WebAssembly.compile(fs.readFileSync(program));
const statuses = [];

for (const [number, words] of JSON.parse(fs.readFileSync(0, 'utf8')).entries()) {
  const inputs = words.filter((word) => fs.existsSync(word) && fs.statSync(word).isFile());
  const files = Object.fromEntries(inputs.map((name) => [name, new Uint8Array(fs.readFileSync(name))]));
  const done = run(compiled, ['schedsim', ...words], files);
  fs.writeFileSync(path.join(directory, `${number}.out`), done.stdout);
  fs.writeFileSync(path.join(directory, `${number}.err`), done.stderr);
  for (const [name, bytes] of Object.entries(done.files))
    fs.writeFileSync(path.resolve('/', name), bytes);
  statuses.push(done.status);
}
console.log(JSON.stringify(statuses));
