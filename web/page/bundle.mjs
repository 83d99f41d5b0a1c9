// SPDX-License-Identifier: GPL-2.0-only
// Puts a page and what it needs into one file, for build.mjs and viewer.mjs.
import fs from 'fs';
import {createRequire} from 'module';
import path from 'path';
import {fileURLToPath} from 'url';
import {Session} from '../session.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

/** The script @name and all that it imports, by esbuild of @modules, with @define for names that it declares. */
export async function bundle(modules, name, define = {}) {
  const {build} = createRequire(path.resolve(modules, 'x'))('esbuild');
  const done = await build({entryPoints: [path.join(here, name)], bundle: true, minify: true, write: false, format: 'iife',
    target: 'es2022', define, nodePaths: [path.resolve(modules)]});
  return done.outputFiles[0].text;
}

/** The sentences of all rules and the traits of all policies, from the bytes @wasm of the simulator, and the words of the
 * file @phrases (tools/scripts/page_phrases.py), for bundle(). */
export async function namesOf(wasm, phrases) {
  const session = new Session(await WebAssembly.compile(wasm), ['--time', '1ms', 'hogs']);
  return {RULES: JSON.stringify(session.rules()), POLICIES: JSON.stringify(session.policies()), PHRASES: fs.readFileSync(phrases, 'utf8')};
}

/** Write the file @out: the page @name with its style and @script. */
export function writePage(out, name, script) {
  const read = (file) => fs.readFileSync(path.join(here, file), 'utf8');
  fs.writeFileSync(out, read(name).replace('/*STYLE*/', () => read('page.css'))
    .replace('/*SCRIPT*/', () => script.replaceAll('</script', '<\\/script')));
}
