// SPDX-License-Identifier: GPL-2.0-only
// Reads what was recorded elsewhere: lines of JSON, the records' own bytes, and a trace.dat of the kernel, the simulator
// or Linux. docs/decisions.md describes the forms. The latter two describe themselves: fields and names are theirs.

import {TEXT} from './strings';
import {Decision, Run, Timeline, checkDecision, parseDecisions, spansOf} from './model';

type Field = {name: string, at: number, size: number, signed: boolean, text: boolean, names: Map<number, string>};
type Format = {system: string, name: string, id: number, fields: Field[], isRow: boolean};
type Event = {time: number, cpu: number, format: Format, at: number};

const BINARY = 'FGDECIDE', TRACE = '\x17\x08Dtracing', PREFIX = 'sched_decision_';
export const MOST = 200000;       // decisions that the page keeps
const MOST_BYTES = 512 << 20, MOST_CPUS = 4096;
// The lists of a decision of each kind, and the events that are their rows. All other kinds are those of a fair policy.
const LISTS: Record<string, Record<string, string>> = {select: {cpus: 'cpu'}, class: {tasks: 'task', cpus: 'level'},
  balance: {runqueues: 'runqueue', parts: 'part', tasks: 'movable'}, quota: {}, pool: {}};
const FAIR_LISTS = {candidates: 'candidate'};

const bad = (text: string): never => { throw new Error(TEXT.notFile + text); };

// A position in bytes. Whatever reads beyond them says that the file is cut off.
class Reader {
  view: DataView;
  at = 0;
  constructor(public bytes: Uint8Array) {
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
  u16(at = this.take(2)) { return this.view.getUint16(this.need(at, 2), true); }
  u32(at = this.take(4)) { return this.view.getUint32(this.need(at, 4), true); }
  u64(at = this.take(8)) { return Number(this.view.getBigUint64(this.need(at, 8), true)); }
  text(size: number, at = this.take(size)) {
    return new TextDecoder().decode(this.bytes.subarray(this.need(at, size), at + size));
  }
  word() {
    const end = this.bytes.indexOf(0, this.at);
    return end < 0 ? bad(TEXT.endsEarly) : this.text(end + 1 - this.at).slice(0, -1);
  }
}

function parseFormat(system: string, source: string): Format {
  const head = /^name: (\w+)\nID: (\d+)\n/.exec(source) ?? bad(TEXT.damaged);
  const fields = [...source.matchAll(/field:(.*?);\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d)/g)].map(([, declared, at, size, signed]) => {
    const name = declared.replace(/\[.*\]$/, '').trim().split(/\s+/).pop()!;
    const symbols = new RegExp(`__print_symbolic\\(REC->${name},([^)]*)\\)`).exec(source)?.[1] ?? '';
    return {name, at: Number(at), size: Number(size), signed: signed === '1', text: /^(__data_loc )?char\b/.test(declared),
      names: new Map([...symbols.matchAll(/\{ *(\w+), *"([^"]*)" *\}/g)].map(([, nr, text]) => [Number(nr), text]))};
  });
  return {system, name: head[1], id: Number(head[2]), fields, isRow: !fields.some((field) => field.name === 'rule')};
}

// Numbers beyond 2^53 stay exact as texts of digits.
function valueOf(reader: Reader, base: number, field: Field): number | string {
  const at = base + field.at, {view} = reader;
  if (field.text)
    return reader.text(field.size, at).split('\0')[0];
  reader.need(at, field.size);
  if (field.size === 8) {
    const wide = field.signed ? view.getBigInt64(at, true) : view.getBigUint64(at, true), value = Number(wide);
    return Number.isSafeInteger(value) ? value : String(wide);
  }
  const value = field.size === 1 ? (field.signed ? view.getInt8(at) : view.getUint8(at))
    : field.size === 2 ? (field.signed ? view.getInt16(at, true) : view.getUint16(at, true))
      : field.signed ? view.getInt32(at, true) : view.getUint32(at, true);
  return field.names.get(value) ?? value;
}

function record(reader: Reader, event: Event): Decision {
  return Object.fromEntries(event.format.fields.filter((field) => !field.name.startsWith('common_'))
    .map((field) => [field.name, valueOf(reader, event.at, field)]));
}

// Each record of a decision comes after its rows, on one CPU.
function decisionsOf(reader: Reader, events: Event[]): Decision[] {
  const found: Decision[] = [], rows = new Map<number, Record<string, Decision[]>>();
  for (const event of events) {
    if (!event.format.name.startsWith(PREFIX))
      continue;
    const kind = event.format.name.slice(PREFIX.length), kept = rows.get(event.cpu) ?? {};
    if (event.format.isRow) {
      rows.set(event.cpu, kept);
      (kept[kind] ??= []).push({nr: kept[kind].length, ...record(reader, event)});
    } else {
      const decision: Decision = {time: event.time, kind, ...record(reader, event)};
      for (const [name, row] of Object.entries(LISTS[kind] ?? FAIR_LISTS)) {
        decision[name] = kept[row] ?? [];
        delete kept[row];
      }
      found.push(decision);
    }
    if (found.length >= MOST)
      break;
  }
  return found;
}

function readBinary(reader: Reader): {head: Decision, decisions: Decision[]} {
  reader.at = BINARY.length;
  if (reader.u32() !== 1)
    bad(TEXT.otherVersion);
  const [line, ...rest] = reader.text(reader.u32()).split('\n'), {head} = parseDecisions(`${line}\n`, true);
  const formats = new Map(rest.join('\n').split(/^(?=name: )/m).filter((text) => text.startsWith('name: '))
    .map((text) => parseFormat('decision', text)).map((format) => [format.id, format]));
  const events: Event[] = [];
  for (;;) {
    const time = reader.u64(), at = reader.at, id = reader.u16(), size = reader.u16(), cpu = reader.u32();
    if (id === 0)
      return time === events.length && reader.at === reader.bytes.length ? {head, decisions: decisionsOf(reader, events)} : bad(TEXT.damaged);
    const format = formats.get(id) ?? bad(TEXT.damaged);
    if (size < 8)
      bad(TEXT.damaged);
    reader.at = at;
    reader.take(size);
    events.push({time, cpu, format, at});
  }
}

// --- trace.dat, version 6 ------------------------------------------------------------------------

function readPage(reader: Reader, start: number, size: number, use: (time: number, at: number) => void) {
  const {view} = reader, end = start + 16 + (reader.u32(start + 8) & 0x7ffffff);
  let time = view.getBigUint64(start, true), at = start + 16;
  if (end > start + size)
    bad(TEXT.damaged);
  while (at < end) {
    const word = reader.u32(at), kind = word & 31;
    let gap = BigInt(word >>> 5), length = kind * 4;
    at += 4;
    if (kind === 0 || kind >= 29) {
      const array = reader.u32(at);
      at += 4;
      if (kind === 29 && !gap)
        return;   // nothing is on the rest of the page
      if (kind === 31)
        [time, gap] = [time >> 59n << 59n, BigInt(array) << 27n | gap];
      if (kind === 30)
        gap += BigInt(array) << 27n;
      length = kind > 29 ? 0 : array - 4;
    }
    if (length < 0 || at + length > end)
      bad(TEXT.damaged);
    time += gap;
    if (kind < 29)
      use(Number(time), at);
    at += length;
  }
}

function readTrace(reader: Reader): {events: Event[], names: Map<number, string>, cpus: number, topology: string} {
  reader.at = TRACE.length;
  if (reader.word() !== '6')
    bad(TEXT.traceVersion);
  const marks = [reader.text(2), reader.u32()];
  if (marks[0] !== '\0\b')
    bad(TEXT.damaged);
  const expect = (mark: string) => reader.text(mark.length) === mark || bad(TEXT.damaged);
  expect('header_page\0');
  reader.take(reader.u64());
  expect('header_event\0');
  reader.take(reader.u64());
  const formats = new Map<number, Format>();
  const system = (name: string) => {
    for (let n = reader.u32(); n > 0; n--) {
      const format = parseFormat(name, reader.text(reader.u64()));
      formats.set(format.id, format);
    }
  };
  system('ftrace');
  for (let n = reader.u32(); n > 0; n--)
    system(reader.word());
  reader.take(reader.u32());
  reader.take(reader.u32());
  const names = new Map(reader.text(reader.u64()).split('\n').map((line): [number, string] => [parseInt(line), line.replace(/^\S+ /, '')])
    .filter(([pid]) => pid >= 0));
  const cpus = reader.u32();
  if (!(cpus >= 1 && cpus <= MOST_CPUS))
    bad(TEXT.damaged);
  let mark = reader.text(10), topology = '';
  if (mark === 'options  \0') {
    while (reader.u16() !== 0) {
      const option = reader.text(reader.u32());
      topology ||= /; (\d+ CPUs?, [^;]*);/.exec(option)?.[1] ?? '';
    }
    mark = reader.text(10);
  }
  if (mark !== 'flyrecord\0')
    bad(TEXT.damaged);
  const places = Array.from({length: cpus}, () => [reader.u64(), reader.u64()]), events: Event[] = [], page = Number(marks[1]);
  if (page < 64)
    bad(TEXT.damaged);
  places.forEach(([start, size], cpu) => {
    for (let at = reader.need(start, size); at < start + size; at += page)
      readPage(reader, reader.need(at, page), page, (time, where) => {
        const format = formats.get(reader.u16(where));
        if (format)
          events.push({time, cpu, format, at: where});
      });
  });
  return {events: events.sort((a, b) => a.time - b.time || a.cpu - b.cpu), names, cpus, topology};
}

// Who ran and waited, from the events of tracefs.
function timelineOf(reader: Reader, events: Event[], end: number, cpus: number): Timeline {
  const line = new Timeline(cpus);
  for (const event of events) {
    const {name} = event.format;
    if (name === 'sched_switch') {
      const of = record(reader, event), state = Number(of.prev_state);
      line.name(Number(of.next_pid), String(of.next_comm));
      line.switched(event.time, event.cpu, Number(of.prev_pid), (state & 0xff) === 0, Number(of.next_pid));
    } else if (name === 'sched_wakeup' || name === 'sched_wakeup_new') {
      const of = record(reader, event);
      line.name(Number(of.pid), String(of.comm));
      line.runnable(event.time, Number(of.pid));
    }
  }
  return line.close(end);
}

function traceRun(reader: Reader): Run {
  const {events, names, cpus, topology} = readTrace(reader), wanted = events.filter(({format}) => format.system === 'decision' || format.name.startsWith('sched_'));
  const decisions = decisionsOf(reader, wanted);
  if (!wanted.length)
    bad(TEXT.noEvents);
  const begin = wanted[0].time, end = wanted[wanted.length - 1].time + 1;
  const line = wanted.some(({format}) => format.name === 'sched_switch') ? timelineOf(reader, wanted, end, cpus) : spansOf(decisions, end, cpus);
  for (const [pid, name] of names)
    if (line.names.has(pid))
      line.names.set(pid, name);
  return {name: '', head: {topology}, decisions, ...line.parts(), cpus, begin, end, ideal: [], complete: decisions.length < MOST};
}

function decisionsRun({head, decisions}: {head: Decision, decisions: Decision[]}): Run {
  const end = (decisions[decisions.length - 1]?.time ?? 0) + 1, cpus = Number(head.cpus);
  if (!(Number.isInteger(cpus) && cpus >= 1 && cpus <= MOST_CPUS))
    bad(TEXT.damaged);
  return {name: String(head.sched), head, decisions, ...spansOf(decisions, end, cpus).parts(), cpus, begin: 0, end, ideal: [], complete: decisions.length < MOST};
}

/** The run that the file @name of @bytes tells about. An Error has a sentence for the reader. */
export function readFile(name: string, bytes: Uint8Array): Run {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, TRACE.length));
  if (bytes.length > MOST_BYTES)
    bad(TEXT.tooLarge);
  if (!bytes.length)
    bad(TEXT.empty);
  const run = start.startsWith(BINARY) ? decisionsRun(readBinary(new Reader(bytes)))
    : start === TRACE ? traceRun(new Reader(bytes)) : decisionsRun(parseDecisions(new TextDecoder().decode(bytes)));
  run.decisions.forEach(checkDecision);
  run.name ||= run.decisions.find((d) => d.policy)?.policy ?? name;
  run.decisions.length = Math.min(run.decisions.length, MOST);
  return run;
}
