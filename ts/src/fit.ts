/** Many small fits: one model, and thousands to millions of independent data sets, each with parameters of its own. */
import { isArrayLike, isFloats, listOf, taken, type Typed, type Values } from "./arrays.js";
import { isA, LeastwiseError, reading } from "./errors.js";
import { describe, shownValue } from "./instruction.js";
import { checkedLoss, type Loss } from "./loss.js";
import { Opcode } from "./opcodes.js";
import { callback, checked, entriesOf, given as any, oneOf, real, REPORTING, whole, type Reporting } from "./options.js";
import { packFitModel, type FitWeights } from "./packed.js";
import { NEEDS } from "./parts.js";
import { fitShared } from "./fit-shared.js";
import { candidatesOf, NO_STARTS, type Candidates } from "./fit-starts.js";
import { Scalar } from "./scalar.js";
import type { Tasks, Watch } from "./tasks.js";
import { Trace } from "./trace.js";
import { joined } from "./wire.js";
import { Words } from "./words.js";

/**
 * How a fit ended:
 *
 * - `"converged"`: a step changes the objective, or all parameters, by less than the tolerances;
 * - `"at-bound"`: the same, with one parameter or more at a bound;
 * - `"singular"`: the same, but the data do not determine all parameters, which have no standard errors then;
 * - `"non-finite"`: the model or a datum is not finite at the start, or wherever steps lead; parameters are the last good ones;
 * - `"iteration-limit"`: `maxIterations` are over.
 *
 * @example
 * const fits = await lw.fit({ model: ([mean]) => mean, parameters: ["mean"], points: 3, data: [1, 2, 3, NaN, 5, 6], start: { mean: 0 } });
 * const state: FitState = fits.state(1);  // "non-finite"
 * console.log(fits.ended[state]);
 */
export type FitState = "converged" | "at-bound" | "singular" | "non-finite" | "iteration-limit";

/** States by their number in {@link Fits.states}. */
const STATES = ["converged", "at-bound", "singular", "non-finite", "iteration-limit"] as const satisfies readonly FitState[];

/** A number for all fits, or one for each. */
type EachFit = number | ArrayLike<number>;

/**
 * Scalars of a model, in the order of `parameters`.
 *
 * @example
 * const line = ([a, b]: FitParameters<readonly ["a", "b"]>, { x }: { readonly x: Scalar }) => a.add(b.mul(x));
 */
export type FitParameters<Names extends readonly string[]> = { readonly [K in keyof Names]: Scalar };

/**
 * What is fitted to what. Arrays are not to be written to before the call has ended.
 *
 * @example
 * const options: FitBase<readonly ["a", "b"], "x"> = {
 *   model: ([a, b], { x }) => a.add(b.mul(x)), parameters: ["a", "b"], variables: { x: [0, 1, 2] }, points: 3,
 *   data: Float64Array.of(1, 3, 5, 0, 2, 4), start: { a: 0, b: 1 },
 * };
 * await lw.fit({ ...options, likelihood: "least-squares" });  // two fits: a is 1 and 0, b is 2 and 2
 */
export interface FitBase<Names extends readonly string[], Variable extends string> extends Reporting {
  /** f(p, x): a function of one point, which is traced once. */
  readonly model: (parameters: FitParameters<Names>, variables: { readonly [V in Variable]: Scalar }) => Scalar;
  /** Names of the parameters, in the order in which the model takes them. At most 32 may be fitted; see `fixed`. */
  readonly parameters: Names;
  /** Independent variables by name. Each has one value for each point of a fit, the same for all fits, or one for each point of all fits, as `data` has. @defaultValue none */
  readonly variables?: { readonly [V in Variable]: ArrayLike<number> };
  /** Points of every fit, or of each: then fits may have different numbers. */
  readonly points: number | ArrayLike<number>;
  /** The data: fits × points, one fit after the other. */
  readonly data: ArrayLike<number>;
  /** Weights w of points: as many as a variable may have. 1/σ², where the noise is known. @defaultValue 1 */
  readonly weights?: ArrayLike<number>;
  /** Starting value of each parameter: a number for all fits, or one for each. Those outside of bounds are moved to the bound. */
  readonly start: { readonly [N in Names[number]]: EachFit };
  /** Lower bounds of parameters: a number for all fits, or one for each. @defaultValue none */
  readonly lower?: { readonly [N in Names[number]]?: EachFit };
  /** Upper bounds of parameters, likewise. @defaultValue none */
  readonly upper?: { readonly [N in Names[number]]?: EachFit };
  /** Parameters that stay at their starting values. @defaultValue none */
  readonly fixed?: readonly Names[number][];
  /**
   * Parameters with one value for all fits, which is fitted together with the others. Their starting values and bounds are numbers; at least one
   * parameter is each fit's own. @defaultValue none
   */
  readonly shared?: readonly Names[number][];
  /** Further starts, of which the best is kept; not with `shared`. @defaultValue none: fits begin at `start` */
  readonly starts?: FitStarts<Names[number]>;
  /** Greatest number of iterations of a fit. @defaultValue 100 */
  readonly maxIterations?: number;
  /** Converged if a step is predicted to reduce the objective by less than this part. @defaultValue 1e-12; 1e-7 in f32 */
  readonly costTolerance?: number;
  /** Converged if a step changes every parameter by less than this part. @defaultValue 1e-11; 1e-6 in f32 */
  readonly stepTolerance?: number;
}

/**
 * Starts besides `start`, the same for all fits. Parameters that they do not name begin at `start`.
 *
 * - `grid`: values of some parameters. The objective is evaluated at every combination, and each fit begins at its lowest, as
 *   `scipy.optimize.brute` does with a `finish`. At most 65,536 combinations.
 * - `random`: that many fits from each, and the best is kept. Starts are a Latin hypercube within the bounds of all fitted parameters that
 *   have a lower and an upper one, the same for all fits; at most 1,000. `seed` is an integer, by default 0.
 *
 * @example
 * const starts: FitStarts<"x0" | "y0"> = { grid: { x0: [1, 2, 3], y0: [1, 2, 3] } };
 * const others: FitStarts<"x0" | "y0"> = { random: 8, seed: 1 };
 */
export type FitStarts<Name extends string> =
  | { readonly grid: { readonly [N in Name]?: ArrayLike<number> }; readonly random?: never; readonly seed?: never }
  | { readonly random: number; readonly seed?: number; readonly grid?: never };

/**
 * Least squares: ½ Σ w ρ((f − y)²).
 *
 * @example
 * const robust: Partial<FitLeastSquares> = { loss: huber(3) };
 */
export interface FitLeastSquares {
  /** Distribution of the data. @defaultValue `"least-squares"` */
  readonly likelihood?: "least-squares";
  /** Robust loss ρ. @defaultValue s */
  readonly loss?: Loss;
  /**
   * σ², the variance of a datum of weight 1, of which standard errors are made: a number that is known, or `"estimated"`: χ² over points of a
   * weight above 0 less parameters that are fitted, fit by fit.
   *
   * @defaultValue `"estimated"`
   */
  readonly variance?: "estimated" | number;
}

/**
 * Counts, which vary as Poisson's distribution says: Σ w (f − y + y ln(y/f)). The model must be positive. Steps take the expected
 * curvature (Fisher scoring).
 *
 * @example
 * const counts: FitPoisson = { likelihood: "poisson" };
 */
export interface FitPoisson {
  readonly likelihood: "poisson";
  readonly loss?: never;
  readonly variance?: never;
}

/**
 * Options of {@link Engine.fit}: see {@link FitBase}, {@link FitLeastSquares} and {@link FitPoisson}.
 *
 * @example
 * const options: FitOptions<readonly ["mean"]> = { model: ([mean]) => mean, parameters: ["mean"], points: 3, data: [1, 2, 3, 4, 5, 6], start: { mean: 0 } };
 * const { values } = await lw.fit(options);  // the means 2 and 5
 */
export type FitOptions<Names extends readonly string[], Variable extends string = never> = FitBase<Names, Variable> & (FitLeastSquares | FitPoisson);

/**
 * What fits came to: arrays with an element for each fit.
 *
 * @example
 * const fits: Fits<"mean"> = await lw.fit({ model: ([mean]) => mean, parameters: ["mean"], points: 3, data: [1, 2, 3, 4, 5, 6], start: { mean: 0 } });
 * console.log(`${fits.values.mean[0]} ± ${fits.standardErrors.mean[0]}`, fits.chiSquared[0], fits.state(0));
 */
export interface Fits<Name extends string> {
  /** Fits. */
  readonly count: number;
  /** Parameters, the fixed and the shared ones among them. */
  readonly values: { readonly [N in Name]: Values };
  /**
   * Standard errors: √ of the diagonal of σ² (Jᵀ diag(k) J)⁻¹. 0 for parameters that are fixed, or held by a bound; NaN where the state
   * is `"singular"` or `"non-finite"`, and where σ² is to be estimated of too few points. With shared parameters they are those of all
   * fits together; those of the shared ones do not depend on the state of a fit.
   */
  readonly standardErrors: { readonly [N in Name]: Values };
  /** χ² = Σ w ρ((f − y)²), without the ½ of the objective; the deviance of counts. NaN where it is not finite at the start. */
  readonly chiSquared: Values;
  /** Iterations: evaluations of the model and its derivatives, less one; with shared parameters, of the last trial of these. */
  readonly iterations: Uint32Array;
  /** Number of each fit's state, in the order of {@link FitState}. */
  readonly states: Uint8Array;
  /** Fits of every state. */
  readonly ended: { readonly [S in FitState]: number };
  /** State of a fit. */
  state(fit: number): FitState;
  /** Milliseconds, transfers included. */
  readonly ms: number;
}

const KINDS = {
  model: callback<(parameters: never, variables: never) => unknown>(), parameters: any(), variables: any(), points: any(), data: any(), weights: any(), start: any(),
  lower: any(), upper: any(), fixed: any(), shared: any(), starts: any(), maxIterations: whole(1, 1e6), costTolerance: real(0, 1), stepTolerance: real(0, 1),
  likelihood: oneOf("least-squares", "poisson"), loss: any(), variance: any(), ...REPORTING,
} as const;

const WHAT = "fit(options): options";

function refuse(message: string): never {
  throw new LeastwiseError("invalid-option", `fit(): ${message}`);
}

/** One value a fit, or one for all. */
type Column = number | Typed;
const at = (column: Column, fit: number): number => (typeof column === "number" ? column : column[fit]!);

/** Numbers with one value for each point of a fit (shared), or of all fits. */
interface PointColumn { readonly values: Typed; readonly shared: boolean }

/** Options, looked at: nothing of the caller's is read after this but arrays' elements. */
interface Looked {
  readonly names: readonly string[];
  readonly free: readonly number[];
  readonly count: number;
  /** Most points of a fit, and where each fit's begin; undefined where all have as many. */
  readonly points: number;
  readonly offsets: Float64Array | undefined;
  readonly total: number;
  readonly data: Typed;
  readonly variables: readonly (PointColumn & { readonly name: string })[];
  readonly weights: PointColumn | undefined;
  /** Points of weight 0 of each fit, which tell nothing of σ²; undefined where there are none. */
  readonly masked: Uint32Array | undefined;
  readonly start: readonly Column[];
  /** Bounds of free parameters; undefined where there are none. */
  readonly lower: readonly Column[] | undefined;
  readonly upper: readonly Column[] | undefined;
  readonly candidates: Candidates;
  readonly shared: Shared | undefined;
}

/** Numbers of the parameters that all fits share, where they begin, and their bounds. */
interface Shared { readonly indices: readonly number[]; readonly start: readonly number[]; readonly lower: readonly number[]; readonly upper: readonly number[] }

/** Result of shared parameters: values, standard errors for σ² = 1, how the search for them ended, and F and degrees of freedom of all fits. @internal */
export interface Joint { readonly values: Float64Array; readonly errors: Float64Array; readonly state: FitState; readonly cost: number; readonly freedom: number }

type Precision = "f32" | "f64";

/** Format that an engine fits in: on a device always f32. */
const precisionOf = ({ device, valuesAs }: Tasks): Precision => (device ? "f32" : valuesAs);

function look(options: ReturnType<typeof check>, precision: Precision): Looked {
  const names = listOf("fit(): parameters", options.parameters, "must list the names of the model's parameters");
  for (const name of names) if (typeof name !== "string") refuse(`parameters must be names, not ${describe(name)}`);
  const known = names as readonly string[];
  if (known.length === 0) refuse("parameters has no names");
  if (new Set(known).size !== known.length) refuse(`parameters has a name twice: ${known.join(", ")}`);
  const data = taken("fit(): data", options.data).values;
  const layout = pointsOf(options.points, data.length);
  const { count, points, total } = layout;
  const ofPoints = (what: string, given: unknown): PointColumn => {
    const { values } = taken(`fit(): ${what}`, given);
    if (values.length === points && count !== 1) return { values, shared: true };
    if (values.length === total) return { values, shared: false };
    throw new LeastwiseError("data-length", `fit(): ${what} has ${values.length} values, but a value for each point of a fit (${points}) or of all fits (${total}) is needed`);
  };
  const variables = (options.variables === undefined ? [] : entriesOf("fit(): variables", options.variables)).map(([name, given]) => ({ name, ...ofPoints(`variable "${name}"`, given) }));
  const weights = options.weights === undefined ? undefined : ofPoints("weights", options.weights);
  if (weights) for (let k = 0; k < weights.values.length; k++) if (weights.values[k]! < 0) refuse(`weights: value ${k} is ${weights.values[k]}, but weights are not negative`);
  const fixed = options.fixed === undefined ? [] : listOf("fit(): fixed", options.fixed, "must list names of parameters");
  for (const name of fixed) if (!known.includes(name as string)) refuse(`fixed: ${shownValue(name)} is no parameter (they are ${known.join(", ")})`);
  const shared = options.shared === undefined ? [] : listOf("fit(): shared", options.shared, "must list names of parameters");
  for (const name of shared) {
    if (!known.includes(name as string)) refuse(`shared: ${shownValue(name)} is no parameter (they are ${known.join(", ")})`);
    if (fixed.includes(name)) refuse(`shared: "${name as string}" is fixed as well`);
  }
  if (shared.length && options.starts !== undefined) refuse("starts: fits that share parameters begin at `start` alone");
  const indices = known.map((_, k) => k).filter((k) => shared.includes(known[k]));
  const free = known.map((_, k) => k).filter((k) => !fixed.includes(known[k]) && !shared.includes(known[k]));
  const columns = (what: string, given: unknown) => {
    const entries = new Map(entriesOf(`fit(): ${what}`, given));
    for (const name of entries.keys()) if (!known.includes(name)) refuse(`${what}: "${name}" is no parameter (they are ${known.join(", ")})`);
    return known.map((name): Column | undefined => {
      const value = entries.get(name);
      if (value === undefined) return undefined;
      if (typeof value === "number") return value;
      if (!isArrayLike(value)) refuse(`${what}: "${name}" must be a number, or one for each fit, not ${describe(value)}`);
      const { values } = taken(`fit(): ${what}: "${name}"`, value);
      if (values.length !== count) throw new LeastwiseError("data-length", `fit(): ${what}: "${name}" has ${values.length} values, but there are ${count} fits`);
      return values;
    });
  };
  const start = columns("start", options.start).map((column, k) => column ?? refuse(`start: "${known[k]}" has no starting value`));
  start.forEach((column, k) => {
    if (typeof column === "number" && !Number.isFinite(column)) throw new LeastwiseError("non-finite", `fit(): start: "${known[k]}" is ${column}`);
  });
  const bounded = options.lower !== undefined || options.upper !== undefined;
  const limits = (what: "lower" | "upper", none: number) => columns(what, options[what] ?? {}).map((column) => column ?? none);
  const [lower, upper] = bounded ? [limits("lower", -Infinity), limits("upper", Infinity)] : [undefined, undefined];
  if (lower && upper) mustBeOrdered(known, [...free, ...indices], lower, upper, count);
  const one = (what: string, column: Column, k: number) => (typeof column === "number" ? column : refuse(`${what}: "${known[k]}" is shared by all fits, so it has one number`));
  const [low, high] = [lower, upper].map((columns, side) => indices.map((k) => (columns ? one(side ? "upper" : "lower", columns[k]!, k) : side ? Infinity : -Infinity))) as [number[], number[]];
  const jointly = indices.length ? { indices, start: indices.map((k, j) => Math.min(Math.max(one("start", start[k]!, k), low[j]!), high[j]!)), lower: low, upper: high } : undefined;
  jointly?.indices.forEach((k, j) => { start[k] = jointly.start[j]!; });
  const candidates = candidatesOf(options.starts, { names: known, free, lower, upper });
  return { names: known, free, ...layout, data, variables, weights, masked: weights && maskedOf(layout, weights, precision), start, lower, upper, candidates, shared: jointly };
}

/** Points of weight 0 of each fit, as the engine has the weights; undefined where there are none. */
function maskedOf({ count, points, offsets }: Pick<Looked, "count" | "points" | "offsets">, { values, shared }: PointColumn, precision: Precision): Uint32Array | undefined {
  const isNone = precision === "f32" ? (weight: number) => Math.fround(weight) === 0 : (weight: number) => weight === 0;
  if (!values.some(isNone)) return undefined;
  const begin = (fit: number) => (offsets ? offsets[fit]! : fit * points);
  return Uint32Array.from({ length: count }, (_, fit) => {
    const first = shared ? 0 : begin(fit), last = first + begin(fit + 1) - begin(fit);
    let masked = 0;
    for (let k = first; k < last; k++) if (isNone(values[k]!)) masked++;
    return masked;
  });
}

/** Refuses bounds that are not in their order. */
function mustBeOrdered(names: readonly string[], free: readonly number[], lower: readonly Column[], upper: readonly Column[], count: number): void {
  for (const k of free) {
    const [low, high] = [lower[k]!, upper[k]!];
    const fits = typeof low === "number" && typeof high === "number" ? 1 : count;
    for (let fit = 0; fit < fits; fit++) {
      if (at(low, fit) <= at(high, fit)) continue;
      throw new LeastwiseError("bounds", `fit(): "${names[k]}"${fits > 1 ? ` of fit ${fit}` : ""}: the lower bound ${at(low, fit)} is not at most the upper one, ${at(high, fit)}`);
    }
  }
}

/** How many fits there are, and where their points begin. */
function pointsOf(given: unknown, total: number): Pick<Looked, "count" | "points" | "offsets" | "total"> {
  if (typeof given === "number") {
    const points = whole(1, 0xffffff)("fit(): points", given, {});
    if (total === 0 || total % points !== 0) {
      throw new LeastwiseError("data-length", `fit(): data has ${total} values, which is ${total === 0 ? "none" : "no multiple"} of the ${points} points of a fit`);
    }
    return { count: total / points, points, offsets: undefined, total };
  }
  if (!isArrayLike(given)) refuse(`points must be the number of points of every fit, or a list with that of each, not ${describe(given)}`);
  const { values } = taken("fit(): points", given);
  if (values.length === 0) refuse("points lists no fits");
  const offsets = new Float64Array(values.length + 1);
  let most = 1;
  for (let fit = 0; fit < values.length; fit++) {
    const here = whole(0, 0xffffff)(`fit(): points[${fit}]`, values[fit], {});
    most = Math.max(most, here);
    offsets[fit + 1] = offsets[fit]! + here;
  }
  if (offsets[values.length] !== total) throw new LeastwiseError("data-length", `fit(): data has ${total} values, but points add up to ${offsets[values.length]}`);
  return { count: values.length, points: most, offsets, total };
}

const check = (options: unknown) => checked(WHAT, options, KINDS);

/** The model on a tape, with what decides its kernel. */
function packed(looked: Looked, options: ReturnType<typeof check>, largest: number): { words: Uint32Array; reals: Float64Array } {
  const { model, likelihood, loss } = options;
  if (model === undefined) refuse("model: give a function of the parameters and the variables");
  if (likelihood === "poisson" && loss !== undefined) refuse("loss: counts of Poisson's distribution have none");
  const { names, free, variables } = looked;
  const tape = new Words(), trace = new Trace(undefined, tape, "the model of fit()", largest);
  const input = (source: number) => new Scalar(trace, trace.write1(Opcode.Input, source));
  const parameters = Object.freeze(names.map((_, k) => input(k)));
  const symbols = Object.freeze(Object.fromEntries(variables.map(({ name }, k) => [name, input(names.length + k)])));
  const value: unknown = trace.run(model as (of: unknown, data: unknown) => unknown, parameters, symbols);
  if (!isA(value, Scalar)) refuse(`the model returned ${describe(value)}, but must return a Scalar (is a \`return\` missing?)`);
  if (value.owner !== trace) throw new LeastwiseError("foreign-expression", "fit(): the model returned an expression of something else: it only knows its own arguments");
  const weights: FitWeights = !looked.weights ? "none" : looked.weights.shared ? "shared" : "each";
  const words = new Words();
  packFitModel(words, {
    parameters: names.length, free, common: looked.shared?.indices ?? [], shared: variables.map(({ shared }) => (shared ? 1 : 0)), weights, ragged: looked.offsets !== undefined, bounded: looked.lower !== undefined,
    poisson: likelihood === "poisson", loss: checkedLoss("fit()", loss), tape: tape.all.slice(), output: value.value,
  });
  return { words: words.all.slice(), reals: joined("fit(): loss", words.reals) };
}

/** The numbers of some fits, as the engine takes them. */
function chunkOf(looked: Looked, first: number, count: number, single: boolean) {
  const { names, free, points, offsets, data, variables, weights, start, lower, upper } = looked;
  const begin = offsets ? offsets[first]! : first * points;
  const total = (offsets ? offsets[first + count]! : (first + count) * points) - begin;
  const columns: Typed[] = [];
  const add = ({ values, shared }: PointColumn) => columns.push(shared ? values : values.subarray(begin, begin + total));
  // In the order of `FitLayout::places`.
  variables.filter(({ shared }) => shared).forEach(add);
  add({ values: data, shared: false });
  if (weights) add(weights);
  variables.filter(({ shared }) => !shared).forEach(add);
  const length = columns.reduce((sum, column) => sum + column.length, 0);
  const all = single ? new Float32Array(length) : new Float64Array(length);
  let place = 0;
  for (const column of columns) {
    all.set(column, place);
    place += column.length;
  }
  // What is the same for all fits crosses once.
  const own = start.some((column) => typeof column === "object") ? count : 1;
  const starts = new Float64Array(names.length * own);
  start.forEach((column, k) => { for (let fit = 0; fit < own; fit++) starts[k * own + fit] = at(column, first + fit); });
  const bounds = [...free.map((k) => lower?.[k]), ...free.map((k) => upper?.[k])];
  const each = bounds.some((column) => typeof column === "object");
  const rows = lower ? (each ? count : 1) : 0;
  const limits = new Float64Array(bounds.length * rows);
  bounds.forEach((column, k) => { for (let fit = 0; fit < rows; fit++) limits[k * rows + fit] = at(column!, first + fit); });
  const begins = offsets ? Uint32Array.from(offsets.subarray(first, first + count + 1), (offset) => offset - begin) : new Uint32Array(0);
  return { all, starts, limits, begins };
}

/** Numbers of the options that are the engine's. */
const NATIVE = ["maxIterations", "costTolerance", "stepTolerance"] as const;

/** Fits that were looked at, and their model in the engine, which whoever asked for it frees. @internal */
export class Model<Name extends string> {
  private constructor(private readonly tasks: Tasks, public looked: Looked, private readonly variance: number | "estimated", readonly native: { readonly [K in (typeof NATIVE)[number]]?: number }, readonly handle: number, private readonly single: boolean) {}

  /** Of options, and what of them reports. */
  static async of<const Names extends readonly string[]>(tasks: Tasks, given: unknown): Promise<[Model<Names[number]>, Pick<Reporting, "signal" | "onProgress">]> {
    const options = check(given);
    const looked = reading(WHAT, () => look(options, precisionOf(tasks)));
    const variance = options.likelihood === "poisson" ? poissonVariance(options.variance) : varianceOf(options.variance);
    const { words, reals } = packed(looked, options, tasks.largest);
    const native = Object.fromEntries(NATIVE.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]));
    await tasks.parts.need(NEEDS.fits);
    const { data, variables, weights } = looked;
    const single = tasks.valuesAs === "f32" || [data, ...variables.map(({ values }) => values), ...(weights ? [weights.values] : [])].every((values) => isFloats(values) && values instanceof Float32Array);
    return [new Model(tasks, looked, variance, native, tasks.call((engine) => engine.newFit(words, reals)), single), options];
  }

  /** The fits in sets that the device has room for: the first of each, and how many. */
  get sets(): readonly (readonly [first: number, count: number])[] {
    const { count, points } = this.looked, most = this.tasks.call((engine) => engine.fitCapacity(this.handle, points));
    return Array.from({ length: Math.ceil(count / most) }, (_, k) => [k * most, Math.min(most, count - k * most)] as const);
  }

  /** Forgets all arrays that are in the engine. */
  forget(): void {
    const none = new Float64Array(0);
    this.looked = { ...this.looked, data: none, variables: [], weights: undefined, start: [], lower: undefined, upper: undefined };
  }

  /** A set. */
  begin([first, count]: readonly [number, number]): number {
    const { all, starts, limits, begins } = chunkOf(this.looked, first, count, this.single);
    return this.tasks.call((engine) => engine.newFits(this.handle, count, this.looked.points, all, starts, limits, begins));
  }

  /** Fits a set. */
  async run(set: number, keeps: boolean, watch: Watch): Promise<void> {
    const { rows, given, fitted } = keeps ? NO_STARTS : this.looked.candidates;
    await this.tasks.run(this.tasks.call((engine) => engine.runFits(set, keeps, rows, given, fitted, this.native)), { ...watch, onAbort: "reject" });
  }

  /** Format of the device's numbers. */
  get precision(): Precision { return precisionOf(this.tasks); }

  /** Fits a set from where it is, with other values of shared parameters. */
  async trial(set: number, values: Float64Array, keeps: boolean, restores: boolean, watch: Watch): Promise<void> {
    await this.tasks.run(this.tasks.call((engine) => engine.tryFits(set, values, keeps, restores, this.native)), { ...watch, onAbort: "reject" });
  }

  /** Sums over the fits of a set, each in two parts. */
  async reduce(set: number, signal?: AbortSignal): Promise<Float64Array> {
    return this.numbers(await this.tasks.run(this.tasks.call((engine) => engine.reduceFits(set)), { signal, onAbort: "reject" }));
  }

  /** Standard errors of a set, by the covariance of shared parameters. */
  async spread(set: number, covariance: Float64Array, restores: boolean, signal?: AbortSignal): Promise<void> {
    await this.tasks.run(this.tasks.call((engine) => engine.spreadFits(set, covariance, restores)), { signal, onAbort: "reject" });
  }

  /** Points of weight 0, of fits that sums over fits are of: those count all points. */
  async masked(sets: readonly number[], signal?: AbortSignal): Promise<number> {
    const { names, free, masked } = this.looked;
    let [first, sum] = [0, 0];
    if (masked) for (const set of sets) {
      const costs = await this.fields(set, signal, names.length + free.length, 1);
      costs.forEach((cost, k) => { if (Number.isFinite(cost)) sum += masked[first + k]!; });
      first += costs.length;
    }
    return sum;
  }

  private numbers({ values }: { readonly values?: Float64Array | undefined }): Float64Array {
    if (!values) throw new LeastwiseError("internal", "the engine gave no fits; this is a bug of Leastwise, please report it");
    return values;
  }

  /** Fields of a set, a column each: from `first` on, or parameters, errors, F, iterations and states. */
  async fields(set: number, signal?: AbortSignal, first = 0, count = this.looked.names.length + this.looked.free.length + 3): Promise<Float64Array> {
    return this.numbers(await this.tasks.run(this.tasks.call((engine) => engine.readFits(set, first, count)), { signal, onAbort: "reject" }));
  }

  /** A number for each fit. */
  made(): Values { return new (this.tasks.valuesAs === "f32" ? Float32Array : Float64Array)(this.looked.count) as Values; }

  /** Results of fits, by fields of sets that are taken over one after the other; and the result. */
  collector(joint?: Joint): { take: (fields: Float64Array, set: readonly [number, number]) => void; fits: (ms: number) => Fits<Name> } {
    const { names, free, count, points, offsets, masked, shared } = this.looked, { variance } = this;
    // Of shared parameters, σ² is one for all fits.
    const jointly = joint && Math.sqrt(variance === "estimated" ? (joint.freedom > 0 ? (2 * joint.cost) / joint.freedom : NaN) : variance);
    const results = { values: names.map(() => this.made()), errors: names.map(() => this.made()), chiSquared: this.made(), iterations: new Uint32Array(count), states: new Uint8Array(count) };
    const take = (fields: Float64Array, [first, here]: readonly [number, number]) => {
      const field = (number: number) => fields.subarray(number * here, (number + 1) * here);
      names.forEach((_, k) => results.values[k]!.set(field(k), first));
      const after = names.length + free.length;
      const [costs, iterations, states] = [field(after), field(after + 1), field(after + 2)];
      const scales = new Float64Array(here);
      for (let fit = 0; fit < here; fit++) {
        const chiSquared = 2 * costs[fit]!, state = worse(states[fit]! - 1, joint);
        results.chiSquared[first + fit] = chiSquared;
        results.iterations[first + fit] = iterations[fit]!;
        results.states[first + fit] = state;
        const own = (offsets ? offsets[first + fit + 1]! - offsets[first + fit]! : points) - (masked?.[first + fit] ?? 0);
        const sigma = jointly !== undefined ? jointly : variance === "estimated" ? (own > free.length ? Math.sqrt(chiSquared / (own - free.length)) : NaN) : Math.sqrt(variance);
        scales[fit] = STATES[state] === "singular" || STATES[state] === "non-finite" ? NaN : sigma;
      }
      free.forEach((k, j) => {
        const errors = field(names.length + j), to = results.errors[k]!;
        for (let fit = 0; fit < here; fit++) to[first + fit] = errors[fit]! * scales[fit]!;
      });
      // Those of shared ones are of all fits, whatever the state of this one is.
      if (joint) shared!.indices.forEach((k, j) => results.errors[k]!.fill(joint.errors[j]! * jointly!, first, first + here));
    };
    const fits = (ms: number): Fits<Name> => {
      const ended = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<FitState, number>;
      for (const state of results.states) ended[STATES[state]!] += 1;
      const byName = (columns: readonly Values[]) => Object.fromEntries(names.map((name, k) => [name, columns[k]!])) as Fits<Name>["values"];
      return {
        count, values: byName(results.values), standardErrors: byName(results.errors), chiSquared: results.chiSquared, iterations: results.iterations, states: results.states, ended,
        state: (number) => STATES[results.states[number]!] ?? refuse(`state(fit): there are ${count} fits, and no fit ${shownValue(number)}`), ms,
      };
    };
    return { take, fits };
  }
}

/** State of a fit, which is not at its end before the shared parameters are. */
function worse(state: number, joint: Joint | undefined): number {
  if (!joint || joint.state === "converged" || STATES[state] === "singular" || STATES[state] === "non-finite") return state;
  return STATES[state] === "iteration-limit" && joint.state === "at-bound" ? state : STATES.indexOf(joint.state);
}

/** @internal */
export async function fit<const Names extends readonly string[], Variable extends string>(tasks: Tasks, given: FitOptions<Names, Variable>): Promise<Fits<Names[number]>> {
  const began = performance.now();
  const [model, { signal, onProgress }] = await Model.of<Names>(tasks, given), { count } = model.looked;
  try {
    if (model.looked.shared) return await together(tasks, model, { signal, onProgress }, began);
    const { take, fits } = model.collector();
    for (const part of model.sets) {
      const [first, here] = part, set = model.begin(part);
      try {
        await model.run(set, false, { signal, onProgress: onProgress && ((done, total) => { if (done < total) onProgress(first + (done / total) * here, count); }) });
        take(await model.fields(set, signal), part);
      } finally {
        tasks.release((engine) => engine.freeFits(set));
      }
      onProgress?.(first + here, count);
    }
    return fits(performance.now() - began);
  } finally {
    tasks.release((engine) => engine.freeFit(model.handle));
  }
}

/** Fits that share parameters: all sets are on the device at once. */
async function together<Name extends string>(tasks: Tasks, model: Model<Name>, watch: Pick<Watch, "signal" | "onProgress">, began: number): Promise<Fits<Name>> {
  const parts = model.sets, sets: number[] = [];
  try {
    for (const part of parts) {
      const set = model.begin(part);
      sets.push(set);
      await tasks.run(tasks.call((engine) => engine.uploadFits(set)), { signal: watch.signal, onAbort: "reject" });
    }
    const { take, fits } = model.collector(await fitShared(model, sets, undefined, watch));
    for (const [k, set] of sets.entries()) take(await model.fields(set, watch.signal), parts[k]!);
    watch.onProgress?.(model.looked.count, model.looked.count);
    return fits(performance.now() - began);
  } finally {
    for (const set of sets) tasks.release((engine) => engine.freeFits(set));
  }
}

function varianceOf(given: unknown): number | "estimated" {
  if (given === undefined || given === "estimated") return "estimated";
  return real(0, Infinity, true)("fit(): variance", given, {});
}

function poissonVariance(given: unknown): number {
  if (given !== undefined) refuse("variance: that of counts is known, and not to be given");
  return 1;
}
