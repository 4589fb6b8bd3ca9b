/// <reference lib="esnext.disposable" preserve="true" />
/** The arrays and GPU types that cross the public surface. */

// Names of the host's GPU types are taken from the consumer's own globals; the package references no @webgpu/types.
type Host<K extends string, Else> = typeof globalThis extends { [P in K]: { prototype: infer T } } ? T : Else;
/** `GPUBuffer`, where the consumer has its type. */
export type DeviceBuffer = Host<"GPUBuffer", { readonly size: number; readonly usage: number; destroy(): void }>;
/** `GPUDevice`, where the consumer has its type. */
export type Device = Host<"GPUDevice", { readonly queue: object; readonly limits: object; destroy(): void }>;
/** Where a variable lies on the GPU, in bytes: instance i begins at `offset + i * stride`. */
export interface DeviceView { readonly buffer: DeviceBuffer; readonly offset: number; readonly stride: number }

/** `Float32Array`, over an `ArrayBuffer` where TypeScript knows the difference. */
export type F32 = InstanceType<Float32ArrayConstructor>;
/** `Float64Array`, likewise. */
export type F64 = InstanceType<Float64ArrayConstructor>;
/** `Uint8Array`, likewise. */
export type U8 = InstanceType<Uint8ArrayConstructor>;
export type Floats = Float32Array | Float64Array;

/** `reduce` of both, with signatures of its own: TypeScript can't call that of a union. */
interface Reducible {
  reduce(step: (sum: number, value: number, index: number) => number, start?: number): number;
  reduce<U>(step: (sum: U, value: number, index: number) => U, start: U): U;
  reduceRight(step: (sum: number, value: number, index: number) => number, start?: number): number;
  reduceRight<U>(step: (sum: U, value: number, index: number) => U, start: U): U;
}
/** Values in the engine's precision: a `Float32Array` of an engine in f32, a `Float64Array` of any other. */
export type Values = (F32 | F64) & Reducible;
/** A list of instances. */
export type Indices = Uint32Array | Uint16Array | Int32Array | readonly number[];
/** Which instances: one byte for each, not 0 where it is one of them. (Any other array is a list of instances.) */
export type Mask = Uint8Array;
/** An index table or column: anything array-like of non-negative integers, checked at run time. */
export type IndexTable = ArrayLike<number>;

/** Numbers as the engine takes them: typed floats as they are, anything else as f64. @internal */
export function floats(values: ArrayLike<number>): Floats {
  return isFloats(values) ? values : Float64Array.from(values);
}

/** True of the typed arrays of floats. @internal */
export function isFloats(value: unknown): value is Floats {
  return value instanceof Float32Array || value instanceof Float64Array;
}

/** Whether it is an object with a length: an array, a typed array, anything like them. @internal */
export function isArrayLike(value: unknown): value is ArrayLike<number> {
  return typeof value === "object" && value !== null && typeof (value as { length?: unknown }).length === "number";
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
