// Reading a module, as far as splitting it takes.
import { Reader } from "./binary.mjs";

const FUNCTION = 0, TABLE = 1, MEMORY = 2, GLOBAL = 3;
export const KINDS = { function: FUNCTION, table: TABLE, memory: MEMORY, global: GLOBAL };

/** A module in pieces. Functions are numbered with the imported ones first; `bodies` has none of those. */
export function parse(bytes) {
  if (new DataView(bytes.buffer, bytes.byteOffset).getUint32(0) !== 0x0061736d) throw new Error("this is no WebAssembly");
  const module = { types: [], imports: [], declared: [], tables: [], memories: [], globals: [], exports: [], start: undefined, elements: [], dataCount: undefined, bodies: [], data: [], names: new Map() };
  const reader = new Reader(bytes, 8);
  while (!reader.isDone) {
    const id = reader.byte(), size = reader.u32();
    SECTIONS[id]?.(new Reader(bytes, reader.at, reader.at + size), module);
    reader.skip(size);
  }
  module.imported = module.imports.filter(({ kind }) => kind === FUNCTION);
  if (module.imports.length !== module.imported.length) throw new Error("only functions may be imported: a module with shared memory is not split");
  module.functionTypes = [...module.imported.map(({ type }) => type), ...module.declared];
  return module;
}

const limits = (reader) => {
  const flags = reader.byte();
  return { flags, minimum: reader.u32(), maximum: flags & 1 ? reader.u32() : undefined };
};
const table = (reader) => ({ type: reader.byte(), ...limits(reader) });
const slice = (reader, work) => {
  const start = reader.at;
  const value = work(reader);
  return { value, bytes: reader.bytes.subarray(start, reader.at) };
};

/** A constant expression of one instruction: its number if it is one of i32, and its bytes. */
function constant(reader) {
  const { value, bytes } = slice(reader, () => {
    const code = reader.byte();
    const number = code === 0x41 ? reader.s32() : undefined;
    if (code === 0x43) reader.skip(4);
    else if (code === 0x44) reader.skip(8);
    else if (code !== 0x41) reader.skipNumber();
    if (reader.byte() !== 0x0b) throw new Error("an initial value of more than one instruction");
    return number;
  });
  return { number: value, bytes };
}

const SECTIONS = {
  0(reader, module) {
    if (reader.name() !== "name") return;
    while (!reader.isDone) {
      const id = reader.byte(), size = reader.u32();
      if (id === 1) for (const [index, name] of new Reader(reader.bytes, reader.at, reader.at + size).vector((each) => [each.u32(), each.name()])) module.names.set(index, name);
      reader.skip(size);
    }
  },
  1(reader, module) {
    module.types = reader.vector(() => slice(reader, () => {
      if (reader.byte() !== 0x60) throw new Error("a type that is no function's");
      return { parameters: reader.vector((each) => each.byte()), results: reader.vector((each) => each.byte()) };
    }));
  },
  2(reader, module) {
    module.imports = reader.vector(() => {
      const from = reader.name(), name = reader.name(), kind = reader.byte();
      return { from, name, kind, type: kind === FUNCTION ? reader.u32() : kind === TABLE ? table(reader) : kind === MEMORY ? limits(reader) : [reader.byte(), reader.byte()] };
    });
  },
  3(reader, module) { module.declared = reader.vector(() => reader.u32()); },
  4(reader, module) { module.tables = reader.vector(table); },
  5(reader, module) { module.memories = reader.vector(limits); },
  6(reader, module) { module.globals = reader.vector(() => ({ type: reader.byte(), mutable: reader.byte(), initial: constant(reader) })); },
  7(reader, module) { module.exports = reader.vector(() => ({ name: reader.name(), kind: reader.byte(), index: reader.u32() })); },
  8(reader, module) { module.start = reader.u32(); },
  9(reader, module) {
    module.elements = reader.vector(() => {
      const flags = reader.u32();
      if (flags !== 0 && flags !== 2) throw new Error(`a segment of a table of the kind ${flags}`);
      const at = flags === 2 ? reader.u32() : 0;
      const { number: offset } = constant(reader);
      if (flags === 2) reader.byte();
      return { table: at, offset, functions: reader.vector((each) => each.u32()) };
    });
  },
  10(reader, module) {
    module.bodies = reader.vector(() => {
      const size = reader.u32();
      const body = reader.take(size);
      const locals = new Reader(body);
      locals.vector(() => [locals.u32(), locals.byte()]);
      return { bytes: body, code: locals.at };
    });
  },
  11(reader, module) {
    module.data = reader.vector(() => {
      const flags = reader.u32();
      if (flags !== 0) throw new Error("data that is not put into the memory at the start");
      const { number: offset } = constant(reader);
      return { offset, bytes: reader.take(reader.u32()) };
    });
  },
  12(reader, module) { module.dataCount = reader.u32(); },
};
