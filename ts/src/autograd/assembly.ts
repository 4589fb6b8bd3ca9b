/** WebAssembly in its binary form: instructions by their names in the specification, and modules of one function. */

/** Types of locals and parameters. @internal */
export const I32 = 0x7f, F64 = 0x7c, V128 = 0x7b;

/** Names of instructions without operands of their own. */
const PLAIN = {
  "i32.add": [0x6a], "i32.mul": [0x6c], "i32.shl": [0x74], "i32.and": [0x71], "i32.lt_s": [0x48], "i32.ge_s": [0x4e], "i32.eq": [0x46],
  "f64.add": [0xa0],
  "f64x2.splat": [0xfd, 0x14], "f64x2.eq": [0xfd, 0x47], "f64x2.ne": [0xfd, 0x48], "f64x2.lt": [0xfd, 0x49], "f64x2.gt": [0xfd, 0x4a], "f64x2.le": [0xfd, 0x4b], "f64x2.ge": [0xfd, 0x4c],
  "v128.and": [0xfd, 0x4e], "v128.andnot": [0xfd, 0x4f], "v128.or": [0xfd, 0x50], "v128.bitselect": [0xfd, 0x52], "v128.any_true": [0xfd, 0x53],
  "f64x2.ceil": [0xfd, 0x74], "f64x2.floor": [0xfd, 0x75],
  "f64x2.abs": [0xfd, 0xec, 1], "f64x2.neg": [0xfd, 0xed, 1], "f64x2.sqrt": [0xfd, 0xef, 1], "f64x2.add": [0xfd, 0xf0, 1], "f64x2.sub": [0xfd, 0xf1, 1],
  "f64x2.mul": [0xfd, 0xf2, 1], "f64x2.div": [0xfd, 0xf3, 1], "f64x2.pmin": [0xfd, 0xf6, 1], "f64x2.pmax": [0xfd, 0xf7, 1],
  return: [0x0f], end: [0x0b], else: [0x05],
} as const;

/** Instructions of memory, with the alignment that they are given. */
const MEMORY = {
  "i32.load": [[0x28], 2], "i32.store": [[0x36], 2], "f64.load": [[0x2b], 3], "f64.store": [[0x39], 3],
  "v128.load": [[0xfd, 0x00], 3], "v128.store": [[0xfd, 0x0b], 3], "v128.load64_splat": [[0xfd, 0x0a], 3],
} as const;
const LANES = { "v128.load64_lane": 0x57, "v128.store64_lane": 0x5b } as const;

/** @internal */
export type Instruction = keyof typeof PLAIN;

/** Code of a function, written one instruction after the other. @internal */
export class Code {
  readonly bytes: number[] = [];

  put(...names: readonly Instruction[]): this { for (const name of names) this.append(PLAIN[name]); return this; }
  get(local: number): this { return this.one(0x20, local); }
  set(local: number): this { return this.one(0x21, local); }
  tee(local: number): this { return this.one(0x22, local); }
  call(index: number): this { return this.one(0x10, index); }
  /** Leaves as many blocks as `depth`, and one. */
  branch(depth: number): this { return this.one(0x0c, depth); }
  branchIf(depth: number): this { return this.one(0x0d, depth); }
  block(): this { this.bytes.push(0x02, 0x40); return this; }
  loop(): this { this.bytes.push(0x03, 0x40); return this; }
  if(): this { this.bytes.push(0x04, 0x40); return this; }
  /** Adds a constant to a local. */
  increment(local: number, by: number): this { return this.get(local).i32(by).put("i32.add").set(local); }
  /** Repeats `body` as long as `local` is below `limit` after it. */
  repeat(local: number, limit: number, body: () => void): this {
    this.loop();
    body();
    return this.get(local).get(limit).put("i32.lt_s").branchIf(0).put("end");
  }
  i32(value: number): this { this.bytes.push(0x41); this.append(signed(value)); return this; }
  /** The same number in both lanes. */
  f64x2(value: number): this {
    const bytes = new Uint8Array(Float64Array.of(value, value).buffer);
    this.bytes.push(0xfd, 0x0c);
    this.append(bytes);
    return this;
  }
  memory(name: keyof typeof MEMORY, offset: number): this {
    const [opcode, alignment] = MEMORY[name];
    this.append(opcode);
    this.append([alignment, ...unsigned(offset)]);
    return this;
  }
  lane(name: keyof typeof LANES, offset: number, lane: number): this { this.append([0xfd, LANES[name], 3, ...unsigned(offset), lane]); return this; }
  extract(lane: number): this { this.bytes.push(0xfd, 0x21, lane); return this; }
  replace(lane: number): this { this.bytes.push(0xfd, 0x22, lane); return this; }

  private one(opcode: number, index: number): this { this.bytes.push(opcode); this.append(unsigned(index)); return this; }
  private append(bytes: ArrayLike<number>): void { for (let k = 0; k < bytes.length; k++) this.bytes.push(bytes[k]!); }
}

/** Function that a module imports. @internal */
export interface Import { readonly name: string; readonly parameters: readonly number[]; readonly results: readonly number[] }

/** Locals of one type. @internal */
export interface Locals { readonly type: number; readonly count: number }

/** A module that imports the memory `e.memory` and functions of `e`, and exports one function, `run`. @internal */
export function moduleOf(imports: readonly Import[], parameters: readonly number[], results: readonly number[], locals: readonly Locals[], { bytes }: Code): Uint8Array<ArrayBuffer> {
  const functionType = (of: readonly number[], to: readonly number[]) => [0x60, ...vector(of.map((type) => [type])), ...vector(to.map((type) => [type]))];
  const body = [...vector(locals.map(({ type, count }) => [...unsigned(count), type]))];
  const size = body.length + bytes.length + 1, code = [...unsigned(1), ...unsigned(size), ...body];
  const head = [
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, vector([...imports.map((of) => functionType(of.parameters, of.results)), functionType(parameters, results)])),
    ...section(2, vector([[...text("e"), ...text("memory"), 2, 0, 0], ...imports.map(({ name }, k) => [...text("e"), ...text(name), 0, ...unsigned(k)])])),
    ...section(3, vector([unsigned(imports.length)])),
    ...section(7, vector([[...text("run"), 0, ...unsigned(imports.length)]])),
    10, ...unsigned(code.length + bytes.length + 1), ...code,
  ];
  const module = new Uint8Array(head.length + bytes.length + 1);
  module.set(head);
  module.set(bytes, head.length);
  module[module.length - 1] = 0x0b;
  return module;
}

/** LEB128. */
function unsigned(value: number): number[] {
  const bytes: number[] = [];
  do {
    const rest = Math.floor(value / 128);
    bytes.push((value % 128) | (rest > 0 ? 0x80 : 0));
    value = rest;
  } while (value > 0);
  return bytes;
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  for (;;) {
    const byte = value & 0x7f;
    value >>= 7;
    if ((value === 0 && (byte & 0x40) === 0) || (value === -1 && (byte & 0x40) !== 0)) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

const text = (of: string): number[] => [...unsigned(of.length), ...Array.from(of, (letter) => letter.charCodeAt(0))];
const vector = (items: readonly (readonly number[])[]): number[] => [...unsigned(items.length), ...items.flat()];
const section = (id: number, bytes: readonly number[]): number[] => [id, ...unsigned(bytes.length), ...bytes];
