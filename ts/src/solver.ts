/** Solvers: one problem, three ways to run. */
import { LeastwiseError, mustBeObject } from "./errors.js";
import { describe } from "./expression.js";
import type { NativeOptions } from "./native.js";
import { SolveReport, type Iteration, type Report } from "./report.js";
import type { Variables } from "./table.js";
import type { Tasks } from "./tasks.js";

/** How to solve. */
export interface SolveOptions {
  /**
   * - `"lm"` (unless told): Levenberg–Marquardt with Nielsen's damping.
   * - `"gauss-newton"`: undamped; a step that lowers the cost too little for its promise is halved, without another linear solve.
   * - `"dogleg"`: a combination of steepest descent and the Gauss–Newton step within a trust region.
   */
  method?: "lm" | "gauss-newton" | "dogleg";
  /**
   * Where `"dogleg"` looks for its step: on Powell's path by the Cauchy point to the Gauss–Newton step (`"traditional"`, unless
   * told), or in the whole plane of the two (`"subspace"`; Byrd, Schnabel & Shultz 1988).
   */
  dogleg?: "traditional" | "subspace";
  /**
   * What solves (JᵀWJ + λD) s = −g in every step:
   *
   * - `"auto"` (unless told): chosen from the problem's structure and size, never by the clock; `report.linearReason` says why.
   * - `"dense"`: all unknowns at once, for up to some hundreds of them: a QR factorisation of √W J up to 64 unknowns without a
   *   robust loss, whose digits the condition of J decides and not its square; else a Cholesky factor of JᵀWJ.
   * - `"sparse-cholesky"`: a sparse Cholesky factor, ordered by approximate minimum degree; its structure is found once.
   * - `"schur"`: variables of which no residual touches two instances (the points of bundle adjustment) are eliminated, and
   *   what is left is factorised; see {@link SolveOptions.eliminate}.
   * - `"pcg"`: matrix-free conjugate gradients on the device; see {@link SolveOptions.preconditioner}.
   * - `"assembled-pcg"`: the same with the assembled matrix, preconditioned by its diagonal blocks, for many more residuals than pairs of variables that meet in one.
   *
   * All but `"pcg"` work on the CPU in f64, whatever the backend: on WebGPU the matrix is assembled there and comes back once
   * a linearisation (`counters.matrixReadbacks`). They refuse terms made by `sumOver`, whose Jacobian is never stored.
   * `advance()` never reads back, so its steps are solved by `"pcg"` always.
   */
  linear?: "auto" | "dense" | "sparse-cholesky" | "pcg" | "assembled-pcg" | "schur";
  /**
   * What conjugate gradients are preconditioned by; naming one asks for the linear solver that it is for.
   *
   * - `"auto"` (unless told): chosen from the problem's structure and size; `report.preconditionerReason` says why.
   * - `"block-jacobi"`, for `"pcg"` and `"assembled-pcg"`: the inverted diagonal blocks of JᵀWJ + λD, each variable by itself.
   * - `"two-level"`, for `"pcg"`: the same, and the motions of patches of some 64 variables, by smoothed aggregation: a fraction of the inner
   *   iterations on meshes, hardly more of them on finer ones. Where variables are points, of which residuals see differences,
   *   patches move as rigid bodies. It refuses terms made by `sumOver`, and more than 6 degrees of freedom without points.
   * - `"frozen-factor"`, for `"assembled-pcg"`: a sparse Cholesky factor that stays from step to step and from edit to edit, until it takes more
   *   than 24 iterations; then a new one is made (`report.factorizations`). For `step()` after every edit of a problem that has a factor.
   */
  preconditioner?: "auto" | "block-jacobi" | "two-level" | "frozen-factor";
  /**
   * The variables that `"schur"` eliminates: whole tables of which no residual touches two instances. Unless told, those that
   * leave the fewest unknowns.
   */
  eliminate?: readonly Variables<any>[];
  /**
   * How many steps in a row may end above the lowest cost so far, as long as the model's promises since a reference point
   * are kept; 0 unless told, 5 is usual. The best values are what remains at the end.
   */
  nonmonotone?: number;
  /** Iterations of `"pcg"` in one step at most; twice the number of unknowns unless told, but no less than 10 and no more than 500. */
  maxInnerIterations?: number;
  /**
   * η: `"pcg"` stops when what is left of the linear system is this part of it, in the preconditioner's norm. Between 0.001
   * and 0.1 unless told, from step to step by how well the model did.
   */
  forcing?: number;
  /** Steps, accepted or not; 50 unless told, 2000 where the linear solver is `"dense"`: there a step costs next to nothing. */
  maxIterations?: number;
  timeLimitMs?: number;
  /** Converged when an accepted step lowers the cost by less than this share of it; 1e-6 unless told, 1e-15 (f64) or 1e-9 (f32) where the linear solver is `"dense"`. */
  costTolerance?: number;
  /** Converged when max |gᵢ| is at most this; 1e-10 unless told, 1e-20 where the linear solver is `"dense"`. */
  gradientTolerance?: number;
  /** Converged when ‖s‖ is at most this share of ‖x‖; 1e-8 unless told, 1e-15 (f64) or 1e-9 (f32) where the linear solver is `"dense"`. */
  stepTolerance?: number;
  /** Ends the solve after the current iteration; the report says `"stopped"`. */
  signal?: AbortSignal;
  /** Called after every step; returning `"stop"` ends the solve. */
  onIteration?: (iteration: Iteration) => void | "stop";
}

/** A solver of one problem. It keeps its damping between calls. */
export interface Solver extends Disposable {
  /** One step, and its numbers. */
  step(): Promise<Iteration>;
  /**
   * For frame loops. On a GPU: enqueues `iterations` steps (1 unless told) and returns; nothing is read back. On the
   * CPU: works until `budgetMs` (8 unless told) are over or the steps are done, and goes on from there the next time.
   * While kernels are still being compiled it does nothing.
   *
   * Nothing holds it back on a GPU: it never waits for the steps that are still queued, and calling it faster than the
   * GPU works lets the queue grow. Call it once a frame.
   */
  advance(options?: { iterations?: number; budgetMs?: number }): void;
  /**
   * Brings back the cost and what was done. Steps that `advance` made leave no record of their own: after nothing else,
   * `iterations` is empty.
   */
  report(): Promise<Report>;
  dispose(): void;
}

/** @internal */
export class SolverOf implements Solver {
  readonly #handle: number;
  #disposed = false;

  constructor(private readonly tasks: Tasks, private readonly problem: () => number, private readonly options: SolveOptions, tableOf: (variables: unknown, what: string) => number, private readonly traceMs: () => number) {
    if (typeof options !== "object" || options === null) throw new LeastwiseError("invalid-option", `solve options must be an object, not ${describe(options)}`);
    const { signal, onIteration, eliminate, ...rest } = options;
    // A task that can't be listened to would never be ended, and its problem busy for ever.
    if (signal !== undefined && typeof signal?.addEventListener !== "function") throw new LeastwiseError("invalid-option", "signal must be an AbortSignal");
    if (onIteration !== undefined && typeof onIteration !== "function") throw new LeastwiseError("invalid-option", "onIteration must be a function");
    const numbers = ["nonmonotone", "maxInnerIterations", "forcing", "maxIterations", "timeLimitMs", "costTolerance", "gradientTolerance", "stepTolerance"];
    const known = ["method", "dogleg", "linear", "preconditioner", "eliminate", ...numbers];
    const unknown = Object.keys(rest).find((key) => !known.includes(key));
    if (unknown) throw new LeastwiseError("invalid-option", `solve options have no "${unknown}" (they have: ${known.join(", ")}, signal, onIteration)`);
    const given = Object.fromEntries(Object.entries(rest).filter((entry) => entry[1] !== undefined)) as NativeOptions;
    const wrong = Object.entries(given).find(([key, value]) => numbers.includes(key) && typeof value !== "number");
    if (wrong) throw new LeastwiseError("invalid-option", `${wrong[0]} must be a number that is not negative, not ${describe(wrong[1])}`);
    if (eliminate !== undefined && !Array.isArray(eliminate)) throw new LeastwiseError("invalid-option", `eliminate must be a list of variables, not ${describe(eliminate)}`);
    const tables = eliminate?.map((variables, k) => tableOf(variables, `eliminate[${k}]`));
    this.#handle = tasks.call((native) => native.solver(problem(), tables ? { ...given, eliminate: tables } : given));
  }

  #alive(): number {
    this.problem();
    if (this.#disposed) throw new LeastwiseError("disposed", "this solver was disposed: it can't be used any more");
    return this.#handle;
  }

  /** Runs to termination. */
  async run(): Promise<Report> {
    const { signal, onIteration } = this.options;
    const task = this.tasks.call((native) => native.solve(this.#alive(), "solve"));
    const each = (iteration: Iteration) => (onIteration?.(iteration) === "stop" ? "onIteration returned \"stop\"" : undefined);
    return this.#report(await this.tasks.run(task, { onIteration: each, signal }));
  }

  async step(): Promise<Iteration> {
    const task = this.tasks.call((native) => native.solve(this.#alive(), "step"));
    let last: Iteration | undefined;
    const { report } = await this.tasks.run(task, { onIteration: (iteration) => { last = iteration; return undefined; } });
    if (!last) throw new LeastwiseError("no-step", `no step was made: ${report?.reason ?? "maxIterations or timeLimitMs is 0"}`);
    this.options.onIteration?.(last);
    return last;
  }

  advance(options: { iterations?: number; budgetMs?: number } = {}): void {
    mustBeObject(options, "advance(options): options");
    const { iterations = 1, budgetMs = 8 } = options;
    if (!(Number.isInteger(iterations) && iterations >= 0 && typeof budgetMs === "number" && budgetMs >= 0)) {
      throw new LeastwiseError("invalid-option", `advance({ iterations: ${iterations}, budgetMs: ${budgetMs} }): a whole number of steps and a time, neither negative`);
    }
    this.tasks.call((native) => native.advance(this.#alive(), iterations, budgetMs));
  }

  async report(): Promise<Report> {
    const task = this.tasks.call((native) => native.report(this.#alive()));
    return this.#report(await this.tasks.run(task));
  }

  #report(done: { report?: ConstructorParameters<typeof SolveReport>[0] }): Report {
    if (!done.report) throw new LeastwiseError("engine-dead", "the engine gave no report; this is a bug of Leastwise, please report it");
    return new SolveReport(done.report, this.traceMs());
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.tasks.release((native) => native.freeSolver(this.#handle));
  }

  [Symbol.dispose](): void { this.dispose(); }
}
