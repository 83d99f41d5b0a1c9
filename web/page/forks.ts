// SPDX-License-Identifier: GPL-2.0-only
// What if? One or several futures of the moment shown, beside the one that was, and where each begins to differ.

import {TEXT} from './strings';
import {inWords} from './decision';
import {Change, Run, firstDifference, waitsOf} from './model';
import {$, el, ms, table} from './ui';

export const MOST_RUNS = 8;   // that are drawn
export type Asked = Omit<Change, 'at'>;
/** What forks need of the page: @simulate adds to the asked runs what is found. */
export type Page = {
  policies(): string[], current(): Run, at(): number, runs(): Run[], say(text: string): void, show(run: number, at: number): void,
  simulate(asked: object[], done: (found: Run[]) => void): void, draw(runs: Run[]): void,
};

/** One change for each value of "NAME=1,2,3" or "PID=-5,5"; any other text is one. */
export function changesOf(what: string, text: string): Asked[] {
  const [, name, values] = /^\s*([^=]*)=(.*)$/.exec(text) ?? [];
  return name === undefined ? [{what, value: text}] : values.split(',').map((value) => ({what, value: `${name.trim()}=${value.trim()}`}));
}

// How long tasks waited, and CPUs idled meanwhile.
function outcome(run: Run): string[] {
  const waits = waitsOf(run, [...run.names.keys()]);
  return [ms(waits.mean), ms(waits.longest), ms(run.waste.reduce((a, {from, to, nr}) => a + (to - from) * nr, 0))];
}

/** Forget what was said of earlier forks and files. */
export function clearForks() {
  $('compare').replaceChildren();
  $('compared').textContent = '';
  $('differs').textContent = '';
  $('futures').replaceChildren();
}

/** Fork the moment shown, for each of @asked, and say where the futures differ. */
export function forkHere(page: Page, asked: Asked[], then?: () => void) {
  const base = page.current();
  if (!base?.made || !base.decisions.length)
    return page.say(TEXT.onlySimulated);
  if (asked.length >= MOST_RUNS)
    return page.say(TEXT.tooManyForks);
  const made = base.made, moment = page.at(), at = base.decisions.time(moment), from = base.decisions.at(at);
  return page.simulate(asked.map((each) => ({...made, name: `${base.name} → ${each.value}`,
    changes: [...made.changes.filter((change) => change.at <= at), {at, ...each}]})), (found) => {
    const others = page.runs().filter((run) => run !== base), kept = new Set([base, ...others.slice(Math.max(0, others.length - (MOST_RUNS - 1 - found.length)))]);
    const runs = [...page.runs().filter((run) => kept.has(run)), ...found];
    const firsts = found.map((run) => firstDifference(base.decisions, run.decisions, from));
    page.draw(runs);
    clearForks();
    if (found.length === 1) {
      const [first] = firsts;
      $('differs').textContent = first < 0 ? TEXT.same
        : `${TEXT.differs} ${TEXT.now} ${inWords(base.decisions.get(first))}; ${TEXT.then} ${inWords(found[0].decisions.get(first))}.`;
      page.show(runs.length - 1, first < 0 ? moment : first);
    } else {
      const go = (run: Run, to: number) => el('button', {type: 'button', onclick: () => page.show(page.runs().indexOf(run), to)}, run.name);
      $('differs').textContent = `${found.length} ${TEXT.futures}`;
      $('futures').replaceChildren(table(TEXT.whatif, [TEXT.future, TEXT.now, TEXT.then, TEXT.mean, TEXT.longest, TEXT.idled],
        [[go(base, moment), '', '', ...outcome(base)], ...found.map((run, i) => firsts[i] < 0 ? [go(run, moment), TEXT.noDifference, '', ...outcome(run)]
          : [go(run, firsts[i]), inWords(base.decisions.get(firsts[i])), inWords(run.decisions.get(firsts[i])), ...outcome(run)])]));
      page.show(runs.indexOf(base), moment);
    }
    then?.();
  });
}

// The names among which one is chosen; the last stays what it is.
function fill(policy: HTMLSelectElement, names: string[]) {
  const last = policy.lastElementChild!;
  policy.replaceChildren(...names.map((name) => el('option', {value: name}, name)), last);
  policy.selectedIndex = 0;
}

/** The policies to fork to have changed. */
export function offerPolicies(names: string[]) {
  fill($('to') as HTMLSelectElement, names);
}

/** Put what can be changed into its part of the page. */
export function makeForks(page: Page) {
  const what = el('select', {ariaLabel: TEXT.change, id: 'what'}, ...['policy', 'tunable', 'nice'].map((value) => el('option', {value}, (TEXT as any)[value])));
  const policy = el('select', {ariaLabel: TEXT.policy, id: 'to'}, el('option', {value: '*'}, TEXT.allOthers));
  fill(policy, page.policies());
  const value = el('input', {type: 'text', ariaLabel: TEXT.value, placeholder: TEXT.value, title: TEXT.value, hidden: true, id: 'value'});
  const others = () => {
    let at = page.at();   // of the last decision of a fair policy
    while (at > 0 && !page.current().decisions.get(at)!.candidates)
      at--;
    return page.policies().filter((name) => name !== page.current()?.decisions.get(at)?.policy.replace('_', '-'));
  };
  const fork = el('button', {type: 'button', id: 'fork', onclick: () => forkHere(page, what.value !== 'policy' ? changesOf(what.value, value.value)
    : (policy.value === '*' ? others() : [policy.value]).map((name) => ({what: 'policy', value: name})))}, TEXT.fork);
  what.onchange = () => {
    policy.hidden = what.value !== 'policy';
    value.hidden = !policy.hidden;
  };
  $('whatif').querySelector('h2')!.textContent = TEXT.whatif;
  $('whatif').querySelector('.bar')!.append(`${TEXT.change}: `, what, policy, value, fork);
}
