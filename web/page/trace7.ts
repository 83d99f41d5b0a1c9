// SPDX-License-Identifier: GPL-2.0-only
// Version 7 of a trace.dat, which trace-cmd writes unless told otherwise: sections that may be compressed, in any order.
// They become a file of version 6, which files.ts reads.

import {decompress} from 'fzstd';
import {TEXT} from './strings';
import {Reader, bad} from './recorded';

const SECTION = 16, COMPRESSED = 1, BUFFER = 3, DONE = 0, HEADERS = 16, COMMAND_LINES = 21;
const MOST_BYTES = 512 << 20;

const ascii = (text: string) => new TextEncoder().encode(text);

function together(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

async function unzlib(packed: Uint8Array): Promise<Uint8Array> {
  try {
    return new Uint8Array(await new Response(new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer());
  } catch {
    return bad(TEXT.damaged);
  }
}

// Unpacks what was compressed: each piece has its size before and after.
class Unpacker {
  private left = MOST_BYTES;
  constructor(readonly reader: Reader, private how: string) {}

  private async piece(): Promise<Uint8Array> {
    const {reader} = this, packed = reader.u32(), size = reader.u32(), at = reader.take(packed);
    if ((this.left -= size) < 0)
      bad(TEXT.tooLarge);
    if (this.how !== 'zstd' && this.how !== 'zlib')
      bad(TEXT.traceVersion);
    const piece = reader.bytes.subarray(at, at + packed), bytes = this.how === 'zlib' ? await unzlib(piece) : decompress(piece, new Uint8Array(size));
    return bytes.length === size ? bytes : bad(TEXT.damaged);
  }
  /** The bytes of the section at @at, and its number. */
  async section(at: number): Promise<{id: number, body: Uint8Array}> {
    const {reader} = this;
    reader.at = at;
    const id = reader.u16(), flags = reader.u16(), size = (reader.u32(), reader.u64());
    const body = flags & COMPRESSED ? await this.piece() : reader.bytes.subarray(reader.take(size), reader.at);
    return {id, body};
  }
  /** The @size bytes at @at of a CPU's pages, in @packed pieces or as they are. */
  async pages(at: number, size: number, packed: boolean): Promise<Uint8Array> {
    const {reader} = this;
    reader.at = reader.need(at, size);
    if (!packed || !size)
      return reader.bytes.subarray(at, at + size);
    const parts: Uint8Array[] = [];
    for (let n = reader.u32(); n > 0; n--)
      parts.push(await this.piece());
    return together(parts);
  }
}

type Option = {id: number, body: Uint8Array};

// The options from @at on, a list of lists.
async function readOptions(from: Unpacker, at: number): Promise<Option[]> {
  const found: Option[] = [], {little} = from.reader;
  for (let lists = 0; at && lists < 1000; lists++) {
    const reader = new Reader((await from.section(at)).body, little);
    at = 0;
    for (let id = -1; id !== DONE && reader.at < reader.bytes.length;) {
      id = reader.u16();
      const size = reader.u32(), start = reader.take(size);
      if (id === DONE)
        at = reader.u64(start);
      else
        found.push({id, body: reader.bytes.subarray(start, start + size)});
    }
  }
  return found;
}

/** The bytes of version 6 of the trace whose version 7 @reader has read, up to the size of a page. @start: the bytes
 * before that without the version, and after it. */
export async function asVersion6(reader: Reader, start: [Uint8Array, Uint8Array]): Promise<Uint8Array> {
  const from = new Unpacker(reader, reader.word());
  reader.word();
  const options = await readOptions(from, reader.u64()), little = reader.little;
  const number = (value: number, bytes: 2 | 4 | 8) => {
    const view = new DataView(new ArrayBuffer(bytes));
    if (bytes === 8)
      view.setBigUint64(0, BigInt(value), little);
    else
      bytes === 4 ? view.setUint32(0, value, little) : view.setUint16(0, value, little);
    return new Uint8Array(view.buffer);
  };
  const bodies = new Map<number, Uint8Array>();
  for (const {id, body} of options)
    if (id >= HEADERS && id <= COMMAND_LINES)
      bodies.set(id, (await from.section(new Reader(body, little).u64())).body);
  const empty = [together([ascii('header_page\0'), number(0, 8), ascii('header_event\0'), number(0, 8)]), number(0, 4),
    number(0, 4), number(0, 4), number(0, 4), number(0, 8)];
  const head = empty.map((nothing, nr) => bodies.get(HEADERS + nr) ?? nothing);
  const buffer = options.map(({id, body}) => ({id, of: new Reader(body, little)}))
    .find(({id, of}) => id === BUFFER && (of.at = 8, of.word() === '')) ?? bad(TEXT.noEvents);
  const {of} = buffer, at = of.u64(0), packed = (reader.u16(at + 2) & COMPRESSED) !== 0;
  of.word();
  of.u32();   // the size of a page, as in the head
  const data: Uint8Array[] = [];
  for (let n = of.u32(); n > 0; n--) {
    const cpu = of.u32(), where = of.u64(), size = of.u64();
    if (cpu >= 4096)
      bad(TEXT.damaged);
    data[cpu] = await from.pages(where, size, packed);
  }
  const pages = Array.from(data, (each) => each ?? new Uint8Array(0));
  const texts = options.filter(({id}) => id < HEADERS && id !== BUFFER)
    .flatMap(({id, body}) => [number(id, 2), number(body.length, 4), body]);
  const before = together([start[0], ascii('6\0'), start[1], ...head, number(pages.length, 4), ascii('options  \0'), ...texts,
    number(0, 2), ascii('flyrecord\0')]);
  let place = before.length + 16 * pages.length;
  const table = pages.flatMap((each) => [number(place, 8), number((place += each.length, each.length), 8)]);
  return together([before, ...table, ...pages]);
}
