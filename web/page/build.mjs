// SPDX-License-Identifier: GPL-2.0-only
// Puts the page into one file. Usage: node build.mjs NODE_MODULES SESSION.wasm PRESETS.json PHRASES.json OUT.html PROGRAMS BUGS NAME...
// where PROGRAMS has a module for each program of examples/scx, and BUGS/NAME.wasm is the module with the seeded bug NAME.
import fs from 'fs';
import path from 'path';
import {fileURLToPath} from 'url';
import zlib from 'zlib';
import {difference, patched} from '../delta.mjs';
import {Session} from '../session.mjs';
import {bundle, namesOf, writePage} from './bundle.mjs';

const [modules, wasm, presets, phrases, out, programs, bugs, ...names] = process.argv.slice(2);
const module = fs.readFileSync(wasm);
const deltas = Object.fromEntries(names.map((name) => {
  const buggy = fs.readFileSync(path.join(bugs, `${name}.wasm`)), parts = difference(module, buggy);
  if (buggy.equals(module) || !buggy.equals(patched(module, parts)))
    throw new Error(`${name}: its module is no other, or is not made by its parts`);
  return [name, parts];
}));
const examplesOf = (folder) => fileURLToPath(new URL(`../../examples/${folder}`, import.meta.url));
const policies = examplesOf('policies');
const examples = Object.fromEntries(fs.readdirSync(policies).filter((name) => name.endsWith('.policy')).sort().reverse()
  .map((name) => [path.parse(name).name, fs.readFileSync(path.join(policies, name), 'utf8')]));
const zipped = (bytes) => zlib.gzipSync(bytes, {level: 9}).toString('base64');
const zippedPrograms = Object.fromEntries(fs.readdirSync(examplesOf('scx')).filter((name) => name.endsWith('.bpf.c')).sort()
  .map((name) => name.replace('.bpf.c', '.wasm')).map((name) => [name, zipped(fs.readFileSync(path.join(programs, name)))]));
writePage(out, 'index.html', await bundle(modules, 'page.ts', {WORKER: JSON.stringify(await bundle(modules, 'worker.ts')),
  WASM_GZIP: JSON.stringify(zipped(module)), PROGRAMS_GZIP: JSON.stringify(zippedPrograms), ...await namesOf(module, phrases),
  DELTAS: JSON.stringify(deltas), WRITTEN: JSON.stringify(examples),
  OPERATIONS: JSON.stringify(Session.operations(await WebAssembly.compile(module))), PRESETS: fs.readFileSync(presets, 'utf8')}));
