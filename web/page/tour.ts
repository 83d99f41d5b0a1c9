// SPDX-License-Identifier: GPL-2.0-only
// A tour for a newcomer: each step prepares a run, shows one thing, and has one thing to try. The texts are in
// strings.ts; every number in them comes from the run itself.

import {TEXT, TOUR} from './strings';
import {Change, Decision, Run, distance, sumOfTimes, waitsOf} from './model';
import {$, el, ms} from './ui';

export type Given = {work: string, cpus: number, ms: number, policies: string[]};
type Figures = Record<string, string>;
// What a step shows: in the run with number @run the first decision that is @at, and @figures for its text. They lie in
// the part @look of the page.
type View = {given?: Given, fork?: (d: Decision) => Omit<Change, 'at'>, onward?: boolean, run?: number, at?: (d: Decision) => boolean, look: string,
  figures: (runs: Run[], d: Decision, before: Decision) => Figures};
export type Step = {see: View, try: View};
/** What the tour needs of the page. */
export type Page = {
  open(given: Given, then: () => void): void, fork(change: Omit<Change, 'at'>, then: () => void): void, show(run: number, at: number): void,
  runs(): Run[], shown(): {run: number, at: number}, isOpen(given: Given): boolean, linked(step: number): void,
};

const one = (work: string, policies: string[], time = 200): Given => ({work, cpus: 1, ms: time, policies});
const share = (run: Run, pid: number) => (100 * sumOfTimes(run, pid) / (run.end - run.begin)).toFixed(1);
const mean = (run: Run, pid: number) => ms(waitsOf(run, [pid]).mean, 2);
const longest = (run: Run, pid: number) => ms(waitsOf(run, [pid]).longest, 2);
const sharesOf = (run: Run) => ({a: share(run, 1), b: share(run, 2), c: share(run, 3), d: share(run, 4)});
const rowOf = (d: Decision, pid: number): Decision => d.candidates.find((row: Decision) => row.pid === pid) ?? d;
const isPick = (nr: number) => (d: Decision) => d.kind === 'pick' && d.nr_queued === nr && !d.group;
const who = (d: Decision) => `${d.comm} ${d.pid}`;

const NICE = (nice: number) => one(`hogs:n=1 hogs:n=1,nice=${nice}`, ['cfs']);
const SLEEPER = one('hogs:n=2 bursts:run=2ms,sleep=10ms', ['cfs']), IMPATIENT = one('hogs:n=2 bursts:run=1ms,sleep=9ms', ['cfs']);
const niceFigures = ([run]: Run[], d: Decision): Figures => {
  const a = rowOf(d, 1).weight, b = rowOf(d, 2).weight;
  return {wa: String(a), wb: String(b), ideal: (100 * b / (a + b)).toFixed(1), got: share(run, 2)};
};
const placed = (d: Decision) => d.kind === 'place' && d.rule === 'arrives_woken' && d.pid === 3;
const credit = (_: Run[], d: Decision): Figures => ({who: who(d), time: ms(d.time, 1), credit: ms(distance(d.v, d.vruntime), 2)});
const asks = (d: Decision) => d.kind === 'preempt' && d.pid === 3;
const isEligible = (row: Decision) => (row.flags & 0x8) !== 0;
const first = (rows: Decision[]) => rows.reduce((a, b) => distance(a.deadline, b.deadline) <= 0 ? a : b);
const passedOver = (d: Decision) => isPick(3)(d) && d.rule === 'earliest_deadline' && !isEligible(first(d.candidates));
const slices = (burst: number): View => ({given: one(`hogs:n=2,slice=10ms periodic:policy=normal,period=6ms,run=1ms,slice=${burst}ms`, ['eevdf'], 1000), look: 'shares',
  figures: ([run]) => ({slice: String(burst), mean: mean(run, 3), longest: longest(run, 3), got: share(run, 3)})});
const scores = (run: number, sleep: number): View => ({given: one(`hogs:n=2 bursts:run=${run}ms,sleep=${sleep}ms`, ['eevdf', 'bore'], 1000), run: 1, look: 'behind',
  at: (d) => isPick(3)(d) && d.time > 500e6, figures: ([eevdf, bore], d) => ({time: ms(d.time, 0), burst: String(rowOf(d, 3).score),
    a: String(rowOf(d, 1).score), b: String(rowOf(d, 2).score), bore: mean(bore, 3), eevdf: mean(eevdf, 3)})});
const groups = (of: string): View => ({given: one(`group:name=a${of} group:name=b hogs:n=1,group=a hogs:n=3,group=b`, ['eevdf'], 1000), look: 'shares',
  figures: ([run]) => ({...sharesOf(run), other: (Number(share(run, 2)) + Number(share(run, 3)) + Number(share(run, 4))).toFixed(1)})});
const quota = (most: number): View => ({given: one(`group:name=a,quota=${most}ms,period=50ms hogs:n=2,group=a hogs:n=1`, ['eevdf'], 1000), look: 'decision',
  at: (d) => most < 25 ? d.kind === 'quota' && d.rule === 'pool_empty' : d.kind === 'pool' && d.rule === 'period_over', figures: ([run], d) => ({time: ms(d.time, 1), quota: String(most), limit: (most * 2).toFixed(0),
    group: (Number(share(run, 1)) + Number(share(run, 2))).toFixed(1), c: share(run, 3)})});
const machine = (hogs: number): Given => ({work: `--topology 2x2x1 hogs:n=${hogs}`, cpus: 4, ms: 1000, policies: ['eevdf']});

export const STEPS: Step[] = [
  {see: {given: one('hogs:n=1 hogs:n=1', ['cfs'], 100), look: 'lanes', figures: ([run]) => ({turns: String(run.spans.length), mean: mean(run, 2), ...sharesOf(run)})},
    try: {given: one('hogs:n=1 hogs:n=1 hogs:n=1', ['cfs'], 100), look: 'lanes', figures: ([run]) => ({turns: String(run.spans.length), mean: mean(run, 3), ...sharesOf(run)})}},
  {see: {given: NICE(5), look: 'shares', at: isPick(2), figures: niceFigures}, try: {given: NICE(10), look: 'shares', at: isPick(2), figures: niceFigures}},
  {see: {given: NICE(5), look: 'number', at: (d) => isPick(2)(d) && d.time > 40e6, figures: (_, d) => ({who: who(d), time: ms(d.time, 1),
      gap: ms(Math.max(...d.candidates.map((row: Decision) => distance(row.vruntime, rowOf(d, d.pid).vruntime))), 2)})},
    try: {onward: true, look: 'table', at: (d) => d.kind === 'charge' && d.pid === 2, figures: (_, d) => {
      const moved = distance(d.vruntime, rowOf(d, 2).vruntime);
      return {who: who(d), time: ms(d.time, 1), ran: ms(d.delta, 2), moved: ms(moved, 2), times: (moved / d.delta).toFixed(2), weights: (1024 / d.weight).toFixed(2)};
    }}},
  {see: {given: SLEEPER, look: 'number', at: placed, figures: credit},
    try: {given: one('hogs:n=2 bursts:run=2ms,sleep=100ms', ['cfs'], 400), look: 'number', at: placed, figures: credit}},
  {see: {given: IMPATIENT, look: 'number', at: asks, figures: (_, d) => {
      const running = d.candidates.find((row: Decision) => row.flags & 0x1);
      return {who: who(d), other: who(running), lead: ms(distance(running.vruntime, rowOf(d, 3).vruntime), 2), answer: d.answer ? TEXT.yes : TEXT.no};
    }},
    try: {fork: () => ({what: 'tunable', value: 'wakeup_granularity_ns=10000000'}), run: 1, look: 'shares', at: (d) => asks(d) && !d.answer,
      figures: ([a, b], d) => ({time: ms(d.time, 1), answer: d.answer ? TEXT.yes : TEXT.no, before: longest(a, 3), after: longest(b, 3)})}},
  {see: {given: {...SLEEPER, policies: ['eevdf']}, look: 'behind', at: (d) => isPick(3)(d) && d.candidates.some((row: Decision) => !isEligible(row)),
      figures: (_, d) => ({time: ms(d.time, 1), eligible: String(d.candidates.filter(isEligible).length), queued: String(d.nr_queued), who: who(d),
        owed: ms(distance(d.v, rowOf(d, d.pid).vruntime), 2)})},
    try: {given: one('hogs:n=2,slice=20ms hogs:n=1,slice=1ms', ['eevdf']), look: 'number', at: passedOver,
      figures: (_, d) => ({time: ms(d.time, 1), who: who(d), other: who(first(d.candidates)), over: ms(distance(first(d.candidates).vruntime, d.v), 2)})}},
  {see: slices(1), try: slices(10)},
  {see: scores(2, 10), try: scores(60, 10)},
  {see: groups(''), try: groups(',shares=3072')},
  {see: quota(10), try: quota(25)},
  {see: {given: machine(2), look: 'behind', at: (d) => d.kind === 'select' && d.pid === 2, figures: (_, d) => ({who: who(d), aimed: String(d.aimed), chosen: String(d.chosen)})},
    try: {given: machine(5), look: 'lanes', at: (d) => d.kind === 'balance' && d.outcome === 'moved', figures: ([run], d) => {
      const all = [...run.names.keys()].map((pid) => Number(share(run, pid)));
      return {time: ms(d.time, 1), from: String(d.source), to: String(d.cpu), fair: (400 / all.length).toFixed(1), least: Math.min(...all).toFixed(1), most: Math.max(...all).toFixed(1)};
    }}},
  {see: {given: IMPATIENT, look: 'whatif', at: asks, figures: (_, d) => ({time: ms(d.time, 1), who: who(d)})},
    try: {fork: () => ({what: 'policy', value: 'eevdf'}), run: 1, look: 'lanes', figures: ([a, b]) => ({was: mean(a, 3), then: mean(b, 3)})}},
];

// --- the panel -----------------------------------------------------------------------------------

const KEPT = 'fairground-tour';   // in the browser: the step to go on with, 0 after the last
function kept(): number | null {
  try {
    const value = Number(localStorage.getItem(KEPT) ?? NaN);
    return Number.isInteger(value) && value >= 0 && value <= STEPS.length ? value : null;
  } catch {
    return null;
  }
}

function keep(step: number) {
  try {
    localStorage.setItem(KEPT, String(step));
  } catch {
    return;   // nothing can be kept here; the link still has the step
  }
}

const filled = (text: string, figures: Figures) => text.replace(/\{(\w+)\}/g, (_, name) => figures[name] ?? '?');

/** The tour. `go` shows a step, for which its run is made unless it is @prepared. */
export function makeTour(page: Page) {
  const panel = $('tour'), button = $('begin') as HTMLButtonElement, back = $('totour');
  let now = 0;

  function offer() {
    const step = kept();
    button.className = step === null ? 'main' : '';
    button.textContent = step ? `${TEXT.goOn} ${step} / ${STEPS.length}` : TEXT.tour;
    button.hidden = now > 0;
    button.onclick = () => go(step || 1);
  }

  function look(part: string) {
    document.querySelectorAll('.looked').forEach((each) => each.classList.remove('looked'));
    $(part).closest('section')?.classList.add('looked');
  }

  // Show what @view is about, and put its text, with the numbers of the run, into @place.
  function tell(view: View, text: string, place: HTMLElement) {
    if (!place.isConnected)
      return;   // another step, or none, is shown by now
    const at = view.onward ? page.shown().at + 1 : 0, run = view.run ?? page.shown().run;
    const of = page.runs()[Math.min(run, page.runs().length - 1)];
    let found = at;
    while (found < of.decisions.length && view.at && !view.at(of.decisions.get(found)!))
      found++;
    if (found < of.decisions.length && (view.at || view.run !== undefined))
      page.show(run, view.at ? found : page.shown().at);
    look(view.look);
    place.textContent = found >= of.decisions.length ? TEXT.tourChanged : filled(text, view.figures(page.runs(), of.decisions.get(found)!, of.decisions.get(found - 1)!));
  }

  function prepare(view: View, then: () => void) {
    if (view.given)
      page.open(view.given, then);
    else if (view.fork)
      page.fork(view.fork(page.runs()[page.shown().run].decisions.get(page.shown().at)!), then);
    else
      then();
  }

  // @focus: the button that begins it gets the focus.
  function leave(focus: boolean) {
    keep(now === STEPS.length ? 0 : now);
    now = 0;
    panel.hidden = back.hidden = true;
    panel.replaceChildren();
    document.querySelectorAll('.looked').forEach((each) => each.classList.remove('looked'));
    offer();
    page.linked(0);
    if (focus)
      button.focus();
  }

  function go(step: number, prepared = false) {
    const {see, try: attempt} = STEPS[step - 1], texts = TOUR[step - 1];
    const title = el('h2', {tabIndex: -1, id: 'step'}, `${step} / ${STEPS.length}: ${texts.title}`);
    const seen = el('p', {ariaLive: 'polite', id: 'see'}, TEXT.running), done = el('p', {ariaLive: 'polite', id: 'tried'});
    const move = (to: number, label: string, id: string) => el('button', {type: 'button', id, className: id === 'onward' ? 'main' : '',
      disabled: to < 1, onclick: () => to > STEPS.length ? leave(true) : go(to)}, label);
    const tryIt = el('button', {type: 'button', id: 'try', disabled: true, onclick: () => {
      done.textContent = TEXT.running;
      const act = () => prepare(attempt, () => tell(attempt, texts.tried, done));
      attempt.given || page.isOpen(see.given!) && page.runs().length === see.given!.policies.length ? act()
        : page.open(see.given!, () => { tell(see, texts.see, seen); act(); });
    }}, TEXT.doIt);
    now = step;
    keep(step);
    panel.hidden = button.hidden = false;
    offer();
    panel.replaceChildren(title, seen, el('p', {}, el('strong', {}, `${TEXT.toTry} `), texts.try, ' ', tryIt), done,
      el('div', {className: 'bar'}, move(step - 1, TEXT.stepBack, 'backward'), move(step + 1, step === STEPS.length ? TEXT.finish : TEXT.stepOn, 'onward'),
        el('button', {type: 'button', id: 'again', onclick: () => go(step)}, TEXT.prepareAgain), el('button', {type: 'button', id: 'leave', onclick: () => leave(true)}, TEXT.leaveTour)));
    title.focus();
    page.linked(step);
    const ready = () => {
      tryIt.disabled = false;
      tell(see, texts.see, seen);
    };
    if (!prepared)
      return prepare(see, ready);
    if (page.isOpen(see.given!))
      return ready();
    tryIt.disabled = false;
    seen.textContent = TEXT.tourChanged;
  }

  panel.setAttribute('aria-label', TEXT.tour);
  panel.onkeydown = (event) => {
    if (event.key === 'Escape')
      leave(true);
  };
  back.textContent = TEXT.backToTour;
  back.onclick = () => $('step').focus();
  new IntersectionObserver(([entry]) => { back.hidden = !now || entry.isIntersecting; }).observe(panel);
  offer();
  return {go, leave: () => now && leave(false)};
}
