// SPDX-License-Identifier: GPL-2.0-only
// The system under build/schedsim.wasm: what WASI's "preview 1" promises to a program that reads and writes files, with
// files that are in memory. For browsers and Node. https://github.com/WebAssembly/WASI describes the functions.

const OK = 0, EBADF = 8, EINVAL = 28, ENOENT = 44, ESPIPE = 70;  // WASI's numbers
const CHARACTERS = 2, DIRECTORY = 3, REGULAR = 4;                 // types of files
const CREATE = 1, TRUNCATE = 8;                                   // oflags of path_open
const EVERY_RIGHT = 0x1fffffffn;
const ROOTS = ['/', '.'];                                         // directories open from the start, as 3 and 4
const FIRST_ROOT = 3;

export class Exit {
  constructor(status) {
    this.status = status;
  }
}

// Bytes that grow. A stream is one that can only be appended to.
class File {
  constructor(bytes = new Uint8Array(0), isStream = false) {
    this.bytes = bytes;
    this.size = bytes.length;
    this.isStream = isStream;
  }

  write(at, data) {
    if (at + data.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.bytes.length, at + data.length, 1024));
      larger.set(this.bytes.subarray(0, this.size));
      this.bytes = larger;
    }
    this.bytes.set(data, at);
    this.size = Math.max(this.size, at + data.length);
  }

  content() {
    return this.bytes.slice(0, this.size);
  }
}

/** "/tmp/./a" and "tmp/a" are one name. */
export function plain(name) {
  return name.split('/').filter((part) => part && part !== '.').join('/');
}

/**
 * A system with the arguments @words for one program, its own name first, and @files: {name: Uint8Array} of what it may
 * open. `imports` is for WebAssembly.Instance, whose memory `attach` takes. `files` has the bytes of all files that were
 * opened for writing; `clone` makes a second system of the same state.
 */
export function makeSystem(words, files = {}, from = null) {
  const copies = new Map();
  const copy = (file) => {
    if (!copies.has(file))
      copies.set(file, new File(file.content(), file.isStream));
    return copies.get(file);
  };
  const disk = from ? new Map([...from.disk].map(([name, file]) => [name, copy(file)]))
    : new Map(Object.entries(files).map(([name, bytes]) => [plain(name), new File(bytes)]));
  const stdout = from ? copy(from.stdout) : new File(undefined, true);
  const stderr = from ? copy(from.stderr) : new File(undefined, true);
  const open = from ? new Map([...from.open].map(([fd, entry]) => [fd, {file: copy(entry.file), at: entry.at}]))
    : new Map([[0, {file: new File(), at: 0}], [1, {file: stdout, at: 0}], [2, {file: stderr, at: 0}]]);
  const written = from ? new Map([...from.written].map(([name, file]) => [name, copy(file)])) : new Map();
  const text = new TextEncoder(), decoder = new TextDecoder();
  const inodes = new Map(from?.inodes);
  const argv = words.map((word) => text.encode(`${word}\0`));
  let memory;

  let seen;
  const view = () => seen?.buffer === memory.buffer ? seen : seen = new DataView(memory.buffer);
  const bytes = (at, size) => new Uint8Array(memory.buffer, at, size);

  // Call @use with each piece of the vector, until one is not used up; the total goes to @result.
  function pieces(vector, count, result, use) {
    let total = 0;
    for (let i = 0; i < count; i++) {
      const size = view().getUint32(vector + 8 * i + 4, true);
      const used = use(bytes(view().getUint32(vector + 8 * i, true), size));
      total += used;
      if (used < size)
        break;
    }
    view().setUint32(result, total, true);
    return OK;
  }

  // The bytes that were written to the file @name since they were last taken. It begins anew after them.
  function take(name) {
    const file = disk.get(name), taken = file?.content() ?? new Uint8Array(0);
    if (file)
      file.size = 0;
    for (const entry of open.values())
      if (entry.file === file)
        entry.at = 0;
    return taken;
  }

  const system = {
    args_sizes_get(count, size) {
      view().setUint32(count, argv.length, true);
      view().setUint32(size, argv.reduce((sum, word) => sum + word.length, 0), true);
      return OK;
    },
    args_get(pointers, at) {
      for (const word of argv) {
        view().setUint32(pointers, at, true);
        bytes(at, word.length).set(word);
        pointers += 4;
        at += word.length;
      }
      return OK;
    },
    clock_time_get(clock, precision, result) {
      view().setBigUint64(result, BigInt(Math.round(performance.now() * 1e6)), true);
      return OK;
    },
    fd_close: (fd) => open.delete(fd) ? OK : EBADF,
    fd_fdstat_get(fd, result) {
      const entry = open.get(fd);
      const isRoot = fd >= FIRST_ROOT && fd < FIRST_ROOT + ROOTS.length;
      if (!entry && !isRoot)
        return EBADF;
      bytes(result, 24).fill(0);
      view().setUint8(result, isRoot ? DIRECTORY : entry.file.isStream ? CHARACTERS : REGULAR);
      view().setBigUint64(result + 8, EVERY_RIGHT, true);
      view().setBigUint64(result + 16, EVERY_RIGHT, true);
      return OK;
    },
    fd_fdstat_set_flags: () => OK,
    fd_prestat_get(fd, result) {
      const root = ROOTS[fd - FIRST_ROOT];
      if (root === undefined)
        return EBADF;
      view().setUint32(result, 0, true);
      view().setUint32(result + 4, root.length, true);
      return OK;
    },
    fd_prestat_dir_name(fd, at, size) {
      bytes(at, size).set(text.encode(ROOTS[fd - FIRST_ROOT]).subarray(0, size));
      return OK;
    },
    path_open(directory, lookup, path, length, flags, rights, inherited, fdFlags, result) {
      const name = plain(decoder.decode(bytes(path, length)));
      const fd = Math.max(FIRST_ROOT + ROOTS.length - 1, ...open.keys()) + 1;
      if (!disk.has(name) && !(flags & CREATE))
        return ENOENT;
      if (!disk.has(name) || flags & TRUNCATE)
        disk.set(name, new File());
      if (flags & CREATE)
        written.set(name, disk.get(name));
      open.set(fd, {file: disk.get(name), at: 0});
      view().setUint32(result, fd, true);
      return OK;
    },
    // A directory need not be made: each name that ends with a slash is one.
    path_filestat_get(directory, lookup, path, length, result) {
      const given = decoder.decode(bytes(path, length)), name = plain(given), file = disk.get(name);
      if (!file && name && !given.endsWith('/'))
        return ENOENT;
      if (!inodes.has(name))
        inodes.set(name, inodes.size + 1);
      bytes(result, 64).fill(0);
      view().setBigUint64(result + 8, BigInt(inodes.get(name)), true);
      view().setUint8(result + 16, file ? REGULAR : DIRECTORY);
      view().setBigUint64(result + 24, 1n, true);
      view().setBigUint64(result + 32, BigInt(file?.size ?? 0), true);
      return OK;
    },
    path_unlink_file(directory, path, length) {
      const name = plain(decoder.decode(bytes(path, length)));
      written.delete(name);
      return disk.delete(name) ? OK : ENOENT;
    },
    fd_read(fd, vector, count, result) {
      const entry = open.get(fd);
      if (!entry)
        return EBADF;
      return pieces(vector, count, result, (piece) => {
        const data = entry.file.bytes.subarray(entry.at, Math.min(entry.at + piece.length, entry.file.size));
        piece.set(data);
        entry.at += data.length;
        return data.length;
      });
    },
    fd_write(fd, vector, count, result) {
      const entry = open.get(fd);
      if (!entry)
        return EBADF;
      return pieces(vector, count, result, (piece) => {
        entry.file.write(entry.at, piece);
        entry.at += piece.length;
        return piece.length;
      });
    },
    fd_seek(fd, offset, whence, result) {
      const entry = open.get(fd);
      if (!entry)
        return EBADF;
      if (entry.file.isStream)
        return ESPIPE;
      const at = [0, entry.at, entry.file.size][whence] + Number(offset);
      if (!(at >= 0))
        return EINVAL;
      entry.at = at;
      view().setBigUint64(result, BigInt(at), true);
      return OK;
    },
    proc_exit(status) {
      throw new Exit(status);
    },
  };

  return {
    disk, stdout, stderr, open, written, inodes, take, imports: {wasi_snapshot_preview1: system},
    attach: (of) => { memory = of; },
    files: () => Object.fromEntries([...written].map(([name, file]) => [name, file.content()])),
    clone() { return makeSystem(words, {}, this); },
  };
}

/**
 * Run the program @compiled (a WebAssembly.Module) with the arguments @words, its own name first.
 * @files: {name: Uint8Array} of what it may open. Returns {status, stdout, stderr, files}: the bytes that it printed,
 * and {name: Uint8Array} of all files that it opened for writing. A trap is an exception.
 */
export function run(compiled, words, files = {}) {
  const system = makeSystem(words, files);
  const instance = new WebAssembly.Instance(compiled, system.imports);
  let status = 0;

  system.attach(instance.exports.memory);
  try {
    instance.exports._start();
  } catch (error) {
    if (!(error instanceof Exit))
      throw error;
    status = error.status;
  }
  return {status, stdout: system.stdout.content(), stderr: system.stderr.content(), files: system.files()};
}
