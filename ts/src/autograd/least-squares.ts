/** Nonlinear least squares over values: Levenberg–Marquardt, or Gauss–Newton with a halving line search. */
import { LeastwiseError } from "../errors.js";
import { callback, checked, flag, measure, whole, type Kind } from "../options.js";
import { describe } from "../instruction.js";
import type { CompiledFunctions, CompiledResiduals, SparseJacobian } from "./compiled.js";
import { denseNormal, solveCholesky, solveQr } from "./dense.js";
import { residualModel, type ResidualModel } from "./parameters.js";
import { SparseNormal } from "./sparse.js";
import { hasConverged, type AutogradTermination, type SolverOutcome } from "./termination.js";
import { read, write, type Value } from "./value.js";

/**
 * Options of {@link nonlinearLeastSquares}. All tolerances are absolute; the cost is Σr².
 *
 * @example
 * const options: NonlinearLeastSquaresOptions = { maxIterations: 200, costTolerance: 1e-12 };
 */
export interface NonlinearLeastSquaresOptions {
  /** @defaultValue 100 */
  maxIterations?: number;
  /** Ends where the cost, or its change by a step, is below. @defaultValue 1e-6 */
  costTolerance?: number;
  /** Ends where ‖δ‖₂ of a step is below. @defaultValue 1e-6 */
  paramTolerance?: number;
  /** Ends where ‖Jᵀr‖₂ is below. @defaultValue 1e-6 */
  gradientTolerance?: number;
  /** Halvings of a Gauss–Newton step. @defaultValue 10 */
  lineSearchSteps?: number;
  /** λ of the first step: (JᵀJ + λI)δ = −Jᵀr. @defaultValue 1e-3 */
  initialDamping?: number;
  /** True for Levenberg–Marquardt, false for Gauss–Newton. @defaultValue true */
  adaptiveDamping?: boolean;
  /** Factor of λ after a rejected step. @defaultValue 10 */
  dampingIncreaseFactor?: number;
  /** Divisor of λ after an accepted step. @defaultValue 10 */
  dampingDecreaseFactor?: number;
  /** Rejected steps in a row after which the solve ends. @defaultValue 10 */
  maxInnerIterations?: number;
  /** True for QR of J instead of Cholesky of JᵀJ, for up to 200 unknowns; `linearSolver` of the result says which it was. @defaultValue false */
  useQR?: boolean;
  /** Longest step ‖δ‖₂; longer ones are scaled. @defaultValue Infinity */
  trustRegionRadius?: number;
  /** True to print a line for every iteration. @defaultValue false */
  verbose?: boolean;
  /** Called after every accepted step. @defaultValue none */
  onStepAccepted?: () => void;
}

/**
 * Result of {@link nonlinearLeastSquares}. A solve that does not converge is a result, never an error.
 *
 * @example
 * const param = V.W(1);
 * const { success, finalCost }: NonlinearLeastSquaresResult = nonlinearLeastSquares([param], ([a]) => [V.sub(a!, 3)]);
 */
export interface NonlinearLeastSquaresResult extends SolverOutcome {
  /** Linear solver of the steps. */
  readonly linearSolver: "cholesky" | "qr" | "sparse-cholesky";
}

/** Unknowns up to which systems are dense: below, a sparse factor costs more than it saves. */
const MOST_DENSE = 200;
/** Smallest and largest λ. */
const DAMPING = [1e-10, 1e10] as const;

/** Infinity is a radius, too. */
const radius: Kind<number> = (name, value, place) => {
  if (typeof value !== "number" || !(value > 0)) throw new LeastwiseError("invalid-option", `${name} must be a positive number or Infinity, not ${describe(value)}`, place);
  return value;
};

/** @internal */
export const OPTIONS = {
  maxIterations: whole(0), costTolerance: measure, paramTolerance: measure, gradientTolerance: measure, lineSearchSteps: whole(1), initialDamping: measure, adaptiveDamping: flag,
  dampingIncreaseFactor: measure, dampingDecreaseFactor: measure, maxInnerIterations: whole(1), useQR: flag, trustRegionRadius: radius, verbose: flag, onStepAccepted: callback<() => void>(),
} as const;

/**
 * Minimises Σr² over parameters, whose `data` end at the best point that was found. Residuals are a function, which builds
 * them anew at every evaluation, or a compiled set. Systems are sparse where there are many unknowns.
 *
 * @throws `non-finite` where a residual is not defined at the start; `foreign-variable` if a set was compiled with other parameters
 * @example
 * const x = V.W(1), y = V.W(1);
 * const result = nonlinearLeastSquares([x, y], ([a, b]) => [V.sub(a!, 3), V.mul(V.sub(b!, a!), 2)]);
 * console.log(result.convergenceReason, x.data, y.data);
 */
export function nonlinearLeastSquares(params: readonly Value[], residuals: ((params: Value[]) => Value[]) | CompiledResiduals | CompiledFunctions, options: NonlinearLeastSquaresOptions = {}): NonlinearLeastSquaresResult {
  const began = performance.now(), known = checked("nonlinearLeastSquares(…, options): options", options, OPTIONS);
  return new LeastSquares(params, residualModel(params, residuals), { ...DEFAULTS, ...known } as Required<NonlinearLeastSquaresOptions>, began).solve();
}

const DEFAULTS: Required<NonlinearLeastSquaresOptions> = {
  maxIterations: 100, costTolerance: 1e-6, paramTolerance: 1e-6, gradientTolerance: 1e-6, lineSearchSteps: 10, initialDamping: 1e-3, adaptiveDamping: true, dampingIncreaseFactor: 10,
  dampingDecreaseFactor: 10, maxInnerIterations: 10, useQR: false, trustRegionRadius: Infinity, verbose: false, onStepAccepted: () => {},
};

/** Why no step was taken. */
type Failure = readonly [AutogradTermination, string];

class LeastSquares {
  private point: Float64Array;
  private cost = 0;
  private damping: number;
  /** JᵀJ of this iteration, where it is dense. */
  private denseMatrix: Float64Array | undefined;
  private stepNorm = Infinity;

  constructor(private readonly params: readonly Value[], private readonly model: ResidualModel, private readonly options: Required<NonlinearLeastSquaresOptions>, private readonly began: number) {
    this.point = read(params);
    this.damping = options.initialDamping;
  }

  solve(): NonlinearLeastSquaresResult {
    const { maxIterations, costTolerance, gradientTolerance, paramTolerance, verbose, onStepAccepted } = this.options;
    this.cost = squares(this.model.residuals());
    let previous = Infinity;
    for (let iteration = 0; iteration < maxIterations; iteration++) {
      const { residuals, jacobian } = this.model.linearize(), gradient = halfGradient(jacobian, residuals, this.params.length), gradientNorm = Math.sqrt(squares(gradient));
      if (verbose) console.log(`iteration ${iteration}: cost ${this.cost.toExponential(6)}, gradient ${gradientNorm.toExponential(3)}, damping ${this.damping.toExponential(1)}`);
      if (gradientNorm < gradientTolerance) return this.result(iteration, "gradient", "Gradient tolerance reached");
      if (Math.abs(previous - this.cost) < costTolerance) return this.result(iteration, "cost-change", "Cost tolerance reached");
      if (this.cost < costTolerance) return this.result(iteration, "cost", "Cost below threshold");
      previous = this.cost;
      this.prepare(jacobian);
      const failure = this.options.adaptiveDamping ? this.marquardt(jacobian, residuals, gradient) : this.gaussNewton(jacobian, residuals, gradient);
      if (this.stepNorm < paramTolerance) return this.result(iteration + 1, "parameters", "Parameter tolerance reached");
      if (failure) return this.result(iteration, ...failure);
      onStepAccepted();
    }
    return this.result(maxIterations, "max-iterations", "Max iterations reached");
  }

  private result(iterations: number, termination: AutogradTermination, convergenceReason: string): NonlinearLeastSquaresResult {
    const linearSolver = this.isSparse ? "sparse-cholesky" : this.options.useQR ? "qr" : "cholesky";
    return { success: hasConverged(termination), iterations, finalCost: this.cost, convergenceReason, termination, computationTime: performance.now() - this.began, linearSolver };
  }

  private get isSparse(): boolean { return this.params.length > MOST_DENSE; }

  /** Computes JᵀJ. The symbolic factor stays as long as the pattern does. */
  private prepare(jacobian: SparseJacobian): void {
    const { length } = this.params;
    if (this.isSparse) {
      const { model } = this;
      if (!model.normal?.fits(jacobian)) model.normal = new SparseNormal(length, jacobian);
      model.normal.assemble(jacobian);
    } else if (!this.options.useQR) this.denseMatrix = denseNormal(jacobian, length);
  }

  /** The step −(JᵀJ + λI)⁻¹Jᵀr; undefined where the matrix has no factor. */
  private step(jacobian: SparseJacobian, residuals: Float64Array, gradient: Float64Array, damping: number): Float64Array | undefined {
    const right = gradient.map((slope) => -slope);
    let step: Float64Array | undefined;
    if (this.isSparse) step = this.model.normal!.factorize(damping) ? this.model.normal!.solve(right) : undefined;
    else step = this.options.useQR ? solveQr(jacobian, damping, residuals, this.params.length) : solveCholesky(this.denseMatrix!, damping, right);
    if (!step?.every(Number.isFinite)) return undefined;
    const norm = Math.sqrt(squares(step)), { trustRegionRadius } = this.options;
    return norm > trustRegionRadius ? step.map((part) => (part * trustRegionRadius) / norm) : step;
  }

  /** Tries steps of growing damping until one lowers the cost. */
  private marquardt(jacobian: SparseJacobian, residuals: Float64Array, gradient: Float64Array): Failure | undefined {
    const { maxInnerIterations, dampingIncreaseFactor, dampingDecreaseFactor } = this.options, [least, most] = DAMPING;
    let factorized = false;
    this.stepNorm = Infinity;
    for (let trial = 0; trial < maxInnerIterations; trial++) {
      const step = this.step(jacobian, residuals, gradient, this.damping);
      if (step) {
        factorized = true;
        this.stepNorm = Math.sqrt(squares(step));
        if (this.accepts(step, 1)) {
          this.damping = Math.max(least, this.damping / dampingDecreaseFactor);
          return undefined;
        }
        // At a minimum no step lowers the cost, and the whole step is as short as that.
        if (trial === 0 && this.stepNorm < this.options.paramTolerance) return undefined;
        this.stepNorm = Infinity;
      }
      this.damping = Math.min(most, this.damping * dampingIncreaseFactor);
    }
    return factorized ? ["damping", "Damping adjustment failed"] : ["linear-solver", `Linear solver failed: the normal matrix has no Cholesky factor up to λ = ${this.damping}`];
  }

  /** Tries the whole step, and halves it. */
  private gaussNewton(jacobian: SparseJacobian, residuals: Float64Array, gradient: Float64Array): Failure | undefined {
    const step = this.step(jacobian, residuals, gradient, 0);
    if (!step) return ["linear-solver", "Linear solver failed: the normal matrix is singular (adaptiveDamping: true solves such problems, too)"];
    const norm = Math.sqrt(squares(step));
    for (let trial = 0, length = 1; trial < this.options.lineSearchSteps; trial++, length /= 2) {
      this.stepNorm = norm * length;
      if (this.accepts(step, length) || (trial === 0 && norm < this.options.paramTolerance)) return undefined;
    }
    this.stepNorm = Infinity;
    return ["line-search", "Line search failed"];
  }

  /** Goes along a step if that lowers the cost; stays otherwise, also where residuals are not defined. */
  private accepts(step: Float64Array, length: number): boolean {
    const trial = this.point.map((value, k) => value + length * step[k]!);
    let cost: number;
    try {
      write(this.params, trial);
      cost = squares(this.model.residuals());
    } catch (thrown) {
      write(this.params, this.point);
      if (thrown instanceof LeastwiseError && thrown.code === "non-finite") return false;
      throw thrown;
    }
    if (!(cost < this.cost)) {
      write(this.params, this.point);
      return false;
    }
    this.point = trial;
    this.cost = cost;
    return true;
  }
}

function squares(of: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < of.length; k++) sum += of[k]! * of[k]!;
  return sum;
}

/** Jᵀr, which is half of the gradient of Σr². */
function halfGradient({ starts, columns, values }: SparseJacobian, residuals: Float64Array, size: number): Float64Array {
  const gradient = new Float64Array(size);
  for (let row = 0; row < residuals.length; row++) {
    for (let k = starts[row]!; k < starts[row + 1]!; k++) gradient[columns[k]!] = gradient[columns[k]!]! + values[k]! * residuals[row]!;
  }
  return gradient;
}
