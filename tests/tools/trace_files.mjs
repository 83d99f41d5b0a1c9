// SPDX-License-Identifier: GPL-2.0-only
// Read files as the page does, and print as JSON who ran and waited, or the sentence that refuses the file.
//
// Usage: node trace_files.mjs NODE_MODULES FILE...
import fs from 'fs';
import {createRequire} from 'module';
import path from 'path';

const [modules, ...files] = process.argv.slice(2), tree = path.dirname(path.dirname(path.dirname(new URL(import.meta.url).pathname)));
const {build} = createRequire(path.resolve(modules, 'x'))('esbuild');
const {outputFiles: [script]} = await build({entryPoints: [`${tree}/web/page/files.ts`], bundle: true, write: false, format: 'esm',
  target: 'es2022', nodePaths: [path.resolve(modules)], define: {RULES: '{}', POLICIES: '{}'}});
const {readFile} = await import(`data:text/javascript;base64,${Buffer.from(script.text).toString('base64')}`);

const read = async (file) => {
  try {
    const {spans, waiting, names, cpus, begin, end} = await readFile(path.basename(file), new Uint8Array(fs.readFileSync(file)));
    return {spans, waiting, names: [...names], cpus, begin, end};
  } catch (error) {
    return error.message;
  }
};
console.log(JSON.stringify(await Promise.all(files.map(read))));
