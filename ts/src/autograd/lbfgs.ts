/** Limited-memory BFGS over values, with a line search for the strong Wolfe conditions. */
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { callback, checked, flag, measure, whole } from "../options.js";
import { CompiledSet, type CompiledFunctions, type CompiledResiduals } from "./compiled.js";
import { lineSearch, type LinePoint } from "./line-search.js";
import { mustBeOf, mustBeParameters } from "./parameters.js";
import { isSumOfSquares } from "./squares.js";
import { gradientOf } from "./sweep.js";
import { hasConverged, type AutogradTermination, type SolverOutcome } from "./termination.js";
import { read, Value, write } from "./value.js";

/**
 * Options of {@link lbfgs}. All tolerances are absolute.
 *
 * @example
 * const options: LBFGSOptions = { maxIterations: 500, gradientTolerance: 1e-9, costTolerance: 0 };
 */
export interface LBFGSOptions {
  /** Greatest number of accepted steps. @defaultValue 100 */
  maxIterations?: number;
  /** Ends where a step changes the value by less; where the objective is a sum of squares, also where it is below. @defaultValue 1e-6 */
  costTolerance?: number;
  /** Ends where ‖g‖₂ is below. @defaultValue 1e-6 */
  gradientTolerance?: number;
  /** Number of past steps that the Hessian's approximation is made of. @defaultValue 10 */
  historySize?: number;
  /** The same as `historySize`. @defaultValue 10 */
  memorySize?: number;
  /** Greatest number of trials of one line search. @defaultValue 20 */
  maxLineSearchSteps?: number;
  /** Sufficient decrease of the strong Wolfe conditions. @defaultValue 1e-4 */
  c1?: number;
  /** Their bound on the slope, between c1 and 1. @defaultValue 0.9 */
  c2?: number;
  /** First trial of the first line search, as a factor of −g. @defaultValue 1 */
  initialStepSize?: number;
  /** True to print a line for every iteration. @defaultValue false */
  verbose?: boolean;
  /** Called after every accepted step. @defaultValue none */
  onStepAccepted?: () => void;
}

/**
 * Result of {@link lbfgs}.
 *
 * @example
 * const param = V.W(1);
 * const { success, functionEvaluations }: LBFGSResult = lbfgs([param], ([a]) => V.square(V.sub(a!, 3)));
 */
export interface LBFGSResult extends SolverOutcome {
  readonly functionEvaluations: number;
}

/** @internal */
export const OPTIONS = {
  maxIterations: whole(0), costTolerance: measure, gradientTolerance: measure, historySize: whole(1), memorySize: whole(1), maxLineSearchSteps: whole(1), c1: measure, c2: measure,
  initialStepSize: measure, verbose: flag, onStepAccepted: callback<() => void>(),
} as const;

/**
 * Minimises a function of parameters, whose `data` end at the best point that was found: a function that builds one value,
 * or a compiled set, of which it minimises Σf (not Σf²: that is {@link nonlinearLeastSquares}).
 *
 * @throws `non-finite` where the objective is not defined at the start; `invalid-option` unless 0 < c1 < c2 < 1
 * @example
 * const x = V.W(-1.2), y = V.W(1);
 * lbfgs([x, y], ([a, b]) => V.add(V.square(V.sub(1, a!)), V.mul(100, V.square(V.sub(b!, V.square(a!))))));
 * console.log(x.data, y.data);  // close to 1 and 1
 */
export function lbfgs(params: readonly Value[], objective: ((params: Value[]) => Value) | CompiledResiduals | CompiledFunctions, options: LBFGSOptions = {}): LBFGSResult {
  const began = performance.now(), { memorySize, ...known } = checked("lbfgs(…, options): options", options, OPTIONS);
  const all = { ...DEFAULTS, ...(memorySize !== undefined && { historySize: memorySize }), ...known } as Settings;
  if (!(0 < all.c1 && all.c1 < all.c2 && all.c2 < 1)) throw new LeastwiseError("invalid-option", `lbfgs(…, options): 0 < c1 < c2 < 1 must hold, not c1 = ${all.c1} and c2 = ${all.c2}`);
  return new Minimisation(params, objectiveOf(params, objective), all, began).run();
}

type Settings = Required<Omit<LBFGSOptions, "memorySize">>;

const DEFAULTS: Settings = {
  maxIterations: 100, costTolerance: 1e-6, gradientTolerance: 1e-6, historySize: 10, maxLineSearchSteps: 20, c1: 1e-4, c2: 0.9, initialStepSize: 1, verbose: false, onStepAccepted: () => {},
};

interface Objective {
  evaluate(): { value: number; gradient: Float64Array };
  /** True if the value is known not to be negative. */
  isSumOfSquares: boolean;
}

function objectiveOf(params: readonly Value[], given: unknown): Objective {
  mustBeParameters(params);
  if (given instanceof CompiledSet) {
    mustBeOf(given, params);
    return { evaluate: () => given.sumWithGradient(), isSumOfSquares: given.isSumOfSquares };
  }
  if (typeof given !== "function") throw new LeastwiseError("no-residual", `the objective must be a function of the parameters or a compiled set, not ${describe(given)}`);
  const columns = new Map(params.map((param, k) => [param, k]));
  const objective: Objective = {
    isSumOfSquares: false,
    evaluate: () => {
      const root: unknown = (given as (params: Value[]) => unknown)([...params]), gradient = new Float64Array(params.length);
      if (!(root instanceof Value)) throw new LeastwiseError("no-residual", `the objective returned ${describe(root)}, but must return a Value`);
      for (const { leaf, slope } of gradientOf<Value>(root)) {
        const column = columns.get(leaf);
        if (column !== undefined) gradient[column] = slope;
      }
      objective.isSumOfSquares = isSumOfSquares(root);
      return { value: root.data, gradient };
    },
  };
  return objective;
}

/** A point with value and gradient. */
interface Point { readonly x: Float64Array; readonly value: number; readonly gradient: Float64Array }

class Minimisation {
  private evaluations = 0;
  /** Steps s and changes of the gradient y, with 1/(sᵀy); the oldest first. */
  private history: { s: Float64Array; y: Float64Array; rho: number }[] = [];

  constructor(private readonly params: readonly Value[], private readonly objective: Objective, private readonly options: Settings, private readonly began: number) {}

  run(): LBFGSResult {
    const { maxIterations, costTolerance, gradientTolerance, verbose, onStepAccepted } = this.options;
    let point = this.evaluate(read(this.params));
    if (norm(point.gradient) < gradientTolerance) return this.result(point, 0, "gradient", "Initial gradient below tolerance");
    for (let iteration = 0; iteration < maxIterations; iteration++) {
      if (verbose) console.log(`iteration ${iteration}: value ${point.value.toExponential(6)}, gradient ${norm(point.gradient).toExponential(3)}`);
      const next = this.step(point, iteration);
      if (!next) return this.result(point, iteration, "line-search", "Line search failed to find acceptable step");
      this.remember(point, next);
      const change = Math.abs(point.value - next.value);
      point = next;
      write(this.params, point.x);
      onStepAccepted();
      if (norm(point.gradient) < gradientTolerance) return this.result(point, iteration + 1, "gradient", "Gradient tolerance reached");
      if (change < costTolerance) return this.result(point, iteration + 1, "cost-change", "Cost tolerance reached");
      if (this.objective.isSumOfSquares && point.value < costTolerance) return this.result(point, iteration + 1, "cost", "Cost below threshold");
    }
    return this.result(point, maxIterations, "max-iterations", "Maximum iterations reached");
  }

  private result({ x, value }: Point, iterations: number, termination: AutogradTermination, convergenceReason: string): LBFGSResult {
    write(this.params, x);
    return { success: hasConverged(termination), iterations, finalCost: value, convergenceReason, termination, computationTime: performance.now() - this.began, functionEvaluations: this.evaluations };
  }

  private evaluate(x: Float64Array): Point {
    write(this.params, x);
    this.evaluations += 1;
    return { x, ...this.objective.evaluate() };
  }

  /** A step along the quasi-Newton direction; along −g, if that one leads nowhere. */
  private step(from: Point, iteration: number): Point | undefined {
    const found = this.search(from, this.direction(from.gradient), iteration === 0);
    if (found || this.history.length === 0) return found;
    this.history = [];
    return this.search(from, this.direction(from.gradient), true);
  }

  private search(from: Point, direction: Float64Array, isFirst: boolean): Point | undefined {
    const slope = dot(from.gradient, direction);
    if (!(slope < 0)) return undefined;
    const points = new Map<number, Point>(), { c1, c2, maxLineSearchSteps: most, initialStepSize } = this.options;
    const at = (length: number): LinePoint | undefined => {
      try {
        const point = this.evaluate(from.x.map((value, k) => value + length * direction[k]!));
        points.set(length, point);
        return { length, value: point.value, slope: dot(point.gradient, direction) };
      } catch (thrown) {
        if (thrown instanceof LeastwiseError && thrown.code === "non-finite") return undefined;
        write(this.params, from.x);
        throw thrown;
      }
    };
    const found = lineSearch({ length: 0, value: from.value, slope }, at, { c1, c2, most, first: isFirst ? initialStepSize : 1 });
    return found && points.get(found.length);
  }

  private remember(before: Point, after: Point): void {
    const s = after.x.map((value, k) => value - before.x[k]!), y = after.gradient.map((value, k) => value - before.gradient[k]!), product = dot(s, y);
    // The approximation stays positive definite.
    if (!(product > 1e-12 * norm(s) * norm(y))) return;
    this.history.push({ s, y, rho: 1 / product });
    if (this.history.length > this.options.historySize) this.history.shift();
  }

  /** −Hg by the two loops (Nocedal & Wright, algorithm 7.4). */
  private direction(gradient: Float64Array): Float64Array {
    const q = gradient.map((slope) => -slope), { history } = this, alphas = new Float64Array(history.length);
    for (let k = history.length - 1; k >= 0; k--) {
      const { s, y, rho } = history[k]!;
      alphas[k] = rho * dot(s, q);
      add(q, y, -alphas[k]!);
    }
    const last = history.at(-1);
    if (last) {
      const scale = 1 / (last.rho * dot(last.y, last.y));
      for (let k = 0; k < q.length; k++) q[k] = q[k]! * scale;
    }
    for (let k = 0; k < history.length; k++) {
      const { s, y, rho } = history[k]!;
      add(q, s, alphas[k]! - rho * dot(y, q));
    }
    return q;
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k]! * b[k]!;
  return sum;
}

const norm = (a: Float64Array): number => Math.sqrt(dot(a, a));

function add(to: Float64Array, other: Float64Array, factor: number): void {
  for (let k = 0; k < to.length; k++) to[k] = to[k]! + factor * other[k]!;
}
