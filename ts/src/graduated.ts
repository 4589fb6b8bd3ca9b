/** Outliers without a good start: graduated non-convexity. */
import { indicesOf, isMask, listOf, type F64, type Indices, type Mask } from "./arrays.js";
import { isA, LeastwiseError } from "./errors.js";
import { describe } from "./expression.js";
import type { NativeGraduated } from "./native.js";
import { checked, given, measure, oneOf, real } from "./options.js";
import type { Report } from "./report.js";
import { SOLVE, type SolveOptions } from "./solver.js";
import { TermOf, type Term } from "./term.js";

/**
 * A term whose instances may be outliers.
 *
 * @example
 * const suspect: Suspect = { term, threshold: 0.1, knownInliers: [0, 1] };
 */
export interface Suspect {
  term: Term<any>;
  /** c̄: the largest √w ‖r‖ of an inlier. With inverse variances as weights, the root of a quantile of χ² with as many degrees of freedom as r has rows. */
  threshold: number;
  /** Instances that are inliers, whatever their residuals: a list or a mask. */
  knownInliers?: Indices | Mask;
}

/**
 * How to solve, what may be outliers, and how μ moves on.
 *
 * @example
 * const options: GraduatedOptions = { suspects: [{ term, threshold: 0.1 }], cost: "gm" };
 * await problem.solveGraduated(options);
 */
export interface GraduatedOptions extends SolveOptions {
  /** Terms whose instances may be outliers; all others are trusted. Constraints are part of every round's solve, and are no suspects. */
  suspects: readonly Suspect[];
  /**
   * The robust cost in the end:
   *
   * - `"tls"`: truncated least squares, Σ min(r², c̄²). Weights end at 0 and 1.
   * - `"gm"`: Geman and McClure's, Σ c̄²r² / (c̄² + r²).
   *
   * @defaultValue `"tls"`
   */
  cost?: "tls" | "gm";
  /** Factor by which μ is multiplied (`"tls"`) or divided (`"gm"`) from round to round. @defaultValue 1.4 */
  muStep?: number;
  /** Greatest number of weighted solves after the first one. @defaultValue 100 */
  maxRounds?: number;
  /** `"tls"` ends when the weighted cost changes by less than this part of itself from round to round. @defaultValue 1e-5 */
  roundTolerance?: number;
}

/**
 * Why a graduated solve ended.
 *
 * @example
 * const { ending } = await problem.solveGraduated({ suspects: [{ term, threshold: 0.1 }] });
 * const done: GraduatedEnding[] = ["all-inliers", "binary", "settled"];
 * console.log(done.includes(ending));
 */
export type GraduatedEnding = "all-inliers" | "binary" | "settled" | "schedule" | "max-rounds" | "stopped" | "infeasible";

/**
 * Result of a graduated solve. The variables hold the last solve's values, and the terms have their original weights again.
 *
 * @example
 * const graduated: GraduatedReport = await problem.solveGraduated({ suspects: [{ term, threshold: 0.1 }] });
 * const inliers = graduated.inliers(term);  // 1 for each instance that is one
 */
export interface GraduatedReport {
  /** Report of the last solve, with its weights. */
  readonly report: Report;
  /**
   * - `"all-inliers"`: no residual of the least-squares solution is beyond its threshold by so much that weights would tell it apart
   * - `"binary"`: all weights are 0 or 1; `"settled"`: the weighted cost does not change any more
   * - `"schedule"`: μ has come to its end (`"gm"`)
   * - `"max-rounds"`, `"stopped"`
   * - `"infeasible"`: a constraint can't be met, whatever the weights: see `report.reason`
   */
  readonly ending: GraduatedEnding;
  /** Weighted solves after the first, the steps of all solves, and the last μ (undefined where there was no round). */
  readonly rounds: number;
  readonly steps: number;
  readonly mu: number | undefined;
  /** The last factors of a term's weights, between 0 and 1, one an instance. */
  weights(term: Term<any>): F64;
  /** 1 for instances with a factor above ½. */
  inliers(term: Term<any>): Uint8Array;
}

/** What is no schedule is the engine's to refuse. @internal */
export const GRADUATED = { ...SOLVE, suspects: given(), cost: oneOf("tls", "gm"), muStep: measure, maxRounds: measure, roundTolerance: measure } as const;

const SUSPECT = { term: given(), threshold: real(0, Infinity, true), knownInliers: given<Indices | Mask>() } as const;

/** Terms, thresholds and known inliers as they cross. @internal */
export function packSuspects(suspects: unknown, problem: object): { terms: Uint32Array; thresholds: Float64Array; known: Uint32Array } {
  const parts = listOf("suspects", suspects, "must be a list of { term, threshold }").map((suspect, k) => {
    const { term, threshold, knownInliers } = checked(`suspects[${k}]: options`, suspect, SUSPECT, { prefix: `suspects[${k}].` });
    if (!isA(term, TermOf)) throw new LeastwiseError("invalid-option", `suspects[${k}].term must be a term of this problem, not ${describe(term)}`);
    if (term.problem !== problem) throw new LeastwiseError("foreign-variable", `suspects[${k}].term is "${term.name}" of another problem`, { term: term.name });
    if (threshold === undefined) throw new LeastwiseError("invalid-option", `suspects[${k}].threshold must be a positive number, not undefined`, { term: term.name });
    return { handle: term.handle, threshold, known: knownOf(`suspects[${k}].knownInliers`, term.count, knownInliers) };
  });
  return {
    terms: Uint32Array.from(parts.flatMap((part) => [part.handle, part.known.length])),
    thresholds: Float64Array.from(parts, (part) => part.threshold),
    known: Uint32Array.from(parts.flatMap((part) => [...part.known])),
  };
}

/** Instances of a list, or of a mask. */
function knownOf(what: string, count: number, known: Indices | Mask | undefined): ArrayLike<number> & Iterable<number> {
  if (known === undefined) return [];
  const named = indicesOf(what, known, (k, value) => new LeastwiseError("index-out-of-range", `${what}[${k}] is ${value}, which is no index`), { must: "must be a list of instances or a mask (a Uint8Array)" });
  if (!isMask(known)) return named;
  if (named.length !== count) throw new LeastwiseError("data-length", `${what}: the mask has ${named.length} values, but ${count} are needed (one an instance)`);
  return Array.from(named, (flag, k) => (flag ? k : -1)).filter((k) => k >= 0);
}

/** @internal */
export class GraduatedReportOf implements GraduatedReport {
  readonly #weights = new Map<number, Float64Array>();

  constructor(private readonly made: NativeGraduated, readonly report: Report, terms: Uint32Array) {
    let next = 0;
    made.counts.forEach((count, k) => this.#weights.set(terms[2 * k]!, made.weights.slice(next, next += count)));
  }

  get ending(): GraduatedEnding { return this.made.ending as GraduatedEnding; }
  get rounds(): number { return this.made.rounds; }
  get steps(): number { return this.made.steps; }
  get mu(): number | undefined { return this.made.mu ?? undefined; }

  weights(term: Term<any>): F64 {
    const found = isA(term, TermOf) ? this.#weights.get(term.handle) : undefined;
    if (!found) throw new LeastwiseError("invalid-option", "weights(term): it was none of the suspects");
    return found.slice();
  }

  inliers(term: Term<any>): Uint8Array { return Uint8Array.from(this.weights(term), (weight) => Number(weight > 0.5)); }
}
