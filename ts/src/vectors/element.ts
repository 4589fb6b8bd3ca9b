/** Types of numbers in files, and getting arrays of them out of bytes. */
import type { F32, U8 } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { fromHalf } from "./half.js";

/**
 * Stored type of a number, by NumPy's name.
 *
 * @example
 * const type: ElementType = "uint8";
 * const vectors = await openVectors(bytes, { format: "raw", type, dim: 128 });
 */
export type ElementType = "float16" | "float32" | "float64" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64";

/**
 * The numbers of a file as they are stored: `float16` as words.
 *
 * @example
 * const elements: Elements = await (await openVectors(bytes)).elements();  // as the file has them
 */
export type Elements = Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array;

interface ElementInfo { readonly bytes: number; readonly npy: string; readonly array: new (buffer: ArrayBuffer) => Elements }

/** @internal */
export const ELEMENTS: { readonly [T in ElementType]: ElementInfo } = {
  float16: { bytes: 2, npy: "f2", array: Uint16Array },
  float32: { bytes: 4, npy: "f4", array: Float32Array },
  float64: { bytes: 8, npy: "f8", array: Float64Array },
  int8: { bytes: 1, npy: "i1", array: Int8Array },
  uint8: { bytes: 1, npy: "u1", array: Uint8Array },
  int16: { bytes: 2, npy: "i2", array: Int16Array },
  uint16: { bytes: 2, npy: "u2", array: Uint16Array },
  int32: { bytes: 4, npy: "i4", array: Int32Array },
  uint32: { bytes: 4, npy: "u4", array: Uint32Array },
  int64: { bytes: 8, npy: "i8", array: BigInt64Array },
  uint64: { bytes: 8, npy: "u8", array: BigUint64Array },
};

/** @internal */
export const ELEMENT_TYPES = Object.keys(ELEMENTS) as ElementType[];

const HOST_IS_LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Room for `bytes` bytes, or the error `out-of-memory`. @internal */
export function room(bytes: number): U8 {
  try {
    return new Uint8Array(bytes);
  } catch {
    throw new LeastwiseError("out-of-memory", `there is no room for ${bytes} bytes of vectors: read fewer at a time`);
  }
}

/** Numbers out of bytes that are theirs alone. @internal */
export function elementsOf(bytes: U8, type: ElementType, littleEndian: boolean): Elements {
  const { bytes: size, array } = ELEMENTS[type];
  if (littleEndian !== HOST_IS_LITTLE && size > 1) for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
  return new array(bytes.buffer);
}

/** As f32, rounded where f32 does not have them. @internal */
export function asFloats(elements: Elements, type: ElementType): F32 {
  if (type === "float16") return fromHalf(elements as Uint16Array);
  if (elements instanceof Float32Array) return elements as F32;
  if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) return Float32Array.from(elements, Number);
  return new Float32Array(elements);
}
