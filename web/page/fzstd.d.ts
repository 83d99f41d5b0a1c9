// SPDX-License-Identifier: GPL-2.0-only
// The function of the package fzstd that is used: it lies in the directory of the build, where tsc does not look.
declare module 'fzstd' {
  /** What @packed was before zstd packed it, in @out if that is given. */
  export function decompress(packed: Uint8Array, out?: Uint8Array): Uint8Array;
}
