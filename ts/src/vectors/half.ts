/** Half precision: IEEE 754 binary16, as files and indices store it and as JavaScript (before `Float16Array`) has no array for. */
import { taken, type F32 } from "../arrays.js";
import { isA, LeastwiseError } from "../errors.js";

/**
 * Numbers in half precision, two bytes each. Made by {@link half} and {@link toHalf}.
 *
 * @example
 * const vectors: Half = half(new Uint16Array(800));
 */
export class Half {
  /** Sign, 5 bits of exponent, 10 of fraction. */
  readonly bits: Uint16Array;

  /** @internal */
  constructor(bits: Uint16Array) { this.bits = bits; }

  get length(): number { return this.bits.length; }
}

/**
 * Says of words that they are numbers in half precision, copying nothing: `half(new Uint16Array(array.buffer))` of a `Float16Array`.
 * Without it, they would be integers.
 *
 * @throws `invalid-option` unless `bits` is a `Uint16Array`
 * @example
 * const vectors = half(new Uint16Array(800));  // a word for each number
 * await lw.cluster(vectors, { dim: 8, clusters: 4 });
 */
export function half(bits: Uint16Array): Half {
  if (!isA(bits, Uint16Array)) throw new LeastwiseError("invalid-option", "half(bits): bits must be a Uint16Array, a word for each number");
  return new Half(bits);
}

/** The number that each word stands for. */
let values: Float32Array | undefined;

function table(): Float32Array {
  if (values) return values;
  values = new Float32Array(1 << 16);
  for (let word = 0; word < values.length; word++) {
    const exponent = (word >>> 10) & 31, fraction = word & 1023;
    const size = exponent === 31 ? (fraction ? NaN : Infinity) : exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24;
    values[word] = word >= 1 << 15 ? -size : size;
  }
  return values;
}

/**
 * f16 → f32, exactly.
 *
 * @throws `invalid-option` for other arrays
 * @example
 * const numbers = fromHalf(new Uint16Array([0x3c00, 0xc000]));  // 1 and −2
 */
export function fromHalf(numbers: Half | Uint16Array): F32 {
  const bits = taken("half(bits): bits", (isA(numbers, Half) ? numbers : half(numbers)).bits).values;
  const known = table(), out = new Float32Array(bits.length);
  for (let k = 0; k < bits.length; k++) out[k] = known[bits[k]!]!;
  return out;
}

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
/** Where the sign and the exponent of `double` are. */
const HIGH = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;

/** Adding and subtracting it rounds what is far smaller to integers, ties to even. */
const ROUNDER = 2 ** 52;

/**
 * To f16: rounded to the nearest, ties to even, once (not to f32 before). What is 65,520 or more becomes an infinity.
 *
 * @throws `invalid-option` unless `numbers` is an array of numbers
 * @example
 * const vectors = toHalf([1, -2, 0.5]);  // rounded to the nearest even
 */
export function toHalf(numbers: ArrayLike<number>): Half {
  const { values: given } = taken("toHalf(numbers): numbers", numbers);
  const bits = new Uint16Array(given.length);
  for (let k = 0; k < bits.length; k++) {
    const value = given[k]!;
    double[0] = value;
    const high = words[HIGH]!;
    const sign = (high >>> 16) & 0x8000;
    const exponent = Math.max(((high >>> 20) & 0x7ff) - 1023, -14);
    if (exponent > 15) {
      bits[k] = sign | (Number.isNaN(value) ? 0x7e00 : 0x7c00);
      continue;
    }
    // In units of the last place: 1024 to 2048 of them, fewer where the number is subnormal. A carry goes into the exponent.
    const units = Math.abs(value) * 2 ** (10 - exponent) + ROUNDER - ROUNDER;
    bits[k] = sign | (((exponent + 14) << 10) + units);
  }
  return new Half(bits);
}
