// SPDX-License-Identifier: GPL-2.0-only
// What a screen reader is given of the page in several states, by Chromium's accessibility tree, as JSON.
//
// Usage: node access.mjs NODE_MODULES PAGE.html DIRECTORY
// where DIRECTORY gets screenshots, dark and 1280 pixels wide.
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {states: {}};
const {open, idle, picture, close} = await launch(modules, page, directory, seen);

// All that is not ignored: role, name, and what may be said of it.
async function tree(tab) {
  const session = await tab.target().createCDPSession();
  const {nodes} = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  return nodes.filter((node) => !node.ignored).map((node) => ({role: node.role.value, name: node.name?.value.trim() ?? '',
    ...Object.fromEntries((node.properties ?? []).map(({name, value}) => [name, value.value]))}));
}

async function state(name, tab) {
  seen.states[name] = await tree(tab);
  await picture(tab, `dark-${name}`);
}

const ready = async (fragment, wait = 'canvas') => {
  const tab = await open(fragment, 1280, 'dark');
  await tab.waitForSelector(wait);
  await idle(tab);
  return tab;
};
const plain = await ready('');
await plain.$eval('#slider', (slider) => {
  slider.value = 40;
  slider.dispatchEvent(new Event('input'));
});
await state('plain', plain);
await plain.click('#fork');
await idle(plain);
await state('forked', plain);
await plain.$eval('#work', (input) => { input.value = 'nonsense'; });
await plain.click('#run');
await idle(plain);
await state('mistaken', plain);
await state('tour', await ready('#tour=2'));
await state('hunt', await ready('#bug=1'));
const own = await ready('');
await own.click('#writing');
await idle(own);
await own.$eval('#policy', (area) => { area.value = area.value.replace('yield {', 'yield {\n    while 1 {\n        turn += 1\n    }'); });
await own.click('#check');
await idle(own);
await own.$eval('#own details', (part) => { part.open = true; });
await state('own', own);
await close();
console.log(JSON.stringify(seen));
