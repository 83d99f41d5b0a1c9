// SPDX-License-Identifier: GPL-2.0-only
// Use the page in Chromium, without a window, and print as JSON what was seen.
//
// Usage: node page.mjs NODE_MODULES PAGE.html DIRECTORY
// where DIRECTORY has one run's decisions as a.json, a.bin and a.dat, and gets screenshots.
import path from 'path';
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {};
const {open, hash, text, drop, idle, lanes, picture, close} = await launch(modules, page, directory, seen);

const tab = await open();
await tab.waitForSelector('canvas');
seen.lanes = await lanes(tab);
seen.shares = await text(tab, '#shares');
seen.first = await text(tab, '#rule');
const heights = () => tab.$$eval('#lanes canvas', (all) => all.map((canvas) => canvas.clientHeight));
seen.worst = await tab.$$eval('.worst-said', (all) => all.map((each) => each.textContent));
seen.frames = await tab.$$eval('.worst', (all) => all.map((each) => [parseFloat(each.style.left), parseFloat(each.style.width), parseFloat(each.style.top)]));
seen.byTask = [await text(tab, '#rows'), await heights(), await text(tab, '#under')];
await tab.click('#rows');
seen.byCpu = [await text(tab, '#rows'), await heights(), (await tab.$$('.worst')).length];
await tab.click('#rows');
await tab.click('#play');
await tab.waitForFunction(() => document.getElementById('where').textContent.startsWith('4 /'));
await tab.click('#play');
seen.paused = await text(tab, '#where');
await new Promise((done) => setTimeout(done, 1000));
seen.stays = await text(tab, '#where');
const why = async () => [await text(tab, '#whysaid'), await tab.$$eval('#why tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText)))];
await tab.$$eval('#lanes button', (all) => all[1].click());   // eevdf
seen.why = await why();
await tab.select('#whytask', '1');
await tab.select('#whywait', '1');
seen.whyOther = await why();
await tab.click('#whyfutures button');
await tab.waitForFunction(() => !document.querySelector('#whyfutures button'));
await tab.evaluate(() => document.activeElement.blur());
await tab.click('#next');
const counted = [await text(tab, '#counted')];
await tab.keyboard.press('m');
for (let i = 0; i < 9; i++)
  await tab.keyboard.press('ArrowRight');
counted.push(await text(tab, '#counted'), await tab.$$eval('.pinned', (all) => all.map((line) => line.hidden)));
for (let i = 0; i < 9; i++)
  await tab.keyboard.press('ArrowLeft');
await tab.keyboard.press('m');
seen.counted = [...counted, await text(tab, '#counted')];
seen.whyFutures = await text(tab, '#whyfutures');
await tab.click('#why tbody button');
seen.whyGone = [await text(tab, '#where'), await text(tab, '#rule')];
await tab.$$eval('#lanes button', (all) => all[0].click());
await tab.evaluate(() => {
  document.getElementById('slider').value = 0;
  document.getElementById('slider').dispatchEvent(new Event('input'));
});
await tab.focus('#next');
for (let i = 0; i < 60; i++)
  await tab.keyboard.press('ArrowRight');
seen.stepped = await text(tab, '#where');
seen.rule = await text(tab, '#rule');
seen.rows = await tab.$$eval('#table tbody tr', (rows) => rows.length);
seen.drawn = await tab.$eval('canvas', (canvas) =>
  new Set(canvas.getContext('2d').getImageData(0, 12, canvas.width, 1).data).size);
await picture(tab, 'wide');
await tab.select('#to', 'eevdf');
await tab.click('#fork');
await idle(tab);
await tab.waitForFunction(() => document.getElementById('differs').textContent);
seen.differs = await text(tab, '#differs');
seen.forked = await lanes(tab);
await picture(tab, 'fork');
await tab.select('#what', 'nice');
await tab.type('#value', '1=40');
await tab.click('#lanes button');
await tab.click('#fork');
await idle(tab);
seen.badNice = await text(tab, '#error');

await tab.$eval('#work', (input) => { input.value = 'hogs:n=2 bursts:run=1ms,sleep=9ms'; });
await tab.click('#run');
await idle(tab);

// Several futures of the first moment: as if the run had begun like that.
await tab.evaluate(() => {
  document.getElementById('slider').value = 0;
  document.getElementById('slider').dispatchEvent(new Event('input'));
});
const futures = async () => {
  await tab.click('#fork');
  await idle(tab);
  return {told: await text(tab, '#differs'), lanes: await lanes(tab), error: await text(tab, '#error'), marks: (await tab.$$('.forked')).length,
    rows: await tab.$$eval('#futures tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)))};
};
await tab.select('#what', 'tunable');
await tab.click('#lanes > :nth-child(1) button');
await tab.$eval('#value', (input) => { input.value = 'wakeup_granularity_ns=1000000,9000000'; });
seen.futures = await futures();
seen.futureWaits = [];
for (let row = 1; row <= seen.futures.rows.length; row++) {
  await tab.click(`#futures tbody tr:nth-child(${row}) button`);
  seen.futureWaits.push(await tab.$$eval('#shares table', ([table]) => [...table.tBodies[0].rows].map((row) => [3, 4].map((i) => Number(row.cells[i].textContent)))));
}
seen.future = [await tab.$eval('#lanes button.main', (button) => button.textContent), await text(tab, '#where')];
await picture(tab, 'futures');
await tab.click('#lanes > :nth-child(2) button');
await tab.$eval('#value', (input) => { input.value = 'base_slice_ns=1,2,3,4,5,6,7,8'; });
seen.tooMany = (await futures()).error;
await tab.select('#what', 'policy');
await tab.select('#to', '*');
seen.others = (await futures()).lanes;

await tab.$eval('#work', (input) => { input.value = 'bursts:n=3,run=1ms,sleep=2ms'; });
await tab.$eval('#cpus', (input) => { input.value = '4'; });
await tab.click('#run');
await idle(tab);
await tab.waitForFunction(() => document.querySelector('#shares').textContent.includes('burst 2'));
seen.edited = await text(tab, '#shares');
const link = await hash(tab);
await tab.$eval('#work', (input) => { input.value = 'hogs:n=x'; });
await tab.click('#run');
await idle(tab);
seen.mistake = await text(tab, '#error');

const shared = await open(link, 390, 'dark');
await shared.waitForSelector('canvas');
seen.shared = await text(shared, '#shares');
seen.phoneWidth = await shared.evaluate(() => document.documentElement.scrollWidth);
await picture(shared, 'phone');

seen.hostile = [];
for (const fragment of ['#%7B%22work', '#%E0%A4', '#' + encodeURIComponent(JSON.stringify({work: '<img src=x onerror=alert(1)>',
  cpus: 1, ms: 10, policies: ['cfs'], shown: 0, at: 0})), '#' + encodeURIComponent('{"work":1,"__proto__":{"x":1}}'),
  ...[{tour: 13}, {bug: '1'}, {machine: 5}, {machine: '{"<img src=x onerror=alert(1)>": 1}'}].map((more) =>
    '#' + encodeURIComponent(JSON.stringify({work: 'hogs', cpus: 1, ms: 10, policies: ['cfs'], shown: 0, at: 0, ...more})))]) {
  const other = await open(fragment);
  await other.waitForFunction(() => document.getElementById('error').textContent);
  seen.hostile.push([await text(other, '#error'), await other.$$eval('img, iframe', (all) => all.length)]);
  await other.close();
}

// --- what lies behind a decision ---

const link_to = (given) => '#' + encodeURIComponent(JSON.stringify({work: '', file: '', cpus: 1, ms: 100, policies: ['eevdf'],
  shown: 0, at: 0, ...given}));
async function view(given, width, scheme) {
  const other = await open(link_to(given), width, scheme);
  await other.waitForSelector('canvas');
  return other;
}
const step = (tab, until) => tab.evaluate((until) => {
  for (let i = 0; i < 500 && !document.getElementById('decision').innerText.includes(until); i++)
    document.getElementById('next').click();
  return document.getElementById('decision').innerText;
}, until);
const rowsOf = (tab, id) => tab.$$eval(`${id} tbody tr`, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));

const sums = await view({work: 'hogs:n=2 hogs:nice=5 bursts:run=2ms,sleep=10ms'});
seen.sums = [];
for (let i = 0; i < 100; i++) {
  await sums.click('#next');
  if (await sums.$('#sum') && (await text(sums, '#rule')).startsWith('pick'))
    seen.sums.push([await text(sums, '#sum'), (await rowsOf(sums, '#table')).map((row) => row[1])]);
}
seen.ideal = (await rowsOf(sums, '#shares')).filter((row) => row.length === 3);
seen.averages = await sums.$$eval('#averages polyline', (all) => all.map((each) => each.getAttribute('points').split(' ').length));
await picture(sums, 'sum');
const bore = await view({work: 'hogs:n=2 bursts:run=2ms,sleep=10ms', policies: ['bore'], at: 60});
seen.scores = await step(bore, 'Burst scores');
await picture(bore, 'bore');
const fdl = await view({work: 'group:name=d,deadline_rr=5ms,deadline_wakeup=5ms hogs:n=2,group=d hogs:n=2', policies: ['fdl']});
seen.buckets = await step(fdl, 'FDL: deadlines ahead');
await picture(fdl, 'fdl');
const placed = await view({work: '--topology 2x4x1 messages:n=2,workers=6,run=2ms,work=50us hogs:n=2', cpus: 8}, 390, 'dark');
seen.placed = await step(placed, 'The machine as the placement saw it');
seen.wasted = await placed.$eval('.waste', (line) => line.title);
seen.placedWidth = await placed.evaluate(() => document.documentElement.scrollWidth);
await picture(placed, 'placed');
// Long times and names, on a phone: how many pixels wider each table is than there is room.
seen.alone = await (await view({work: 'hogs', cpus: 1, ms: 10}, 390)).$eval('canvas', (canvas) => canvas.getAttribute('aria-label'));
const wide = await view({work: 'messages:n=1,workers=9,run=2ms hogs:n=9,nice=19 requests:workers=3', cpus: 1, ms: 10000}, 390);
seen.tooWide = await wide.$$eval('#shares table', (all) => all.map((table) => table.scrollWidth - table.parentElement.clientWidth));
seen.widest = await wide.$$eval('#shares td', (all) => all.map((cell) => cell.textContent).reduce((a, b) => a.length < b.length ? b : a));
await picture(wide, 'wide-shares');
const json = await open(link_to({work: '', file: '{"tasks": {"x": {"run": 1000,\n "sleep": 2000, "lop": 3}}}'}));
await json.waitForFunction(() => document.getElementById('error').textContent);
seen.jsonMistake = await text(json, '#error');
await json.$eval('#json', (area) => { area.value = area.value.replace(', "lop": 3', ''); });
await json.click('#run');
await json.waitForSelector('canvas');
seen.json = [await text(json, '#shares'), await text(json, '#error')];
await json.evaluate(() => {
  const list = document.getElementById('example');
  list.value = [...list.options].find((option) => option.textContent.startsWith('F-20')).value;
  list.dispatchEvent(new Event('change'));
});
await json.waitForFunction(() => document.querySelector('#shares').textContent.includes('hog 3'));
seen.preset = await json.$eval('#work', (input) => input.value);
// Machines as JSON: one that runs, then mistakes.
await json.evaluate(() => { document.getElementById('machine').closest('details').open = true; });
const tryMachine = async (work, machine) => {
  await json.$eval('#work', (input, work) => { input.value = work; }, work);
  await json.$eval('#machine', (area, machine) => { area.value = machine; }, machine);
  await json.click('#run');
  await idle(json);
  return {error: await text(json, '#error'), canvas: await json.$eval('canvas', (canvas) => canvas.getAttribute('aria-label')), shares: await rowsOf(json, '#shares')};
};
const example = await json.$eval('#machine', (area) => area.placeholder);
await json.$eval('#ms', (input) => { input.value = 200; });
seen.machine = await tryMachine('bursts:n=9,run=3ms,sleep=3ms hogs:n=2', example);
await picture(json, 'machine');
const machineLink = await hash(json);
seen.machineMistakes = [];
for (const machine of ['{"llcs": 2,\n "core": 4}', '{"llcs": 2,\n "cores": [4]}', '{"llcs": 2\n', '{"cores": 4,\n\n "costs": {"swich": 1}}', '{"types": {"a": {"opp": [[1, 2]]}},\n "domains": []}',
  '{"cores": 4, "types": {"a": {"opp": [[1, 2, 3, 4]]}},\n "domains": [{"type": "a\\ntype b"}]}', '[]', '{"cores": "4 --trace x"}', '{"cores": 4, "types": {"a": {"opp": [[1, 200, 3, 4]], "idle": [[1, 1, 0]]}}, "domains": [{"type": "a"}]}'])
  seen.machineMistakes.push((await tryMachine('hogs:n=2', machine)).error);
await json.$eval('#machine', (area) => { area.value = ''; });
await json.$eval('#json', (area) => { area.value = '{"platform": "juno", "tasks": {"x": {"run": 1000, "sleep": 2000}}}'; });
seen.platform = (await tryMachine('', '')).canvas;
const again = await open(machineLink, 390);
seen.machineWidth = await again.evaluate(() => document.documentElement.scrollWidth);
await again.waitForSelector('canvas');
seen.machineLinked = [await again.$eval('canvas', (canvas) => canvas.getAttribute('aria-label')), await again.$eval('#machine', (area) => area.value) === example];
await picture(again, 'machine-phone');
for (const each of [sums, bore, fdl, placed, wide, json, again])
  await each.close();

// --- files ---

await tab.bringToFront();

// What the page says of each decision, and its tables.
const told = () => tab.evaluate(async () => {
  const all = [];
  document.getElementById('slider').value = 0;
  document.getElementById('slider').dispatchEvent(new Event('input'));
  for (let i = 0; i <= document.getElementById('slider').max; i++, document.getElementById('next').click())
    all.push(document.getElementById('decision').innerText + document.getElementById('where').textContent);
  return all;
});

const fs = await import('fs');
const contents = Object.fromEntries(['a.json', 'a.bin', 'a.dat'].map((name) => [name, fs.readFileSync(path.join(directory, name))]));
seen.files = {};
for (const [name, content] of Object.entries(contents)) {
  await drop(tab, [[name, content]]);
  seen.files[name] = {lanes: await lanes(tab), where: await text(tab, '#where'), told: await told(),
    shares: await tab.$$eval('#shares tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))),
    error: await text(tab, '#error')};
}
await picture(tab, 'trace');
await tab.focus('#open');
const waiting = tab.waitForFileChooser();
await tab.evaluate(() => 0);   // the browser now knows that the test answers
await tab.keyboard.press('Enter');
const chooser = await waiting;
await chooser.accept([path.join(directory, 'a.json')]);
await tab.waitForFunction(() => document.getElementById('where').textContent.startsWith('1 / '));
seen.chosen = await told();

const cut = (content, size) => content.subarray(0, size), changed = (content, at, value) => {
  const other = Buffer.from(content);
  other[at] = value;
  return other;
};
const line = '{"schema":"fairground-decisions/4","sched":"<img src=x onerror=alert(1)>","cpus":1}\n', end = '{"kind":"end","decisions":1}\n';
seen.badFiles = [];
for (const bad of [cut(contents['a.json'], -20), '{"schema": "other"}\n', '\0\x01', '', cut(contents['a.bin'], 3000), cut(contents['a.bin'], 9),
  changed(contents['a.bin'], 8, 7), cut(contents['a.dat'], 50000), cut(contents['a.dat'], 12), changed(contents['a.dat'], 10, 0x38),
  line + '{"time":1,"kind":"pick","candidates":[1]}\n' + end, line + 'null\n', line + '[]\n', line.replace(':1}', ':1e9}') + end,
  line + '{"time":"x","kind":"pick"}\n' + end, line + '{"time":1,"kind":"pick"}\n', line + end])
  await drop(tab, [['b.json', bad]]).then(async () => seen.badFiles.push(await text(tab, '#error')));
await drop(tab, [['<img src=x onerror=alert(1)>', line + '{"time":5,"kind":"<b>x</b>","comm":"<script>alert(1)</script>","cpu":0}\n' + end]]);
seen.hostileFile = [await text(tab, '#error'), await tab.$$eval('img, iframe, b', (all) => all.length), await text(tab, '#rule')];
await close();
console.log(JSON.stringify(seen));
