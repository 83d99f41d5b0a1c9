// SPDX-License-Identifier: GPL-2.0-only
// A machine as JSON becomes words for schedsim and a file with its operating points (docs/energy.md). What the values
// may be is the simulator's business; here is checked what is no such machine at all.

import {TEXT} from './strings';

const LEVELS = ['nodes', 'llcs', 'cores', 'threads'], COSTS = ['switch', 'tick', 'timer', 'wake', 'ipi', 'migration', 'cold', 'shard', 'mem'];
const TABLE = 'machine.opp';
type Type = {opp: number[][], idle?: number[][], latency?: number};
type Domain = {cpus?: string, type: string};
export type Machine = {words: string[], files: Record<string, string>, hasCpus: boolean};

const isObject = (value: unknown): value is Record<string, any> => typeof value === 'object' && value !== null && !Array.isArray(value);
const isWord = (value: unknown): value is string | number => typeof value === 'number' && Number.isFinite(value) || typeof value === 'string' && /^[\w.+:-]+$/.test(value);
const isRow = (size: number) => (row: unknown) => Array.isArray(row) && row.length === size && row.every((value) => Number.isInteger(value) && value >= 0);

/** What @text says, "" being no machine. An Error has the line and the key of the mistake. */
export function readMachine(text: string): Machine {
  const words: string[] = [], files: Record<string, string> = {};
  if (!text.trim())
    return {words, files, hasCpus: false};
  const lineOf = (at: number) => text.slice(0, at).split('\n').length;
  const wrong = (key: string, why: string): never => {
    throw new Error(`${TEXT.machineName}:${lineOf(Math.max(0, text.indexOf(JSON.stringify(key))))}: "${key}" ${why}`);
  };
  const known = (value: unknown, key: string, names: string[]): Record<string, any> => {
    if (!isObject(value))
      return wrong(key, TEXT.noObject);
    for (const name of Object.keys(value))
      if (!names.includes(name))
        wrong(name, TEXT.unknownKey);
    return value;
  };
  const word = (of: Record<string, any>, key: string): string => isWord(of[key]) ? String(of[key]) : wrong(key, TEXT.noWord);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    const [, at] = /position (\d+)/.exec((error as Error).message) ?? [], [, line] = /line (\d+)/.exec((error as Error).message) ?? [];
    throw new Error(`${TEXT.machineName}:${line ?? lineOf(at ? Number(at) : text.length)}: ${(error as Error).message.split(' (')[0]}`);
  }
  const given = known(parsed, 'machine', [...LEVELS, 'hz', 'skew', 'opp', 'types', 'domains', 'governor', 'costs']);
  const levels = LEVELS.filter((name) => name in given).map((name) => `${name}=${word(given, name)}`);
  if (levels.length)
    words.push('--topology', levels.join());
  for (const name of ['hz', 'skew', 'governor', 'opp'])
    if (name in given)
      words.push(`--${name}`, word(given, name));
  for (const name of Object.keys(known(given.costs ?? {}, 'costs', COSTS)))
    words.push(`--cost-${name}`, word(given.costs, name));
  if (given.types || given.domains) {
    words.push('--opp', TABLE);
    files[TABLE] = tableOf(given, known, wrong);
  }
  return {words, files, hasCpus: levels.length > 0 || 'opp' in given};
}

// The text of a table of operating points.
function tableOf(given: Record<string, any>, known: (value: unknown, key: string, names: string[]) => Record<string, any>,
  wrong: (key: string, why: string) => never): string {
  const lines: string[] = [];
  if (!isObject(given.types))
    wrong('types', TEXT.noObject);
  for (const [name, value] of Object.entries(given.types)) {
    if (!/^\w+$/.test(name))
      wrong('types', TEXT.noWord);
    const type = known(value, name, ['opp', 'idle', 'latency']) as Type;
    if (!Array.isArray(type.opp) || !type.opp.every(isRow(4)))
      wrong('opp', TEXT.noRows.replace('N', '4'));
    if (!Array.isArray(type.idle ?? []) || !(type.idle ?? []).every(isRow(3)))
      wrong('idle', TEXT.noRows.replace('N', '3'));
    lines.push(`type ${name}`, ...type.opp.map((row) => `opp ${row.join(' ')}`), ...(type.idle ?? []).map((row) => `idle ${row.join(' ')}`));
    if (type.latency !== undefined)
      lines.push(`latency ${isWord(type.latency) ? type.latency : wrong('latency', TEXT.noWord)}`);
  }
  if (!Array.isArray(given.domains))
    wrong('domains', TEXT.noList);
  for (const each of given.domains) {
    const domain = known(each, 'domains', ['cpus', 'type']) as Domain;
    if (!isWord(domain.type) || domain.cpus !== undefined && !isWord(domain.cpus))
      wrong('domains', TEXT.noWord);
    lines.push(`domain ${domain.cpus ?? 'llc'} ${domain.type}`);
  }
  return lines.join('\n') + '\n';
}
