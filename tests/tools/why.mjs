// SPDX-License-Identifier: GPL-2.0-only
// What the page says of why tasks waited (web/page/why.ts), of runs that the simulator's module makes and of files.
//
// Usage: node why.mjs NODE_MODULES SESSION.wasm PHRASES.json <RUNS.json
// where RUNS is a list of {words: [WORD...], file: FILE.dat, waits: N}, the same run as words and as a trace.
// Prints for each [of the words, of the file, futures]: {task: [{told, ended}...]}, the N longest waits of each task, and
// {task: TEXT}, how long its longest wait would have been under other policies.
import fs from 'fs';
import {createRequire} from 'module';
import path from 'path';
import {fileURLToPath} from 'url';
import {Session} from '../../web/session.mjs';
import {namesOf} from '../../web/page/bundle.mjs';

const [modules, wasm, phrases] = process.argv.slice(2), module = fs.readFileSync(wasm);
const here = path.dirname(fileURLToPath(import.meta.url));
const {buildSync} = createRequire(path.resolve(modules, 'x'))('esbuild');
const names = await namesOf(module, phrases);
const {outputFiles: [{text}]} = buildSync({bundle: true, write: false, format: 'esm', nodePaths: [path.resolve(modules)], define: names, stdin: {
  resolveDir: path.join(here, '../../web/page'), loader: 'ts',
  contents: "export {explain, futuresOf, tell, tellFutures, waitsOf} from './why'; export {readFile} from './files'; export {Timeline, hear} from './model'; export {readBinary} from './recorded';"}});
const {explain, futuresOf, tell, tellFutures, waitsOf, readFile, Timeline, hear, readBinary} = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
const compiled = await WebAssembly.compile(module);

// The run of @words with @changes of the policy, as the page makes it.
function made(words, changes = [], name = '') {
  const files = Object.fromEntries(words.filter((word) => word.endsWith('.wasm')).map((file) => [file, fs.readFileSync(file)]));
  const session = new Session(compiled, words, files, 'decisions.bin');
  for (const {at, value} of changes) {
    session.run(at);
    session.policy(value);
  }
  if (session.run(session.length()) === 'failed')
    throw new Error(session.errors());
  const events = session.newEvents(), {head, decisions} = readBinary(session.close()), line = new Timeline(head.cpus);
  hear(line, events);
  return {name, head, decisions, ...line.close(session.now()).parts(), cpus: head.cpus, begin: 0, end: session.now(), made: {words, changes, files: {}, bug: ''}};
}

function said(run, waits) {
  const pids = [...new Set(run.waiting.map(({pid}) => pid))];
  return Object.fromEntries(pids.map((pid) => [`${run.names.get(pid)}-${pid}`,
    waitsOf(run, pid).slice(0, waits).map((wait) => ({told: tell(run, explain(run, wait)), ended: wait.to < run.end}))]));
}

function futures(run, policies) {
  return Object.fromEntries([...new Set(run.waiting.map(({pid}) => pid))].map((pid) => {
    const [wait] = waitsOf(run, pid);
    return [`${run.names.get(pid)}-${pid}`, tellFutures(futuresOf(run, wait, policies).map((each) => made(each.words, each.changes, each.name)), wait)];
  }));
}

const policies = Object.keys(JSON.parse(names.POLICIES));
console.log(JSON.stringify(await Promise.all(JSON.parse(fs.readFileSync(0, 'utf8')).map(async ({words, file, waits}) =>
  [said(made(words), waits), said(await readFile(file, new Uint8Array(fs.readFileSync(file))), waits), futures(made(words), policies)]))));
