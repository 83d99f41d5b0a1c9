// SPDX-License-Identifier: GPL-2.0-only
// Pack the records of files of decisions as the page does, and unpack them again.
//
// Usage: node packed.mjs NODE_MODULES FILE.bin...
// Prints for each its bytes, those of its blocks, and how many decisions and different blocks there are.
import fs from 'fs';
import {createRequire} from 'module';
import path from 'path';

const [modules, ...files] = process.argv.slice(2), BLOCK = 50;   // decisions
const here = path.dirname(new URL(import.meta.url).pathname);
const {buildSync} = createRequire(path.resolve(modules, 'x'))('esbuild');
const {outputFiles: [{text}]} = buildSync({bundle: true, write: false, format: 'esm', stdin: {resolveDir: path.join(here, '../../web/page'), loader: 'ts',
  contents: "export {Reader, readHead} from './recorded'; export {makePacker, unpacked} from './packed';"}});
const {Reader, readHead, makePacker, unpacked} = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);

// The records of @bytes, in pieces of BLOCK decisions.
function pieces(bytes, from, formats) {
  const cuts = [from], view = new DataView(bytes.buffer, bytes.byteOffset);
  let at = from, decisions = 0;
  for (let id; (id = view.getUint16(at + 8, true)) !== 0;) {
    at += 8 + view.getUint16(at + 10, true);
    if (!formats.get(id).isRow && ++decisions % BLOCK === 0)
      cuts.push(at);
  }
  return [...cuts, at].slice(1).map((to, i) => bytes.slice(cuts[i], to));
}

console.log(JSON.stringify(files.map((name) => {
  const bytes = new Uint8Array(fs.readFileSync(name)), reader = new Reader(bytes), {formats} = readHead(reader);
  const records = pieces(bytes, reader.at, formats), pack = makePacker(formats), blocks = records.map(pack);
  const back = blocks.map((block) => unpacked(block));
  return {bytes: bytes.length, packed: blocks.reduce((sum, {words}) => sum + words.byteLength, 0), decisions: blocks.reduce((sum, {length}) => sum + length, 0),
    different: back.filter(({buffer, byteLength}, i) => Buffer.compare(Buffer.from(buffer, 0, byteLength), Buffer.from(records[i])) !== 0).length};
})));
