// SPDX-License-Identifier: GPL-2.0-only
// Look at every seeded bug of the page in Chromium, without a window, and print as JSON what was seen.
//
// Usage: node bugs.mjs NODE_MODULES PAGE.html DIRECTORY
// where DIRECTORY gets screenshots.
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {bugs: []};
const {open, hash, text, lanes, picture, close} = await launch(modules, page, directory, seen);

const ready = (tab) => tab.waitForFunction(() => document.getElementById('reveal')?.disabled === false);
const shares = (tab) => tab.$$eval('#shares table', ([table]) => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
const focused = (tab) => tab.evaluate(() => document.activeElement.id);

const tab = await open();
await tab.waitForSelector('canvas');
await tab.focus('#hunting');
await tab.keyboard.press('Enter');
for (let more = true; more;) {
  await ready(tab);
  const bug = {title: await text(tab, '#bugtitle'), focus: await focused(tab), lanes: await lanes(tab), shares: [], before: await text(tab, '#differing'),
    words: await tab.evaluate(() => ({work: document.getElementById('work').value, cpus: document.getElementById('cpus').value,
      ms: document.getElementById('ms').value})), wasted: await tab.$$eval('.waste', (all) => all.map((each) => parseFloat(each.title.split(': ')[1])))};
  for (const lane of [1, 2]) {
    await tab.click(`#lanes > :nth-child(${lane}) button`);
    bug.shares.push(await shares(tab));
  }
  await tab.click('#name');
  bug.unanswered = await text(tab, '#verdict');
  bug.answers = await tab.evaluate(() => [...document.querySelectorAll('#hunt input')].map((box) => {
    box.click();
    document.getElementById('name').click();
    return [box.value, document.getElementById('verdict').textContent];
  }));
  await tab.focus('#reveal');
  await tab.keyboard.press('Enter');
  bug.differing = await text(tab, '#differing');
  bug.shown = [await text(tab, '#where'), await text(tab, '#rule'), await tab.$eval('#lanes button.main', (button) => button.textContent)];
  bug.error = await text(tab, '#error');
  seen.bugs.push(bug);
  if (seen.bugs.length % 6 === 5)
    await picture(tab, `bug${seen.bugs.length}`);
  more = !await tab.$eval('#bugafter', (button) => button.disabled);
  if (more)
    await tab.click('#bugafter');
}
await tab.$eval('#work', (input) => { input.value = 'hogs:n=1'; });
await tab.click('#run');
await tab.waitForFunction(() => !document.querySelector('#shares').textContent.includes('hog 2'));
await tab.click('#reveal');
seen.sound = await text(tab, '#differing');
const link = await hash(tab);
await tab.focus('#bugtitle');
await tab.keyboard.press('Escape');
seen.left = [await tab.$eval('#hunt', (part) => part.hidden), await focused(tab), (await hash(tab)).includes('bug')];

const other = await open(link, 390, 'dark');
await ready(other);
seen.linked = [await text(other, '#bugtitle'), await lanes(other), await other.$eval('#work', (input) => input.value)];
const phone = await open('#bug=1', 390, 'dark');
await ready(phone);
await phone.click('#reveal');
seen.phone = [await text(phone, '#bugtitle'), await phone.evaluate(() => document.documentElement.scrollWidth)];
await picture(phone, 'bug-phone');
// To the tour, and back.
await phone.evaluate(() => { location.hash = '#tour=2'; });
await phone.waitForFunction(() => /^Task 2/.test(document.getElementById('see')?.textContent ?? ''));
seen.toTour = [await phone.$eval('#hunt', (part) => part.hidden), await focused(phone), await lanes(phone)];
await phone.evaluate(() => { location.hash = '#bug=2'; });
await ready(phone);
seen.back = [await phone.$eval('#tour', (part) => part.hidden), await focused(phone), await lanes(phone)];
await close();
console.log(JSON.stringify(seen));
