// SPDX-License-Identifier: GPL-2.0-only
// The viewer in a report (docs/pictures.md): the page's timelines and decisions, of runs that are in the document. Each is
// the text of a script element of the class `run`: a file, compressed by gzip, in base64.

import {readFile} from './files';
import {label} from './lanes';
import {firstSwitch, makeLook} from './look';
import {Run} from './model';
import {TEXT} from './strings';
import {$, el, ms} from './ui';

const look = makeLook({shown: 0, at: 0}, () => {});

async function bytesOf(text: string): Promise<Uint8Array> {
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}

async function open(given: HTMLElement): Promise<Run> {
  const {name} = given.dataset, run = readFile(name!, await bytesOf(given.textContent!));
  run.name = run.name === name ? name : `${name}: ${run.name}`;
  return run;
}

// Two runs beside each other: the first switch that differs, in both.
function makeCompare(runs: Run[]) {
  const choose = (id: string, nr: number) => el('select', {id, ariaLabel: TEXT.compared}, ...runs.map((run, i) => el('option', {value: String(i), selected: i === nr}, run.name)));
  const one = choose('one', 0), two = choose('two', 1);
  $('compare').hidden = runs.length < 2;
  $('compare').append(one, two, el('button', {type: 'button', id: 'first', onclick: () => {
    const [a, b] = [runs[Number(one.value)], runs[Number(two.value)]], found = firstSwitch(a, b);
    const who = (run: Run, of: {time: number, pid: number}) => `${run.name}: ${label(run, of.pid)}, ${ms(of.time - run.begin)} ms`;
    $('differs').textContent = found ? `${TEXT.firstSwitch} ${found.cpu}. ${who(a, found.a)}; ${who(b, found.b)}.` : TEXT.sameSwitches;
    if (found)
      look.goTo(Number(two.value), found.b.time);
  }}, TEXT.firstDifference));
}

// As high as what it shows, in a frame of a document that allows to say so.
function fitFrame() {
  const frame = window.frameElement as HTMLElement | null, all = document.documentElement;
  const fit = () => { frame!.style.height = `${Math.ceil(all.getBoundingClientRect().height)}px`; };
  if (frame)
    new ResizeObserver(() => requestAnimationFrame(fit)).observe(all);
}

async function main() {
  const given = [...document.querySelectorAll<HTMLElement>('script.run')], runs: Run[] = [], errors: string[] = [];
  for (const each of given)
    await open(each).then((run) => runs.push(run), (error) => errors.push(`${each.dataset.name}: ${error.message}`));
  $('error').textContent = errors.join('\n');
  $('help').textContent = TEXT.viewerHelp;
  if (!runs.length)
    return;
  makeCompare(runs);
  look.put(runs);
  look.show(0, 0);
  const {from, to} = document.body.dataset;
  if (from)
    look.zoomTo(Number(from), Number(to));
}

fitFrame();
main();
