// SPDX-License-Identifier: GPL-2.0-only
// The page: a form, a timeline for each policy, and the decision at one moment. docs/browser.md.

import {EXAMPLES, FLAGS, KINDS, TEXT} from './strings';
import {Decision, Run, distance, firstDifference, parseDecisions, readEvents, spansOf, treeLinks} from './model';

declare const WASM_GZIP: string, WORKER: string;

const POLICIES = ['cfs', 'bore-cfs', 'eevdf', 'bore', 'fdl'];
const state = {work: 'hogs:n=2 bursts:run=2ms,sleep=10ms', cpus: 1, ms: 100, policies: ['cfs', 'eevdf'], shown: 0, at: 0};
let runs: Run[] = [], worker: Worker | null = null, wasm: ArrayBuffer | null = null;

const $ = (id: string) => document.getElementById(id)!;

// An element of @tag with @props and @children. Texts are never read as HTML.
function el(tag: string, props: Record<string, any> = {}, ...children: (Node | string)[]): any {
  const node: any = document.createElement(tag);
  for (const [name, value] of Object.entries(props))
    name in node ? node[name] = value : node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const colour = (pid: number) => `hsl(${(pid * 137.5) % 360} 62% 52%)`;
const ms = (ns: number, digits = 3) => (ns / 1e6).toFixed(digits);
const say = (text: string) => { $('error').textContent = text; };
const current = () => runs[state.shown];

// --- running -------------------------------------------------------------------------------------

async function unpacked(): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(WASM_GZIP), (c) => c.charCodeAt(0));
  return wasm ??= await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}

function stop(text = '') {
  worker?.terminate();
  worker = null;
  ($('run') as any).textContent = TEXT.run;
  say(text);
}

const words = (policy: string) => ['--sched', policy, '--cpus', String(state.cpus), '--time', `${state.ms}ms`,
  ...state.work.split(/\s+/).filter(Boolean)];

async function simulate(asked: any[], done: (found: Run[]) => void) {
  stop();
  $('run').textContent = TEXT.stop;
  const url = URL.createObjectURL(new Blob([WORKER], {type: 'text/javascript'}));
  worker = new Worker(url);
  worker.onmessage = ({data}) => {
    URL.revokeObjectURL(url);
    if (data.error)
      return stop(data.error.replace(/^schedsim: /, ''));
    stop(data.results.some((each: any) => !each.complete) ? TEXT.tooMany : '');
    done(data.results.map((each: any) => {
      const parsed = parseDecisions(each.decisions);
      return {...parsed, ...readEvents(each.events, each.end), name: each.name, cpus: parsed.head.cpus, end: each.end,
        complete: each.complete, rules: each.rules};
    }));
  };
  worker.postMessage({wasm: await unpacked(), runs: asked});
}

function start() {
  if (!(state.cpus >= 1 && state.cpus <= 64 && state.ms >= 1 && state.ms <= 10000))
    return say(TEXT.limit);
  if (!state.policies.length)
    return say(TEXT.choosePolicy);
  $('differs').textContent = '';
  simulate(state.policies.map((name) => ({name, words: words(name)})), (found) => {
    runs = found;
    show(Math.min(state.shown, runs.length - 1), state.at);
  });
}

// --- the state in the link -----------------------------------------------------------------------

function toLink() {
  const {work, cpus, ms: time, policies, shown, at} = state;
  history.replaceState(null, '', '#' + encodeURIComponent(JSON.stringify({work, cpus, ms: time, policies, shown, at})));
}

function fromLink() {
  if (location.hash.length < 2)
    return;
  try {
    const given = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    const whole = (value: any, most: number) => Number.isInteger(value) && value >= 0 && value <= most;
    if (typeof given.work !== 'string' || given.work.length > 4000 || !whole(given.cpus, 64) || !whole(given.ms, 10000) ||
        !Array.isArray(given.policies) || !whole(given.shown, 9) || !whole(given.at, 1e9))
      throw new Error();
    Object.assign(state, {work: given.work, cpus: given.cpus, ms: given.ms, shown: given.shown, at: given.at,
      policies: POLICIES.filter((name) => given.policies.includes(name))});
  } catch {
    say(TEXT.badLink);
  }
}

// --- the form ------------------------------------------------------------------------------------

function makeForm() {
  const work = el('input', {type: 'text', id: 'work', value: state.work, spellcheck: false});
  const cpus = el('input', {type: 'number', id: 'cpus', min: 1, max: 64, value: state.cpus});
  const time = el('input', {type: 'number', id: 'ms', min: 1, max: 10000, value: state.ms});
  const example = el('select', {id: 'example', ariaLabel: TEXT.example}, el('option', {value: ''}, TEXT.example),
    ...Object.entries(EXAMPLES).map(([name, value]) => el('option', {value}, name)));
  const boxes = POLICIES.map((name) => el('input', {type: 'checkbox', value: name, checked: state.policies.includes(name)}));
  const form = $('form') as HTMLFormElement;
  const read = () => Object.assign(state, {work: work.value, cpus: Number(cpus.value), ms: Number(time.value), at: 0,
    policies: boxes.filter((box) => box.checked).map((box) => box.value)});
  form.append(el('label', {}, TEXT.workload, work), el('label', {}, TEXT.cpus, el('br'), cpus),
    el('label', {}, TEXT.ms, el('br'), time), el('button', {className: 'main', id: 'run'}, TEXT.run),
    el('fieldset', {}, example, ...boxes.map((box) => el('label', {}, box, ` ${box.value}`))));
  example.onchange = () => {
    work.value = example.value || work.value;
    read();
    start();
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    if (worker)
      return stop(TEXT.stopped);
    read();
    start();
  };
}

// --- the timeline --------------------------------------------------------------------------------

const LANE = 24;

function drawLane(canvas: HTMLCanvasElement, run: Run) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = run.cpus * LANE;
  const g = canvas.getContext('2d')!, x = (time: number) => time / run.end * width;
  const style = getComputedStyle(document.body);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  g.scale(ratio, ratio);
  g.font = '11px system-ui';
  g.textBaseline = 'middle';
  const drawn = new Array(run.cpus).fill(-1);
  for (const span of run.spans) {
    const from = x(span.from), to = x(span.to), y = span.cpu * LANE;
    if (to < drawn[span.cpu] + 0.25)
      continue;   // it would lie behind the pixel before
    drawn[span.cpu] = to;
    g.fillStyle = colour(span.pid);
    g.fillRect(from, y + 2, Math.max(to - from - 0.5, 0.5), LANE - 4);
    const label = `${run.names.get(span.pid) ?? ''} ${span.pid}`;
    if (to - from > g.measureText(label).width + 8) {
      g.fillStyle = '#fff';
      g.fillText(label, from + 4, y + LANE / 2);
    }
  }
  const now = current()?.decisions[state.at]?.time;
  if (now !== undefined) {
    g.fillStyle = style.color;
    g.fillRect(x(now) - 1, 0, 2, height);
  }
}

function drawLanes() {
  const lanes = $('lanes');
  lanes.replaceChildren(...runs.map((run, index) => {
    const canvas = el('canvas', {role: 'img', ariaLabel: `${run.name}: ${run.cpus} CPUs, ${ms(run.end, 0)} ms`});
    canvas.onclick = (event: MouseEvent) => {
      const time = event.offsetX / canvas.clientWidth * run.end;
      const at = run.decisions.findIndex((d) => d.time >= time);
      show(index, at < 0 ? run.decisions.length - 1 : at);
    };
    return el('div', {}, el('button', {type: 'button', className: index === state.shown ? 'main' : '', onclick: () => {
      const time = current().decisions[state.at]?.time ?? 0;
      show(index, Math.max(run.decisions.findIndex((d) => d.time >= time), 0));
    }, ariaPressed: String(index === state.shown)}, run.name), canvas);
  }));
  [...lanes.querySelectorAll('canvas')].forEach((canvas, index) => drawLane(canvas, runs[index]));
}

// --- the decision --------------------------------------------------------------------------------

const label = (row: Decision) => row.group && !row.pid ? `group ${row.comm || row.group}` : `${row.comm} ${row.pid}`;
const notes = (flags: number) => FLAGS.filter(([bit]) => flags & bit).map(([, name]) => name).join(', ');

function table(head: string[], rows: (Node | string)[][], chosen = -1) {
  return el('table', {}, el('thead', {}, el('tr', {}, ...head.map((text) => el('th', {scope: 'col'}, text)))),
    el('tbody', {}, ...rows.map((row, i) => el('tr', {className: i === chosen ? 'chosen' : ''}, ...row.map((cell) => el('td', {}, cell))))));
}

const named = (pid: number, text: string) => el('span', {}, el('span', {className: 'dot', style: `background:${colour(pid)}`}), text);

function candidateTable(d: Decision) {
  const rows: Decision[] = d.candidates;
  const far = (value: any) => ms(distance(value, d.v));
  const scored = rows.some((row) => row.score), dated = rows.some((row) => String(row.deadline) !== '0');
  const cells = rows.map((row) => [named(row.pid, label(row)), far(row.vruntime), ...(dated ? [far(row.deadline)] : []),
    ms(row.lag), String(row.weight), ...(scored ? [String(row.score)] : []), notes(row.flags)]);
  const chosen = rows.findIndex((row) => row.pid === d.pid && (d.pid || row.group === d.subject_group));
  if (['charge', 'place', 'leave', 'tick'].includes(d.kind))
    cells.push([`${label({...d, group: d.subject_group})}, ${TEXT.after}`, far(d.vruntime), ...(dated ? [far(d.deadline)] : []), ms(d.lag),
      String(d.weight), ...(scored ? [''] : []), '']);
  return table([TEXT.task, TEXT.vruntime, ...(dated ? [TEXT.deadline] : []), TEXT.lag, TEXT.weight, ...(scored ? [TEXT.score] : []), TEXT.notes],
    cells, chosen);
}

// Any other list of rows: the columns that say something.
function plainTable(rows: Decision[]) {
  const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== 'nr' && rows.some((row) => row[name] !== 0));
  return table(columns, rows.map((row) => columns.map((name) => String(row[name]))));
}

function svg(width: number, height: number, name: string) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const add = (tag: string, props: Record<string, any>, text = '') => {
    const child = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(props))
      child.setAttribute(key, String(value));
    child.textContent = text;
    node.append(child);
  };
  node.setAttribute('viewBox', `0 0 ${width} ${height}`);
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', name);
  return {node, add};
}

function numberLine(d: Decision) {
  const rows: Decision[] = d.candidates.filter((row: Decision) => row.flags & 0x800).slice(0, 12);
  const points = rows.flatMap((row) => [distance(row.vruntime, d.v), ...(String(row.deadline) !== '0' && d.policy !== 'fdl' ? [distance(row.deadline, d.v)] : [])]);
  const least = Math.min(0, ...points), span = Math.max(0, ...points) - least || 1;
  const x = (value: number) => 20 + (value - least) / span * 520;
  const {node, add} = svg(560, 34 + rows.length * 18, TEXT.line);
  add('line', {x1: x(0), x2: x(0), y1: 16, y2: 24 + rows.length * 18, stroke: 'currentColor', 'stroke-dasharray': '3 3'});
  add('text', {x: Math.min(x(0), 500), y: 12}, `V`);
  rows.forEach((row, i) => {
    const y = 30 + i * 18, at = x(distance(row.vruntime, d.v));
    if (String(row.deadline) !== '0' && d.policy !== 'fdl') {
      const end = x(distance(row.deadline, d.v));
      add('line', {x1: at, x2: end, y1: y, y2: y, stroke: colour(row.pid), 'stroke-width': 2});
      add('path', {d: `M${end - 5} ${y - 6} h10 l-5 9 z`, fill: colour(row.pid)});
    }
    add('circle', {cx: at, cy: y, r: 5, stroke: colour(row.pid), 'stroke-width': 2, fill: row.flags & 0x8 || !d.policy.match(/eevdf|^bore$/) ? colour(row.pid) : 'transparent'});
  });
  return rows.length ? [node, el('p', {className: 'soft'}, TEXT.line)] : [];
}

function tree(d: Decision) {
  const rows: Decision[] = d.candidates.filter((row: Decision) => row.depth), links = treeLinks(rows);
  if (rows.length < 2 || rows.length > 40)
    return [];
  const x = (i: number) => 30 + i * Math.max(56, 500 / rows.length), y = (row: Decision) => row.depth * 44 - 20;
  const {node, add} = svg(x(rows.length) + 10, Math.max(...rows.map(y)) + 30, TEXT.tree);
  links.forEach((to, i) => to >= 0 && add('line', {x1: x(i), y1: y(rows[i]), x2: x(to), y2: y(rows[to]), stroke: 'currentColor'}));
  rows.forEach((row, i) => {
    add('circle', {cx: x(i), cy: y(row), r: 11, fill: colour(row.pid)});
    add('text', {x: x(i), y: y(row) + 25, 'text-anchor': 'middle'}, label(row));
  });
  return [el('h2', {}, TEXT.tree), node];
}

function drawDecision() {
  const run = current(), d = run.decisions[state.at];
  if (!d)
    return;
  const why = run.rules[d.rule];
  $('decision').querySelector('h2')!.textContent = `${KINDS[d.kind] ?? d.kind} (${d.policy ?? run.name}, CPU ${d.cpu ?? d.chosen})`;
  $('rule').textContent = `${d.kind}: ${d.comm || (d.pid ? '' : d.outcome ?? '')} ${d.pid || ''}` +
    `${d.kind === 'select' ? ` → CPU ${d.chosen}` : !['pick', 'preempt', 'tick'].includes(d.kind) ? '' : d.answer ? ': yes' : ': no'}, ` +
    `${TEXT.because} ${why ?? d.rule}` + (d.aim ? `; aimed at CPU ${d.aimed}: ${run.rules[d.aim] ?? d.aim}` : '') + '.';
  const fair = d.candidates !== undefined;
  $('number').replaceChildren(...(fair ? numberLine(d) : []));
  $('tree').replaceChildren(...(fair ? tree(d) : []));
  $('table').replaceChildren(...(fair ? [candidateTable(d)]
    : ['cpus', 'runqueues', 'parts', 'tasks'].filter((name) => d[name]?.length).map((name) => plainTable(d[name]))));
  const slider = $('slider') as HTMLInputElement;
  slider.max = String(run.decisions.length - 1);
  slider.value = String(state.at);
  slider.setAttribute('aria-valuetext', $('rule').textContent!);
  $('where').textContent = `${state.at + 1} / ${run.decisions.length}   ${ms(d.time)} ms`;
}

function drawShares() {
  const run = current(), got = new Map<number, number>();
  for (const span of run.spans)
    got.set(span.pid, (got.get(span.pid) ?? 0) + span.to - span.from);
  const rows = [...run.names].slice(0, 100).map(([pid, name]) => {
    const waits = run.waits.get(pid) ?? [], sum = waits.reduce((a, b) => a + b, 0), ran = got.get(pid) ?? 0;
    return [named(pid, `${name} ${pid}`), (100 * ran / run.end / run.cpus).toFixed(2), ms(ran, 1), String(waits.length),
      ms(sum / (waits.length || 1)), ms(waits.reduce((a, b) => Math.max(a, b), 0))];
  });
  $('shares').querySelector('div')!.replaceChildren(table([TEXT.task, TEXT.share, TEXT.got, TEXT.waits, TEXT.mean, TEXT.longest], rows));
}

function show(index: number, at: number) {
  if (!runs[index])
    return;
  const other = index !== state.shown || !$('lanes').childElementCount;
  state.shown = index;
  state.at = Math.max(0, Math.min(at, runs[index].decisions.length - 1));
  if (other || $('lanes').childElementCount !== runs.length || shownRuns !== runs)
    drawLanes();
  else
    [...document.querySelectorAll('canvas')].forEach((canvas, i) => drawLane(canvas, runs[i]));
  if (other || shownRuns !== runs)
    drawShares();
  shownRuns = runs;
  drawDecision();
  toLink();
}
let shownRuns: Run[] = [];

// --- what if -------------------------------------------------------------------------------------

function makeWhatIf() {
  const what = el('select', {ariaLabel: TEXT.change, id: 'what'}, ...['policy', 'tunable', 'nice'].map((value) => el('option', {value}, (TEXT as any)[value])));
  const policy = el('select', {ariaLabel: TEXT.policy, id: 'to'}, ...POLICIES.map((name) => el('option', {value: name}, name)));
  const value = el('input', {type: 'text', ariaLabel: TEXT.value, placeholder: TEXT.value, hidden: true, id: 'value'});
  const fork = el('button', {type: 'button', id: 'fork', onclick: () => {
    const base = current();
    if (!base || !POLICIES.includes(base.name))
      return;
    const at = base.decisions[state.at].time, change = {at, what: what.value, value: what.value === 'policy' ? policy.value : value.value};
    simulate([{name: `${base.name} → ${change.value}`, words: words(base.name), change}], ([found]) => {
      const from = base.decisions.findIndex((d) => d.time >= at), first = firstDifference(base.decisions, found.decisions, from);
      const tell = (d?: Decision) => d ? `${ms(d.time)} ms ${d.kind} ${d.comm ?? ''} ${d.pid ?? ''}` : '-';
      runs = [base, found];
      $('differs').textContent = first < 0 ? TEXT.same
        : `${TEXT.differs} ${TEXT.now} ${tell(base.decisions[first])}; ${TEXT.then} ${tell(found.decisions[first])}.`;
      show(1, first < 0 ? state.at : first);
    });
  }}, TEXT.fork);
  what.onchange = () => {
    policy.hidden = what.value !== 'policy';
    value.hidden = !policy.hidden;
  };
  $('whatif').querySelector('h2')!.textContent = TEXT.whatif;
  const bar = $('whatif').querySelector('.bar') as HTMLElement;
  bar.style.flexWrap = 'wrap';
  bar.append(`${TEXT.change}: `, what, policy, value, fork);
}

// --- files ---------------------------------------------------------------------------------------

async function openFile(file: File) {
  try {
    const {head, decisions} = parseDecisions(await file.text());
    const end = (decisions[decisions.length - 1]?.time ?? 0) + 1;
    runs = [{name: String(head.sched), head, decisions, ...spansOf(decisions, end), cpus: Math.min(Number(head.cpus) || 1, 64),
      end, complete: true, rules: current()?.rules ?? {}}];
    say('');
    show(0, 0);
  } catch (error) {
    say((error as Error).message);
  }
}

function main() {
  $('title').append(TEXT.title, ' ', el('small', {}, TEXT.subtitle));
  $('help').textContent = TEXT.help;
  $('back').textContent = TEXT.previous;
  $('next').textContent = TEXT.next;
  $('slider').setAttribute('aria-label', TEXT.slider);
  $('shares').querySelector('h2')!.textContent = TEXT.shares;
  fromLink();
  makeForm();
  makeWhatIf();
  $('back').onclick = () => show(state.shown, state.at - 1);
  $('next').onclick = () => show(state.shown, state.at + 1);
  $('slider').oninput = () => show(state.shown, Number(($('slider') as HTMLInputElement).value));
  const steps: Record<string, number> = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20};
  document.onkeydown = (event) => {
    if (!(event.key in steps) || (event.target as Element).matches('input, select') || event.ctrlKey || event.altKey)
      return;
    event.preventDefault();
    show(state.shown, state.at + steps[event.key]);
  };
  window.onresize = () => runs.length && drawLanes();
  document.ondragover = (event) => {
    event.preventDefault();
    document.body.classList.add('over');
  };
  document.ondragleave = () => document.body.classList.remove('over');
  document.ondrop = (event) => {
    event.preventDefault();
    document.body.classList.remove('over');
    if (event.dataTransfer?.files[0])
      openFile(event.dataTransfer.files[0]);
  };
  if (!$('error').textContent)
    start();
}

main();
