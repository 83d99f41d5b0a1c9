// SPDX-License-Identifier: GPL-2.0-only
// See a bug and find it: the scheduler beside one with a seeded bug of tests/mutants, under a workload that shows it. The
// reader names the rule that is broken. The texts are in strings.ts.

import {BUGS as TEXTS, DECOYS, TEXT} from './strings';
import {inWords} from './decision';
import {Run, firstDifference} from './model';
import {Given} from './tour';
import {$, el} from './ui';

const on = (policy: string, work: string, time = 200, cpus = 1): Given => ({work, cpus, ms: time, policies: [policy]});
const messages = (workers: number) => `--topology 2x4x1 messages:n=2,workers=${workers},run=2ms,work=50us hogs:n=2`;
const CHOICES = 4;

/** The bugs by their names in tests/mutants, each with a workload that shows it. */
export const BUGS: {name: string, given: Given}[] = [
  {name: 'sleepers_pay_for_their_sleep', given: on('cfs', 'hogs:n=2 bursts:run=2ms,sleep=10ms')},
  {name: 'everybody_is_eligible', given: on('eevdf', 'hogs:n=2,slice=20ms hogs:n=1,slice=1ms', 100)},
  {name: 'yielder_not_passed_over', given: on('cfs', 'yielders:n=1,run=1ms hogs:n=2', 100)},
  {name: 'score_without_weight', given: on('bore', 'hogs:n=4 bursts:run=2ms,sleep=10ms', 400)},
  {name: 'cache_not_searched_for_an_idle_cpu', given: on('eevdf', messages(5), 100, 8)},
  {name: 'start_debit_lost', given: on('cfs', 'hogs:n=2 forks:n=1,work=50us,sleep=1ms,run=500us', 100)},
  {name: 'everybody_delayed', given: on('eevdf', 'hogs:n=2 bursts:run=2ms,sleep=10ms')},
  {name: 'no_burst_ends', given: on('bore', 'hogs:n=4 bursts:run=2ms,sleep=10ms', 400)},
  {name: 'slack_is_kept', given: on('eevdf', 'group:name=a,quota=20ms,period=100ms bursts:n=1,group=a,run=8ms,sleep=60ms bursts:n=9,group=a,run=50us,sleep=50ms', 400, 8)},
  {name: 'wake_affine_to_the_busier', given: on('cfs', messages(6), 100, 8)},
  {name: 'group_without_urgency', given: on('eevdf', 'hogs:n=2,slice=5ms group:name=a bursts:run=1ms,sleep=4ms,slice=200us,group=a')},
  {name: 'container_never_first', given: on('fdl', 'group:name=d,deadline_rr=5ms,deadline_wakeup=5ms hogs:n=2,group=d hogs:n=2')},
];

/** What the hunt needs of the page. */
export type Page = {open(bug: number, given: Given, then: () => void): void, again(then: () => void): void, show(run: number, at: number): void, runs(): Run[], left(): void};

/** Sentences of which one says what bug @nr breaks; the others are rules of the same policy. */
function choices(nr: number): string[] {
  const {name, given: {policies: [policy]}} = BUGS[nr - 1], right = TEXTS[name].rule;
  const others = [...BUGS.filter((bug) => bug.given.policies[0] === policy && bug.name !== name).map((bug) => TEXTS[bug.name].rule), ...DECOYS[policy] ?? []];
  const chosen = others.slice(0, CHOICES - 1);
  chosen.splice(nr * 7 % CHOICES, 0, right);
  return chosen;
}

/** The hunt; `go` begins it with the bug of a number, whose run stays as the link has it if it is @kept. */
export function makeHunt(page: Page) {
  const panel = $('hunt'), button = $('hunting') as HTMLButtonElement;
  let now = 0;

  // @focus: the button that begins it gets the focus.
  function leave(focus: boolean) {
    now = 0;
    panel.hidden = true;
    panel.replaceChildren();
    button.hidden = false;
    page.left();
    if (focus)
      button.focus();
  }

  // The number of the first decision that differs in each pair of the scheduler and its like with the bug; -1: none.
  function first(): {run: number, at: number} {
    const runs = page.runs();
    for (let run = 0; run + 1 < runs.length; run += 2) {
      const at = firstDifference(runs[run].decisions, runs[run + 1].decisions, 0);
      if (at >= 0)
        return {run: run + 1, at};
    }
    return {run: 0, at: -1};
  }

  function go(nr: number, kept = false) {
    const {name, given} = BUGS[nr - 1], said = el('p', {id: 'differing', ariaLive: 'polite'}), verdict = el('p', {id: 'verdict', ariaLive: 'polite'});
    const title = el('h2', {tabIndex: -1, id: 'bugtitle'}, `${TEXT.bug} ${nr} / ${BUGS.length}`);
    const ask = el('button', {type: 'button', id: 'reveal', disabled: true, onclick: () => {
      const {run, at} = first();
      said.textContent = at < 0 ? TEXT.same : `${TEXT.differs} ${TEXT.correct} ${inWords(page.runs()[run - 1].decisions.get(at))}; ${TEXT.buggy} ${inWords(page.runs()[run].decisions.get(at))}.`;
      if (at >= 0)
        page.show(run, at);
    }}, TEXT.reveal);
    const boxes = choices(nr).map((text) => el('input', {type: 'radio', name: 'broken', value: text}));
    const answer = el('form', {id: 'answer', ariaLabel: TEXT.whichRule, onsubmit: (event: Event) => {
      event.preventDefault();
      const chosen = boxes.find((box) => box.checked)?.value;
      verdict.textContent = !chosen ? TEXT.chooseRule : chosen === TEXTS[name].rule ? `${TEXT.right} ${TEXTS[name].why}` : TEXT.wrong;
    }}, el('fieldset', {}, el('legend', {}, TEXT.whichRule), ...boxes.map((box) => el('label', {}, box, ` ${box.value}`))),
    el('button', {className: 'main', id: 'name'}, TEXT.answer));
    const move = (to: number, label: string, id: string) => el('button', {type: 'button', id, disabled: to < 1 || to > BUGS.length, onclick: () => go(to)}, label);
    now = nr;
    panel.hidden = false;
    button.hidden = true;
    panel.replaceChildren(title, el('p', {}, TEXT.huntHelp), el('p', {}, ask), said, answer, verdict, el('div', {className: 'bar'},
      move(nr - 1, TEXT.bugBefore, 'bugbefore'), move(nr + 1, TEXT.bugAfter, 'bugafter'), el('button', {type: 'button', id: 'leavehunt', onclick: () => leave(true)}, TEXT.leaveHunt)));
    title.focus();
    const ready = () => { ask.disabled = now !== nr; };
    kept ? page.again(ready) : page.open(nr, given, ready);
  }

  panel.setAttribute('aria-label', TEXT.hunt);
  panel.onkeydown = (event) => {
    if (event.key === 'Escape')
      leave(true);
  };
  button.textContent = TEXT.hunt;
  button.onclick = () => go(1);
  return {go, leave: () => now && leave(false)};
}
