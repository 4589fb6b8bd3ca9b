/** Vectors as callers give them: row by row in one array. */
import { isFloats, isList, numbersOf, storedIn, taken, type Floats } from "./arrays.js";
import { isA, LeastwiseError, reading } from "./errors.js";
import type { Host } from "./host.js";
import { describe, shownValue } from "./instruction.js";
import type { Kind } from "./options.js";
import { fromHalf, Half } from "./vectors/half.js";

/**
 * Vectors, one after the other: `Float32Array`, `Float64Array` (rounded to f32), half precision in a `Float16Array` or `half(bits)`,
 * quantised ones in an `Int8Array` or `Uint8Array` (their integers are the components); `[]` for none.
 *
 * @example
 * const data: Points = half(new Uint16Array(800));  // 100 vectors of 8 halves
 * await lw.cluster(data, { dim: 8, clusters: 4 });
 */
export type Points = Floats | Half | Int8Array | Uint8Array | Host<"Float16Array"> | readonly [];

/** Classes of vectors besides floats, whose numbers are all in f32. */
const EXACT: readonly string[] = ["Int8Array", "Uint8Array", "Float16Array"];

/** Components of a vector, as `anneal/rows.rs` has it. */
const MOST_DIMENSIONS = 2 ** 20;

/** The components of a vector. @internal */
export const dimension: Kind<number> = (_, dim, place) => {
  if (!(Number.isInteger(dim) && (dim as number) >= 1)) throw new LeastwiseError("invalid-option", `dim: ${shownValue(dim)} is not a positive integer: it is the number of components of one vector`, place);
  if ((dim as number) > MOST_DIMENSIONS) throw new LeastwiseError("invalid-option", `dim: ${dim as number} is more than ${MOST_DIMENSIONS}, the most components that a vector may have`, place);
  return dim as number;
};

const isEmptyList = (given: unknown): boolean => isList(given) && reading("vectors", () => given.length) === 0;

/** Checked vectors as the engine takes them. @internal */
export function pointsOf(what: string, points: Points, dim: number | undefined): Floats {
  const given: unknown = points;
  // Without numbers, an array literal has no precision to choose.
  const floats = isA(given, Half) ? fromHalf(given) : isEmptyList(given) ? new Float32Array(0) : !isFloats(given) && EXACT.includes(storedIn(what, given)?.kind ?? "") ? new Float32Array(taken(what, given).values) : given;
  if (!isFloats(floats)) {
    throw new LeastwiseError("invalid-option", `${what} must be a Float32Array, a Float64Array, a Float16Array, an Int8Array, a Uint8Array or half(bits) with one vector after the other, not ${describe(points)}`);
  }
  const numbers = numbersOf(what, floats), each = dimension("dim", dim, {});
  if (numbers.length % each !== 0) throw new LeastwiseError("data-length", `${what} has ${numbers.length} numbers, which are no whole number of vectors of ${each} components`);
  return numbers;
}
