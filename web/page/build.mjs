// SPDX-License-Identifier: GPL-2.0-only
// Puts the page into one file. Usage: node build.mjs NODE_MODULES SESSION.wasm OUT.html
import fs from 'fs';
import {createRequire} from 'module';
import path from 'path';
import zlib from 'zlib';

const [modules, wasm, out] = process.argv.slice(2);
const {build} = createRequire(path.resolve(modules, 'x'))('esbuild');
const here = path.dirname(new URL(import.meta.url).pathname);

async function bundle(name, define = {}) {
  const done = await build({entryPoints: [path.join(here, name)], bundle: true, minify: true, write: false, format: 'iife',
    target: 'es2022', define});
  return done.outputFiles[0].text;
}

const zipped = zlib.gzipSync(fs.readFileSync(wasm), {level: 9});
const script = await bundle('page.ts', {WORKER: JSON.stringify(await bundle('worker.ts')),
  WASM_GZIP: JSON.stringify(zipped.toString('base64'))});
const page = fs.readFileSync(path.join(here, 'index.html'), 'utf8');
fs.writeFileSync(out, page.replace('/*SCRIPT*/', () => script.replaceAll('</script', '<\\/script')));
