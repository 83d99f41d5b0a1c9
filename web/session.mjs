// SPDX-License-Identifier: GPL-2.0-only
// One run in steps: build/session.wasm (sim/session.h) with its files. For browsers and Node.

import {compileProgram, placeProgram, putProgram} from './program.mjs';
import {Exit, makeSystem, plain} from './wasi.mjs';

const STATES = ['time', 'decision', 'end', 'failed'];
const DECISIONS = 'decisions.json', EVENTS = 'events';

class Left extends Error {}

export class Session {
  /**
   * Begin the run that @words ("--cpus", "2", "hogs:n=3") say, with @files that they may name. A mistake in them is an
   * Error with the program's own sentence.
   */
  constructor(compiled, words, files = {}, decisions = DECISIONS) {
    this.compiled = compiled;
    this.words = words;
    this.decisionsFile = decisions;
    this.begin(files);
    const all = ['schedsim', ...words, ...(decisions ? ['--decisions', decisions] : [])];
    this.put([...all, EVENTS].join('\0'));
    this.call('open', all.length);
  }

  /** The C of the policy in expressions @text (docs/policies.md). A mistake in it is an Error. */
  static exported(compiled, name, text) {
    const session = Session.#ofPolicy(compiled, name, text);
    session.call('export');
    return new TextDecoder().decode(session.system.stdout.content());
  }

  /**
   * Explore the policy in expressions @text as schedsim --ops @ops --seed @seed does. @progress is called with the number
   * of runs that were made. Returns {failed, out, bytes}: what it prints, and the memory that it took.
   */
  static explored(compiled, name, text, seed, ops, progress) {
    const session = Object.assign(Session.#ofPolicy(compiled, name, text), {progress, attempts: 0});
    const failed = session.call('explore', BigInt(seed), BigInt(ops)) !== 0;
    return {failed, out: new TextDecoder().decode(session.system.stdout.content()), bytes: session.instance.exports.memory.buffer.byteLength};
  }

  /** {name: sentence} of the operations of an exploration. */
  static operations(compiled) {
    return Session.#bare(compiled, {}).printed('operations');
  }

  // A module without a run, with @files.
  static #bare(compiled, files) {
    const session = Object.assign(Object.create(Session.prototype), {compiled});
    session.begin(files);
    return session;
  }

  // The same for the policy in expressions @text, in the file @name.
  static #ofPolicy(compiled, name, text) {
    const session = Session.#bare(compiled, {[name]: new TextEncoder().encode(text)});
    session.put(name);
    return session;
  }

  // What WebAssembly cannot: call session_attempt(), which may leave or crash (sim/engine/process_wasi.c).
  attempt() {
    const {session_attempt: attempted, __stack_pointer: stack} = this.instance.exports, at = stack.value;
    this.progress?.(++this.attempts);
    try {
      attempted();
      return 0;
    } catch (error) {
      stack.value = at;
      if (error instanceof Left)
        return 1;
      if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError)
        return 2;
      throw error;
    }
  }

  // For sim/scx/guard_wasi.c: put the program in the file whose name is at @name beside the simulator. Returns where it
  // is, or 0, and the reason at @error.
  load(name, error, size) {
    const {exports} = this.instance, memory = new Uint8Array(exports.memory.buffer);
    const file = this.system.disk.get(plain(new TextDecoder().decode(memory.subarray(name, memory.indexOf(0, name)))));
    try {
      if (!file)
        throw new Error('there is no such file');
      const compiled = compileProgram(file.content()), base = placeProgram(compiled, exports);
      this.program = {compiled, base};
      return putProgram(compiled, exports, base);
    } catch ({message}) {
      new TextEncoder().encodeInto(message.slice(0, size / 4), new Uint8Array(exports.memory.buffer, error, size - 1));
      return 0;
    }
  }

  begin(files) {
    this.connect(makeSystem(['schedsim'], files));
    this.instance.exports._initialize();
  }

  connect(system) {
    this.system = system;
    this.instance = new WebAssembly.Instance(this.compiled, {...system.imports,
      explore: {attempt: () => this.attempt(), leave() { throw new Left(); }}, program: {load: (...at) => this.load(...at)}});
    system.attach(this.instance.exports.memory);
  }

  put(text) {
    const bytes = new TextEncoder().encode(text);
    const at = this.instance.exports.session_room(bytes.length + 1);
    new Uint8Array(this.instance.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  call(name, ...args) {
    try {
      return this.instance.exports[`session_${name}`](...args);
    } catch (error) {
      if (error instanceof Exit)
        throw new Error(this.errors().trim() || `the run ended with status ${error.status}`);
      throw error;
    }
  }

  errors() {
    return new TextDecoder().decode(this.system.stderr.content());
  }

  /** Run until @time, ns, or until @decisions more were made, 0: any number. Returns one of STATES. */
  run(time, decisions = 0) {
    return STATES[this.call('run', BigInt(Math.round(time)), BigInt(decisions))];
  }

  now() {
    return Number(this.call('now'));
  }

  length() {
    return Number(this.call('length'));
  }

  check(error, what) {
    if (error)
      throw new Error(`${what}: refused (errno ${-error})`);
  }

  /** Change a tunable, the fair policy, or the nice value of a task, now. */
  set(name, value) {
    this.put(`${name}=${value}`);
    this.check(this.call('set'), `${name}=${value}`);
  }

  policy(name) {
    this.put(name);
    this.check(this.call('policy'), name);
  }

  nice(pid, nice) {
    this.check(this.call('nice', pid, nice), `nice ${nice} of task ${pid}`);
  }

  /** A second future of this moment. */
  fork() {
    const child = Object.create(Session.prototype);
    Object.assign(child, this);
    child.connect(this.system.clone());
    const from = this.instance.exports.memory.buffer, to = child.instance.exports.memory;
    if (to.buffer.byteLength < from.byteLength)
      to.grow((from.byteLength - to.buffer.byteLength) / 65536);
    if (this.program)
      putProgram(this.program.compiled, child.instance.exports, this.program.base);
    new Uint8Array(to.buffer).set(new Uint8Array(from));
    return child;
  }

  /** What was decided since this was last asked for, and what happened (sim/session.h). They are kept no longer. */
  newDecisions() {
    return this.system.take(this.decisionsFile);
  }

  newEvents() {
    return this.system.take(EVENTS);
  }

  text(name) {
    const before = this.system.stdout.size;
    this.call(name);
    return new TextDecoder().decode(this.system.stdout.content().subarray(before));
  }

  printed(name) {
    return JSON.parse(this.text(name));
  }

  /** {family: {rule: sentence}} of all rules. */
  rules() {
    return this.printed('rules');
  }

  /** {policy: [traits]} of the policies that are built in. */
  policies() {
    return Object.fromEntries(this.text('policies').trim().split('\n').map((line) => line.split(' '))
      .map(([name, ...traits]) => [name, traits]));
  }

  /** [{name, ideal_ns}]: what a fluid server would give each program. The run must have ended. */
  ideal() {
    return this.printed('ideal');
  }

  /** End the run. Returns the file of decisions, without what was taken. */
  close() {
    this.call('close');
    return this.system.disk.get(this.decisionsFile).content();
  }
}
