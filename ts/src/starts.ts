/** Several starts: the best of many solves. */
import { isList, listOf, type F64 } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { callback, checked, given, whole } from "./options.js";
import type { Report } from "./report.js";
import { SOLVE, type Solver, type SolveOptions } from "./solver.js";
import type { TableOf, Variables } from "./table.js";

/**
 * Start of a solve: values of some variables, flat, for all of their instances. All others begin where they are now.
 *
 * @example
 * const start: Start = [[scale, [1]]];  // values of every table that is to begin elsewhere
 */
export type Start = readonly (readonly [of: Variables<any>, values: ArrayLike<number>])[];

/**
 * Random starts: their number, a function that samples one, and a seed.
 *
 * @example
 * const starts: SampledStarts = { count: 8, seed: 1, sample: (random) => [[scale, [10 * random()]]] };
 */
export interface SampledStarts {
  count: number;
  /** Makes the k-th start; `random()` is uniform in [0, 1), from a generator of this start's own. */
  sample: (random: () => number, k: number) => Start;
  /** Seed, an integer. The same seed draws the same starts, whatever their number. @defaultValue 0 */
  seed?: number;
}

/**
 * How to solve, and from where.
 *
 * @example
 * const options: MultiStartOptions = { starts: { count: 8, sample: (random) => [[scale, [random()]]] } };
 * const { best, report } = await problem.multiStart(options);
 */
export interface MultiStartOptions extends SolveOptions {
  /** Starts one by one (`[]` is where everything is now), or drawn ones. */
  starts: readonly Start[] | SampledStarts;
  /** Called when a start is done; returning `"stop"` ends it all. @defaultValue none */
  onStart?: (done: { index: number; report: Report | undefined; best: number }) => void | "stop";
}

/**
 * Result of all starts. The variables hold the values of the best one.
 *
 * @example
 * const tried: MultiStartReport = await problem.multiStart({ starts: [[[scale, [1]]], [[scale, [2]]]] });
 * console.log(tried.best, tried.costs);
 */
export interface MultiStartReport {
  /** The first start of the lowest cost, and its report. */
  readonly best: number;
  readonly report: Report;
  /** Final cost of every start; infinite if a residual is not finite at the start. Starts that were not reached are missing. */
  readonly costs: F64;
  readonly reports: readonly (Report | undefined)[];
}

/** @internal */
export const MULTI_START = { ...SOLVE, starts: given<MultiStartOptions["starts"]>(), onStart: callback<NonNullable<MultiStartOptions["onStart"]>>() } as const;

const SAMPLED = { count: whole(), sample: callback<SampledStarts["sample"]>(), seed: whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) } as const;

/** The starts' values as tables and arrays, one start after the other. @internal */
function* startsOf(starts: readonly Start[] | SampledStarts | undefined, own: (variables: unknown, what: string) => TableOf<unknown, boolean>): Generator<[TableOf<unknown, boolean>, ArrayLike<number>][]> {
  const tables = (start: unknown, k: number) => listOf(`starts: start ${k}`, start, "must be a list of [variables, values]").map((pair): [TableOf<unknown, boolean>, ArrayLike<number>] => {
    const [variables, values, ...more] = listOf(`starts: start ${k}`, pair, "must be a list of [variables, values]: one of them is");
    if (values === undefined || more.length > 0) throw new LeastwiseError("invalid-option", `starts: start ${k} must be a list of [variables, values]: one of them is an array of ${(pair as readonly unknown[]).length}`);
    const table = own(variables, `starts: start ${k}`);
    if (table.constant) throw new LeastwiseError("shape", `starts: "${table.name}" is a constant, which no solve moves`);
    return [table, values as ArrayLike<number>];
  });
  if (isList(starts)) {
    for (const [k, start] of listOf("starts", starts, "must be a list").entries()) yield tables(start, k);
    return;
  }
  const { count, sample, seed = 0 } = checked("starts", starts, SAMPLED, { prefix: "starts." });
  if (count === undefined || !sample) throw new LeastwiseError("invalid-option", "starts: a list of starts, or { count, sample }");
  for (let k = 0; k < count; k++) yield tables(sample(uniform(seed, k), k), k);
}

/** A generator of its own for every start (SplitMix32: Steele, Lea & Flood 2014, with the finaliser of MurmurHash3). */
function uniform(seed: number, start: number): () => number {
  let state = (Math.imul(seed | 0, 0x9e3779b9) ^ Math.imul(start + 1, 0x85ebca6b)) | 0;
  const word = () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  return () => ((word() >>> 5) * 0x4000000 + (word() >>> 6)) / 2 ** 53;
}

/** Solves from every start, each as if it were the only one, and leaves everything where the best one ended. @internal */
export async function solveFrom(solver: Solver, { starts, onStart, signal }: { [K in "starts" | "onStart" | "signal"]: MultiStartOptions[K] | undefined }, own: (variables: unknown, what: string) => TableOf<unknown, boolean>): Promise<MultiStartReport> {
  const beginning = await solver.save();
  const costs: number[] = [], reports: (Report | undefined)[] = [];
  let best = -1, kept = beginning, refused: unknown;
  try {
    for (const values of startsOf(starts, own)) {
      const index = costs.length;
      solver.restore(beginning);
      for (const [table, start] of values) table.write(start);
      let report: Report | undefined;
      try {
        report = await solver.solve();
      } catch (thrown) {
        // Where a residual is not finite no solve begins; elsewhere it may.
        if (!(thrown instanceof LeastwiseError && thrown.code === "non-finite")) throw thrown;
        refused ??= thrown;
      }
      costs.push(report?.cost ?? Infinity);
      reports.push(report);
      if (report && (best < 0 || isBetter(report, reports[best]!))) {
        best = index;
        kept = await solver.save();
      }
      if (onStart?.({ index, report, best }) === "stop" || signal?.aborted) break;
    }
  } finally {
    // Whatever a callback threw: never in the midst of a start.
    solver.restore(kept);
  }
  if (best < 0) throw refused ?? new LeastwiseError("invalid-option", "starts: there must be at least one");
  return { best, report: reports[best]!, costs: Float64Array.from(costs), reports };
}

/** True if a report is the better of two: constraints met first, then the smaller violation, then the lower cost. */
function isBetter(report: Report, other: Report): boolean {
  const violation = ({ termination, feasibility }: Report): number => (termination === "infeasible" ? feasibility!.violation : 0);
  const [left, right] = [violation(report), violation(other)];
  return left === right ? report.cost < other.cost || !Number.isFinite(other.cost) : left < right;
}
