/** Vectors as callers give them: row by row in one array. */
import type { Floats } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { describe } from "./instruction.js";
import { fromHalf, Half } from "./vectors/half.js";

/** Vectors, one after the other: `Float32Array`, `Float64Array` (rounded to f32), or half precision in `half(bits)`. */
export type Points = Floats | Half;

/** Components of a vector, as `anneal/rows.rs` has it. */
const MOST_DIMENSIONS = 2 ** 20;

/** Checked vectors as the engine takes them. @internal */
export function pointsOf(what: string, points: Points, dim: number): Floats {
  const floats = points instanceof Half ? fromHalf(points) : points;
  if (!(floats instanceof Float32Array || floats instanceof Float64Array)) {
    throw new LeastwiseError("invalid-option", `${what} must be a Float32Array, a Float64Array or half(bits) with one vector after the other, not ${describe(points)}`);
  }
  if (!(Number.isInteger(dim) && dim >= 1)) throw new LeastwiseError("invalid-option", `dim: ${String(dim)} is not a positive integer: it is the number of components of one vector`);
  if (dim > MOST_DIMENSIONS) throw new LeastwiseError("invalid-option", `dim: ${dim} is more than ${MOST_DIMENSIONS}, the most components that a vector may have`);
  if (floats.length % dim !== 0) throw new LeastwiseError("data-length", `${what} has ${floats.length} numbers, which are no whole number of vectors of ${dim} components`);
  return floats;
}
