// SPDX-License-Identifier: GPL-2.0-only
// Write a policy: an editor for a policy in expressions (docs/policies.md), which runs beside the others and is exported
// as C. The language is the simulator's (sim/policy/), and so are the sentences about mistakes.

import {LANGUAGE, TEXT} from './strings';
import {$, cpusInWords, el, table} from './ui';

declare const WRITTEN: Record<string, string>, OPERATIONS: Record<string, string>;

/** The name of its file in the simulator, and how long it may take, ms. */
export const OWN_FILE = 'own.policy', OWN_LIMIT = 15000, CHECK_LIMIT = 120000, OPERATIONS_CHECKED = 20000;

/** What the editor needs of the page. */
export type Page = {run(): void, ask(message: object, most: number, done: (answer: any) => void, progress?: (sofar: {runs: number}) => void): void, left(): void};

/** As --sched takes the name of the policy @text; what the simulator says of a text without one does not depend on it. */
export const nameOf = (text: string) => (/^[ \t]*policy[ \t]+(\w+)/m.exec(text)?.[1] ?? 'own').replaceAll('_', '-');

/** What the policy adds to the words and files of a run. */
export const wordsOf = (text: string) => text ? ['--plugin', OWN_FILE] : [];
export const filesOf = (text: string): Record<string, string> => text ? {[OWN_FILE]: text} : {};

/** The line and the sentence of @error if it is about the policy. */
export function mistakeIn(error: string): {line: number, sentence: string} | undefined {
  const [, line, sentence] = /^--plugin own\.policy: line (\d+): (.*)/.exec(error) ?? [];
  if (line)
    return {line: Number(line), sentence};
  const [, when, bug, what] = /^bug at (\d+) ns on CPU \d+: own\.policy:(\d+): (.*)/.exec(error) ?? [];
  return bug ? {line: Number(bug), sentence: `${what} (${TEXT.at} ${(Number(when) / 1e6).toFixed(3)} ms)`} : undefined;
}

// "nice.1.3.7~^2" as a line of a table: the word, what happens, and with which numbers.
function operation(text: string, nr: number): (Node | string)[] {
  const [, name, numbers, marks] = /^(\w+)((?:\.\d+)*)(.*)$/.exec(text) ?? [], [cpu, task, arg] = (numbers ?? '').split('.').slice(1);
  return [String(nr + 1), el('code', {}, text), `${OPERATIONS[name] ?? name}${marks?.includes('~') ? `; ${TEXT.later}` : ''}${marks?.includes('^') ? `; ${TEXT.inside}` : ''}`,
    cpu ?? '0', task ?? '0', arg ?? '0'];
}

/** What an exploration printed, for a reader: the operations that are left, and how to repeat them. */
function viewOfFailure(out: string, page: {wrong(line: number, sentence: string): void}): Node[] {
  const [, seed, at, what, left, command, machine, ops] =
    /^\S+, seed (\d+), operation (\d+): (.*)\n(\d+) operations are left.*\n\s*(.*--replay "machine\.(\S+) ?(.*)")/.exec(out) ?? [];
  if (!what)
    return [el('pre', {}, out)];
  const [, line, sentence] = /^own\.policy:(\d+): (.*)/.exec(what) ?? [], [, cpus, , , , tasks] = machine.split('.');
  if (line)
    page.wrong(Number(line), sentence);
  return [el('h3', {}, `${TEXT.violated} ${what.replace(/^\S+:\d+: /, '')}`),
    el('p', {}, `${TEXT.foundAt} ${at} (${TEXT.seed} ${seed}). ${left} ${TEXT.operationsLeft} ${cpusInWords(Number(cpus))}, ${tasks} ${TEXT.places}.`),
    el('div', {className: 'scroll', id: 'operations'}, table(TEXT.operationsOf, ['', TEXT.operation, TEXT.meaning, 'CPU', TEXT.task, TEXT.number], ops.split(' ').filter(Boolean).map(operation))),
    el('p', {}, `${TEXT.replay} `, el('code', {id: 'replay'}, command))];
}

/** The editor; `go` opens it, with @text if there is one, and runs that unless it is @kept. */
export function makeOwn(page: Page) {
  const panel = $('own'), button = $('writing') as HTMLButtonElement;
  let isOpen = false;

  function leave(focus: boolean) {
    isOpen = false;
    panel.hidden = true;
    button.hidden = false;
    page.left();
    if (focus)
      button.focus();
  }

  const editor = el('textarea', {id: 'policy', spellcheck: false, rows: 22, ariaLabel: TEXT.policyText, autocapitalize: 'off'});
  const said = el('p', {id: 'ownsaid', role: 'alert'}), done = el('p', {id: 'owndone', ariaLive: 'polite'});
  const exported = el('textarea', {id: 'exported', readOnly: true, rows: 12, hidden: true, ariaLabel: TEXT.exportedText});

  const checked = el('div', {id: 'checked'});

  function forget() {
    said.textContent = '';
    done.textContent = '';
    exported.hidden = true;
    checked.replaceChildren();
  }

  function download() {
    const text = editor.value;
    forget();
    page.ask({exported: {name: OWN_FILE, text}}, OWN_LIMIT, ({c}) => {
      const name = `${nameOf(text).replaceAll('-', '_')}.c`, url = URL.createObjectURL(new Blob([c], {type: 'text/x-c'}));
      exported.value = c;
      exported.hidden = false;
      done.replaceChildren(`${TEXT.exported} `, el('a', {href: url, download: name}, name), `, make plugin SRC=${name}.`);
    });
  }

  function check() {
    const text = editor.value, proportional = /^[ \t]*promises\b.*\bproportional\b/m.test(text);
    forget();
    page.ask({checked: {file: OWN_FILE, text, name: nameOf(text), ops: OPERATIONS_CHECKED, proportional}}, CHECK_LIMIT, ({checked: {failed, out, unfair}}) => {
      const shares = unfair.map(({nice, is, due}: any) => `${TEXT.nice} ${nice}: ${is.toFixed(1)} %, ${TEXT.due} ${due.toFixed(1)} %`);
      done.textContent = failed ? TEXT.checkFailed : shares.length ? `${TEXT.notProportional} ${shares.join('; ')}.` : TEXT.checkHeld;
      if (failed)
        checked.replaceChildren(...viewOfFailure(out, api));
    }, ({runs}) => { done.textContent = `${TEXT.checking} ${runs}`; });
  }

  const choice = el('select', {id: 'written', ariaLabel: TEXT.written}, el('option', {value: ''}, TEXT.written),
    ...Object.keys(WRITTEN).map((name) => el('option', {value: name}, name)));
  choice.onchange = () => {
    if (!(choice.value in WRITTEN))
      return;
    editor.value = WRITTEN[choice.value];
    page.run();
  };
  editor.onkeydown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      page.run();
    }
  };
  const act = (id: string, label: string, onclick: () => void, className = '') => el('button', {type: 'button', id, className, onclick}, label);
  const title = el('h2', {tabIndex: -1, id: 'owntitle'}, TEXT.write);
  panel.append(title, el('p', {}, TEXT.writeHelp), choice, editor, said, el('div', {className: 'bar'}, act('runown', TEXT.runOwn, page.run, 'main'),
    act('check', TEXT.check, check), act('export', TEXT.export, download), act('leaveown', TEXT.leaveHunt, () => leave(true))), done, exported, checked,
  el('details', {}, el('summary', {}, TEXT.language), ...LANGUAGE.flatMap(({head, rows}) =>
    [el('h3', {}, head), el('div', {className: 'scroll words'}, table(head, [TEXT.word, TEXT.meaning], rows.map(([word, what]) => [el('code', {}, word), what])))])));
  panel.setAttribute('aria-label', TEXT.write);
  panel.onkeydown = (event) => {
    if (event.key === 'Escape')
      leave(true);
  };

  function go(given = '', kept = false) {
    isOpen = true;
    panel.hidden = false;
    button.hidden = true;
    editor.value = given || editor.value || Object.values(WRITTEN)[0];
    title.focus();
    if (!kept)
      page.run();
  }

  button.textContent = TEXT.write;
  button.onclick = () => go();
  const api = {
    go, leave: () => isOpen && leave(false),
    /** What is written; nothing if it is closed. */
    text() {
      if (isOpen)
        forget();
      return isOpen ? editor.value : '';
    },
    /** Say what is wrong, and select the line. */
    wrong(line: number, sentence: string) {
      const before = editor.value.split('\n').slice(0, line - 1).join('\n').length, from = line > 1 ? before + 1 : 0;
      const end = editor.value.indexOf('\n', from);
      said.textContent = `${TEXT.lineNr} ${line}: ${sentence}`;
      editor.setSelectionRange(from, end < 0 ? editor.value.length : end);
    },
  };
  return api;
}
