// SPDX-License-Identifier: GPL-2.0-only
// The arrows of wakeups in a report's viewer, printed as JSON: where they are with rows of tasks, rows of CPUs, for a task
// that is sought, and without; and those of the page.
//
// Usage: node arrows.mjs NODE_MODULES REPORT.html DIRECTORY
// where DIRECTORY has the page as page.html and what it is to run as link.json, and gets screenshots.
import fs from 'fs';
import path from 'path';
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {};
const {open, picture, close} = await launch(modules, page, directory, seen);
const tab = await open('', 1280), frame = await (await tab.waitForSelector('#viewer-frame')).contentFrame();
await frame.waitForFunction(() => document.querySelector('#lanes canvas'));

// Each arrow as the numbers of its line's two ends; the size of the drawing, and what the button says.
const look = (where = frame) => where.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const canvas = document.querySelector('#lanes canvas'), button = document.getElementById('arrows');
  done({arrows: [...document.querySelectorAll('.arrows path')].map((path) => path.getAttribute('d').match(/-?[\d.]+/g).slice(0, 4).map(Number)),
    rows: document.getElementById('rows').textContent, size: [canvas.clientWidth, canvas.clientHeight],
    button: [button.textContent, button.getAttribute('aria-pressed'), button.hidden], label: document.querySelector('.arrows')?.getAttribute('aria-label') ?? ''});
}))));

await frame.focus('#next');
seen.first = await look();
await frame.click('#rows');
seen.other = await look();
await picture(tab, 'other');
await frame.click('#rows');
await picture(tab, 'first');
await frame.focus('#next');
for (let i = 0; i < 4; i++)
  await tab.keyboard.press('+');
seen.closer = await look();
await picture(tab, 'closer');
await tab.keyboard.press('0');
await frame.type('#search', 'receiver 3');
seen.sought = await look();
await frame.$eval('#search', (input) => { input.value = ''; input.dispatchEvent(new Event('input')); });
await frame.focus('#next');
await tab.keyboard.press('a');
seen.off = await look();
await tab.keyboard.press('a');
seen.on = await look();
await frame.click('#arrows');
seen.clicked = await look();
seen.help = await frame.$eval('#help', (element) => element.textContent);
const link = encodeURIComponent(fs.readFileSync(path.join(directory, 'link.json'), 'utf8'));
await tab.goto(`file://${path.resolve(directory, 'page.html')}#${link}`);
await tab.waitForSelector('#lanes canvas');
seen.page = await look(tab);
await tab.click('#rows');
seen.pageOther = await look(tab);
await picture(tab, 'page');
await close();
console.log(JSON.stringify(seen));
