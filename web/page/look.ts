// SPDX-License-Identifier: GPL-2.0-only
// What is looked at: some runs, a decision of one of them, a part of time; and what moves that: clicks, keys, the mouse,
// a search. The page with the simulator and the viewer in reports share it.

import {drawDecision} from './decision';
import {View, drawLanes, longest, markTime, within} from './lanes';
import {canBeTasks, knowsWaits, longestWait, usualRows} from './rows';
import {Decision, Run, Span, waitsOf} from './model';
import {TEXT} from './strings';
import {$, el, ms, named, table} from './ui';
import {Futures, drawWhy} from './why';

/** The number of the run that is stepped through, and of its decision. */
export type State = {shown: number, at: number};

const STEPS: Record<string, number> = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20};
const CLOSER: Record<string, number> = {'+': 0.5, '=': 0.5, '-': 2};
const WAITS = 3;    // columns before those of waits, which decisions alone do not tell
const PAN = 0.25;   // of what is drawn, a step to the side
const STEP_MS = 300;   // between two decisions that are played

function drawShares(run: Run) {
  const got = new Map<number, number>();
  for (const span of run.spans)
    got.set(span.pid, (got.get(span.pid) ?? 0) + span.to - span.from);
  const rows = [...run.names].slice(0, 100).map(([pid, name]) => {
    const waits = waitsOf(run, [pid]), ran = got.get(pid) ?? 0;
    return [named(pid, `${name} ${pid}`), (100 * ran / (run.end - run.begin) / run.cpus).toFixed(2), ms(ran, 1), String(waits.nr),
      ms(waits.mean), ms(waits.longest)].map((cell, i) => i < WAITS || knowsWaits(run) ? cell : TEXT.unknown);
  });
  const programs = run.ideal.map((row, nr) => {
    const sum = [...run.rowOf].reduce((all, [pid, of]) => of === nr ? all + (got.get(pid) ?? 0) : all, 0);
    const part = (ns: number) => (100 * ns / (run.end - run.begin) / run.cpus).toFixed(2);
    return [row.name, part(sum), part(row.ideal_ns)];
  });
  $('shares').querySelector('div')!.replaceChildren(table(TEXT.shares, [TEXT.task, TEXT.share, TEXT.got, TEXT.waits, TEXT.mean, TEXT.longest], rows),
    ...(programs.length ? [table(TEXT.ideals, [TEXT.programs, TEXT.share, TEXT.ideal], programs)] : []));
}

// How many tasks of @run run and wait at @time, and how far that is from the mark at @pinned, ns since its begin.
function countAt(run: Run | undefined, time: number | undefined, pinned: number | undefined) {
  const at = (spans: Span[]) => spans.reduce((sum, {from, to}) => sum + Number(from <= time! && time! < to), 0);
  $('counted').textContent = !run || time === undefined ? '' : [`${at(run.spans)} ${TEXT.nrRunning}`, ...(knowsWaits(run) ? [`${at(run.waiting)} ${TEXT.nrWaiting}`] : []),
    ...(pinned === undefined ? [] : [`${ms(time - run.begin - pinned)} ms ${TEXT.afterMark}`])].join(', ');
}

// The decision of @run that is the first at @time or later, or the last one.
function decisionAt(run: Run, time: number) {
  return Math.min(run.decisions.at(time), run.decisions.length - 1);
}

/** Makes the controls. @state is what is shown, and @changed is called when it is another. @futures makes other runs. */
export function makeLook(state: State, changed: () => void, futures?: Futures) {
  const view: View = {from: 0, to: 1, sought: '', by: 'cpu', arrows: true};
  let runs: Run[] = [], drawn: Run[] = [], length = 0, marked: number | undefined, pinned: number | undefined, playing = 0;

  const told = {
    pick: (index: number, time?: number) => goTo(index, time ?? marked ?? 0),
    zoom: (from: number, to: number) => zoomTo(from, to),
    under: (text: string) => { $('under').textContent = text || (view.by === 'task' ? TEXT.taskRows : '\u00a0'); },
  };
  const mark = (time: number | undefined) => {
    marked = time;
    markTime(runs, time, view, pinned);
    countAt(runs[state.shown], time, pinned);
  };
  function drawAll() {
    if (!runs.length)
      return;
    const {drawn, all} = drawLanes(runs, state.shown, view, told), button = $('arrows') as HTMLButtonElement;
    button.hidden = !runs.some((run) => run.wakeups.length);
    button.textContent = drawn < all ? `${TEXT.arrows}: ${drawn} / ${all}` : TEXT.arrows;
    button.setAttribute('aria-pressed', String(view.arrows));
    mark(marked);
  }
  function zoomTo(from: number, to: number) {
    Object.assign(view, within(runs, from, to));
    requestAnimationFrame(drawAll);
  }
  // Around the moment shown, if it is drawn.
  function zoomBy(by: number) {
    const since = (marked ?? 0) - (runs[state.shown]?.begin ?? 0), middle = since >= view.from && since <= view.to ? since : (view.from + view.to) / 2;
    zoomTo(middle - (middle - view.from) * by, middle + (view.to - middle) * by);
  }
  function show(index: number, at: number) {
    const run = runs[index];
    if (!run)
      return;
    const other = index !== state.shown || drawn !== runs;
    state.shown = index;
    state.at = Math.max(0, Math.min(at, run.decisions.length - 1));
    marked = run.decisions.get(state.at)?.time;
    if (other) {
      if (length !== longest(runs))   // futures of one run keep the part that is drawn
        Object.assign(view, {from: 0, to: length = longest(runs)});
      if (drawn !== runs)
        setRows(usualRows(runs));
      drawAll();
      drawShares(run);
      drawWhy(run, longestWait(run), (at) => show(state.shown, at), futures);
    }
    drawn = runs;
    mark(marked);
    drawDecision(run, state.at);
    changed();
  }
  function goTo(index: number, time: number) {
    show(index, decisionAt(runs[index], time));
    if (!runs[index].decisions.length)
      mark(time);
  }
  // Put a mark at the moment shown, or take it away from there.
  function pin() {
    const since = marked === undefined || !runs[state.shown] ? undefined : marked - runs[state.shown].begin;
    pinned = since === pinned ? undefined : since;
    mark(marked);
  }
  function switchArrows() {
    view.arrows = !view.arrows;
    drawAll();
  }
  function setRows(by: View['by']) {
    view.by = by;
    $('rows').textContent = by === 'task' ? TEXT.byCpu : TEXT.byTask;
    ($('rows') as any).hidden = !canBeTasks(runs);
    told.under('');
  }
  // From decision to decision, until the last one or @on is false.
  function play(on: boolean) {
    clearInterval(playing);
    playing = on ? setInterval(() => {
      if (state.at + 1 < runs[state.shown].decisions.length)
        show(state.shown, state.at + 1);
      else
        play(false);
    }, STEP_MS) as unknown as number : 0;
    $('play').textContent = on ? TEXT.pause : TEXT.play;
  }
  // The next decision about a task that is sought, from the one shown on.
  function next() {
    const decisions = runs[state.shown]?.decisions, sought = view.sought.toLowerCase();
    const isMeant = (d: Decision) => `${d.comm ?? ''} ${d.pid ?? ''}`.toLowerCase().includes(sought);
    if (!decisions || !sought)
      return;
    const after = decisions.find(isMeant, state.at + 1), found = after < 0 ? decisions.find(isMeant) : after;
    if (found >= 0)
      show(state.shown, found);
  }

  function makeBar() {
    const button = (id: string, text: string, title: string, onclick: () => void) => el('button', {type: 'button', id, title, ariaLabel: title, onclick}, text);
    const search = el('input', {type: 'search', id: 'search', placeholder: TEXT.search, ariaLabel: TEXT.searchHelp, title: TEXT.searchHelp});
    search.oninput = () => {
      view.sought = search.value.trim();
      drawAll();
    };
    search.onkeydown = (event: KeyboardEvent) => {
      if (event.key === 'Enter')
        next();
    };
    $('zoom').append(button('closer', '+', TEXT.closer, () => zoomBy(0.5)), button('farther', '−', TEXT.farther, () => zoomBy(2)),
      button('whole', '⟷', TEXT.whole, () => zoomTo(0, longest(runs))),
      button('rows', '', TEXT.rowsHelp, () => {
        setRows(view.by === 'task' ? 'cpu' : 'task');
        drawAll();
      }), button('arrows', '', TEXT.arrowsHelp, switchArrows), button('mark', TEXT.mark, TEXT.markHelp, pin), search, el('output', {id: 'counted'}), el('output', {id: 'under', ariaHidden: 'true'}, '\u00a0'));
  }

  $('back').textContent = TEXT.previous;
  $('next').textContent = TEXT.next;
  $('slider').setAttribute('aria-label', TEXT.slider);
  $('shares').querySelector('h2')!.textContent = TEXT.shares;
  $('next').after(el('button', {type: 'button', id: 'play', title: TEXT.playHelp, onclick: () => play(!playing && runs.length > 0)}, TEXT.play));
  $('back').onclick = () => show(state.shown, state.at - 1);
  $('next').onclick = () => show(state.shown, state.at + 1);
  $('slider').oninput = () => show(state.shown, Number(($('slider') as HTMLInputElement).value));
  makeBar();
  document.onkeydown = (event) => {
    if ((event.target as Element).matches('input, select, textarea') || event.ctrlKey || event.altKey || event.metaKey)
      return;
    const {key} = event, side = event.shiftKey ? STEPS[key] : 0;
    if (side)
      zoomTo(view.from + Math.sign(side) * PAN * (view.to - view.from), view.to + Math.sign(side) * PAN * (view.to - view.from));
    else if (key in STEPS)
      show(state.shown, state.at + STEPS[key]);
    else if (key in CLOSER)
      zoomBy(CLOSER[key]);
    else if (key === 'm')
      pin();
    else if (key === 'a')
      switchArrows();
    else if (key === '0')
      zoomTo(0, longest(runs));
    else if (key === ' ' && !(event.target as Element).matches('button, summary'))
      play(!playing && runs.length > 0);
    else
      return;
    event.preventDefault();
  };
  window.onresize = drawAll;
  return {
    show, goTo, zoomTo, drawAll,
    runs: () => runs,
    current: () => runs[state.shown],
    put(all: Run[]) {
      play(false);
      pinned = undefined;
      runs = all;
    },
  };
}
