// Writes the modules of a split: they share a memory and a table, and call each other through exports and through the table.
import { Reader, Writer } from "./binary.mjs";
import { walk } from "./instructions.mjs";
import { KINDS } from "./module.mjs";

const I32 = 0x7f, FUNCREF = 0x70, END = 0x0b;

/** Name of the section that says which split a module is of: parts of another build would call anything. */
export const SECTION = "leastwise-split";
/** The host's function that loads a part, by its number, at once; it gives 1 where that is done. */
export const LOAD = { from: "parts", name: "load" };
/** Exported global that tells, after a trap, the number of the part that was called and is not there; 0 else. */
export const ABSENT = "absent";

/**
 * The modules of a split, the primary one first. `own` is each function's part, as `owners` gives it, and `data` the bytes that parts have, as
 * `dataOf` does. Where a function is called that a part has, and from outside of it, its slot of the table is. Until the part is there, that
 * is a stub, which has the host load it at once; where that fails it sets `absent` and traps.
 */
export function emit(module, own, count, key, data = []) {
  const plan = new Plan(module, own, count, data);
  return [plan.primary(key), ...Array.from({ length: count }, (_, k) => plan.part(k + 1, key))];
}

class Plan {
  constructor(module, own, count, data) {
    Object.assign(this, { module, own, count, moved: data });
    this.first = module.imported.length;
    this.functions = module.functionTypes.map((_, index) => index);
    this.table = module.elements[0]?.table ?? 0;
    /** Slots of functions, by function; those past the end of the table are new. */
    this.slots = new Map();
    for (const { table, offset, functions } of module.elements) {
      if (table !== this.table) throw new Error("functions in two tables");
      functions.forEach((index, k) => { if (!this.slots.has(index)) this.slots.set(index, offset + k); });
    }
    this.end = module.tables[this.table]?.minimum ?? 0;
    // What parts take of the primary module.
    this.shared = { function: new Set(), global: new Set() };
    this.bodies = module.bodies.map((body, at) => this.#references(body, own[this.first + at]));
    for (const { kind, index } of module.exports) if (kind === KINDS.function && own[index] !== 0) this.#slot(index);
  }

  #slot(index) {
    if (!this.slots.has(index)) this.slots.set(index, this.end++);
  }

  /** What a body refers to, and what that takes of other modules. */
  #references({ bytes, code }, part) {
    const found = [];
    walk(bytes, code, (kind, value, start, end) => {
      if (kind === "constant" || kind === "offset" || kind === "table") return;
      found.push({ kind, value, start, end });
      if (kind === "function") throw new Error("a function's reference (ref.func), which is not split");
      if (kind === "call" && this.own[value] !== part) {
        if (this.own[value] === 0) this.shared.function.add(value);
        else this.#slot(value);
      }
      if (kind === "global" && part !== 0) this.shared.global.add(value);
    });
    return found;
  }

  /** Exported name of what parts take. */
  name(kind, index) { return `${kind[0]}:${index.toString(36)}`; }

  /** A body with its references renumbered. */
  write(at, { functionOf, globalOf, typeOf }) {
    const { bytes } = this.module.bodies[at];
    const out = new Writer();
    let from = 0;
    for (const { kind, value, start, end } of this.bodies[at]) {
      out.append(bytes.subarray(from, start));
      if (kind === "call") {
        const local = functionOf(value);
        if (local !== undefined) out.byte(0x10).u32(local);
        else out.byte(0x41).s32(this.slots.get(value)).byte(0x11).u32(typeOf(this.module.functionTypes[value])).u32(this.table);
      } else out.u32(kind === "global" ? globalOf(value) : typeOf(value));
      from = end;
    }
    return out.append(bytes.subarray(from)).bytes;
  }

  primary(key) {
    const { module, own, first } = this;
    const same = (index) => index;
    const local = new Map();
    const types = [], bodies = [];
    const add = (type, body) => {
      types.push(type);
      bodies.push(body);
      return first + bodies.length;
    };
    for (let index = 0; index < first; index++) local.set(index, index);
    // The last function that is imported: the host's, which loads a part and says whether it has.
    const load = first, ofLoad = module.types.length;
    const cores = module.bodies.flatMap((_, at) => (own[first + at] === 0 ? [at] : []));
    cores.forEach((at, k) => local.set(first + at, first + 1 + k));
    for (const at of cores) add(module.declared[at], this.write(at, { functionOf: (index) => local.get(index), globalOf: same, typeOf: same }));
    const absent = module.globals.length;
    const throughSlot = (out, index) => {
      const type = module.functionTypes[index];
      for (let k = 0; k < this.parameters(type); k++) out.byte(0x20).u32(k);
      return out.byte(0x41).s32(this.slots.get(index)).byte(0x11).u32(type).u32(this.table);
    };
    const stubs = new Map();
    const stub = (index) => {
      if (!stubs.has(index)) {
        // No locals; where the part does not load, the global says which it was, and nothing else is done.
        const out = new Writer().u32(0).byte(0x41).s32(own[index]).byte(0x10).u32(load).byte(0x45).byte(0x04).byte(0x40);
        out.byte(0x41).s32(own[index]).byte(0x24).u32(absent).byte(0x00).byte(END);
        stubs.set(index, add(module.functionTypes[index], throughSlot(out, index).byte(END).bytes));
      }
      return stubs.get(index);
    };
    // What is exported and belongs to a part is called through its slot.
    const passedOn = (index) => add(module.functionTypes[index], throughSlot(new Writer().u32(0), index).byte(END).bytes);
    const inPlace = (index) => local.get(index) ?? stub(index);
    const elements = module.elements.map(({ offset, functions }) => ({ offset, functions: functions.map(inPlace) }));
    const added = [...this.slots].filter(([, slot]) => slot >= module.tables[this.table].minimum).sort((a, b) => a[1] - b[1]);
    if (added.length > 0) elements.push({ offset: added[0][1], functions: added.map(([index]) => inPlace(index)) });
    const exports = module.exports.map(({ name, kind, index }) => ({ name, kind, index: kind !== KINDS.function ? index : (local.get(index) ?? passedOn(index)) }));
    const give = (name, kind, index) => exports.push({ name, kind, index });
    give(ABSENT, KINDS.global, absent);
    give("m", KINDS.memory, 0);
    give("t", KINDS.table, this.table);
    for (const index of this.shared.function) give(this.name("function", index), KINDS.function, local.get(index));
    for (const index of this.shared.global) give(this.name("global", index), KINDS.global, index);
    const tables = module.tables.map((table, at) => (at === this.table ? { ...table, minimum: this.end, maximum: table.maximum && table.maximum + this.end - table.minimum } : table));
    const globals = [...module.globals, { type: I32, mutable: 1, initial: { bytes: new Writer().byte(0x41).s32(0).byte(END).bytes } }];
    const loads = { bytes: new Writer().byte(0x60).u32(1).byte(I32).u32(1).byte(I32).bytes };
    return assemble({ ...module, types: [...module.types, loads], imports: [...module.imports, { ...LOAD, kind: KINDS.function, type: ofLoad }], declared: types, bodies, tables, globals, exports, elements, data: this.data(0), dataCount: undefined, table: this.table, start: module.start && local.get(module.start), key });
  }

  part(part, key) {
    const { module, own, first } = this;
    const mine = module.bodies.flatMap((_, at) => (own[first + at] === part ? [at] : []));
    const types = new Map(), functions = new Map(), globals = new Map();
    const number = (map) => (index) => {
      if (!map.has(index)) map.set(index, map.size);
      return map.get(index);
    };
    const typeOf = number(types), globalOf = number(globals), taken = number(functions);
    for (const at of mine) for (const { kind, value } of this.bodies[at]) if (kind === "call" && own[value] === 0) taken(value);
    const imported = functions.size;
    const local = new Map(mine.map((at, k) => [first + at, imported + k]));
    const bodies = mine.map((at) => this.write(at, { functionOf: (index) => (own[index] === 0 ? functions.get(index) : local.get(index)), globalOf, typeOf }));
    const declared = mine.map((at) => typeOf(module.declared[at]));
    const imports = [
      ...[...functions.keys()].map((index) => ({ name: this.name("function", index), kind: KINDS.function, type: typeOf(module.functionTypes[index]) })),
      ...[...globals.keys()].map((index) => ({ name: this.name("global", index), kind: KINDS.global, type: [module.globals[index].type, module.globals[index].mutable] })),
      { name: "m", kind: KINDS.memory, type: { flags: 0, minimum: 0 } },
      { name: "t", kind: KINDS.table, type: { type: FUNCREF, flags: 0, minimum: this.end } },
    ].map((each) => ({ from: "", ...each }));
    return assemble({
      types: [...types.keys()].map((index) => module.types[index]), imports, declared, tables: [], memories: [], globals: [], exports: [], start: undefined, bodies,
      elements: runs(this.placed(part).map(([slot, index]) => [slot, local.get(index)])), table: 0, dataCount: undefined, data: this.data(part), key,
    });
  }

  /** Slots with functions of a part, in order: one may be in several. */
  placed(part) {
    const all = this.module.elements.flatMap(({ offset, functions }) => functions.map((index, k) => [offset + k, index]));
    const minimum = this.module.tables[this.table]?.minimum ?? 0;
    for (const [index, slot] of this.slots) if (slot >= minimum) all.push([slot, index]);
    return all.filter(([, index]) => this.own[index] === part).sort((a, b) => a[0] - b[0]);
  }

  /** The segments of a module: what was moved to it, or of the primary one what was not moved. */
  data(part) {
    return this.module.data.flatMap(({ offset, bytes }) => {
      const end = offset + bytes.length, pieces = [];
      const piece = (from, to) => { if (from < to) pieces.push({ offset: from, bytes: bytes.subarray(from - offset, to - offset) }); };
      let from = offset;
      for (const moved of this.moved) {
        if (moved.to <= offset || moved.from >= end) continue;
        if (part === 0) piece(from, Math.min(moved.from, end));
        else if (moved.part === part) piece(Math.max(moved.from, offset), Math.min(moved.to, end));
        from = moved.to;
      }
      if (part === 0) piece(from, end);
      return pieces;
    });
  }

  parameters(type) { return this.module.types[type].value.parameters.length; }
}

/** Slots that follow each other, as segments. */
function runs(slots) {
  const segments = [];
  for (const [slot, index] of slots) {
    const last = segments.at(-1);
    if (last && last.offset + last.functions.length === slot) last.functions.push(index);
    else segments.push({ offset: slot, functions: [index] });
  }
  return segments;
}

const writeLimits = (out, { flags, minimum, maximum }) => {
  out.byte(flags).u32(minimum);
  if (flags & 1) out.u32(maximum);
};
const writeTable = (out, table) => writeLimits(out.byte(table.type), table);

/** A module without those of its custom sections that `isGone` says of by their names. */
export function without(bytes, isGone) {
  const reader = new Reader(bytes, 8), out = new Writer().append(bytes.subarray(0, 8));
  while (!reader.isDone) {
    const start = reader.at, id = reader.byte(), size = reader.u32(), content = reader.at;
    reader.skip(size);
    if (id !== 0 || !isGone(new Reader(bytes, content).name())) out.append(bytes.subarray(start, reader.at));
  }
  return out.bytes.slice();
}

/** A module's bytes. */
function assemble(module) {
  const out = new Writer().append(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  const section = (id, write) => {
    const content = new Writer();
    write(content);
    out.byte(id).sized(content.bytes);
  };
  const list = (id, items, each) => { if (items.length > 0) section(id, (content) => content.vector(items, each)); };
  section(0, (content) => content.name(SECTION).append(new TextEncoder().encode(module.key)));
  list(1, module.types, (content, { bytes }) => content.append(bytes));
  list(2, module.imports, (content, { from, name, kind, type }) => {
    content.name(from).name(name).byte(kind);
    if (kind === KINDS.function) content.u32(type);
    else if (kind === KINDS.table) writeTable(content, type);
    else if (kind === KINDS.memory) writeLimits(content, type);
    else content.append(Uint8Array.from(type));
  });
  list(3, module.declared, (content, type) => content.u32(type));
  list(4, module.tables, writeTable);
  list(5, module.memories, writeLimits);
  list(6, module.globals, (content, { type, mutable, initial }) => content.byte(type).byte(mutable).append(initial.bytes));
  list(7, module.exports, (content, { name, kind, index }) => content.name(name).byte(kind).u32(index));
  if (module.start !== undefined) section(8, (content) => content.u32(module.start));
  list(9, module.elements, (content, { offset, functions }) => {
    if (module.table === 0) content.u32(0);
    else content.u32(2).u32(module.table);
    content.byte(0x41).s32(offset).byte(END);
    if (module.table !== 0) content.byte(0);
    content.vector(functions, (each, index) => each.u32(index));
  });
  if (module.dataCount !== undefined) section(12, (content) => content.u32(module.dataCount));
  list(10, module.bodies, (content, body) => content.sized(body));
  list(11, module.data, (content, { offset, bytes }) => content.u32(0).byte(0x41).s32(offset).byte(END).sized(bytes));
  return out.bytes.slice();
}
