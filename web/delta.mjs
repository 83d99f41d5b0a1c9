// SPDX-License-Identifier: GPL-2.0-only
// How one file is made of another that is much like it: a list of [from, length], pieces of the other file, and of
// texts, new bytes in base64. For the modules with seeded bugs, which differ from the simulator in some functions.

const BLOCK = 16, LEAST = 24;   // bytes: that are looked up, that are worth a piece

const numbers = (bytes) => btoa(String.fromCharCode(...bytes));
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

function hash(data, at) {
  let sum = 0;
  for (let i = 0; i < BLOCK; i++)
    sum = (Math.imul(sum, 31) + data[at + i]) | 0;
  return sum;
}

function common(a, from, b, at) {
  let length = 0;
  while (from + length < a.length && at + length < b.length && a[from + length] === b[at + length])
    length++;
  return length;
}

/** The parts of which patched(@base, parts) makes @target; both are Uint8Arrays. */
export function difference(base, target) {
  const where = new Map(), parts = [];
  for (let i = base.length - BLOCK; i >= 0; i--)
    where.set(hash(base, i), i);
  let fresh = [], next = 0;   // next: where the base goes on if just some bytes were replaced
  const flush = () => {
    for (let i = 0; i < fresh.length; i += 4096)
      parts.push(numbers(fresh.slice(i, i + 4096)));
    fresh = [];
  };
  for (let at = 0; at < target.length;) {
    const looked = at + BLOCK <= target.length ? where.get(hash(target, at)) ?? -1 : -1;
    const here = common(base, next, target, at), there = looked < 0 ? 0 : common(base, looked, target, at);
    const [from, length] = here >= there ? [next, here] : [looked, there];
    if (length >= LEAST) {
      flush();
      parts.push([from, length]);
      at += length;
      next = from + length;
    } else {
      fresh.push(target[at++]);
      next++;
    }
  }
  flush();
  return parts;
}

/** The file that @parts make of @base, as a Uint8Array. */
export function patched(base, parts) {
  const pieces = parts.map((part) => typeof part === 'string' ? bytes(part) : base.subarray(part[0], part[0] + part[1]));
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
