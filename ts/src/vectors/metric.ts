/**
 * Metrics, reduced to squared Euclidean distance, which is what the engine clusters, codes and searches by:
 *
 * - cosine: vectors of length 1, ‖q − x‖² = 2 − 2 cos(q, x);
 * - dot: one more component, x̂ = (x/M, √(1 − ‖x‖²/M²)) with M ≥ ‖x‖ for all x, and q̂ = (Fq/‖q‖, 0): then ‖x̂‖ = 1 and
 *   ‖q̂ − x̂‖² = F² + 1 − 2F⟨q, x⟩/(M‖q‖), least where ⟨q, x⟩ is greatest (Bachrach et al. 2014, “Speeding up the Xbox recommender
 *   system using a Euclidean transformation for inner-product spaces”, section 3).
 */
import type { F32, Floats } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { oneOf, real } from "../options.js";

/**
 * Measure of nearness: squared Euclidean distance; cosine of the angle; dot product.
 *
 * @example
 * const metric: Metric = "cosine";
 * const index = await lw.compress(points, { dim: 8, metric });
 */
export type Metric = "l2" | "cosine" | "dot";

/** @internal */
export const metricKind = oneOf("l2", "cosine", "dot");
/** @internal */
export const maxNormKind = real(0, Infinity, true);

/** Length F of queries by dot product: what the codes lose of the added component weighs 1/F of what they lose of the others. */
const QUERY_LENGTH = 16;

/** Length of a row, without overflow or underflow of its squares. @internal */
export function normOf(rows: ArrayLike<number>, at: number, dim: number): number {
  let sum = 0;
  for (let k = at; k < at + dim; k++) sum += rows[k]! ** 2;
  if (sum > 1e-280 && sum < 1e280) return Math.sqrt(sum);
  let most = 0;
  for (let k = at; k < at + dim; k++) most = Math.max(most, Math.abs(rows[k]!));
  if (most === 0 || !Number.isFinite(most)) return most;
  sum = 0;
  for (let k = at; k < at + dim; k++) sum += (rows[k]! / most) ** 2;
  return most * Math.sqrt(sum);
}

/** @internal */
export const withoutDirection = (what: string, row: number) =>
  new LeastwiseError("invalid-option", `${what}: vector ${row} is zero, which has no direction: its cosine with another vector is undefined. Leave it out, or take another metric`, { instance: row });

/** Rows of unit length. Rows that are not finite stay as they are, for the engine to name their component. @internal */
export function normalised(what: string, rows: Floats, dim: number): F32 {
  const out = new Float32Array(rows.length);
  for (let at = 0; at < rows.length; at += dim) {
    const norm = normOf(rows, at, dim);
    if (norm === 0) throw withoutDirection(what, at / dim);
    const length = Number.isFinite(norm) ? norm : 1;
    for (let k = at; k < at + dim; k++) out[k] = rows[k]! / length;
  }
  return out;
}

/** Queries as the engine takes them, and their lengths where scores depend on them. @internal */
export interface Asked { readonly rows: Floats; readonly norms?: Float64Array }

/** The Euclidean space in which vectors under a metric are stored. @internal */
export class Space {
  #maxNorm: number | undefined;

  /** `maxNorm`: M, for the dot product; unless given, it follows from the first vectors. */
  constructor(readonly metric: Metric, readonly dim: number, maxNorm?: number) { this.#maxNorm = maxNorm; }

  /** Components of a stored vector. */
  get width(): number { return this.metric === "dot" ? this.dim + 1 : this.dim; }

  get maxNorm(): number | undefined { return this.metric === "dot" ? this.#maxNorm : undefined; }

  /** Vectors as they are stored. */
  enter(what: string, points: Floats): Floats {
    if (this.metric === "l2") return points;
    return this.metric === "cosine" ? normalised(what, points, this.dim) : this.#lifted(what, points);
  }

  #lifted(what: string, points: Floats): F32 {
    const { dim, width } = this, count = points.length / dim;
    const singles = points instanceof Float32Array ? points : new Float32Array(points);
    const norms = Float64Array.from({ length: count }, (_, row) => normOf(singles, row * dim, dim));
    if (this.#maxNorm === undefined && count > 0) {
      const most = norms.reduce((a, b) => (Number.isFinite(b) ? Math.max(a, b) : a), 0);
      // A power of two divides exactly.
      this.#maxNorm = most === 0 ? 1 : 2 ** (Math.ceil(Math.log2(most)) + 1);
    }
    const longest = this.#maxNorm ?? 1, out = new Float32Array(count * width);
    for (let row = 0; row < count; row++) {
      const norm = norms[row]!, isFinite = Number.isFinite(norm);
      if (isFinite && norm > longest) {
        throw new LeastwiseError("limits", `${what}: vector ${row} has length ${Number(norm.toPrecision(4))}, but the index was made for lengths up to ${Number(longest.toPrecision(4))}: make it anew with a larger maxNorm`, { instance: row });
      }
      for (let k = 0; k < dim; k++) out[row * width + k] = isFinite ? singles[row * dim + k]! / longest : singles[row * dim + k]!;
      const share = norm / longest;
      out[row * width + dim] = isFinite ? Math.sqrt((1 - share) * (1 + share)) : 0;
    }
    return out;
  }

  /** Queries. A zero query is refused by cosine, and by dot product is as near to every vector. */
  ask(what: string, queries: Floats): Asked {
    if (this.metric !== "dot") return { rows: this.enter(what, queries) };
    const { dim, width } = this, count = queries.length / dim, rows = new Float32Array(count * width), norms = new Float64Array(count);
    for (let row = 0; row < count; row++) {
      const norm = norms[row] = normOf(queries, row * dim, dim);
      const scale = norm > 0 && Number.isFinite(norm) ? QUERY_LENGTH / norm : 1;
      for (let k = 0; k < dim; k++) rows[row * width + k] = queries[row * dim + k]! * scale;
    }
    return { rows, norms };
  }

  /** Distance in the metric's terms, of a squared distance between stored vectors. */
  distance(squared: number, norm: number): number {
    if (squared === Infinity || this.metric === "l2") return squared;
    if (this.metric === "cosine") return squared / 2;
    // Without the sign of zero.
    return 0 - (norm * (this.#maxNorm ?? 1) * (QUERY_LENGTH ** 2 + 1 - squared)) / (2 * QUERY_LENGTH);
  }

  /** Score, the greater the nearer, of such a distance. */
  score(distance: number): number { return this.metric === "cosine" ? 1 - distance : 0 - distance; }

  /** Stored vectors as they were given, but for their lengths under cosine. */
  leave(stored: F32): F32 {
    if (this.metric !== "dot") return stored;
    const { dim, width } = this, longest = this.#maxNorm ?? 1, out = new Float32Array((stored.length / width) * dim);
    for (let row = 0; row < out.length / dim; row++) {
      for (let k = 0; k < dim; k++) out[row * dim + k] = stored[row * width + k]! * longest;
    }
    return out;
  }
}
