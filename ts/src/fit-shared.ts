/** Parameters that all fits of a call share: variable projection around the fits' own Levenberg–Marquardt. */
import type { Joint, Model } from "./fit.js";
import type { Watch } from "./tasks.js";

/** Sums over all fits at the end of a trial. */
interface Reduced {
  /** Reduced matrix and gradient of the shared parameters. */
  readonly matrix: readonly Float64Array[];
  readonly gradient: Float64Array;
  readonly cost: number;
  /** Points, those of weight 0 too, less own parameters that they determine. */
  readonly freedom: number;
  /** Fits that are not finite, which the sums are without. */
  readonly lost: number;
}

/**
 * Part of F by which rounding errors may raise it, and tolerances, as fits have them; and the pivot up to which shared parameters depend on each
 * other, which is larger than that of fits: what own parameters leave is a difference.
 */
const NUMERICS = {
  f64: { noise: 1e-13, rank: 1e-12, cost: 1e-12, step: 1e-11 },
  f32: { noise: 1e-5, rank: 1e-6, cost: 1e-7, step: 1e-6 },
} as const;

/** First damping, the last one, and the part of the predicted reduction that a step must achieve. */
const FIRST = 1e-3, LAST = 1e16, LEAST_GAIN = 1e-4;

/** Lower Cholesky factor; undefined where a pivot is at most `least`. */
function factored(matrix: readonly Float64Array[], least: number): Float64Array[] | undefined {
  const n = matrix.length, factor = matrix.map(() => new Float64Array(n));
  for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) {
    let sum = matrix[i]![j]!;
    for (let k = 0; k < j; k++) sum -= factor[i]![k]! * factor[j]![k]!;
    if (i !== j) factor[i]![j] = sum / factor[j]![j]!;
    else if (sum > least) factor[i]![i] = Math.sqrt(sum);
    else return undefined;
  }
  return factor;
}

/** Solution of the factored system. */
function solved(factor: readonly Float64Array[], right: ArrayLike<number>): Float64Array {
  const n = factor.length, x = Float64Array.from(right);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i]! -= factor[i]![k]! * x[k]!;
    x[i]! /= factor[i]![i]!;
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i]! -= factor[k]![i]! * x[k]!;
    x[i]! /= factor[i]![i]!;
  }
  return x;
}

/** Fits sets with the parameters that they share, and tells of these. @internal */
export async function fitShared<Name extends string>(model: Model<Name>, sets: readonly number[], from: Joint | undefined, watch: Pick<Watch, "signal" | "onProgress">): Promise<Joint> {
  const { indices, start, lower, upper } = model.looked.shared!, { names, count } = model.looked, m = indices.length;
  const numerics = NUMERICS[model.precision], { maxIterations = 100, costTolerance = numerics.cost, stepTolerance = numerics.step } = model.native;
  const { signal, onProgress } = watch;
  const each = async <T>(work: (set: number) => Promise<T>): Promise<T[]> => {
    const all: T[] = [];
    for (const set of sets) all.push(await work(set));
    return all;
  };
  /** Values of all parameters, of which the shared ones count. */
  const row = (values: ArrayLike<number>) => {
    const all = new Float64Array(names.length);
    indices.forEach((number, k) => { all[number] = values[k]!; });
    return all;
  };
  const reduce = async (): Promise<Reduced> => {
    const matrix = Array.from({ length: m }, () => new Float64Array(m)), gradient = new Float64Array(m);
    let cost = 0, freedom = 0, lost = 0;
    for (const sums of await each((set) => model.reduce(set, signal))) {
      let q = 0;
      const next = () => sums[2 * q]! + sums[2 * q++ + 1]!;
      for (let k = 0; k < m; k++) for (let l = 0; l <= k; l++) {
        const sum = next();
        matrix[k]![l]! += sum;
        if (l < k) matrix[l]![k]! += sum;
      }
      for (let k = 0; k < m; k++) gradient[k]! += next();
      cost += next();
      freedom += next();
      lost += next();
    }
    return { matrix, gradient, cost, freedom, lost };
  };
  const isHeld = (k: number, slope: number, value: number) => (value <= lower[k]! && slope > 0) || (value >= upper[k]! && slope < 0);
  /** Scales to a diagonal of 1, 0 for parameters that stay. */
  const scales = ({ matrix, gradient }: Reduced) => matrix.map((entries, k) => (entries[k]! > 1e-30 && !isHeld(k, gradient[k]!, values[k]!) ? 1 / Math.sqrt(entries[k]!) : 0));
  const scaled = ({ matrix }: Reduced, s: readonly number[], diagonal: number) => matrix.map((entries, k) => entries.map((entry, l) => (k === l ? diagonal : entry * s[k]! * s[l]!)));

  let values = from ? Float64Array.from(from.values) : Float64Array.from(start);
  const told = (iteration: number): Pick<Watch, "signal" | "onProgress"> => ({ signal, onProgress: onProgress && (() => onProgress(Math.floor((count * iteration) / (iteration + 1)), count)) });
  if (from) await each((set) => model.trial(set, row(values), false, false, told(0)));
  else await each((set) => model.run(set, false, told(0)));
  let at = await reduce(), damping = FIRST, growth = 2, state: Joint["state"] = "iteration-limit", iterations = 0, isAccepted = true;
  while (iterations < maxIterations) {
    iterations++;
    const s = scales(at), factor = factored(scaled(at, s, 1 + damping), 0);
    if (!factor) {
      damping *= growth;
      growth *= 2;
      if (damping > LAST) break;
      continue;
    }
    const z = solved(factor, at.gradient.map((slope, k) => -slope * s[k]!));
    const next = values.map((value, k) => Math.min(Math.max(value + s[k]! * z[k]!, lower[k]!), upper[k]!)), step = next.map((value, k) => value - values[k]!);
    let predicted = 0;
    for (let k = 0; k < m; k++) {
      predicted -= at.gradient[k]! * step[k]!;
      for (let l = 0; l < m; l++) predicted -= 0.5 * step[k]! * at.matrix[k]![l]! * step[l]!;
    }
    const isSmall = Math.abs(predicted) <= costTolerance * at.cost, isStill = step.every((change, k) => Math.abs(change) <= stepTolerance * Math.abs(values[k]!));
    // What was accepted last is kept until the next is.
    const [keeps, restores] = [isAccepted, !isAccepted];
    await each((set) => model.trial(set, row(next), keeps, restores, told(iterations)));
    const there = await reduce(), change = at.cost - there.cost, room = numerics.noise * at.cost;
    const isBetter = predicted > 0 && change >= LEAST_GAIN * predicted, isEven = Math.abs(predicted) <= room && change >= -room;
    isAccepted = there.lost < at.lost || (there.lost === at.lost && (isBetter || isEven));
    if (isAccepted) {
      const gain = 2 * Math.min(Math.max(change / Math.max(predicted, 1e-300), 0), 1) - 1;
      damping *= Math.max(1 / 3, 1 - gain ** 3);
      growth = 2;
      [values, at] = [next, there];
    } else {
      damping *= growth;
      growth *= 2;
    }
    if (isSmall || isStill || damping > LAST) {
      state = "converged";
      break;
    }
  }
  // The covariance, without parameters that a bound holds.
  const s = scales(at), free = s.flatMap((scale, k) => (scale > 0 ? [k] : []));
  const isWithout = s.some((scale, k) => scale === 0 && values[k]! > lower[k]! && values[k]! < upper[k]!);
  const full = scaled(at, s, 1), factor = isWithout ? undefined : factored(free.map((k) => Float64Array.from(free, (l) => full[k]![l]!)), numerics.rank);
  if (!factor) state = "singular";
  else if (state === "converged" && values.some((value, k) => value <= lower[k]! || value >= upper[k]!)) state = "at-bound";
  const covariance = new Float64Array(m * m);
  if (factor) free.forEach((k, i) => {
    const column = solved(factor, free.map((_, j) => (i === j ? 1 : 0)));
    free.forEach((l, j) => { covariance[k * m + l] = s[k]! * column[j]! * s[l]!; });
  });
  await each((set) => model.spread(set, covariance, !isAccepted, signal));
  return { values, errors: Float64Array.from({ length: m }, (_, k) => (factor ? Math.sqrt(covariance[k * m + k]!) : NaN)), state, cost: at.cost, freedom: at.freedom - m - await model.masked(sets, signal) };
}
