// SPDX-License-Identifier: GPL-2.0-only
// What the page costs in Chromium: CPU time until it is drawn, of a long run, and of each step through its decisions; and
// the memory of its process. No number but `paint` is of a clock on the wall.
//
// Memory, MB, is `own`: what the process shares with no other, in memory or swapped out (the "memory footprint" of
// Chromium's task manager); and `all`: with the browser's program, of which each of its processes counts 60 to 120 MB.
//
// Usage: node page_speed.mjs NODE_MODULES PAGE.html DIRECTORY
import fs from 'fs';
import {launch} from './browser.mjs';

const [modules, page, directory] = process.argv.slice(2);
const STEPS = 40, ROUNDS = 4, TIMES = 4;   // steps of a round
const seen = {};
const link = (given) => '#' + encodeURIComponent(JSON.stringify({file: '', cpus: 4, policies: ['eevdf'], shown: 0, at: 0, ...given}));
const LONG = {work: 'hogs:n=32 bursts:n=32,run=1ms,sleep=9ms', ms: 10000};
const BUSY = {work: '--hz 1000 bursts:n=9,run=20us,sleep=20us', cpus: 2, ms: 10000};

const SAMPLE_MS = 50;   // of memory: the system keeps the most of all of it, but not of a process's own

// The memory of the processes of pages, of which one has most: a function that tells the most there was from now on.
function watchMemory(pids) {
  const of = (pid, ...names) => {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
    return names.reduce((sum, name) => sum + Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0) / 1024, 0);
  };
  let own = 0;
  const look = () => { own = Math.max(own, ...pids.map((pid) => of(pid, 'RssAnon', 'VmSwap'))); };
  const timer = setInterval(look, SAMPLE_MS);
  return {
    most: () => (look(), {own, all: Math.max(...pids.map((pid) => of(pid, 'VmHWM')))}),
    end: () => clearInterval(timer),
  };
}

// ms of CPU time of the process of a tab, and of the thread of it that draws.
async function spent(devtools) {
  const {metrics} = await devtools.send('Performance.getMetrics');
  const of = (name) => 1000 * metrics.find((metric) => metric.name === name).value;
  return {all: of('ProcessTime'), drawing: of('ThreadTime')};
}

const STEP = {
  // To decisions all over the run.
  scrub: async (steps) => {
    const slider = document.getElementById('slider');
    for (let i = 0; i < steps; i++) {
      await new Promise((next) => requestAnimationFrame(next));
      slider.value = String(Math.floor(i * 7919 % steps / steps * slider.max));
      slider.dispatchEvent(new Event('input'));
    }
  },
  // From one decision to the next, as an arrow key that is held does.
  walk: async (steps) => {
    for (let i = 0; i < steps; i++) {
      await new Promise((next) => requestAnimationFrame(next));
      document.getElementById('next').click();
    }
  },
  // What to compare with: all of the page is laid out and painted anew.
  anew: async (steps) => {
    for (let i = 0; i < steps; i++) {
      await new Promise((next) => requestAnimationFrame(next));
      document.body.style.fontSize = `${15 + i % 2 / 4}px`;
    }
    document.body.style.fontSize = '';
  },
};

// {name: ms of CPU time of a step}: the least of some rounds, between which the machine may have been busy.
async function steps(tab, devtools) {
  const least = {};
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, script] of Object.entries(STEP)) {
      const before = await spent(devtools);
      await tab.evaluate(script, STEPS);
      least[name] = Math.min(least[name] ?? Infinity, ((await spent(devtools)).drawing - before.drawing) / STEPS);
    }
  return least;
}

// CPU time of each of TIMES runs: of the thread that draws, which adds up the timeline, and of all others, which simulate
// and keep records.
async function runs(tab, devtools, finished) {
  const all = [];
  for (let i = 0; i < TIMES; i++) {
    const before = await spent(devtools);
    await tab.click('#run');
    await finished();
    const after = await spent(devtools), drawing = after.drawing - before.drawing;
    all.push({drawing, others: after.all - before.all - drawing});
  }
  return all;
}

// When the page was first seen, ms of the clock since it was opened. The browser may tell later than the page is ready.
async function firstPaint(tab) {
  const find = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  return (await tab.waitForFunction(find)).jsonValue();
}

// Each in a browser of its own. A link that says nothing makes no run.
for (const [name, given] of Object.entries({empty: null, short: {...LONG, ms: 100}, long: LONG, busy: BUSY})) {
  const {open, idle, text, renderers, close} = await launch(modules, page, directory, seen);
  const tab = await open(given ? link(given) : '#1'), devtools = await tab.createCDPSession();
  const memory = watchMemory(renderers());
  const finished = async () => {
    await tab.waitForFunction(() => document.getElementById('where').textContent.includes(' / ') || document.getElementById('error').textContent);
    await idle(tab);
  };
  await devtools.send('Performance.enable');
  await finished();
  const of = seen[name] = {paint: await firstPaint(tab), loaded: memory.most()};
  if (given) {
    Object.assign(of, {decisions: Number((await text(tab, '#where')).split(' ')[2]), ...await steps(tab, devtools), stepped: memory.most()});
  } else {
    const before = await spent(devtools);
    await tab.reload();
    await finished();
    of.drawn = (await spent(devtools)).drawing - before.drawing;
  }
  if (name === 'long')
    Object.assign(of, {runs: await runs(tab, devtools, finished), again: memory.most()});
  memory.end();
  await close();
}
console.log(JSON.stringify(seen));
