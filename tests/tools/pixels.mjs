// SPDX-License-Identifier: GPL-2.0-only
// What part of the time is coloured in the first timeline of a report's viewer, at five zooms, and print it as JSON.
//
// Usage: node pixels.mjs NODE_MODULES REPORT.html DIRECTORY
// where DIRECTORY gets a screenshot.
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {zooms: []};
const {open, picture, close} = await launch(modules, page, directory, seen);
const tab = await open('', 1280), frame = await (await tab.waitForSelector('#viewer-frame')).contentFrame();
await frame.waitForFunction(() => document.querySelector('#lanes canvas'));
if (await frame.$eval('#rows', (button) => button.textContent === 'By CPU'))
  await frame.click('#rows');
await frame.focus('#next');

// The part of time that is shown, in ms, from two round times below; of each CPU the sum of what its pixels are coloured.
const measure = () => frame.evaluate((lane) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const ticks = [...document.querySelectorAll('#axis span')].map((tick) => [parseFloat(tick.textContent), parseFloat(tick.style.left) / 100]);
  const [[a, left], [b, right]] = [ticks[0], ticks[ticks.length - 1]], length = (b - a) / (right - left), from = a - left * length;
  const canvas = document.querySelector('#lanes canvas'), {width, height} = canvas, {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
  const coloured = Array.from({length: height / lane}, () => 0);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      coloured[Math.floor(y / lane)] += data[4 * (y * width + x) + 3] / 255;
  done({from, length, parts: coloured.map((sum) => sum / width / (lane - 4))});
}))), 24);

for (let zoom = 0; zoom < 5; zoom++) {
  seen.zooms.push(await measure());
  if (zoom === 0)
    await picture(tab, 'hour');
  await tab.keyboard.press('+');
  await tab.keyboard.press('+');
}
await close();
console.log(JSON.stringify(seen));
