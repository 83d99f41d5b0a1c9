// SPDX-License-Identifier: GPL-2.0-only
// Chromium without a window, and a page in it (docs/browser.md), for page.mjs and tour.mjs.
import fs from 'fs';
import {createRequire} from 'module';
import path from 'path';

/** How long an answer of the browser may take: a machine with other work is slow, and no test rests on its clock. */
const PATIENCE_MS = 600_000;
const LINKED_MS = 500;   // longer than a page waits

function read(pid, name) {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';   // it has ended
  }
}

// Is the process @pid one of pages, below @ancestor?
function isRenderer(pid, ancestor) {
  if (!read(pid, 'cmdline').includes('--type=renderer'))
    return false;
  while (pid > 1 && Number(pid) !== ancestor)
    pid = Number(/PPid:\s*(\d+)/.exec(read(pid, 'status'))?.[1] ?? 0);
  return Number(pid) === ancestor;
}

/** A browser with puppeteer-core of @modules, for the file @page. What it says and asks for is put into @seen; pictures go to @directory. */
export async function launch(modules, page, directory, seen) {
  const puppeteer = createRequire(path.resolve(modules, 'x'))('puppeteer-core');
  const browser = await puppeteer.launch({executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'], headless: true, timeout: PATIENCE_MS, protocolTimeout: PATIENCE_MS});
  const url = `file://${path.resolve(page)}`;
  Object.assign(seen, {console: [], requests: []});

  return {
    async open(fragment = '', width = 1280, scheme = 'light') {
      const tab = await browser.newPage();
      tab.setDefaultTimeout(PATIENCE_MS);
      tab.on('console', (message) => seen.console.push(message.text()));
      tab.on('pageerror', (error) => seen.console.push(error.message));
      tab.on('request', (request) => seen.requests.push(request.url().slice(0, 200)));
      await tab.setViewport({width, height: 900});
      await tab.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
      await tab.goto(url + fragment);
      return tab;
    },
    /** The part of its address that holds the state, which the page sets a little after a step. */
    hash: (tab) => tab.evaluate((ms) => new Promise((done) => { setTimeout(() => done(location.hash), ms); }), LINKED_MS),
    text: (tab, id) => tab.$eval(id, (element) => element.textContent),
    idle: (tab) => tab.waitForFunction(() => document.getElementById('run').textContent === 'Run'),
    lanes: (tab) => tab.$$eval('#lanes button', (all) => all.map((each) => each.textContent)),
    /** Drop @files, pairs of a name and content, on the page; and wait until it says something. */
    async drop(tab, files) {
      await tab.evaluate((given) => {
        const data = new DataTransfer();
        for (const [name, content] of given)
          data.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name));
        document.getElementById('error').textContent = '';
        document.getElementById('rule').textContent = '';
        document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
      }, files.map(([name, content]) => [name, Buffer.from(content).toString('base64')]));
      await tab.waitForFunction(() => document.getElementById('error').textContent || document.getElementById('rule').textContent);
    },
    picture: (tab, name) => tab.screenshot({path: path.join(directory, `${name}.png`), fullPage: true}),
    /** The processes of pages, by their ids. */
    renderers: () => fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isRenderer(pid, browser.process().pid)),
    close: () => browser.close(),
  };
}
