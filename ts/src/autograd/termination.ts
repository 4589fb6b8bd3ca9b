/** Reasons for which the two solvers end: the texts of the interface, and one code for both. */

/**
 * Reason of a solver's end, for programs.
 *
 * - `"gradient"`: the gradient's norm is below `gradientTolerance`
 * - `"cost-change"`: the last step changed the cost by less than `costTolerance`
 * - `"cost"`: the cost, a sum of squares, is below `costTolerance`
 * - `"parameters"`: the step is shorter than `paramTolerance`
 * - `"linear-solver"`, `"line-search"`, `"damping"`: no step could be computed, or none that lowers the cost
 * - `"max-iterations"`
 * - `"precision"`: the engine's precision has no lower cost
 * - `"stopped"`: a signal ended the solve
 *
 * @example
 * const good: AutogradTermination[] = ["gradient", "cost-change", "cost", "parameters"];
 */
export type AutogradTermination = "gradient" | "cost-change" | "cost" | "parameters" | "linear-solver" | "line-search" | "damping" | "max-iterations" | "precision" | "stopped";

/**
 * Outcome of a solve by any solver of `leastwise/autograd`. One that does not converge is a result, never an error.
 *
 * @example
 * const params = [V.W(1)];
 * const outcomes: SolverOutcome[] = [nonlinearLeastSquares(params, ([a]) => [V.sub(a!, 3)]), lbfgs(params, ([a]) => V.square(V.sub(a!, 3)))];
 */
export interface SolverOutcome {
  readonly success: boolean;
  /** Steps of least squares, accepted steps of L-BFGS. */
  readonly iterations: number;
  /** Σr² of least squares, the objective's value of L-BFGS, at the parameters as they are now. */
  readonly finalCost: number;
  readonly convergenceReason: string;
  /** The reason, for programs. */
  readonly termination: AutogradTermination;
  /** Milliseconds. */
  readonly computationTime: number;
}

const CONVERGED: readonly AutogradTermination[] = ["gradient", "cost-change", "cost", "parameters"];

/** @internal */
export const hasConverged = (termination: AutogradTermination): boolean => CONVERGED.includes(termination);
