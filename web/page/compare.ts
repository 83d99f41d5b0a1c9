// SPDX-License-Identifier: GPL-2.0-only
// Two recorded runs beside each other: where do they begin to differ?

import {inWords} from './decision';
import {label, rowsOf} from './rows';
import {makeLook} from './look';
import {Run, firstDifference} from './model';
import {TEXT} from './strings';
import {$, el, ms} from './ui';

// The first switch at which two runs differ: on which CPU, when, and who runs in each; null: there is none. Times may
// differ, and the end of a run is no difference.
function firstSwitch(a: Run, b: Run): {cpu: number, a: {time: number, pid: number}, b: {time: number, pid: number}} | null {
  let found: ReturnType<typeof firstSwitch> = null;
  for (let cpu = 0; cpu < Math.min(a.cpus, b.cpus); cpu++) {
    const [one, two] = [rowsOf(a, 'cpu')[cpu].pieces, rowsOf(b, 'cpu')[cpu].pieces];
    const at = one.findIndex((span, i) => two[i] && label(a, span.pid) !== label(b, two[i].pid));
    if (at >= 0 && (!found || one[at].from < found.a.time))
      found = {cpu, a: {time: one[at].from, pid: one[at].pid}, b: {time: two[at].from, pid: two[at].pid}};
  }
  return found;
}

const policyOf = (run: Run) => run.decisions.get(run.decisions.find((d) => d.policy))?.policy;

// The first decision that differs, and its number; null: the runs share no beginning, or are of two policies.
function decisions(a: Run, b: Run): {text: string, at: number} | null {
  const at = firstDifference(a.decisions, b.decisions, 0);
  if (at === 0 || !a.decisions.length || policyOf(a) !== policyOf(b))
    return null;
  const said = (run: Run) => `${run.name}: ${inWords(run.decisions.get(at))}`;
  return {at, text: at < 0 ? TEXT.sameDecisions : `${TEXT.differs} ${said(a)}; ${said(b)}.`};
}

function switches(a: Run, b: Run): {text: string, time: number} {
  const found = firstSwitch(a, b), who = (run: Run, of: {time: number, pid: number}) => `${run.name}: ${label(run, of.pid)}, ${ms(of.time - run.begin)} ms`;
  return found ? {time: found.b.time, text: `${TEXT.firstSwitch} ${found.cpu}. ${who(a, found.a)}; ${who(b, found.b)}.`} : {time: -1, text: TEXT.sameSwitches};
}

/** Offer to compare two of @runs, which @look shows. */
export function makeCompare(look: ReturnType<typeof makeLook>, runs: Run[]) {
  const choose = (id: string, nr: number) => el('select', {id, ariaLabel: TEXT.compared}, ...runs.map((run, i) => el('option', {value: String(i), selected: i === nr}, run.name)));
  const one = choose('one', 0), two = choose('two', 1);
  $('compare').hidden = runs.length < 2;
  $('compare').replaceChildren(one, two, el('button', {type: 'button', id: 'first', onclick: () => {
    const [a, b] = [Number(one.value), Number(two.value)], found = decisions(runs[a], runs[b]) ?? switches(runs[a], runs[b]);
    $('compared').textContent = found.text;
    if ('at' in found && found.at >= 0)
      look.show(b, found.at);
    else if ('time' in found && found.time >= 0)
      look.goTo(b, found.time);
  }}, TEXT.firstDifference));
}
