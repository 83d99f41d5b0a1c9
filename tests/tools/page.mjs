// SPDX-License-Identifier: GPL-2.0-only
// Use the page in Chromium, without a window, and print as JSON what was seen.
//
// Usage: node page.mjs NODE_MODULES PAGE.html DECISIONS.json DIRECTORY
// where DIRECTORY gets screenshots.
import {createRequire} from 'module';
import path from 'path';

const [modules, page, decisions, directory] = process.argv.slice(2);
const puppeteer = createRequire(path.resolve(modules, 'x'))('puppeteer-core');
const browser = await puppeteer.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'], headless: true});
const seen = {console: [], requests: []};
const url = `file://${path.resolve(page)}`;

async function open(fragment = '', width = 1280, scheme = 'light') {
  const tab = await browser.newPage();
  tab.on('console', (message) => seen.console.push(message.text()));
  tab.on('pageerror', (error) => seen.console.push(error.message));
  tab.on('request', (request) => seen.requests.push(request.url()));
  await tab.setViewport({width, height: 900});
  await tab.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
  await tab.goto(url + fragment);
  return tab;
}

const text = (tab, id) => tab.$eval(id, (element) => element.textContent);
const idle = (tab) => tab.waitForFunction(() => document.getElementById('run').textContent === 'Run');
const lanes = (tab) => tab.$$eval('#lanes button', (all) => all.map((each) => each.textContent));
const picture = (tab, name) => tab.screenshot({path: path.join(directory, `${name}.png`), fullPage: true});

const tab = await open();
await tab.waitForSelector('canvas');
seen.lanes = await lanes(tab);
seen.shares = await text(tab, '#shares');
seen.first = await text(tab, '#rule');
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

await tab.$eval('#work', (input) => { input.value = 'bursts:n=3,run=1ms,sleep=2ms'; });
await tab.$eval('#cpus', (input) => { input.value = '4'; });
await tab.click('#run');
await idle(tab);
await tab.waitForFunction(() => document.querySelector('#shares').textContent.includes('burst 2'));
seen.edited = await text(tab, '#shares');
const link = await tab.evaluate(() => location.hash);
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
  cpus: 1, ms: 10, policies: ['cfs'], shown: 0, at: 0})), '#' + encodeURIComponent('{"work":1,"__proto__":{"x":1}}')]) {
  const other = await open(fragment);
  await other.waitForFunction(() => document.getElementById('error').textContent);
  seen.hostile.push([await text(other, '#error'), await other.$$eval('img, iframe', (all) => all.length)]);
  await other.close();
}

async function drop(name, content) {
  await tab.evaluate((name, content) => {
    const data = new DataTransfer();
    data.items.add(new File([content], name));
    document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
  }, name, content);
  await new Promise((done) => setTimeout(done, 500));
}

const fs = await import('fs');
const content = fs.readFileSync(decisions, 'utf8');
await drop('a.json', content);
seen.dropped = [await lanes(tab), await text(tab, '#where')];
seen.badFiles = [];
for (const bad of [content.slice(0, -20), '{"schema": "other"}\n', '\u0000\u0001', ''])
  await drop('b.json', bad).then(async () => seen.badFiles.push(await text(tab, '#error')));
await browser.close();
console.log(JSON.stringify(seen));
