// SPDX-License-Identifier: GPL-2.0-only
// Drop what a submission decided beside what the reference decided, in Chromium, and print as JSON what is seen.
//
// Usage: node lab.mjs NODE_MODULES PAGE.html DIRECTORY
// where each NAME/*.submission.json of DIRECTORY has its *.reference.json beside it. Screenshots go to DIRECTORY.
import fs from 'fs';
import path from 'path';
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const seen = {};
const {open, text, lanes, picture, drop, close} = await launch(modules, page, directory, seen);
const rows = (tab, id) => tab.$$eval(`${id} tbody tr`, (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
// The doubts in all decisions of the run that is shown.
const doubts = (tab) => tab.evaluate(() => {
  const found = [], slider = document.getElementById('slider');
  for (let i = 0; i <= slider.max; i++) {
    slider.value = i;
    slider.dispatchEvent(new Event('input'));
    found.push(...[...document.querySelectorAll('.doubt')].map((each) => each.textContent));
  }
  return found;
});

for (const name of fs.readdirSync(directory).filter((each) => fs.statSync(path.join(directory, each)).isDirectory())) {
  const of = path.join(directory, name), [mine] = fs.readdirSync(of).filter((file) => file.endsWith('.submission.json'));
  const tab = await open();
  await tab.waitForSelector('canvas');
  await drop(tab, [mine.replace('submission', 'reference'), mine].map((file) => [file, fs.readFileSync(path.join(of, file))]));
  const right = await doubts(tab);
  await tab.click('#first');
  seen[name] = {lanes: await lanes(tab), error: await text(tab, '#error'), differs: await text(tab, '#compared'), rule: await text(tab, '#rule'),
    candidates: await rows(tab, '#table'), chosen: await tab.$eval('#table tr.chosen', (row) => row.rowIndex - 1).catch(() => -1), right};
  await picture(tab, name);
  seen[name].wrong = await doubts(tab);
  await tab.close();
}
await close();
console.log(JSON.stringify(seen));
