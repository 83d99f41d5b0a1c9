// SPDX-License-Identifier: GPL-2.0-only
// Use a report's viewer in Chromium, without a window, and print as JSON what was seen.
//
// Usage: node report.mjs NODE_MODULES REPORT.html DIRECTORY
// where DIRECTORY gets screenshots.
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {};
const {open, picture, close} = await launch(modules, page, directory, seen);

async function viewer(tab) {
  const frame = await (await tab.waitForSelector('#viewer-frame')).contentFrame();
  await frame.waitForFunction(() => document.querySelector('#lanes canvas') || document.getElementById('error').textContent);
  return frame;
}
const text = (frame, id) => frame.$eval(id, (element) => element.textContent);
// The pixels of the first row of the canvas @nr, and the round times below.
const drawn = (frame, nr) => frame.evaluate((nr) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const canvas = document.querySelectorAll('#lanes canvas')[nr];
  done({pixels: canvas.toDataURL().length, axis: [...document.querySelectorAll('#axis span')].map((tick) => parseFloat(tick.textContent))});
}))), nr);

const tab = await open('', 1280), frame = await viewer(tab);
seen.errors = await text(frame, '#error');
seen.lanes = await frame.$$eval('#lanes button', (all) => all.map((each) => each.textContent));
seen.first = await text(frame, '#where');
await frame.focus('#next');
for (let i = 0; i < 30; i++)
  await tab.keyboard.press('ArrowRight');
seen.stepped = [await text(frame, '#where'), await text(frame, '#rule'), await frame.$$eval('#table tbody tr', (rows) => rows.length)];
seen.whole = await drawn(frame, 0);

// Hover, in the middle of the first CPU of the first run.
const canvas = (await frame.$$('#lanes canvas'))[0], box = await canvas.boundingBox();
await tab.mouse.move(box.x + box.width / 2, box.y + 10);
seen.hovered = await text(frame, '#under');
// A click there goes to that moment.
await tab.mouse.click(box.x + box.width / 2, box.y + 10);
seen.clicked = await text(frame, '#where');
// The mouse drawn over the second quarter.
await tab.mouse.move(box.x + box.width / 4, box.y + 10);
await tab.mouse.down();
await tab.mouse.move(box.x + box.width / 2, box.y + 10, {steps: 5});
await tab.mouse.up();
seen.dragged = await drawn(frame, 0);
seen.afterDrag = await text(frame, '#where');
await picture(tab, 'zoomed');
await frame.focus('#next');
await tab.keyboard.press('0');
seen.wholeAgain = await drawn(frame, 0);
await tab.keyboard.press('+');
await tab.keyboard.press('+');
seen.closer = await drawn(frame, 0);
await tab.keyboard.down('Shift');
await tab.keyboard.press('ArrowRight');
await tab.keyboard.up('Shift');
seen.aside = await drawn(frame, 0);
await tab.keyboard.press('-');
await tab.keyboard.press('0');
// Search: others are pale; Enter goes to the next decision about it.
await frame.type('#search', 'burst 3');
seen.pale = await drawn(frame, 0);
await tab.keyboard.press('Enter');
seen.sought = await text(frame, '#rule');
await frame.$eval('#search', (input) => { input.value = ''; input.dispatchEvent(new Event('input')); });
await frame.select('#two', '1');
await frame.click('#first');
seen.differs = [await text(frame, '#compared'), await text(frame, '#where'), await frame.$eval('#lanes button.main', (button) => button.textContent)];
await frame.select('#two', '0');
await frame.click('#first');
seen.same = await text(frame, '#compared');
seen.pageErrors = seen.console.length;
await picture(tab, 'wide');

seen.widths = {};
for (const [width, scheme] of [[1280, 'dark'], [390, 'light'], [390, 'dark']]) {
  const other = await open('', width, scheme), inside = await viewer(other);
  await inside.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  seen.widths[`${width} ${scheme}`] = [await other.evaluate(() => document.documentElement.scrollWidth), await inside.evaluate(() => document.documentElement.scrollWidth),
    await other.$eval('#viewer-frame', (each) => each.clientWidth), await inside.evaluate(() => document.documentElement.scrollHeight > innerHeight)];
  await picture(other, `${width}-${scheme}`);
  await other.close();
}
await close();
console.log(JSON.stringify(seen));
