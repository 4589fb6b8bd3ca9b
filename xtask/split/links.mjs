// What the linker knew (`--emit-relocs`): which data and which functions' addresses are in each function, and in other data. Optimising a module keeps
// the places of its data, and loses the rest.
import { Reader } from "./binary.mjs";
import { parse } from "./module.mjs";

const FUNCTION = 0, DATA = 1, SECTION_SYMBOL = 3;
const UNDEFINED = 0x10, NAMED = 0x40, ABSOLUTE = 0x200;
// Relocations by what they name, and whether a number is added to it.
const CALL = 0, TAKEN = new Set([1, 2, 12]), ADDRESSES = new Set([3, 4, 5, 11]), ADDED = new Set([3, 4, 5, 8, 9, 11, 14, 15, 16, 17]);

/**
 * Functions as `{ name, size, calls, data, taken }`, by number, and data as `{ from, to, data, taken }`, by symbol: sets of such numbers, `taken`
 * those of functions that may be called through the table by whoever reads that.
 */
export function links(bytes) {
  const module = parse(bytes);
  const sections = [...sectionsOf(bytes)];
  const find = (name) => sections.find((section) => section.name === name) ?? missing(name);
  const symbols = symbolsOf(find("linking").reader);
  const functions = module.functionTypes.map(() => ({ name: "", size: 0, calls: new Set(), data: new Set(), taken: new Set() }));
  const data = new Map();
  symbols.forEach((symbol, number) => {
    if (symbol.kind === FUNCTION) functions[symbol.index].name ||= symbol.name;
    const segment = symbol.kind === DATA && module.data[symbol.segment];
    if (segment && symbol.size > 0) data.set(number, { from: segment.offset + symbol.offset, to: segment.offset + symbol.offset + symbol.size, data: new Set(), taken: new Set() });
  });
  module.bodies.forEach((body, at) => { functions[module.imported.length + at].size = body.bytes.length; });

  // Relocations are in the order of their places, as are bodies and segments.
  const placed = (items, id, visit) => {
    const { start } = sections.find((section) => section.id === id);
    const all = items.map(({ bytes: own }) => own.byteOffset - bytes.byteOffset - start);
    let at = 0;
    return (relocation) => {
      while (at + 1 < all.length && all[at + 1] <= relocation.offset) at++;
      visit(at, relocation, relocation.offset - all[at]);
    };
  };
  relocationsOf(find("reloc.CODE").reader).forEach(placed(module.bodies, 10, (at, { type, symbol }) => {
    const body = functions[module.imported.length + at];
    if (type === CALL) body.calls.add(symbols[symbol].index);
    else if (TAKEN.has(type)) body.taken.add(symbols[symbol].index);
    else if (ADDRESSES.has(type) && data.has(symbol)) body.data.add(symbol);
  }));
  const holders = [...data.values()].sort((a, b) => a.from - b.from);
  relocationsOf(find("reloc.DATA").reader).forEach(placed(module.data, 11, (at, { type, symbol }, within) => {
    const isAddress = ADDRESSES.has(type) && data.has(symbol);
    if (!isAddress && !TAKEN.has(type)) return;
    for (const holder of holding(holders, module.data[at].offset + within)) {
      if (isAddress) holder.data.add(symbol);
      else holder.taken.add(symbols[symbol].index);
    }
  }));
  return { functions, data };
}

const missing = (name) => { throw new Error(`the linker left no section "${name}": was it told to (--emit-relocs)?`); };

/** Symbols whose bytes an address is among; equal ones may share theirs. */
function holding(sorted, address) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle].from <= address) low = middle + 1;
    else high = middle;
  }
  const found = [];
  // Symbols are small, and few of them nest.
  for (let at = low - 1; at >= 0 && at >= low - 64; at--) if (address < sorted[at].to) found.push(sorted[at]);
  return found;
}

function* sectionsOf(bytes) {
  const reader = new Reader(bytes, 8);
  while (!reader.isDone) {
    const id = reader.byte(), size = reader.u32(), start = reader.at;
    const content = new Reader(bytes, start, start + size);
    yield { id, start, name: id === 0 ? content.name() : "", reader: content };
    reader.skip(size);
  }
}

function symbolsOf(reader) {
  const version = reader.u32();
  if (version !== 2) throw new Error(`a linking section of version ${version}`);
  while (!reader.isDone) {
    const kind = reader.byte(), size = reader.u32();
    if (kind === 8) return reader.vector(symbolOf);
    reader.skip(size);
  }
  throw new Error("a linking section without symbols");
}

function symbolOf(reader) {
  const kind = reader.byte(), flags = reader.u32();
  if (kind === DATA) {
    const name = reader.name();
    if (flags & UNDEFINED) return { kind, name };
    const [segment, offset, size] = [reader.u32(), reader.u32(), reader.u32()];
    return flags & ABSOLUTE ? { kind, name } : { kind, name, segment, offset, size };
  }
  const index = reader.u32();
  if (kind === SECTION_SYMBOL) return { kind, index };
  return { kind, index, name: !(flags & UNDEFINED) || flags & NAMED ? reader.name() : "" };
}

function relocationsOf(reader) {
  reader.u32();
  return reader.vector(() => {
    const type = reader.byte(), offset = reader.u32(), symbol = reader.u32();
    if (ADDED.has(type)) reader.skipNumber();
    return { type, offset, symbol };
  });
}
