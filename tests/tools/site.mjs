// SPDX-License-Identifier: GPL-2.0-only
// The site (make site) as it is opened from a disk: its first page, a search, the gallery and a run of it in the page.
//
// Usage: node site.mjs NODE_MODULES SITE/index.html DIRECTORY
// where DIRECTORY gets screenshots.
import path from 'path';
import {launch} from './browser.mjs';

const [modules, first, directory] = process.argv.slice(2);
const seen = {widths: {}};
const {open, idle, lanes, close} = await launch(modules, first, directory, seen);

for (const width of [1280, 390]) {
  const tab = await open('', width);
  for (const name of ['index', 'gallery', 'boot', 'docs/book/06-eevdf']) {
    await tab.goto(`file://${path.join(path.dirname(path.resolve(first)), `${name}.html`)}`);
    await tab.waitForSelector('h1');
    await tab.waitForFunction(() => [...document.images].every((image) => image.complete));
    seen.widths[`${name} ${width}`] = await tab.evaluate(() => document.documentElement.scrollWidth);
    await tab.screenshot({path: path.join(directory, `site-${name.replaceAll('/', '-')}-${width}.png`)});
    if (name === 'gallery')
      seen.pictures = await tab.$$eval('main label > img', (all) => all.map((image) => image.naturalWidth));
  }
}

const tab = await open();
seen.doors = await tab.$$eval('main a[href*="fairground.html"]', (all) => all.map((a) => a.getAttribute('href')));
await tab.click('#mdbook-search-toggle');
await tab.type('#mdbook-searchbar', 'bore');
await tab.waitForSelector('#mdbook-searchresults li');
seen.found = await tab.$$eval('#mdbook-searchresults li a', (all) => all.map((a) => a.getAttribute('href')));
await tab.goto(`file://${path.join(path.dirname(path.resolve(first)), 'gallery.html')}`);
await Promise.all([tab.waitForNavigation(), tab.$$eval('main a[href*="fairground.html#"]', (all) => all.find((a) => a.href.includes('fdl')).click())]);
await tab.waitForSelector('canvas');
await idle(tab);
seen.lanes = await lanes(tab);
seen.error = await tab.$eval('#error', (element) => element.textContent);
await close();
console.log(JSON.stringify(seen));
