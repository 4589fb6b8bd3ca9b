/**
 * The format of Hugging Face's safetensors: eight bytes with the header's length, the header as JSON, and the elements of all tensors, one after the other
 * (github.com/huggingface/safetensors, its README). What is read may be anybody's: nothing is believed.
 */
import { LeastwiseError } from "../errors.js";
import { elementsOf, shown, type Sizes } from "../tensor/shapes.js";
import { fromHalf, toHalf } from "../vectors/half.js";
import type { Floats, U8 } from "../arrays.js";
import type { Storage } from "../tensor/tensor.js";

/** A tensor of a file: the type that its elements have there, and where they are among the bytes. @internal */
export interface Entry { readonly type: string; readonly shape: Sizes; readonly bytes: U8 }

/** Contents of a file. @internal */
export interface Contents { readonly tensors: ReadonlyMap<string, Entry>; readonly metadata: { readonly [key: string]: string } }

/** A tensor to be written. @internal */
export interface Written { readonly name: string; readonly dtype: Storage; readonly shape: Sizes; readonly values: Floats | Int32Array | Uint8Array }

/** The longest header that the format's own library reads. */
const LONGEST_HEADER = 100_000_000;
const METADATA = "__metadata__";
/** More axes than any library's tensors have: NumPy's have up to 64. */
const MOST_AXES = 64;

/** Types whose elements are numbers here: bytes of one, and how they are read. */
const TYPES: { readonly [type: string]: { readonly size: number; readonly read: (buffer: ArrayBuffer) => ArrayLike<number | bigint> } } = {
  F64: { size: 8, read: (buffer) => new Float64Array(buffer) },
  F32: { size: 4, read: (buffer) => new Float32Array(buffer) },
  F16: { size: 2, read: (buffer) => fromHalf(new Uint16Array(buffer)) },
  // The upper half of an f32.
  BF16: { size: 2, read: (buffer) => new Float32Array(Uint32Array.from(new Uint16Array(buffer), (bits) => bits * 65536).buffer) },
  I64: { size: 8, read: (buffer) => new BigInt64Array(buffer) },
  U64: { size: 8, read: (buffer) => new BigUint64Array(buffer) },
  I32: { size: 4, read: (buffer) => new Int32Array(buffer) },
  U32: { size: 4, read: (buffer) => new Uint32Array(buffer) },
  I16: { size: 2, read: (buffer) => new Int16Array(buffer) },
  U16: { size: 2, read: (buffer) => new Uint16Array(buffer) },
  I8: { size: 1, read: (buffer) => new Int8Array(buffer) },
  U8: { size: 1, read: (buffer) => new Uint8Array(buffer) },
  BOOL: { size: 1, read: (buffer) => new Uint8Array(buffer) },
};
const WRITTEN = { f64: "F64", f32: "F32", f16: "F16", int32: "I32", bool: "BOOL" } as const;
const LITTLE = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

const corrupt = (message: string) => new LeastwiseError("file-corrupt", `this safetensors file is damaged: ${message}`);
/** A file's text in a message, which no file makes long. @internal */
export const quoted = (name: string): string => JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);

/** Bytes of elements from last to first, on hosts that have the other order. */
function ordered(bytes: U8, size: number): U8 {
  if (!LITTLE) for (let k = 0; k < bytes.length; k += size) bytes.subarray(k, k + size).reverse();
  return bytes;
}

/** A file's header, checked: every byte of what follows belongs to one tensor. @internal */
export function contentsOf(given: Uint8Array): Contents {
  // A Buffer of Node is one, but its slices are no copies.
  const file = new Uint8Array(given.buffer, given.byteOffset, given.length);
  const short = (needed: number) => new LeastwiseError("file-truncated", `the file ends too early: ${needed} bytes are needed, but it has ${file.length}; copy it again, or make it anew`);
  if (file.length < 8) throw short(8);
  const view = new DataView(file.buffer, file.byteOffset, file.length), length = view.getUint32(0, true), high = view.getUint32(4, true);
  if (high !== 0 || length > LONGEST_HEADER) throw new LeastwiseError("file-format", `this is no safetensors file: its header would have ${high * 2 ** 32 + length} bytes (${LONGEST_HEADER} at most)`);
  if (file.length < 8 + length) throw short(8 + length);
  if (length === 0 || file[8] !== 0x7b) throw new LeastwiseError("file-format", "this is no safetensors file: its header does not begin with {");
  // A copy, since of shared memory no text is read.
  const header = parsed(file.slice(8, 8 + length)), data = file.subarray(8 + length), tensors: [name: string, entry: Entry & { readonly start: number; readonly end: number }][] = [];
  for (const [name, given] of Object.entries(header)) if (name !== METADATA) tensors.push([name, entryOf(name, given, data)]);
  let last = 0;
  for (const [name, { start, end }] of [...tensors].sort(([, a], [, b]) => a.start - b.start || a.end - b.end)) {
    if (start !== last) throw corrupt(`tensor ${quoted(name)} begins at byte ${start}, ${start < last ? "within another, which ends" : "but the one before it ends"} at ${last}`);
    last = end;
  }
  if (data.length > last) throw corrupt(`${data.length - last} bytes follow its last tensor`);
  const metadata = Object.hasOwn(header, METADATA) ? header[METADATA] : {};
  if (!isRecord(metadata) || Object.values(metadata).some((value) => typeof value !== "string")) throw corrupt(`${METADATA} must have texts by name`);
  return { tensors: new Map(tensors), metadata: metadata as { readonly [key: string]: string } };
}

const isRecord = (value: unknown): value is { readonly [name: string]: unknown } => typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(bytes: Uint8Array): { readonly [name: string]: unknown } {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw corrupt(`its header is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  // It begins with {.
  return found as { readonly [name: string]: unknown };
}

function entryOf(name: string, given: unknown, data: Uint8Array): Entry & { readonly start: number; readonly end: number } {
  const { dtype, shape, data_offsets: offsets } = isRecord(given) ? given : {}, isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  if (typeof dtype !== "string" || !Array.isArray(shape) || !shape.every(isCount) || !Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    throw corrupt(`tensor ${quoted(name)} must have a dtype, a shape and data_offsets of whole numbers`);
  }
  if (shape.length > MOST_AXES) throw corrupt(`tensor ${quoted(name)} has ${shape.length} axes (${MOST_AXES} at most)`);
  if (!Object.hasOwn(TYPES, dtype)) throw new LeastwiseError("file-format", `tensor ${quoted(name)} is of ${quoted(dtype)}; ${Object.keys(TYPES).join(", ")} can be read`);
  const [start, end] = offsets as [number, number], bytes = elementsOf(shape as number[]) * TYPES[dtype]!.size;
  if (end < start || end - start !== bytes) throw corrupt(`tensor ${quoted(name)} of ${dtype} and ${shown(shape as number[])} has ${end - start} bytes, from ${start} to ${end}, not ${bytes}`);
  if (end > data.length) throw new LeastwiseError("file-truncated", `the file ends too early: tensor ${quoted(name)} needs ${end} bytes after the header, but there are ${data.length}; copy it again, or make it anew`);
  return { type: dtype, shape: shape as number[], bytes: data.subarray(start, end) as U8, start, end };
}

const isWhole = (type: string): boolean => !/^B?F/.test(type);

/** Default dtype of an entry: booleans and whole numbers as such, others as the engine's reals. @internal */
export const kindOf = ({ type }: Entry, real: Storage): Storage => (type === "BOOL" ? "bool" : isWhole(type) ? "int32" : real);

/** The largest whole number up to which there are all. */
const MOST = { f16: 2 ** 11, f32: 2 ** 24, f64: 2 ** 53, int32: 2 ** 31 - 1, bool: 2 ** 24 } as const;

/**
 * An entry's numbers as `dtype` has them, exactly; `rounds` where others are to be rounded to the nearest. `real` is what they may be rounded to.
 *
 * @internal
 */
export function numbersOf(what: string, name: string, { type, bytes }: Entry, dtype: Storage, real: Storage, rounds: boolean): Floats | Int32Array {
  const { size, read } = TYPES[type]!, all = read(ordered(bytes.slice(), size).buffer);
  if (type === "F64" && dtype !== "f64" && !rounds) throw new LeastwiseError("dtype", `${what}: tensor ${quoted(name)} is of F64: { dtype: "f64" } keeps its digits, and { dtype: "${dtype}" } says that they are to be rounded`);
  if (all instanceof Float32Array && dtype !== "f64") return all;
  if (all instanceof Float64Array) return dtype === "f32" ? Float32Array.from(all) : all;
  if (all instanceof Int32Array && dtype === "int32") return all;
  const most = MOST[dtype], numbers = new { f16: Float32Array, f32: Float32Array, f64: Float64Array, int32: Int32Array, bool: Float32Array }[dtype](all.length);
  for (let k = 0; k < numbers.length; k++) {
    // As integers: 2⁵³ + 1 is 2⁵³ as a number. There is one int32 more below 0.
    const given = all[k]!, isWithin = (most: number) => given <= most && given >= (dtype === "int32" && most === MOST.int32 ? -most - 1 : -most);
    if (isWhole(type) && !rounds && !isWithin(most)) {
      const remedy = dtype !== "f64" && isWithin(2 ** 53) ? "{ dtype: \"f64\" } has this one, too" : `{ dtype: "${real}" } says that others are to be rounded`;
      throw new LeastwiseError("dtype", `${what}: tensor ${quoted(name)} of ${type} has ${String(given)} at place ${k}, but ${dtype} has all whole numbers up to ${most} only: ${remedy}`);
    }
    numbers[k] = Number(given);
  }
  return numbers;
}

/** The bytes of a file: tensors by the size of their elements and by name, each aligned, as the format's own library writes them. @internal */
export function fileOf(tensors: readonly Written[], metadata: { readonly [key: string]: string } | undefined): U8 {
  const sorted = [...tensors].sort((a, b) => TYPES[WRITTEN[b.dtype]]!.size - TYPES[WRITTEN[a.dtype]]!.size || (a.name < b.name ? -1 : 1));
  let end = 0;
  const header = JSON.stringify(Object.fromEntries([
    ...(metadata === undefined ? [] : [[METADATA, metadata] as const]),
    ...sorted.map(({ name, dtype, shape, values }) => [name, { dtype: WRITTEN[dtype], shape, data_offsets: [end, end += values.length * TYPES[WRITTEN[dtype]]!.size] }] as const),
  ]));
  const text = new TextEncoder().encode(header), length = Math.ceil(text.length / 8) * 8;
  if (length > LONGEST_HEADER) throw new LeastwiseError("limits", `names and texts take ${length} bytes, but a header of a safetensors file has ${LONGEST_HEADER} at most`);
  const file = new Uint8Array(8 + length + end);
  new DataView(file.buffer).setUint32(0, length, true);
  file.fill(0x20, 8, 8 + length).set(text, 8);
  let at = 8 + length;
  for (const { dtype, values } of sorted) {
    const typed = dtype === "f16" ? toHalf(values as Floats).bits : values, bytes = ordered(new Uint8Array(typed.buffer, typed.byteOffset, typed.byteLength).slice(), TYPES[WRITTEN[dtype]]!.size);
    file.set(bytes, at);
    at += bytes.length;
  }
  return file;
}
