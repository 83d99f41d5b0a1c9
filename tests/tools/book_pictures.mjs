// SPDX-License-Identifier: GPL-2.0-only
// Makes the pictures of the page for the book, and for README.md: `make page-pictures`.
//
// Usage: node book_pictures.mjs NODE_MODULES PAGE.html DIRECTORY
import path from 'path';
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {}, WIDTH = 880, MARGIN = 6;
const {open, idle, close} = await launch(modules, page, directory, seen);
// In expressions: whoever comes later is first for ever.
const UNFAIR = 'policy newest\nentity key_of\nqueue n\nkey key_of\n\nplace {\n    n -= 1\n    key_of = n\n}\n';

async function ready(work, ms, policies) {
  const given = {work, file: '', cpus: 1, ms, policies, shown: 0, at: 0};
  const tab = await open(`#${encodeURIComponent(JSON.stringify(given))}`, WIDTH);
  await tab.waitForSelector('canvas');
  await idle(tab);
  return tab;
}

// Steps on to the first decision from @from ms on whose rule begins with @kind and, if told, answers @answer.
const step = (tab, kind, from = 0, answer = '') => tab.evaluate((kind, from, answer) => {
  const rule = () => document.getElementById('rule').textContent, time = () => Number(/([\d.]+) ms/.exec(document.getElementById('where').textContent)[1]);
  for (let i = 0; i < 2000 && !(rule().startsWith(kind) && rule().includes(answer) && time() >= from); i++)
    document.getElementById('next').click();
}, kind, from, answer);

/** The picture @name of the part of the page from the top of @first to the bottom of the elements @last, without @hidden. */
async function take(tab, name, hidden, first, ...last) {
  await tab.setViewport({width: WIDTH, height: 2400});
  await tab.addStyleTag({content: `${hidden} { display: none; } #policy { min-height: 0; height: 13em; }`});
  await tab.evaluate(() => {
    document.activeElement.blur();
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });
  const [top, bottom] = await tab.evaluate((first, last) => [document.querySelector(first).getBoundingClientRect().top,
    Math.max(...last.map((each) => document.querySelector(each).getBoundingClientRect().bottom))], first, last);
  await tab.screenshot({path: path.join(directory, `${name}.png`), clip: {x: 0, y: top - MARGIN, width: WIDTH, height: bottom - top + 2 * MARGIN}});
  await tab.close();
}

const first = await ready('hogs:n=2 bursts:run=2ms,sleep=10ms', 100, ['cfs', 'eevdf', 'bore']);
await first.$$eval('#lanes button', (all) => all[1].click());   // eevdf
await first.select('#whytask', '3');
await take(first, '../../img/page', '#help, #files, form details', '#title', '#why');

const candidates = await ready('--hz 1000 hogs:n=3 hogs:n=1,nice=5 hogs:n=2,slice=2ms', 60, ['eevdf']);
await step(candidates, 'pick', 37);
await take(candidates, '06-page', '#help, #files, #averages, #whatif, #why', '#lanes', '#table');

const futures = await ready('--hz 100 hogs:n=2 bursts:run=2ms,sleep=10ms', 150, ['cfs']);
await step(futures, 'preempt', 12, 'yes');
await futures.select('#what', 'tunable');
await futures.$eval('#value', (input) => { input.value = 'wakeup_granularity_ns=10000000'; });
await futures.click('#fork');
await idle(futures);
await take(futures, '05-futures', '#help, #files, #averages, #shares, #tree, #why', '#lanes', '#table', '#whatif');

const own = await ready('hogs:n=2 bursts:run=2ms,sleep=10ms', 100, ['cfs']);
await own.click('#writing');
await own.waitForSelector('#policy');
await own.$eval('#policy', (area, policy) => { area.value = policy; }, UNFAIR);
await own.click('#check');
await idle(own);
await own.waitForSelector('#operations');
await take(own, '16-violation', '#help', '#policy', '#replay');
await close();
if (seen.console.length)
  throw new Error(seen.console.join('\n'));
