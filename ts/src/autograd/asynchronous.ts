/** Solves of compiled sets on an engine, where there is one; else here. */
import type { Backend } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import type { Host } from "../host.js";
import { abortSignal, callback, checked, flag, given, measure, whole } from "../options.js";
import type { Iteration, Report } from "../report.js";
import type { SolveOptions } from "../solver.js";
import { CompiledSet, type CompiledFunctions, type CompiledResiduals } from "./compiled.js";
import { lbfgs } from "./lbfgs.js";
import { nonlinearLeastSquares } from "./least-squares.js";
import { mustBeOf, mustBeParameters } from "./parameters.js";
import type { AutogradTermination, SolverOutcome } from "./termination.js";
import type { Value } from "./value.js";

/**
 * Options of {@link nonlinearLeastSquaresAsync} and {@link lbfgsAsync}. Tolerances are absolute, as those of the synchronous
 * solvers; the gradient's is compared with its largest component.
 *
 * @example
 * const options: EngineSolveOptions = { maxIterations: 50, solve: { linear: "pcg" } };
 */
export interface EngineSolveOptions {
  /** @defaultValue 100 */
  maxIterations?: number;
  /** Ends where a step changes the cost by less, and where a cost of squares is below. @defaultValue 1e-6 */
  costTolerance?: number;
  /** Ends where a step of least squares is shorter. @defaultValue 1e-6 */
  paramTolerance?: number;
  /** @defaultValue 1e-6 */
  gradientTolerance?: number;
  /** True to print a line for every iteration. @defaultValue false */
  verbose?: boolean;
  /** Called after every accepted step. @defaultValue none */
  onStepAccepted?: () => void;
  /** Ends the solve after the current iteration. @defaultValue none */
  signal?: Host<"AbortSignal">;
  /** Options of the engine's own solve, such as its linear solver. @defaultValue the engine's */
  solve?: Omit<SolveOptions, "maxIterations" | "costTolerance" | "stepTolerance" | "gradientTolerance" | "signal" | "onIteration">;
}

/**
 * Result of an asynchronous solve.
 *
 * @example
 * const param = V.W(1), set = CompiledResiduals.compile([param], ([a]) => [V.sub(a!, 3)], { engine: lw });
 * const { success, backend, reason }: EngineSolveResult = await nonlinearLeastSquaresAsync([param], set);
 */
export interface EngineSolveResult extends SolverOutcome {
  /** Backend that solved, and why that one. */
  readonly backend: Backend;
  readonly reason: string;
  /** The engine's own report, if it solved. */
  readonly report: Report | undefined;
}

/** @internal */
export const OPTIONS = {
  maxIterations: whole(0), costTolerance: measure, paramTolerance: measure, gradientTolerance: measure, verbose: flag, onStepAccepted: callback<() => void>(), signal: abortSignal,
  solve: given<EngineSolveOptions["solve"]>(),
} as const;

type Set = CompiledResiduals | CompiledFunctions;

/**
 * Minimises Σr² of a compiled set on its engine; {@link CompileOptions} say when that is. Parameters' `data` end at the best point.
 *
 * @throws `foreign-variable` if the set was compiled with other parameters; `non-finite` where a residual is not defined at the start
 * @example
 * const params = Array.from({ length: 2000 }, () => V.W(1));
 * const set = CompiledResiduals.compile(params, (p) => p.map((a) => V.sub(V.exp(a), 3)), { engine: lw });
 * const { finalCost, backend } = await nonlinearLeastSquaresAsync(params, set);
 */
export async function nonlinearLeastSquaresAsync(params: readonly Value[], set: Set, options: EngineSolveOptions = {}): Promise<EngineSolveResult> {
  return solved("nonlinearLeastSquaresAsync", params, set, options, true);
}

/**
 * Minimises Σf of a compiled set by L-BFGS on its engine; {@link CompileOptions} say when that is.
 *
 * @throws `foreign-variable` if the set was compiled with other parameters; `non-finite` where a function is not defined at the start
 * @example
 * const params = Array.from({ length: 2000 }, () => V.W(1));
 * const set = CompiledFunctions.compile(params, (p) => p.map((a) => V.square(V.sub(a, 3))), { engine: lw });
 * const { finalCost } = await lbfgsAsync(params, set);
 */
export async function lbfgsAsync(params: readonly Value[], set: Set, options: EngineSolveOptions = {}): Promise<EngineSolveResult> {
  return solved("lbfgsAsync", params, set, options, false);
}

async function solved(name: string, params: readonly Value[], set: Set, options: EngineSolveOptions, isLeastSquares: boolean): Promise<EngineSolveResult> {
  const began = performance.now(), { solve, signal, ...known } = checked(`${name}(…, options): options`, options, OPTIONS);
  if (!(set instanceof CompiledSet)) throw new LeastwiseError("no-residual", `${name}(params, set): the set must be CompiledResiduals or CompiledFunctions; a function is for the synchronous solvers`);
  mustBeParameters(params);
  mustBeOf(set, params);
  const place = set.place(isLeastSquares ? "residuals" : "energy");
  if (!place.batches) {
    const { paramTolerance, ...others } = known;
    const result = isLeastSquares ? nonlinearLeastSquares(params, set, known) : lbfgs(params, set, others);
    return { ...result, backend: place.backend, reason: place.reason, report: undefined };
  }
  const rules = new Rules({ maxIterations: 100, costTolerance: 1e-6, paramTolerance: 1e-6, gradientTolerance: 1e-6, verbose: false, onStepAccepted: () => {}, ...known }, isLeastSquares, isLeastSquares || set.isSumOfSquares, place.batches.fixedCost());
  const report = await place.batches.solve({
    ...(isLeastSquares ? {} : { method: "lbfgs" as const }), ...solve, maxIterations: rules.options.maxIterations, costTolerance: 0, gradientTolerance: 0, stepTolerance: 0,
    onIteration: rules.see, ...(signal && { signal }),
  });
  const [termination, convergenceReason, success] = rules.verdict(report);
  return {
    success, iterations: report.iterations.length, finalCost: rules.costOf(report.cost), convergenceReason, termination, computationTime: performance.now() - began,
    backend: place.backend, reason: place.reason, report,
  };
}

type Limits = Required<Omit<EngineSolveOptions, "signal" | "solve">>;

/** The interface's tests for termination, on the engine's iterations. */
class Rules {
  private ended: readonly [AutogradTermination, string] | undefined;

  constructor(readonly options: Limits, private readonly isLeastSquares: boolean, private readonly isSquares: boolean, private readonly fixed: number) {}

  /** The engine minimises Σ½r². */
  costOf(cost: number): number { return (this.isLeastSquares ? 2 : 1) * (cost + this.fixed); }

  readonly see = ({ index, accepted, cost, costChange, gradientNorm, stepNorm }: Iteration): void | "stop" => {
    const { costTolerance, gradientTolerance, paramTolerance, verbose, onStepAccepted } = this.options, value = this.costOf(cost);
    if (verbose) console.log(`iteration ${index}: cost ${value.toExponential(6)}, gradient ${gradientNorm.toExponential(3)}, step ${stepNorm.toExponential(3)}`);
    if (accepted) onStepAccepted();
    if (gradientNorm < gradientTolerance) this.ended = ["gradient", "Gradient tolerance reached"];
    else if (accepted && (this.isLeastSquares ? 2 : 1) * Math.abs(costChange) < costTolerance) this.ended = ["cost-change", "Cost tolerance reached"];
    else if (this.isSquares && value < costTolerance) this.ended = ["cost", "Cost below threshold"];
    else if (this.isLeastSquares && accepted && stepNorm < paramTolerance) this.ended = ["parameters", "Parameter tolerance reached"];
    return this.ended ? "stop" : undefined;
  };

  verdict({ termination, converged, reason }: Report): readonly [AutogradTermination, string, boolean] {
    if (this.ended) return [...this.ended, true];
    if (termination === "max-iterations") return ["max-iterations", this.isLeastSquares ? "Max iterations reached" : "Maximum iterations reached", false];
    if (termination === "precision") return ["precision", reason, true];
    return [converged ? "cost-change" : termination === "singular" ? "linear-solver" : termination === "stopped" ? "stopped" : "damping", reason, converged];
  }
}
