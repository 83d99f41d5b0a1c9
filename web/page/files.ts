// SPDX-License-Identifier: GPL-2.0-only
// Reads what was recorded elsewhere: lines of JSON, the records' own bytes, and a trace.dat of the kernel, the simulator
// or Linux. docs/decisions.md describes the forms.

import {TEXT} from './strings';
import {Decision, Decisions, Listed, Run, Timeline, checkDecision, parseDecisions, spansOf} from './model';
import {asVersion6} from './trace7';
import {BINARY, Event, Format, MOST, Reader, Recorded, bad, parseFormat, readBinary, record} from './recorded';

const TRACE = '\x17\x08Dtracing', PERF = 'PERFILE2';
const ENDS = ['\0', '\x01'], LONGS = [4, 8];   // the bytes of a trace that say how its machine stores numbers
const COMMIT_SIZE = /field: *local_t commit;\s*offset:\d+;\s*size:([48]);/;
const FLAGS_AT = 2, PID_AT = 4, IN_INTERRUPT = 0x18;   // of each event, and its flags of interrupts, hard or soft
const MOST_BYTES = 512 << 20, MOST_CPUS = 4096;

// --- trace.dat ------------------------------------------------------------------------

// A page of a machine whose `long` has @long bytes, in which it counts those of the page.
function readPage(reader: Reader, start: number, size: number, long: number, use: (time: number, at: number) => void) {
  const {view, little} = reader, first = start + 8 + long;
  const end = first + (reader.u32(little ? start + 8 : first - 4) & 0x7ffffff);
  let time = view.getBigUint64(start, little), at = first;
  if (end > start + size)
    bad(TEXT.damaged);
  while (at < end) {
    const word = reader.u32(at), kind = little ? word & 31 : word >>> 27;
    let gap = BigInt(little ? word >>> 5 : word & 0x7ffffff), length = kind * 4;
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

// A reader of the trace's bytes as version 6 has them, behind the size @page of a page.
async function openTrace(bytes: Uint8Array): Promise<{reader: Reader, long: number, page: number}> {
  const reader = new Reader(bytes);
  reader.at = TRACE.length;
  const version = reader.word(), after = reader.at, end = reader.text(1), long = reader.bytes[reader.take(1)];
  if (version !== '6' && version !== '7')
    bad(TEXT.traceVersion);
  if (!ENDS.includes(end) || !LONGS.includes(long))
    bad(TEXT.damaged);
  reader.little = end === ENDS[0];
  const page = reader.u32();
  if (version === '6')
    return {reader, long, page};
  const {at, little} = reader;
  const old = new Reader(await asVersion6(reader, [bytes.subarray(0, TRACE.length), bytes.subarray(after, at)]), little);
  old.at = at;
  return {reader: old, long, page};
}

type Trace = {reader: Reader, events: Event[], formats: Map<number, Format>, names: Map<number, string>, cpus: number, topology: string};

async function readTrace(bytes: Uint8Array): Promise<Trace> {
  const {reader, long, page} = await openTrace(bytes);
  const expect = (mark: string) => reader.text(mark.length) === mark || bad(TEXT.damaged);
  expect('header_page\0');
  const counted = Number(COMMIT_SIZE.exec(reader.text(reader.u64()))?.[1] ?? long);
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
  const places = Array.from({length: cpus}, () => [reader.u64(), reader.u64()]), events: Event[] = [];
  if (page < 64)
    bad(TEXT.damaged);
  places.forEach(([start, size], cpu) => {
    for (let at = reader.need(start, size); at < start + size; at += page)
      readPage(reader, reader.need(at, page), page, counted, (time, where) => {
        const format = formats.get(reader.u16(where));
        if (format)
          events.push({time, cpu, format, at: where});
      });
  });
  return {reader, events: events.sort((a, b) => a.time - b.time || a.cpu - b.cpu), formats, names, cpus, topology};
}

// The task that runs where @event is recorded; 0: none, or an interrupt is served there.
function actor(reader: Reader, event: Event): number {
  return reader.bytes[event.at + FLAGS_AT] & IN_INTERRUPT ? 0 : Math.max(0, Number(reader.view.getInt32(event.at + PID_AT, reader.little)));
}

// Who ran and waited, from the events of tracefs. The waker is told by sched_waking, which is recorded where it runs:
// sched_wakeup may come from another CPU. A trace without the former has it from the latter.
function timelineOf(reader: Reader, events: Event[], end: number, cpus: number): Timeline {
  const line = new Timeline(cpus), asleep = new Set<unknown>();
  const waking = events.some(({format}) => format.name === 'sched_waking') ? 'sched_waking' : 'sched_wakeup';
  let told = false, untold = false;   // wakeups, and runs after a sleep without one
  for (const event of events) {
    const {name} = event.format, waker = name === waking || name === 'sched_wakeup_new' ? actor(reader, event) : 0;
    if (waker)
      line.wakes(event.time, event.cpu, waker, Number(record(reader, event.format, event.at).pid));
    if (name === 'sched_switch') {
      const of = record(reader, event.format, event.at), state = Number(of.prev_state);
      untold ||= asleep.has(of.next_pid);
      if ((state & 0xff) !== 0)
        asleep.add(of.prev_pid);
      line.name(Number(of.next_pid), String(of.next_comm));
      line.switched(event.time, event.cpu, Number(of.prev_pid), (state & 0xff) === 0, Number(of.next_pid));
    } else if (name === 'sched_wakeup' || name === 'sched_wakeup_new') {
      const of = record(reader, event.format, event.at);
      told = true;
      line.name(Number(of.pid), String(of.comm));
      line.runnable(event.time, Number(of.pid));
    }
  }
  return told || !untold ? line.close(end) : line.close(end).withoutWaits();
}

async function traceRun(bytes: Uint8Array): Promise<Run> {
  const {reader, events, formats, names, cpus, topology} = await readTrace(bytes), wanted = events.filter(({format}) => format.system === 'decision' || format.name.startsWith('sched_'));
  const decisions = new Recorded(formats, reader);
  wanted.forEach((event) => decisions.add(event));
  if (!wanted.length)
    bad(TEXT.noEvents);
  const begin = wanted[0].time, end = wanted[wanted.length - 1].time + 1;
  const line = wanted.some(({format}) => format.name === 'sched_switch') ? timelineOf(reader, wanted, end, cpus) : spansOf(decisions, end, cpus);
  for (const [pid, name] of names)
    if (line.names.has(pid))
      line.names.set(pid, name);
  return {name: '', head: {topology}, decisions, ...line.parts(), cpus, begin, end, ideal: [], complete: decisions.length < MOST};
}

function decisionsRun({head, decisions}: {head: Decision, decisions: Decisions}): Run {
  const end = (decisions.get(decisions.length - 1)?.time ?? 0) + 1, cpus = Number(head.cpus);
  if (!(Number.isInteger(cpus) && cpus >= 1 && cpus <= MOST_CPUS))
    bad(TEXT.damaged);
  return {name: String(head.sched), head, decisions, ...spansOf(decisions, end, cpus).parts(), cpus, begin: 0, end, ideal: [], complete: decisions.length < MOST};
}

function linesRun(bytes: Uint8Array): Run {
  const {head, decisions} = parseDecisions(new TextDecoder().decode(bytes));
  return decisionsRun({head, decisions: new Listed(decisions.slice(0, MOST))});
}

/** The run that the file @name of @bytes tells about. An Error has a sentence for the reader. */
export async function readFile(name: string, bytes: Uint8Array): Promise<Run> {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, TRACE.length));
  if (bytes.length > MOST_BYTES)
    bad(TEXT.tooLarge);
  if (!bytes.length)
    bad(TEXT.empty);
  if (start.startsWith(PERF))
    bad(TEXT.isPerf);
  const run = start.startsWith(BINARY) ? decisionsRun(readBinary(bytes))
    : start === TRACE ? await traceRun(bytes) : linesRun(bytes);
  for (let i = 0; i < run.decisions.length; i++)
    checkDecision(run.decisions.get(i)!, i);
  run.name ||= run.decisions.get(run.decisions.find((d) => d.policy))?.policy ?? name;
  return run;
}
