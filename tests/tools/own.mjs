// SPDX-License-Identifier: GPL-2.0-only
// Write policies in the page in Chromium, without a window, and print as JSON what was seen.
//
// Usage: node own.mjs NODE_MODULES PAGE.html DIRECTORY
// where DIRECTORY gets screenshots.
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {};
// Who ran is preferred for ever.
const UNFAIR = 'policy unfair\npromises even\nentity a\nkey a\nplace {\n    a = clock\n}\ncharge {\n    a -= delta\n}\n';
const {open, hash, text, lanes, idle, picture, close} = await launch(modules, page, directory, seen);

const focused = (tab) => tab.evaluate(() => document.activeElement.id);
const rule = async (tab) => [await text(tab, '#where'), await text(tab, '#rule'),
  await tab.evaluate(() => /\((.*)\)/.exec(document.querySelector('#decision h2').textContent)[1] + '; ' + [...document.querySelectorAll('#table th, #table td')].map((cell) => cell.textContent).slice(1).join(' '))];
const write = (tab, policy) => tab.$eval('#policy', (area, value) => { area.value = value; }, policy);
const selected = (tab) => tab.$eval('#policy', (area) => area.value.slice(area.selectionStart, area.selectionEnd));
const state = async (tab) => JSON.parse(decodeURIComponent((await hash(tab)).slice(1)));

// The way in, by keyboard: the first example runs.
const tab = await open();
await idle(tab);
await tab.waitForSelector('canvas');
await tab.focus('#writing');
await tab.keyboard.press('Enter');
await idle(tab);
seen.opened = [await focused(tab), await lanes(tab), await text(tab, '#ownsaid'), await text(tab, '#shares')];
seen.examples = await tab.$$eval('#written option', (all) => all.map((each) => each.value).filter(Boolean));
seen.runs = {};
for (const name of seen.examples) {
  await tab.select('#written', name);
  await idle(tab);
  await tab.$eval('#slider', (slider) => {
    slider.value = 40;
    slider.dispatchEvent(new Event('input'));
  });
  seen.runs[name] = {lanes: await lanes(tab), shown: await rule(tab), text: await tab.$eval('#policy', (area) => area.value), offered: await tab.$eval('#to', (list) => list.options[0].value)};
  await tab.click('#export');
  await tab.waitForFunction(() => document.querySelector('#owndone a'));
  seen.runs[name].c = await tab.$eval('#exported', (area) => area.value);
  seen.runs[name].link = await tab.$eval('#owndone a', (link) => link.download);
}
await picture(tab, 'own');

// A mistake: its line is selected, and the run before it stays. Arrow keys are the editor's.
const before = [await lanes(tab), await text(tab, '#where')];
await write(tab, 'policy mine\nentity a\nkey a\nplace {\n    a = clok\n}\n');
await tab.focus('#policy');
await tab.keyboard.down('Control');
await tab.keyboard.press('Enter');
await tab.keyboard.up('Control');
await idle(tab);
seen.mistake = [await text(tab, '#ownsaid'), await selected(tab), await focused(tab), await text(tab, '#error')];
await tab.keyboard.press('ArrowRight');
await tab.keyboard.press('PageDown');
seen.kept = [before, [await lanes(tab), await text(tab, '#where')]];

// One that does not end, and one that is slow.
await write(tab, 'policy loops\nentity a\nkey a\nplace {\n    while 1 {\n        a += 1\n    }\n}\n');
await tab.click('#runown');
await idle(tab);
seen.loops = [await text(tab, '#ownsaid'), await selected(tab), await lanes(tab)];
const slow = `policy slow\nentity a\nkey a\nplace {\n    a = clock\n}\ncharge {\n    let n = 99999\n    while n > 0 {\n        n -= 1\n${'        a = a / 3 + clock\n'.repeat(99)}    }\n}\n`;
await write(tab, slow);
await tab.$eval('#ms', (input) => { input.value = 10000; });
await tab.click('#run');
await tab.waitForFunction(() => document.getElementById('run').textContent === 'Stop');
await idle(tab);
seen.slow = [await text(tab, '#error'), await lanes(tab), await text(tab, '#where'), await tab.$eval('#policy', (area) => area.value) === slow];

// Checked: one that keeps what it promises, one that starves, one that hangs, and one that promises too much.
const check = async (policy) => {
  await write(tab, policy);
  await tab.click('#check');
  await idle(tab);
  return {said: await text(tab, '#owndone'), wrong: await text(tab, '#ownsaid'), head: await tab.$eval('#checked', (part) => part.querySelector('h3')?.textContent ?? ''),
    replay: await tab.$eval('#checked', (part) => part.querySelector('#replay')?.textContent ?? ''),
    rows: await tab.$$eval('#operations tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)))};
};
const turns = seen.runs.turns.text;
seen.checked = {held: await check(seen.runs.strides.text), starves: await check(UNFAIR),
  hangs: await check(turns.replace('yield {', 'yield {\n    while 1 {\n        turn += 1\n    }')), greedy: await check(turns.replace('promises', 'promises proportional'))};
await picture(tab, 'own-checked');
await check(UNFAIR);
await picture(tab, 'own-starves');

// What if the others' run went on with it? The link has the policy; without it the page is as it was.
await tab.$eval('#ms', (input) => { input.value = 100; });
await tab.select('#written', 'strides');
await idle(tab);
await tab.click('#lanes > :nth-child(2) button');
await tab.$eval('#slider', (slider) => {
  slider.value = 30;
  slider.dispatchEvent(new Event('input'));
});
await tab.click('#fork');
await idle(tab);
seen.forked = [await lanes(tab), await text(tab, '#differs')];
const link = await hash(tab);
await tab.focus('#policy');
await tab.keyboard.press('Escape');
seen.left = [await tab.$eval('#own', (part) => part.hidden), await focused(tab), 'own' in await state(tab)];
await tab.click('#run');
await idle(tab);
seen.without = await lanes(tab);
await tab.click('#writing');
await idle(tab);
seen.again = [await lanes(tab), (await tab.$eval('#policy', (area) => area.value)).includes('policy strides')];
await tab.evaluate(() => { location.hash = '#tour=1'; });
await tab.waitForFunction(() => document.querySelectorAll('#lanes button').length === 1);
seen.toTour = [await tab.$eval('#own', (part) => part.hidden), await lanes(tab)];

const phone = await open(link, 390, 'dark');
await idle(phone);
seen.linked = [await lanes(phone), await phone.$eval('#policy', (area) => area.value.includes('policy strides')), await phone.evaluate(() => document.documentElement.scrollWidth)];
await picture(phone, 'own-phone');
const hostile = await open(`#${encodeURIComponent(JSON.stringify({work: 'hogs', cpus: 1, ms: 10, policies: ['cfs'], shown: 0, at: 0, own: 'policy x\n<img src=x onerror=console.log(1)></script>'}))}`);
await idle(hostile);
seen.hostile = [await text(hostile, '#ownsaid'), await hostile.$$eval('img', (all) => all.length)];
await close();
console.log(JSON.stringify(seen));
