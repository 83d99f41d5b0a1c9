// SPDX-License-Identifier: GPL-2.0-only
// Run programs for sched_ext in the page, in Chromium without a window, and print as JSON what was seen.
//
// Usage: node scx.mjs NODE_MODULES PAGE.html DIRECTORY
// where DIRECTORY has a program, own.wasm, and gets screenshots.
import fs from 'fs';
import path from 'path';
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {};
const {open, hash, text, idle, lanes, picture, close} = await launch(modules, page, directory, seen);

const state = (work, ms, policies) => `#${encodeURIComponent(JSON.stringify({work, file: '', cpus: 1, ms, policies, shown: 0, at: 0}))}`;
const shares = (tab) => tab.$$eval('#shares table', ([table]) => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
const chosen = (tab) => tab.$$eval('#form fieldset input', (all) => all.filter((box) => box.checked).map((box) => box.value));
const click = (tab, nr) => tab.click(`#lanes > :nth-child(${nr}) button`);
const go = (tab, share) => tab.evaluate((to) => {
  const slider = document.getElementById('slider');
  slider.value = Math.floor(slider.max * to);
  slider.dispatchEvent(new Event('input'));
}, share);

const tab = await open(state('hogs:n=2 hogs:n=1,nice=10', 1000, ['cfs', 'scx:vtime']));
await tab.waitForSelector('canvas');
await idle(tab);
seen.lanes = await lanes(tab);
seen.choices = await tab.$$eval('#form fieldset input', (all) => all.map((box) => box.value));
seen.chosen = await chosen(tab);
seen.shares = [];
for (const lane of [1, 2]) {
  await click(tab, lane);
  seen.shares.push(await shares(tab));
}
await go(tab, 0.5);
seen.decision = [await text(tab, '#decision-head'), await text(tab, '#rule')];
seen.table = await tab.$$eval('#table table', ([table]) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
seen.why = await text(tab, '#whysaid');
await tab.click('#whyfutures button');
await tab.waitForFunction(() => !document.querySelector('#whyfutures button'));
seen.whyFutures = await text(tab, '#whyfutures');
seen.error = await text(tab, '#error');
await picture(tab, 'scx');
await tab.select('#to', 'eevdf');
await tab.click('#fork');
await tab.waitForFunction(() => document.querySelectorAll('#lanes button').length === 3);
seen.forked = [await lanes(tab), await text(tab, '#differs'), await text(tab, '#error')];
seen.linked = decodeURIComponent(await hash(tab));

// The seeded stall.
const stall = await open(state('hogs:n=3', 5000, ['scx:stall']));
await stall.waitForSelector('canvas');
await idle(stall);
seen.stall = await text(stall, '#error');
seen.after = [];
for (const share of [0.1, 1]) {
  await go(stall, share);
  seen.after.push([await text(stall, '#where'), await text(stall, '#decision-head')]);
}
await picture(stall, 'stall');

// A program of one's own, and its next version, which is none.
const give = (bytes, file = 'own.wasm') => stall.evaluate((content, name) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name));
  document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
}, Buffer.from(bytes).toString('base64'), file);
await give(fs.readFileSync(path.join(directory, 'own.wasm')));
await stall.waitForFunction(() => [...document.querySelectorAll('#lanes button')].some((each) => each.textContent === 'scx:own'));
await idle(stall);
seen.own = [await lanes(stall), await chosen(stall)];
await give(Buffer.from('none'));
await stall.waitForFunction(() => document.getElementById('error').textContent.includes('own.wasm'));
seen.bad = await text(stall, '#error');
seen.others = {};
for (const name of ['own.bpf.c', 'own.so', 'own.o']) {
  await give(fs.readFileSync(path.join(directory, 'own.bpf.c')), name);
  await stall.waitForFunction((file) => document.getElementById('error').textContent.includes(file), {timeout: 10000}, name).catch(() => {});
  seen.others[name] = await text(stall, '#error');
}
await close();
console.log(JSON.stringify(seen));
