// SPDX-License-Identifier: GPL-2.0-only
// Makes the viewer that reports hold. Usage: node viewer.mjs NODE_MODULES SESSION.wasm OUT.html
import fs from 'fs';
import {bundle, rulesOf, writePage} from './bundle.mjs';

const [modules, wasm, out] = process.argv.slice(2);
const rules = await rulesOf(fs.readFileSync(wasm));
writePage(out, 'viewer.html', await bundle(modules, 'viewer.ts', {RULES: JSON.stringify(rules)}));
