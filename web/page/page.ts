// SPDX-License-Identifier: GPL-2.0-only
// The page: a form, a timeline for each policy, and the decision at one moment. docs/browser.md.

import {EXAMPLES, TEXT} from './strings';
import {Averaged, Run, Timeline, hear} from './model';
import {readFile} from './files';
import {Block, Packed} from './packed';
import {makeCompare} from './compare';
import {Page as Forking, MOST_RUNS, clearForks, forkHere, makeForks, offerPolicies} from './forks';
import {Machine, readMachine} from './machine';
import {makeLook} from './look';
import {$, el} from './ui';
import {BUGS, makeHunt} from './bugs';
import {Given, STEPS, makeTour} from './tour';
import {OWN_LIMIT, filesOf, makeOwn, mistakeIn, nameOf, wordsOf} from './own';
import {drawAverages as drawChart} from './views';

type Preset = {group: string, name: string, sched: string, words: string, file: string};
declare const WASM_GZIP: string, PROGRAMS_GZIP: Record<string, string>, WORKER: string, PRESETS: Preset[], DELTAS: Record<string, unknown[]>,
  POLICIES: Record<string, string[]>;

const BUILT_IN = Object.keys(POLICIES);
const PROGRAM = 'scx:';   // the beginning of a choice that is a program for sched_ext and not a policy
const programs = Object.keys(PROGRAMS_GZIP).map((file) => PROGRAM + file.replace('.wasm', '')), dropped: Record<string, Uint8Array> = {};
const state = {work: 'hogs:n=2 bursts:run=2ms,sleep=10ms', file: '', machine: '', cpus: 1, ms: 100, policies: ['cfs', 'eevdf'], shown: 0, at: 0, tour: 0, bug: 0, own: ''};
const LINK_MS = 150;   // after a step
let worker: Worker | null = null, wasm: Promise<{bytes: ArrayBuffer, compiled: WebAssembly.Module, programs: Record<string, Uint8Array>}> | null = null, limit = 0, linking = 0;
let wrong = (line: number, sentence: string) => {};   // a mistake in the policy of one's own

const say = (text: string) => { $('error').textContent = text; };
const look = makeLook(state, () => {
  drawAverages();
  linkSoon();
}, {policies: () => allPolicies(), simulate});
const {show, current} = look;

// --- running -------------------------------------------------------------------------------------

function unzipped(text: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}

// Compiled once: what the browser has made fast is fast in the next run, too.
async function unpacked() {
  const bytes = await unzipped(WASM_GZIP), given: Record<string, Uint8Array> = {};
  for (const [file, text] of Object.entries(PROGRAMS_GZIP))
    given[file] = new Uint8Array(await unzipped(text));
  return {bytes, compiled: await WebAssembly.compile(bytes), programs: given};
}

function stop(text = '') {
  worker?.terminate();
  worker = null;
  clearTimeout(limit);
  ($('run') as any).textContent = TEXT.run;
  say(text);
}

const allPolicies = () => state.own ? [nameOf(state.own), ...BUILT_IN] : BUILT_IN;
const chosenBy = (choice: string) => choice.startsWith(PROGRAM) ? ['--scx', `${choice.slice(PROGRAM.length)}.wasm`] : ['--sched', choice];
const words = (choice: string, machine: Machine) => [...wordsOf(state.own), ...chosenBy(choice), '--time', `${state.ms}ms`, ...machine.words,
  ...(machine.hasCpus || /(^|\s)--(topology|opp)\s/.test(state.work) || /"platform"\s*:/.test(state.file) ? [] : ['--cpus', String(state.cpus)]),
  ...state.work.split(/\s+/).filter(Boolean), ...(state.file.trim() ? ['workload.json'] : [])];

// Let a worker do what @message says, for at most @most ms if that is not 0. It may tell what it has so far.
async function work(message: object, most: number, done: (answer: any) => void, progress = (sofar: any) => {}) {
  stop();
  $('run').textContent = TEXT.stop;
  const url = URL.createObjectURL(new Blob([WORKER], {type: 'text/javascript'}));
  worker = new Worker(url);
  if (most)
    limit = setTimeout(() => stop(TEXT.tooSlow.replace('N', String(most / 1000))), most) as unknown as number;
  worker.onmessage = ({data}) => {
    if (data.sofar)
      return progress(data.sofar);
    URL.revokeObjectURL(url);
    if (!data.error) {
      stop();
      return done(data);
    }
    const error = data.error.replace(/^schedsim: /, ''), mistake = mistakeIn(error);
    stop(mistake ? '' : error);
    return mistake && wrong(mistake.line, mistake.sentence);
  };
  const module = await (wasm ??= unpacked());
  worker?.postMessage({...message, ...module, programs: {...module.programs, ...dropped}});
}

// What a run is made of, while it is made.
type Parts = {head: any, formats: any, blocks: Block[], line: Timeline};

function simulate(asked: any[], done: (found: Run[]) => void) {
  const parts: Parts[] = [];
  const add = ({nr, head, formats, block, events}: any) => {
    if (head)
      parts[nr] = {head, formats, blocks: [], line: new Timeline(head.cpus)};
    parts[nr].blocks.push(...(block ? [block] : []));
    hear(parts[nr].line, events);
  };
  work({runs: asked.map((run) => ({...run, parts: DELTAS[run.bug]}))}, state.own ? OWN_LIMIT : 0, ({results}) => {
    const said = new Set<string>(results.flatMap((each: any) => [each.complete ? '' : TEXT.tooMany, each.said.replace(/^schedsim: /gm, '')]));
    say([...said].filter(Boolean).join('\n'));
    done(results.map(({words, changes, files, bug, said: _, ...each}: any, nr: number) => {
      const {head, formats, blocks, line} = parts[nr];
      return {...each, head, decisions: new Packed(formats, blocks), ...line.close(each.end).parts(), cpus: head.cpus, begin: 0,
        made: {words, changes, files, bug}};
    }));
  }, add);
}

function start(then?: () => void) {
  if (!(state.cpus >= 1 && state.cpus <= 4096 && state.ms >= 1 && state.ms <= 10000))
    return say(TEXT.limit);
  if (!state.policies.length && !state.own)
    return say(TEXT.choosePolicy);
  clearForks();
  let machine: Machine;
  try {
    machine = readMachine(state.machine);
  } catch (error) {
    return say((error as Error).message);
  }
  const files = {...machine.files, ...filesOf(state.own), ...(state.file.trim() ? {'workload.json': state.file.trim()} : {})};
  const asked = state.policies.map((name) => ({name, words: words(name, machine), changes: [], files, bug: ''}));
  if (state.own)   // the invariants are checked at each step
    asked.unshift({name: nameOf(state.own), words: [...words(nameOf(state.own), machine), '--check'], changes: [], files, bug: ''});
  simulate(!state.bug ? asked : asked.flatMap((run) =>
    [run, {...run, name: `${run.name}, ${TEXT.withBug} ${state.bug}`, bug: BUGS[state.bug - 1].name}]), (found) => {
    look.put(found);
    offerPolicies(allPolicies());
    show(Math.min(state.shown, found.length - 1), state.at);
    then?.();
  });
}

// --- the state in the link -----------------------------------------------------------------------

function toLink() {
  clearTimeout(linking);
  const {work, file, machine, cpus, ms: time, policies, shown, at, tour, bug, own} = state;
  history.replaceState(null, '', '#' + encodeURIComponent(JSON.stringify({work, file, ...(machine && {machine}), cpus, ms: time, policies, shown, at,
    ...(tour && {tour}), ...(bug && {bug}), ...(own && {own})})));
}

// The browser takes longer for a link than the page for a step: of many steps the last one is kept.
function linkSoon() {
  clearTimeout(linking);
  linking = setTimeout(toLink, LINK_MS) as unknown as number;
}

// The step of the tour, or the bug, that the link asks for, if it is nothing else.
function fromLink(): {tour?: number, bug?: number} | undefined {
  if (location.hash.length < 2)
    return undefined;
  const [, what, nr] = /^#(tour|bug)=(\d{1,2})$/.exec(location.hash) ?? [];
  if (what && Number(nr) >= 1 && Number(nr) <= (what === 'tour' ? STEPS : BUGS).length)
    return {[what]: Number(nr)};
  try {
    const given = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    const whole = (value: any, most: number) => Number.isInteger(value) && value >= 0 && value <= most;
    const isText = (value: any, most: number) => typeof value === 'string' && value.length <= most;
    if (!isText(given.work, 4000) || !isText(given.file ?? '', 100000) || !isText(given.machine ?? '', 20000) || !isText(given.own ?? '', 65536) ||
        !whole(given.cpus, 4096) || !whole(given.ms, 10000) ||
        !Array.isArray(given.policies) || !whole(given.shown, 9) || !whole(given.at, 1e9) || !whole(given.tour ?? 0, STEPS.length) || !whole(given.bug ?? 0, BUGS.length))
      throw new Error();
    Object.assign(state, {work: given.work, file: given.file ?? '', machine: given.machine ?? '', cpus: given.cpus, ms: given.ms, shown: given.shown, at: given.at, tour: given.tour ?? 0, bug: given.bug ?? 0, own: given.own ?? '',
      policies: [...BUILT_IN, ...programs].filter((name) => given.policies.includes(name))});
  } catch {
    say(TEXT.badLink);
  }
  return undefined;
}

// --- the form ------------------------------------------------------------------------------------

let toForm = () => {}, fromForm = () => {};   // put the state into the form, and read it
let offerChoice = (name: string) => {};        // one more policy or program to choose
let ownText = () => '';                        // in the editor of a policy

function makeForm() {
  const work = el('input', {type: 'text', id: 'work', value: state.work, spellcheck: false});
  const cpus = el('input', {type: 'number', id: 'cpus', min: 1, max: 4096, value: state.cpus});
  const time = el('input', {type: 'number', id: 'ms', min: 1, max: 10000, value: state.ms});
  const presets = [...Object.entries(EXAMPLES).map(([name, text]) => ({group: 'examples', name, sched: '', words: text, file: ''})), ...PRESETS];
  const example = el('select', {id: 'example', ariaLabel: TEXT.example}, el('option', {value: ''}, TEXT.example),
    ...Object.entries(TEXT.presets).map(([group, label]) => el('optgroup', {label}, ...presets.flatMap((each, i) =>
      each.group === group ? [el('option', {value: String(i)}, each.name)] : []))));
  const file = el('textarea', {id: 'json', spellcheck: false, value: state.file, ariaLabel: TEXT.json});
  const details = el('details', {open: !!state.file}, el('summary', {}, TEXT.json), file, el('p', {className: 'soft'}, TEXT.jsonHelp));
  const machine = el('textarea', {id: 'machine', spellcheck: false, value: state.machine, ariaLabel: TEXT.machineJson, placeholder: TEXT.machineExample});
  const parts = el('details', {open: !!state.machine}, el('summary', {}, TEXT.machineJson), machine, el('p', {className: 'soft'}, TEXT.machineHelps));
  const boxes: HTMLInputElement[] = [], choices = el('fieldset', {ariaLabel: TEXT.policies}, example);
  const add = offerChoice = (name: string) => {
    boxes.push(el('input', {type: 'checkbox', value: name, checked: state.policies.includes(name)}) as HTMLInputElement);
    choices.append(el('label', {}, boxes.at(-1)!, ` ${name}`));
  };
  [...BUILT_IN, ...programs].forEach(add);
  const form = $('form') as HTMLFormElement;
  const read = fromForm = () => Object.assign(state, {own: ownText(), work: work.value, file: file.value, machine: machine.value, cpus: Number(cpus.value), ms: Number(time.value), at: 0,
    policies: boxes.filter((box) => box.checked).map((box) => box.value)});
  form.append(el('label', {}, TEXT.workload, work), el('label', {}, TEXT.cpus, el('br'), cpus),
    el('label', {}, TEXT.ms, el('br'), time), el('button', {className: 'main', id: 'run'}, TEXT.run),
    choices, details, parts);
  example.onchange = () => {
    const chosen = presets[example.value];
    if (!chosen)
      return;
    work.value = chosen.words;
    file.value = chosen.file;
    machine.value = '';
    details.open = !!chosen.file;
    boxes.forEach((box) => { box.checked = chosen.sched ? (chosen.sched === 'all' ? BUILT_IN.includes(box.value) : box.value === chosen.sched) : box.checked; });
    read();
    start();
  };
  toForm = () => {
    Object.assign(work, {value: state.work});
    Object.assign(file, {value: state.file});
    Object.assign(machine, {value: state.machine});
    Object.assign(cpus, {value: state.cpus});
    Object.assign(time, {value: state.ms});
    details.open = !!state.file;
    parts.open = !!state.machine;
    boxes.forEach((box) => { box.checked = state.policies.includes(box.value); });
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    if (worker)
      return stop(TEXT.stopped);
    read();
    start();
  };
}

const averaged: {what: Averaged} = {what: 'util'};
function drawAverages() {
  $('averages').hidden = !current().averages.size;
  drawChart($('averages').querySelector('div')!, current(), current().decisions.get(state.at), averaged.what);
}

function makeAverages() {
  const what = el('select', {id: 'averaged', ariaLabel: TEXT.averages}, ...['util', 'load', 'runnable'].map((value) => el('option', {value}, (TEXT as any)[value])));
  what.onchange = () => {
    averaged.what = what.value;
    drawAverages();
  };
  $('averages').querySelector('h2')!.append(`${TEXT.averages}: `, what);
}

// What forks need of this page.
const forking: Forking = {policies: allPolicies, current, at: () => state.at, runs: look.runs, say, show, simulate, draw: look.put};

// --- files ---------------------------------------------------------------------------------------

// Take the programs for sched_ext that `make scx` made of one's own, and run them. One of a known name is its next version.
async function takePrograms(files: File[]) {
  for (const file of files) {
    const choice = PROGRAM + file.name.replace(/\.wasm$/, '');
    dropped[file.name] = new Uint8Array(await file.arrayBuffer());
    if (!programs.includes(choice)) {
      programs.push(choice);
      offerChoice(choice);
    }
    state.policies = [...new Set([...state.policies, choice])];
  }
  toForm();
  start();
}

// Several files beside each other have their names, for their policies may be one.
async function openFiles(files: File[]) {
  stop();
  try {
    if (files.every(({name}) => name.endsWith('.wasm')))
      return await takePrograms(files);
    const program = files.find(({name}) => /\.(c|o|so|wasm)$/.test(name));
    if (program)
      throw new Error(TEXT.onlyWasm.replace('NAME', program.name));
    if (files.length > MOST_RUNS)
      throw new Error(TEXT.tooManyFiles);
    const found: Run[] = [];
    for (const file of files) {
      const run = await readFile(file.name, new Uint8Array(await file.arrayBuffer()));
      found.push({...run, name: files.length > 1 ? file.name.replace(/\.\w+$/, '') : run.name});
    }
    look.put(found);
    clearForks();
    makeCompare(look, found);
    say(found.every((run) => run.complete) ? '' : TEXT.tooMany);
    show(0, 0);
  } catch (error) {
    say((error as Error).message);
  }
}

function makeFiles() {
  const chooser = el('input', {type: 'file', id: 'file', hidden: true, multiple: true, ariaLabel: TEXT.openHelp,
    onchange: () => chooser.files.length && openFiles([...chooser.files])});
  $('files').append(chooser, el('button', {type: 'button', id: 'open', title: TEXT.openHelp, onclick: () => {
    chooser.value = '';
    chooser.click();
  }}, TEXT.open));
  document.ondragover = (event) => {
    event.preventDefault();
    document.body.classList.add('over');
  };
  document.ondragleave = () => document.body.classList.remove('over');
  document.ondrop = (event) => {
    event.preventDefault();
    document.body.classList.remove('over');
    if (event.dataTransfer?.files.length)
      openFiles([...event.dataTransfer.files]);
  };
}

// --- the tour ------------------------------------------------------------------------------------

function open(given: Given, then: () => void) {
  Object.assign(state, given, {file: '', machine: '', own: '', shown: 0, at: 0});
  toForm();
  start(then);
}

const isOpen = (given: Given) => state.work === given.work && !state.file && !state.machine && !state.own && state.cpus === given.cpus && state.ms === given.ms &&
  state.policies.join() === given.policies.join();

function begin(asked: {tour?: number, bug?: number} | undefined) {
  const tour = makeTour({open, isOpen, show, fork: (change, then) => forkHere(forking, [change], then), runs: look.runs, shown: () => ({run: state.shown, at: state.at}),
    linked(step) {
      state.tour = step;
      if (step) {
        hunt.leave();
        own.leave();
      }
      toLink();
    }});
  const hunt = makeHunt({show, again: start, runs: look.runs,
    open(bug, given, then) {
      tour.leave();
      own.leave();
      state.bug = bug;
      open(given, then);
    },
    left() {
      state.bug = 0;
      toLink();
    }});
  const own = makeOwn({
    run() {
      tour.leave();
      hunt.leave();
      fromForm();
      state.shown = 0;
      start();
    },
    ask: work,
    left() {
      state.own = '';
      toLink();
    }});
  wrong = own.wrong;
  ownText = own.text;
  const go = (to: {tour?: number, bug?: number}) => to.tour ? tour.go(to.tour) : hunt.go(to.bug!);
  window.onhashchange = () => {
    const to = fromLink();
    if (to)
      go(to);
  };
  if (asked)
    return go(asked);
  if ($('error').textContent)
    return undefined;
  const {tour: step, bug} = state;
  if (bug)
    return hunt.go(bug, true);
  if (state.own)
    own.go(state.own, true);
  return start(step ? () => tour.go(step, true) : undefined);
}

function main() {
  $('title').append(TEXT.title, ' ', el('small', {}, TEXT.subtitle));
  $('help').textContent = TEXT.help;
  $('lanes').textContent = TEXT.firstRun;
  const prepared = fromLink();
  makeForm();
  makeForks(forking);
  makeAverages();
  makeFiles();
  begin(prepared);
}

main();
