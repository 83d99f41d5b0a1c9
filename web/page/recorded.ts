// SPDX-License-Identifier: GPL-2.0-only
// Decisions as their records' own bytes (docs/decisions.md). A long run has a million of them, and objects take many times
// the room of bytes: so each is read when it is looked at. The bytes describe themselves: fields and names are theirs.

import {TEXT} from './strings';
import {Decision, Decisions, parseDecisions} from './model';

export type Field = {name: string, at: number, size: number, signed: boolean, text: boolean, names: Map<number, string>};
export type Format = {system: string, name: string, id: number, fields: Field[], isRow: boolean};
export type Event = {time: number, cpu: number, format: Format, at: number};

export const BINARY = 'FGDECIDE';
export const MOST = 1000000;   // decisions that the page keeps
const PREFIX = 'sched_decision_';
// The lists of a decision of each kind, and the events that are their rows. All other kinds are those of a fair policy.
const LISTS: Record<string, Record<string, string>> = {select: {cpus: 'cpu'}, class: {tasks: 'task', cpus: 'level'},
  balance: {runqueues: 'runqueue', parts: 'part', tasks: 'movable'}, quota: {}, pool: {}};
const FAIR_LISTS = {candidates: 'candidate'};

export const bad = (text: string): never => { throw new Error(TEXT.notFile + text); };

// A position in bytes, whose numbers have the little end first or the big one. Whatever reads beyond them says that the file is cut off.
export class Reader {
  view: DataView;
  at = 0;
  constructor(public bytes: Uint8Array, public little = true) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  need(at: number, size: number) {
    if (!(size >= 0) || at + size > this.bytes.length)
      bad(TEXT.endsEarly);
    return at;
  }
  take(size: number) {
    this.at = this.need(this.at, size) + size;
    return this.at - size;
  }
  u16(at = this.take(2)) { return this.view.getUint16(this.need(at, 2), this.little); }
  u32(at = this.take(4)) { return this.view.getUint32(this.need(at, 4), this.little); }
  u64(at = this.take(8)) { return this.u32(this.need(at, 8) + (this.little ? 0 : 4)) + this.u32(at + (this.little ? 4 : 0)) * 2 ** 32; }
  text(size: number, at = this.take(size)) {
    return new TextDecoder().decode(this.bytes.subarray(this.need(at, size), at + size));
  }
  word() {
    const end = this.bytes.indexOf(0, this.at);
    return end < 0 ? bad(TEXT.endsEarly) : this.text(end + 1 - this.at).slice(0, -1);
  }
}

export function parseFormat(system: string, source: string): Format {
  const head = /^name: (\w+)\nID: (\d+)\n/.exec(source) ?? bad(TEXT.damaged);
  const fields = [...source.matchAll(/field:(.*?);\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d)/g)].map(([, declared, at, size, signed]) => {
    const name = declared.replace(/\[.*\]$/, '').trim().split(/\s+/).pop()!;
    const symbols = new RegExp(`__print_symbolic\\(REC->${name},([^)]*)\\)`).exec(source)?.[1] ?? '';
    return {name, at: Number(at), size: Number(size), signed: signed === '1', text: /^(__data_loc )?char\b/.test(declared),
      names: new Map([...symbols.matchAll(/\{ *(\w+), *"([^"]*)" *\}/g)].map(([, nr, text]) => [Number(nr), text]))};
  }).filter(({name}) => !name.startsWith('common_'));
  return {system, name: head[1], id: Number(head[2]), fields, isRow: !fields.some((field) => field.name === 'rule')};
}

// Numbers beyond 2^53 stay exact as texts of digits.
function valueOf(reader: Reader, base: number, field: Field): number | string {
  const at = base + field.at, {view, little} = reader;
  if (field.text)
    return reader.text(field.size, at).split('\0')[0];
  reader.need(at, field.size);
  if (field.size === 8) {
    const wide = field.signed ? view.getBigInt64(at, little) : view.getBigUint64(at, little), value = Number(wide);
    return Number.isSafeInteger(value) ? value : String(wide);
  }
  const value = field.size === 1 ? (field.signed ? view.getInt8(at) : view.getUint8(at))
    : field.size === 2 ? (field.signed ? view.getInt16(at, little) : view.getUint16(at, little))
      : field.signed ? view.getInt32(at, little) : view.getUint32(at, little);
  return field.names.get(value) ?? value;
}

export function record(reader: Reader, format: Format, at: number): Decision {
  const found: Decision = {};
  for (const field of format.fields)
    found[field.name] = valueOf(reader, at, field);
  return found;
}

const listsOf = (kind: string): Record<string, string> => LISTS[kind] ?? FAIR_LISTS;
const rowsOf = (kind: string) => Object.values(listsOf(kind));

/** Decisions whose records lie in bytes. */
export class Recorded extends Decisions {
  private times: number[] = [];
  private records: number[] = [];   // where each record is
  private rows: number[] = [];      // where the rows are, those of a decision beside each other
  private rowsTo: number[] = [0];   // before which of them those of a decision begin, and end
  private waiting = new Map<number, Map<string, number[]>>();   // rows of each CPU, by name, whose record is still to come
  private shown: {index: number, decision: Decision} = {index: -1, decision: {}};

  constructor(readonly formats: Map<number, Format>, readonly reader: Reader) {
    super();
  }
  get length() { return this.times.length; }
  time(index: number) { return this.times[index]; }

  add({time, cpu, format, at}: Event) {
    if (!format.name.startsWith(PREFIX) || this.length >= MOST)
      return;
    const waiting = this.waiting.get(cpu) ?? new Map<string, number[]>(), name = format.name.slice(PREFIX.length);
    if (format.isRow) {
      this.waiting.set(cpu, waiting);
      waiting.get(name)?.push(at) ?? waiting.set(name, [at]);
      return;
    }
    this.times.push(time);
    this.records.push(at);
    for (const row of rowsOf(name)) {
      this.rows.push(...waiting.get(row) ?? []);
      waiting.delete(row);
    }
    this.rowsTo.push(this.rows.length);
  }
  private format(at: number) {
    return this.formats.get(this.reader.u16(at))!;
  }
  brief(index: number): Decision {
    const at = this.records[index], format = this.format(at);
    return {time: this.times[index], kind: format.name.slice(PREFIX.length), ...record(this.reader, format, at)};
  }
  private whole(index: number): Decision {
    const decision = this.brief(index), rows = this.rows.slice(this.rowsTo[index], this.rowsTo[index + 1]);
    for (const [name, row] of Object.entries(listsOf(decision.kind)))
      decision[name] = rows.filter((at) => this.format(at).name === PREFIX + row)
        .map((at, nr) => ({nr, ...record(this.reader, this.format(at), at)}));
    return decision;
  }
  get(index: number): Decision | undefined {
    if (!(index >= 0 && index < this.length))
      return undefined;
    if (this.shown.index !== index)
      this.shown = {index, decision: this.whole(index)};
    return this.shown.decision;
  }
}

/** Adds the events that are in the bytes of @decisions, from where its reader is on. Returns whether there was an end that
 * tells their number. */
export function addEvents(decisions: Recorded): boolean {
  const {reader, formats} = decisions;
  for (let nr = 0; reader.at < reader.bytes.length; nr++) {
    const time = reader.u64(), at = reader.at, id = reader.u16(), size = reader.u16(), cpu = reader.u32();
    if (id === 0)
      return time === nr && reader.at === reader.bytes.length || bad(TEXT.damaged);
    const format = formats.get(id) ?? bad(TEXT.damaged);
    if (size < 8)
      bad(TEXT.damaged);
    reader.at = at;
    reader.take(size);
    decisions.add({time, cpu, format, at});
  }
  return false;
}

/** What stands before the records of the compact form. @reader is behind it then. */
export function readHead(reader: Reader): {head: Decision, formats: Map<number, Format>} {
  reader.at = BINARY.length;
  if (reader.u32() !== 1)
    bad(TEXT.otherVersion);
  const [line, ...rest] = reader.text(reader.u32()).split('\n'), {head} = parseDecisions(`${line}\n`, true);
  return {head, formats: new Map(rest.join('\n').split(/^(?=name: )/m).filter((text) => text.startsWith('name: '))
    .map((text) => parseFormat('decision', text)).map((format) => [format.id, format]))};
}

/** A file of the compact form. */
export function readBinary(bytes: Uint8Array): {head: Decision, decisions: Recorded} {
  const reader = new Reader(bytes), {head, formats} = readHead(reader), decisions = new Recorded(formats, reader);
  if (!addEvents(decisions))
    bad(TEXT.endsEarly);
  return {head, decisions};
}
