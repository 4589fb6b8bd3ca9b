/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The arrays and GPU types that cross the public surface, and how arrays of callers are taken: by what they are, never by what their
 * properties say. A typed array is viewed anew (its memory is not copied), so that a `length` of its own, a class of its own or a
 * buffer that was transferred is found out here; anything else is copied, each element read once.
 */
import { LeastwiseError, reading, type ErrorCode, type Place } from "./errors.js";
import type { Host } from "./host.js";
import { describe, shownValue } from "./instruction.js";

// Names of the host's GPU types are taken from the consumer's own globals; the package references no @webgpu/types.
/**
 * `GPUBuffer`, where the consumer has its type.
 *
 * @example
 * const buffer: DeviceBuffer | undefined = x.buffer?.buffer;
 */
export type DeviceBuffer = Host<"GPUBuffer", { readonly size: number; readonly usage: number; destroy(): void }>;
/**
 * `GPUDevice`, where the consumer has its type.
 *
 * @example
 * const shared: Device | undefined = lw.device;  // undefined on CUDA and on the CPU
 */
export type Device = Host<"GPUDevice", { readonly queue: object; readonly limits: object; destroy(): void }>;
/**
 * Place of a variable on the GPU, in bytes: instance i begins at `offset + i * stride`.
 *
 * @example
 * const view: DeviceView | undefined = x.buffer;
 * if (view) console.log(view.offset, view.stride);  // in bytes
 */
export interface DeviceView { readonly buffer: DeviceBuffer; readonly offset: number; readonly stride: number }

/**
 * `Float32Array`, over an `ArrayBuffer` where TypeScript knows the difference.
 *
 * @example
 * const values: F32 = await x.read({ as: "f32" });
 */
export type F32 = InstanceType<Float32ArrayConstructor>;
/**
 * `Float64Array`, likewise.
 *
 * @example
 * const values: F64 = await x.read({ as: "f64" });
 */
export type F64 = InstanceType<Float64ArrayConstructor>;
/** `Uint8Array`, likewise. */
export type U8 = InstanceType<Uint8ArrayConstructor>;
/**
 * Floats: values of either precision.
 *
 * @example
 * const weights: Floats = new Float64Array(term.count).fill(0.5);
 * term.set({ weight: weights });
 */
export type Floats = Float32Array | Float64Array;

/** `reduce` of both, with signatures of its own: TypeScript can't call that of a union. */
interface Reducible {
  reduce(step: (sum: number, value: number, index: number) => number, start?: number): number;
  reduce<U>(step: (sum: U, value: number, index: number) => U, start: U): U;
  reduceRight(step: (sum: number, value: number, index: number) => number, start?: number): number;
  reduceRight<U>(step: (sum: U, value: number, index: number) => U, start: U): U;
}
/**
 * Values in the engine's precision: a `Float32Array` of an engine in f32, a `Float64Array` of any other.
 *
 * @example
 * const values: Values = await x.read();
 * console.log(values.reduce((sum, value) => sum + value, 0));
 */
export type Values = (F32 | F64) & Reducible;
/**
 * A list of instances.
 *
 * @example
 * const pinned: Indices = [0, 7];
 * x.fix(pinned);
 */
export type Indices = Uint32Array | Uint16Array | Int32Array | readonly number[];
/**
 * Which instances: one byte for each, not 0 where it is one of them. (Any other array is a list of instances.)
 *
 * @example
 * const held: Mask = new Uint8Array(x.count).fill(1, 0, 3);  // the first three instances
 * x.fix(held);
 */
export type Mask = Uint8Array;
/**
 * An index table or column: anything array-like of non-negative integers, checked at run time.
 *
 * @example
 * const ends: IndexTable = Uint32Array.of(0, 1, 1, 2);  // two edges: 0–1 and 1–2
 */
export type IndexTable = ArrayLike<number>;
/** A row for each instance, as JSON and many meshes on npm have them: `[[x, y, z], …]`. */
export type Rows<T = number> = readonly ArrayLike<T>[];

/** A typed array of numbers. @internal */
export type Typed = Floats | Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array;

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const getter = <T>(name: PropertyKey) => {
  const get = Object.getOwnPropertyDescriptor(typedArray, name)!.get!;
  return (array: unknown): T => Reflect.apply(get, array, []) as T;
};
/** The class by which a typed array was made, of any realm; undefined for anything else. Nothing of the caller's runs. */
const kindOf = getter<string | undefined>(Symbol.toStringTag);
const [bufferOf, offsetOf, lengthOf, bytesIn] = [getter<ArrayBuffer>("buffer"), getter<number>("byteOffset"), getter<number>("length"), getter<number>("byteLength")];
const { at: elementAt, set: setAll } = typedArray as Float64Array;

type Maker = new (buffer: ArrayBuffer, offset: number, length: number) => Typed;
const KINDS: { readonly [kind: string]: Maker | undefined } = {
  Float32Array, Float64Array, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
  Float16Array: (globalThis as { Float16Array?: Maker }).Float16Array,
};

/** The same memory in a new typed array, with its true length; undefined for what is no typed array. Throws where its memory is gone. */
function viewOf(what: string, given: unknown, place: Place): Typed | undefined {
  const kind = kindOf(given);
  if (kind === undefined) return undefined;
  mustHaveMemory(what, given, place);
  const Made = KINDS[kind];
  if (!Made) throw new LeastwiseError("invalid-option", `${what} is a ${kind}, whose elements are no numbers to JavaScript: give Float64Array.from(values, Number)`, place);
  return new Made(bufferOf(given), offsetOf(given), lengthOf(given));
}

/** Refuses arrays whose buffer was transferred, or resized to less than they need. @internal */
export function mustHaveMemory(what: string, given: unknown, place: Place): void {
  try {
    Reflect.apply(elementAt, given, [0]);
  } catch {
    throw new LeastwiseError("data-length", `${what}: its buffer was transferred (postMessage, structuredClone) or has shrunk, so it has no elements any more: pass on a copy, values.slice(), and keep it`, place);
  }
}

/** Numbers of an array from which on it's worth crossing by itself, without a copy in JavaScript. @internal */
export const LARGE = 1 << 12;

const bytesOfUnshared = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength")!.get!;

/** True for memory that no other thread writes to: what is checked stays as it is until the call returns. @internal */
export function isUnshared(array: Typed): boolean {
  try {
    // A SharedArrayBuffer has none, whatever its prototype.
    Reflect.apply(bytesOfUnshared, bufferOf(array), []);
    return true;
  } catch {
    return false;
  }
}

/** The array, or a copy of what other threads may write to. @internal */
export const settled = (array: Typed): Typed => (isUnshared(array) ? array : array.slice());

/** True for an array, a typed array or an object with a length. Nothing is thrown: what can't be read is told when it is taken. @internal */
export function isArrayLike(value: unknown): value is ArrayLike<number> {
  if (typeof value !== "object" || value === null) return false;
  try {
    return kindOf(value) !== undefined || typeof (value as { length?: unknown }).length === "number";
  } catch {
    return true;
  }
}

/** `Array.isArray` that throws for nothing, not even for a revoked Proxy. @internal */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** True for a `Float32Array` or a `Float64Array`. @internal */
export const isFloats = (value: unknown): value is Floats => kindOf(value) === "Float32Array" || kindOf(value) === "Float64Array";

/** True for a `Float64Array`. @internal */
export const isA64 = (value: unknown): boolean => kindOf(value) === "Float64Array";

/** True for an `Int32Array`. @internal */
export const isInt32 = (value: unknown): boolean => kindOf(value) === "Int32Array";

/** True for bytes, which say of each instance whether it is meant. @internal */
export const isMask = (value: unknown): value is Mask => kindOf(value) === "Uint8Array";

/** How a caller's array is to be taken. */
interface Taking extends Place {
  /** The code for what is no array. */
  readonly code?: ErrorCode;
  /** What it must be, in words. */
  readonly must?: string;
  /** Numbers of an instance, where rows (`[[x, y, z], …]`) are allowed; 0 where a row may have any number. */
  readonly width?: number;
}

/** Numbers in one array; `stride`, where they were given as rows. @internal */
export interface Taken { readonly values: Typed; readonly stride: number | undefined }

/** A caller's numbers: a view of a typed array, or a copy as f64 of anything else. @internal */
export function taken(what: string, given: unknown, { code = "invalid-option", must = "must be an array of numbers", width, ...place }: Taking = {}): Taken {
  const view = viewOf(what, given, place);
  if (view) return { values: view, stride: undefined };
  return reading(what, () => {
    const length = lengthOfList(given);
    if (length === undefined) throw new LeastwiseError(code, `${what} ${must}, not ${describe(given)}`, place);
    const list = given as ArrayLike<unknown>;
    const first = length > 0 ? list[0] : 0;
    if (Array.isArray(first) || kindOf(first) !== undefined) {
      if (width === undefined) throw new LeastwiseError(code, `${what} is an array of arrays: give values.flat()`, place);
      return ofRows(what, list, length, width, place);
    }
    mustBeNumber(what, 0, first, place);
    const values = room(what, length, place);
    for (let k = 0; k < length; k++) {
      const value: unknown = k > 0 ? list[k] : first;
      mustBeNumber(what, k, value, place);
      values[k] = value as number;
    }
    return { values: length > 0 ? values : new Float64Array(0), stride: undefined };
  }, place);
}

/** The length of anything array-like; undefined for what has none. */
function lengthOfList(given: unknown): number | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { length } = given as { length?: unknown };
  if (typeof length !== "number") return undefined;
  if (!(Number.isSafeInteger(length) && length >= 0)) throw new LeastwiseError("invalid-option", `an array's length can't be ${length}`);
  return length;
}

function mustBeNumber(what: string, k: number, value: unknown, place: Place): void {
  if (typeof value !== "number") throw new LeastwiseError("invalid-option", `${what}: element ${k} is ${shownValue(value)}, but must be a number`, place);
}

function room(what: string, length: number, place: Place): Float64Array {
  try {
    return new Float64Array(length);
  } catch {
    throw new LeastwiseError("out-of-memory", `${what}: there is no room for ${length} numbers`, place);
  }
}

/** Rows of one length, one after the other. */
function ofRows(what: string, rows: ArrayLike<unknown>, count: number, width: number, place: Place): Taken {
  let values: Float64Array | undefined, stride = width;
  for (let k = 0; k < count; k++) {
    const row = rows[k];
    // Most are arrays: of a million rows none needs a name.
    const list = Array.isArray(row) ? row as readonly unknown[] : viewOf(`${what}[${k}]`, row, place);
    if (!list) throw new LeastwiseError("invalid-option", `${what}[${k}] is ${describe(row)}, but ${what}[0] is an array: all must be rows of numbers, or none`, place);
    if (k === 0 && width === 0) stride = list.length;
    if (list.length !== stride) {
      const needed = width > 0 ? `${width} ${width === 1 ? "is" : "are"} needed (an instance's)` : `${what}[0] has ${stride}`;
      throw new LeastwiseError("data-length", `${what}[${k}] has ${list.length} numbers, but ${needed}`, place);
    }
    values ??= room(what, count * stride, place);
    for (let j = 0; j < stride; j++) {
      const value: unknown = list[j];
      if (typeof value !== "number") mustBeNumber(`${what}[${k}]`, j, value, place);
      values[k * stride + j] = value as number;
    }
  }
  return { values: values!, stride };
}

/** Numbers as the engine takes them: typed floats as they are, anything else as f64. @internal */
export function numbersOf(what: string, given: unknown, taking: Taking = {}): Floats {
  const { values } = taken(what, given, taking);
  return isFloats(values) ? values : new Float64Array(values);
}

/** Indices as the engine takes them; `wrong` makes the error for what is no index. @internal */
export function indicesOf(what: string, given: unknown, wrong: (k: number, value: number) => LeastwiseError, taking: Taking = {}): Uint32Array {
  const { values } = taken(what, given, taking);
  const k = firstNonIndex(values);
  if (k >= 0) throw wrong(k, values[k]!);
  return values instanceof Uint32Array ? values : Uint32Array.from(values);
}

/** The elements of a list that are no numbers, each read once. @internal */
export function listOf(what: string, given: unknown, must: string, place: Place = {}): readonly unknown[] {
  return reading(what, () => {
    if (!Array.isArray(given)) throw new LeastwiseError("invalid-option", `${what} ${must}, not ${describe(given)}`, place);
    return Array.from({ length: given.length }, (_, k): unknown => given[k]);
  }, place);
}

/** Bytes as they are; `undefined` for what is no `Uint8Array`. @internal */
export function bytesOf(what: string, given: unknown, place: Place = {}): Uint8Array | undefined {
  const view = isMask(given) ? viewOf(what, given, place) : undefined;
  return view as Uint8Array | undefined;
}

/** The class, the length and the bytes of a typed array of any class; `undefined` for anything else. @internal */
export function storedIn(what: string, given: unknown): { readonly kind: string; readonly length: number; readonly bytes: U8 } | undefined {
  const kind = kindOf(given);
  if (kind === undefined) return undefined;
  mustHaveMemory(what, given, {});
  return { kind, length: lengthOf(given), bytes: new Uint8Array(bufferOf(given), offsetOf(given), bytesIn(given)) };
}

/** The true length of a caller's `Float32Array` or `Float64Array` that is to be written to. @internal */
export function roomIn(what: string, out: unknown): number {
  if (!isFloats(out)) throw new LeastwiseError("shape", `${what} must be a Float32Array or a Float64Array, not ${describe(out)}`);
  mustHaveMemory(what, out, {});
  return lengthOf(out);
}

/** Writes all of a caller's array. @internal */
export function fill(what: string, out: Floats, values: ArrayLike<number>): void {
  const length = roomIn(what, out);
  if (length !== values.length) throw new LeastwiseError("data-length", `${what} has ${length} values now, but ${values.length} are to be written: it was resized meanwhile`);
  Reflect.apply(setAll, out, [values]);
}

/** The position of the first entry that is no index (a non-negative integer below 2³²), or −1. @internal */
export function firstNonIndex(values: ArrayLike<number>): number {
  if (values instanceof Uint32Array || values instanceof Uint16Array || values instanceof Uint8Array) return -1;
  for (let k = 0; k < values.length; k++) {
    const value = values[k]!;
    if (!(Number.isInteger(value) && value >= 0 && value < 4294967296)) return k;
  }
  return -1;
}

/** Pieces of so many bytes together, one behind the other; a single one is not copied. */
export function joinedBytes(pieces: readonly Uint8Array[], length: number): Uint8Array {
  if (pieces.length === 1) return pieces[0]!;
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
