// SPDX-License-Identifier: GPL-2.0-only
// Take the page's tour with the keyboard alone in Chromium, without a window, and print as JSON what was seen.
//
// Usage: node tour.mjs NODE_MODULES PAGE.html DIRECTORY
// where DIRECTORY gets screenshots.
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {steps: []};
const {open, hash, text, idle, lanes, picture, close} = await launch(modules, page, directory, seen);

const told = (tab, id) => tab.waitForFunction((id) => !/^$|^Running/.test(document.getElementById(id)?.textContent ?? ''), {}, id);
const focused = (tab) => tab.evaluate(() => document.activeElement.id);
// Press Tab until @id has the focus.
async function tabTo(tab, id) {
  for (let i = 0; i < 20 && await focused(tab) !== id; i++)
    await tab.keyboard.press('Tab');
}
const state = async (tab) => JSON.parse(decodeURIComponent((await hash(tab)).slice(1)));
const words = (tab) => tab.evaluate(() => ({work: document.getElementById('work').value, cpus: document.getElementById('cpus').value,
  ms: document.getElementById('ms').value, policies: [...document.querySelectorAll('fieldset input')].filter((box) => box.checked).map((box) => box.value)}));

const tab = await open();
await tab.waitForSelector('canvas');
seen.offered = await text(tab, '#begin');
await tab.focus('body');
await tabTo(tab, 'begin');
await tab.keyboard.press('Enter');
for (let step = 1; step <= 12; step++) {
  await told(tab, 'see');
  const now = {title: await text(tab, '#step'), focus: await focused(tab), see: await text(tab, '#see'), words: await words(tab),
    rule: await text(tab, '#rule'), link: (await state(tab)).tour, looked: await tab.$eval('.looked', (part) => part.textContent.length)};
  if (step % 4 === 2)
    await picture(tab, `step${step}`);
  await tabTo(tab, 'try');
  await tab.keyboard.press('Enter');
  await told(tab, 'tried');
  seen.steps.push({...now, tried: await text(tab, '#tried'), triedWords: await words(tab), lanes: await lanes(tab), triedRule: await text(tab, '#rule'),
    differs: await text(tab, '#differs'), error: await text(tab, '#error')});
  if (step === 12)
    await picture(tab, `step${step}`);
  await tabTo(tab, 'onward');
  await tab.keyboard.press('Enter');
}
seen.left = [await tab.$eval('#tour', (part) => part.hidden), await focused(tab), await text(tab, '#begin')];

// Left in the middle, and resumed; changed, and opened again by the link.
const other = await open('#tour=9', 390, 'dark');
await told(other, 'see');
seen.byLink = [await text(other, '#step'), await other.evaluate(() => document.documentElement.scrollWidth)];
await picture(other, 'tour-phone');
await other.keyboard.press('Escape');
seen.escaped = [await other.$eval('#tour', (part) => part.hidden), await focused(other), await text(other, '#begin')];
await other.keyboard.press('Enter');
await told(other, 'see');
seen.resumed = await text(other, '#step');
await other.$eval('#work', (input) => { input.value = 'hogs:n=4'; });
await other.click('#run');
await other.waitForFunction(() => document.getElementById('shares').textContent.includes('hog 4') && document.getElementById('run').textContent === 'Run');
const link = await hash(other);
const third = await open(link, 390);
await told(third, 'see');
seen.changed = [await text(third, '#step'), await text(third, '#see'), (await words(third)).work];
await third.click('#again');
await told(third, 'see');
await idle(third);
seen.again = (await words(third)).work;
await third.evaluate(() => document.getElementById('decision').scrollIntoView());
await third.waitForFunction(() => !document.getElementById('totour').hidden);
await third.click('#totour');
seen.backAtTheTop = await focused(third);
await picture(third, 'tour-phone-light');
const fourth = await open('#tour=99');
await fourth.waitForFunction(() => document.getElementById('error').textContent);
seen.noSuchStep = await text(fourth, '#error');
await close();
console.log(JSON.stringify(seen));
