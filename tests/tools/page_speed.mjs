// SPDX-License-Identifier: GPL-2.0-only
// What the page costs in Chromium: until it is drawn, for a long run, and for each step through its decisions.
//
// Usage: node page_speed.mjs NODE_MODULES PAGE.html DIRECTORY
import fs from 'fs';
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const STEPS = 300, seen = {};
const {open, idle, text, renderers, close} = await launch(modules, page, directory, seen);
const link = (given) => '#' + encodeURIComponent(JSON.stringify({file: '', cpus: 4, policies: ['eevdf'], shown: 0, at: 0, ...given}));

// ms for each of STEPS steps to decisions all over the run.
const scrub = (tab) => tab.evaluate((steps) => {
  const slider = document.getElementById('slider'), begin = performance.now();
  for (let i = 0; i < steps; i++) {
    slider.value = String(Math.floor(i * 7919 % steps / steps * slider.max));
    slider.dispatchEvent(new Event('input'));
    document.body.offsetHeight;   // the layout, too
  }
  return (performance.now() - begin) / steps;
}, STEPS);

for (const [name, given] of Object.entries({short: {work: 'hogs:n=32 bursts:n=32,run=1ms,sleep=9ms', ms: 100},
  long: {work: 'hogs:n=32 bursts:n=32,run=1ms,sleep=9ms', ms: 10000}, many: {work: '--hz 1000 bursts:n=9,run=50us,sleep=50us', cpus: 2, ms: 10000}})) {
  const tab = await open(link(given));
  await tab.waitForFunction(() => document.getElementById('where').textContent.includes(' / '));
  await idle(tab);
  seen[name] = {paint: await tab.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime),
    decisions: Number((await text(tab, '#where')).split(' ')[2]), step: await scrub(tab), error: await text(tab, '#error'), nodes: await tab.evaluate(() => document.querySelectorAll('*').length),
    // The most memory that any process of pages had.
    peak: Math.max(...renderers().map((pid) => Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0))) / 1024};
  await tab.close();
}
await close();
console.log(JSON.stringify(seen));
