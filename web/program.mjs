// SPDX-License-Identifier: GPL-2.0-only
// A program written for sched_ext, as `make scx` makes it: a module that shares the simulator's memory, table and stack,
// and calls its functions. The form is WebAssembly's convention for dynamic linking (tool-conventions, DynamicLinking.md).

const MEMORY_NEEDED = 1;   // the part of its section "dylink.0" that says which room it needs

// {bytes, align, functions}: in memory, aligned to a power of 2, and in the table. null: it does not say so.
function roomOf(compiled) {
  const [section] = WebAssembly.Module.customSections(compiled, 'dylink.0');
  const data = new Uint8Array(section ?? new ArrayBuffer(0));
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; at < data.length && shift < 32; shift += 7) {
      const byte = data[at++];
      value |= (byte & 127) << shift;
      if (byte < 128)
        break;
    }
    return value >>> 0;
  };
  while (at < data.length) {
    const kind = number(), end = number() + at;
    if (kind === MEMORY_NEEDED)
      return {bytes: number(), align: 2 ** number(), functions: number()};
    at = end;
  }
  return null;
}

/** Compile the @bytes of a program. An Error says why they are none. */
export function compileProgram(bytes) {
  let module;
  try {
    module = new WebAssembly.Module(bytes);
  } catch {
    throw new Error('it is no WebAssembly module');
  }
  const room = roomOf(module);
  if (!room || !WebAssembly.Module.exports(module).some(({name, kind}) => name === 'scx_program' && kind === 'global'))
    throw new Error('it is no program of make scx');
  return {module, room};
}

/** Put the compiled @program into the memory of the simulator @exports, at @base. Returns the address of its description. */
export function putProgram({module, room}, exports, base) {
  const table = exports.__indirect_function_table, first = table.grow(room.functions);
  const global = (value) => new WebAssembly.Global({value: 'i32'}, value);
  const given = {...exports, __memory_base: global(base), __table_base: global(first)};
  for (const {module: from, name} of WebAssembly.Module.imports(module))
    if (from !== 'env' || !(name in given))
      throw new Error(`it wants ${name}, which is not there`);
  const {exports: own} = new WebAssembly.Instance(module, {env: given});
  own.__wasm_apply_data_relocs?.();
  own.__wasm_call_ctors?.();
  return base + own.scx_program.value;
}

/** Room for the compiled @program in the memory of the simulator @exports. */
export function placeProgram({room}, exports) {
  return Math.ceil(exports.scx_alloc(room.bytes + room.align) / room.align) * room.align;
}
