// SPDX-License-Identifier: GPL-2.0-only
// The viewer in a report (docs/pictures.md): the page's timelines and decisions, of runs that are in the document. Each is
// the text of a script element of the class `run`: a file, compressed by gzip, in base64.

import {makeCompare} from './compare';
import {readFile} from './files';
import {makeLook} from './look';
import {Run} from './model';
import {TEXT} from './strings';
import {$} from './ui';

const look = makeLook({shown: 0, at: 0}, () => {});

async function bytesOf(text: string): Promise<Uint8Array> {
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer());
}

async function open(given: HTMLElement): Promise<Run> {
  const {name} = given.dataset, run = await readFile(name!, await bytesOf(given.textContent!));
  run.name = run.name === name ? name : `${name}: ${run.name}`;
  return run;
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
  makeCompare(look, runs);
  look.put(runs);
  look.show(0, 0);
  const {from, to} = document.body.dataset;
  if (from)
    look.zoomTo(Number(from), Number(to));
}

fitFrame();
main();
