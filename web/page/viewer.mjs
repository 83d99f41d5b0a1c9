// SPDX-License-Identifier: GPL-2.0-only
// Makes the viewer that reports hold. Usage: node viewer.mjs NODE_MODULES SESSION.wasm PHRASES.json OUT.html
import fs from 'fs';
import {bundle, namesOf, writePage} from './bundle.mjs';

const [modules, wasm, phrases, out] = process.argv.slice(2);
writePage(out, 'viewer.html', await bundle(modules, 'viewer.ts', await namesOf(fs.readFileSync(wasm), phrases)));
