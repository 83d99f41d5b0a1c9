// SPDX-License-Identifier: GPL-2.0-only
// The decisions of a long run in little room. Most of what a record says was said by the one before about the same task:
// so a block of records, each with its time before it, is kept as the words in which each differs from that one.

import {Decision, Decisions} from './model';
import {Format, Reader, Recorded, addEvents} from './recorded';

const SLOTS = 4096, RAW = 0x8000_0000;   // places for the last record about something; it has no such record
const TIME_WORDS = 2, ROOM = 32;         // words of the time; that one word of marks stands for
const SUBJECTS = ['pid', 'of_cpu', 'cpu', 'part'];

/** Records in little room: how many decisions are among them, and the time of the first. */
export type Block = {words: Uint32Array, length: number, time: number};

type Kind = {subject: number, isRow: boolean};   // in which word of a record its subject is

const kindOf = (format: Format): Kind =>
  ({subject: (format.fields.find(({name}) => SUBJECTS.includes(name))?.at ?? 0) >> 2, isRow: format.isRow});

/** Packs blocks of records that @formats describe. */
export function makePacker(formats: Map<number, Format>): (records: Uint8Array) => Block {
  const kinds: Kind[] = [], last = new Int32Array(SLOTS);
  let out = new Uint32Array(0);
  formats.forEach((format, id) => { kinds[id] = kindOf(format); });

  return (records) => {
    const words = new Uint32Array(records.buffer, records.byteOffset, records.byteLength >> 2);
    let length = 0, time = 0, to = 1, before = 0;
    if (out.length < 2 * words.length + 1)
      out = new Uint32Array(3 * words.length + 1);
    last.fill(-1);
    out[0] = words.length;
    for (let at = 0; at < words.length;) {
      const id = words[at + TIME_WORDS] & 0xffff, size = TIME_WORDS + (words[at + TIME_WORDS] >>> 18), kind = kinds[id];
      const slot = (id * 67 + words[at + TIME_WORDS + kind.subject]) % SLOTS, model = last[slot];
      if (!kind.isRow && !length++)
        time = words[at] + words[at + 1] * 2 ** 32;
      if (model < 0 || words[model + TIME_WORDS] >>> 18 !== size - TIME_WORDS) {
        out[to++] = (RAW | slot << 16 | size) >>> 0;
        out.set(words.subarray(at, at + size), to);
        to += size;
      } else {
        out[to++] = slot;
        for (let from = 0; from < size; from += ROOM) {
          const marks = to++;
          let changed = 0;
          for (let i = from; i < size && i < from + ROOM; i++) {
            const word = words[at + i];
            if (word !== words[(i < TIME_WORDS ? before : model) + i]) {
              changed |= 1 << (i - from);
              out[to++] = word;
            }
          }
          out[marks] = changed;
        }
      }
      last[slot] = before = at;
      at += size;
    }
    return {words: out.slice(0, to), length, time};
  };
}

/** The records of a block, in @room if that is large enough. */
export function unpacked({words: packed}: Block, room: Uint32Array = new Uint32Array(0)): Uint32Array {
  const words = room.length < packed[0] ? new Uint32Array(packed[0]) : room.subarray(0, packed[0]), last = new Int32Array(SLOTS);
  let at = 0, before = 0;
  for (let from = 1; from < packed.length;) {
    const head = packed[from++], slot = head & RAW ? head >>> 16 & SLOTS - 1 : head, model = last[slot];
    const size = head & RAW ? head & 0xffff : TIME_WORDS + (words[model + TIME_WORDS] >>> 18);
    if (head & RAW) {
      words.set(packed.subarray(from, from + size), at);
      from += size;
    } else {
      words.copyWithin(at, model, model + size);
      words.copyWithin(at, before, before + TIME_WORDS);
      for (let first = 0; first < size; first += ROOM)
        for (let marks = packed[from++]; marks; marks &= marks - 1)
          words[at + first + 31 - Math.clz32(marks & -marks)] = packed[from++];
    }
    last[slot] = before = at;
    at += size;
  }
  return words;
}

/** Decisions in blocks, of which the one that is looked at is unpacked. */
export class Packed extends Decisions {
  length: number;
  private firsts: number[] = [];   // the number of the first decision of each block
  private shown = -1;
  private room: Uint32Array = new Uint32Array(0);
  private records: Recorded;

  constructor(private formats: Map<number, Format>, private blocks: Block[]) {
    super();
    this.length = blocks.reduce((sum, {length}) => {
      this.firsts.push(sum);
      return sum + length;
    }, 0);
    this.records = new Recorded(formats, new Reader(new Uint8Array(0)));
  }
  // The number of the last block, of those of which @isBefore holds.
  private last(isBefore: (block: number) => boolean): number {
    let from = 0, to = this.blocks.length;
    while (to - from > 1) {
      const middle = (from + to) >> 1;
      if (isBefore(middle))
        from = middle;
      else
        to = middle;
    }
    return from;
  }
  // The records of block @nr.
  private open(nr: number): Recorded {
    if (this.shown !== nr) {
      const {buffer, byteLength} = unpacked(this.blocks[nr], this.room);
      this.shown = nr;
      this.room = new Uint32Array(buffer);
      this.records = new Recorded(this.formats, new Reader(new Uint8Array(buffer, 0, byteLength)));
      addEvents(this.records);
    }
    return this.records;
  }
  private of<T>(index: number, read: (records: Recorded, at: number) => T): T {
    const nr = this.last((block) => this.firsts[block] <= index);
    return read(this.open(nr), index - this.firsts[nr]);
  }
  get(index: number): Decision | undefined {
    return index >= 0 && index < this.length ? this.of(index, (records, at) => records.get(at)) : undefined;
  }
  brief(index: number): Decision { return this.of(index, (records, at) => records.brief(at)); }
  time(index: number): number { return this.of(index, (records, at) => records.time(at)); }
  at(time: number): number {
    if (!this.length)
      return 0;
    const nr = this.last((block) => this.blocks[block].time < time);
    return this.firsts[nr] + this.open(nr).at(time);
  }
}
