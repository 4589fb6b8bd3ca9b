/** Solvers: one problem, three ways to run. */
import { bytesOf, listOf, numbersOf } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { describe } from "./expression.js";
import type { Host } from "./host.js";
import { METHODS, PRECONDITIONERS } from "./methods.js";
import type { NativeEngine, NativeOptions } from "./native.js";
import { abortSignal, callback, checked, given, hasMethods, measure, oneOf, takesNoMore, whole, type Kind } from "./options.js";
import { NEEDS, type Part } from "./parts.js";
import { SolveReport, type Iteration, type Report } from "./report.js";
import type { Variables } from "./table.js";
import type { Tasks, Watch } from "./tasks.js";

/**
 * How to solve.
 *
 * @example
 * const options: SolveOptions = { method: "dogleg", maxIterations: 100, timeLimitMs: 2000 };
 * const report = await problem.solve(options);
 */
export interface SolveOptions {
  // Names, and what stands below "By the gradient alone", are generated from `src/solve/descent/rules/` (`npm run generate`).
  /**
   * - `"lm"`: Levenberg–Marquardt with Nielsen's damping.
   * - `"gauss-newton"`: undamped; a step that lowers the cost too little for its predicted reduction is halved, without another linear solve.
   * - `"newton"`: for energies and residuals with full curvature, whose Hessians are projected instance by instance (Teran, Sifakis, Irving & Fedkiw 2005): as `"lm"`, but
   *   with next to no damping until a step fails.
   * - `"dogleg"`: a combination of steepest descent and the Gauss–Newton step within a trust region.
   *
   * By the gradient alone, without a linear system; their steps are many and cheap, and bounds are held by projection:
   *
   * - `"lbfgs"`: limited-memory BFGS (Nocedal & Wright 2006, algorithm 7.5) in Gram form, {@link SolveOptions.memory} pairs.
   * - `"nonlinear-cg"`: conjugate gradients with Hager & Zhang's β (2005).
   * - `"gradient-descent"`: −g, first tried at Barzilai & Borwein's length.
   *
   *   These three search along their direction for a point with the strong Wolfe conditions; `innerIterations` are the points tried.
   * - `"adam"`: Kingma & Ba 2015, without a search and without a look at the cost: the variables end at the last iterate, not at the best; {@link SolveOptions.learningRate} and {@link SolveOptions.decays}.
   *
   * @defaultValue `"lm"`
   */
  method?: "lm" | "gauss-newton" | "newton" | "dogleg" | "lbfgs" | "nonlinear-cg" | "gradient-descent" | "adam";
  /** History of `"lbfgs"`: pairs of steps and changes of the gradient, an integer from 1 to 20. @defaultValue 10 */
  memory?: number;
  /** η of `"adam"`, about the length of its steps in every component. @defaultValue 0.01 */
  learningRate?: number;
  /** β₁ and β₂ of `"adam"`, the decay rates of its running means. @defaultValue [0.9, 0.999] */
  decays?: readonly [number, number];
  /**
   * Search space of `"dogleg"`: on Powell's path by the Cauchy point to the Gauss–Newton step (`"traditional"`),
   * or in the whole plane of the two (`"subspace"`; Byrd, Schnabel & Shultz 1988).
   *
   * @defaultValue `"traditional"`
   */
  dogleg?: "traditional" | "subspace";
  /**
   * Linear solver of (JᵀWJ + λD) s = −g in every step:
   *
   * - `"auto"`: chosen from the problem's structure and size, never by the clock; `report.linearReason` says why.
   * - `"dense"`: all unknowns at once, for up to some hundreds of them: a QR factorisation of √W J up to 64 unknowns without a
   *   robust loss, whose digits the condition of J decides and not its square; else a Cholesky factor of JᵀWJ.
   * - `"sparse-cholesky"`: a sparse Cholesky factor, ordered by approximate minimum degree; its structure is found once.
   * - `"schur"`: variables of which no residual touches two instances (the points of bundle adjustment) are eliminated, and
   *   what is left is factorised; see {@link SolveOptions.eliminate}. On GPUs they are eliminated there, and what is left comes back for its factor.
   * - `"pcg"`: matrix-free conjugate gradients on the device; see {@link SolveOptions.preconditioner}.
   * - `"schur-pcg"`: the same on the Schur complement of what `"schur"` eliminates, which is never formed: fewer
   *   iterations, each of which reads J once where the residuals of an eliminated variable are neighbours in their term. For large
   *   bundles.
   * - `"assembled-pcg"`: the same with the assembled matrix, preconditioned by its diagonal blocks, for many more residuals than pairs of variables that meet in one.
   *
   * All but `"pcg"` and `"schur-pcg"` work on the CPU in f64, whatever the backend: on GPUs the matrix is assembled there and comes back once
   * a linearisation (`counters.matrixReadbacks`), of `"schur"` once a damping λ. All but `"pcg"` refuse terms made by `sumOver`, whose Jacobian is never stored.
   * `advance()` never reads back, so its steps are solved on the device always: by `"pcg"`, unless it is `"schur-pcg"`.
   *
   * @defaultValue `"auto"`
   */
  linear?: "auto" | "dense" | "sparse-cholesky" | "pcg" | "assembled-pcg" | "schur" | "schur-pcg";
  // Generated from `src/solve/linear/preconditioner.rs` (`npm run generate`).
  /**
   * Preconditioner of conjugate gradients; naming one selects its linear solver.
   *
   * - `"auto"`: chosen from the problem's structure and size; `report.preconditionerReason` says why.
   * - `"block-jacobi"`, for `"pcg"`, `"assembled-pcg"`, `"schur-pcg"`: the inverted diagonal blocks of JᵀWJ + λD, each variable by itself.
   * - `"two-level"`, for `"pcg"`: the same, and the motions of patches of some 64 variables, by smoothed aggregation: a fraction of the inner
   *   iterations on meshes, hardly more of them on finer ones. Where variables are points, of which residuals see differences,
   *   patches move as rigid bodies. It refuses terms made by `sumOver`, and more than 6 degrees of freedom without points.
   * - `"schur-jacobi"`, for `"schur-pcg"`: the inverted diagonal blocks of the Schur complement, each kept variable by itself; the usual one there.
   * - `"frozen-factor"`, for `"assembled-pcg"`: a sparse Cholesky factor that stays from step to step and from edit to edit, until it takes more
   *   than 24 iterations; then a new one is made (`report.factorizations`). For `step()` after every edit of a problem that has a factor.
   *
   * @defaultValue `"auto"`
   */
  preconditioner?: "auto" | "block-jacobi" | "two-level" | "schur-jacobi" | "frozen-factor";
  /**
   * The variables that `"schur"` and `"schur-pcg"` eliminate: whole tables of which no residual touches two instances.
   *
   * @defaultValue those that leave the fewest unknowns
   */
  eliminate?: readonly Variables<any>[];
  /**
   * How many steps in a row may end above the lowest cost so far, as long as the reductions predicted since a reference
   * point are reached; 5 is usual. The variables hold the best iterate at the end. @defaultValue 0
   */
  nonmonotone?: number;
  /** Greatest number of iterations of conjugate gradients in one step. @defaultValue twice the number of unknowns, but from 10 to 500 */
  maxInnerIterations?: number;
  /**
   * η, the forcing term: conjugate gradients stop when the residual of the linear system is this part of the first, in the preconditioner's
   * norm.
   *
   * @defaultValue from 0.001 to 0.1, adapted from step to step to the quality of the model
   */
  forcing?: number;
  /**
   * Greatest number of steps, accepted or not.
   *
   * @defaultValue 50; 2000 if the linear solver is `"dense"`, whose steps are cheap; without a linear system 1000 for `"lbfgs"` and `"nonlinear-cg"`, 10,000 for the other two
   */
  maxIterations?: number;
  /** Greatest violation of a constraint, in its own units. @defaultValue 1e-8 (f64), 1e-5 (f32) */
  feasibilityTolerance?: number;
  /** μ, the initial penalty of constraints. It grows where they are slow to be met. @defaultValue 10 */
  penalty?: number;
  /** Greatest number of minimisations, one for each choice of multipliers. `maxIterations` limits each of them. @defaultValue 50 */
  maxOuterIterations?: number;
  /**
   * Milliseconds of solving, after which a GPU has 10 s to answer before the solve rejects with `stopped`; where f32 goes on in mixed precision, of both, the compiling for the latter included.
   *
   * @defaultValue none
   */
  timeLimitMs?: number;
  /**
   * Converged when an accepted step lowers the cost by less than this share of it. `"adam"` does not look at it.
   *
   * @defaultValue 1e-6; about 1e-15 (f64, double-floats) or 1e-9 (f32) if the linear solver is `"dense"`; 1e-12 or 2e-7 if there is none, three times in a row
   */
  costTolerance?: number;
  /** Converged when max |gᵢ| is at most this. @defaultValue 1e-10; 1e-20 if the linear solver is `"dense"` */
  gradientTolerance?: number;
  /**
   * Converged when ‖s‖ is at most this share of ‖x‖. `"adam"` does not look at it.
   *
   * @defaultValue 1e-8; 1e-15 (f64), 3e-14 (double-floats) or 1e-9 (f32) if the linear solver is `"dense"`; 1e-12 or 1e-8 if there is none
   */
  stepTolerance?: number;
  /**
   * Ends the solve after the current iteration; the report says `"stopped"`. While a large problem is laid out and its solver set up there is no report yet, and the solve rejects with the signal's reason (with `stopped` where `timeLimitMs` is over). Where a GPU does not answer for 10 s after that, the solve rejects with the signal's reason.
   *
   * @defaultValue none
   */
  signal?: Host<"AbortSignal">;
  /** Called after every step; returning `"stop"` ends the solve. It is synchronous: a promise is refused with `invalid-option`. @defaultValue none */
  onIteration?: (iteration: Iteration) => void | "stop";
}

/**
 * Counts of a solver's steps since it was made, by outcome: see {@link Solver.advance}.
 *
 * @example
 * const solver = await problem.solver();
 * const steps: LiveSteps | undefined = solver.advance({ budgetMs: 4 });  // in a frame
 */
export interface LiveSteps {
  /** Steps (of methods without a linear system: points tried) that were taken. */
  readonly accepted: number;
  /** Those that were not: they would have raised the cost, or led where the residual is not defined. */
  readonly rejected: number;
  /** Steps begun of which nothing is known yet: on the CPU 1 where a budget ended in the midst of a step, on a GPU those enqueued since. */
  readonly unfinished: number;
}

/**
 * A solver of one problem. It keeps its damping between calls.
 *
 * @example
 * const solver: Solver = await problem.solver({ linear: "pcg" });
 * const { cost } = await solver.step();
 * solver.dispose();
 */
export interface Solver extends Disposable {
  /** Solves to termination, as `problem.solve()` does; from where {@link restore} left it, if it was in the midst of that. */
  solve(): Promise<Report>;
  /** One step, and its numbers. */
  step(): Promise<Iteration>;
  /**
   * For frame loops. On a GPU: enqueues `iterations` steps (default: 1) and returns without waiting. On the
   * CPU: works until `budgetMs` (default: 8) are over or the steps are done, and goes on from there the next time.
   * While kernels are still being compiled, or the solver of a large problem is set up, it makes no step.
   *
   * Gives what became of the steps so far: on the CPU as of now, on a GPU as of some frames ago, and `undefined` until that
   * is known.
   *
   * Nothing holds it back on a GPU: it never waits for the steps that are still queued, and calling it faster than the
   * GPU works lets the queue grow. Call it once a frame.
   */
  advance(options?: { iterations?: number; budgetMs?: number }): LiveSteps | undefined;
  /**
   * Forgets what steps have taught the solver: damping, trust radius, step lengths and histories begin anew, and nothing is compiled
   * or laid out. Edits do less: they forget only rejections after the last accepted step (docs/LIVE.md). The variables keep their values.
   *
   * ```ts
   * x.write(elsewhere);
   * solver.reset();
   * ```
   * @throws `busy` while a task of the problem runs
   */
  reset(): void;
  /**
   * Brings back the cost and what was done. Steps that `advance` made leave no record of their own: after nothing else,
   * `iterations` is empty.
   */
  report(): Promise<Report>;
  /**
   * A checkpoint: values, the solver's own state, and all of the problem that can be edited (data, weights, parameters of losses,
   * what is fixed, bounded or disabled), as one file. It may be requested within `onIteration`, too, while `solve()` goes on:
   * then it is of that moment.
   */
  save(): Promise<Uint8Array>;
  /**
   * Goes back to a checkpoint, in this or another process, of the same problem: made by the same code, and solved with the same
   * options but for limits and tolerances. Steps from there have the same bits as if there had been no break, on the same kind
   * of device (docs/CHECKPOINTS.md). What is refused changes nothing.
   *
   * @throws `checkpoint-mismatch` where the file is of another problem, solver or precision, saying what differs; `file-format`,
   * `file-version`, `file-truncated` or `file-corrupt` where it is damaged or none
   */
  restore(state: Uint8Array): void;
  dispose(): void;
}

/** Adam's β₁ and β₂; how large they may be the engine says. */
const decays: Kind<readonly [number, number]> = (name, value) => {
  const both = Array.isArray(value) && value.length === 2 ? numbersOf(name, value) : undefined;
  if (!both) throw new LeastwiseError("invalid-option", `${name} must be two numbers from 0 to less than 1, not ${describe(value)}`);
  return [both[0]!, both[1]!];
};

/** Ranges that depend on the method are the engine's to check. @internal */
export const SOLVE = {
  method: oneOf(...METHODS),
  dogleg: oneOf("traditional", "subspace"),
  linear: oneOf("auto", "dense", "sparse-cholesky", "pcg", "assembled-pcg", "schur", "schur-pcg"),
  preconditioner: oneOf(...PRECONDITIONERS),
  eliminate: given(),
  decays,
  memory: measure, learningRate: measure, feasibilityTolerance: measure, penalty: measure, maxOuterIterations: measure, nonmonotone: measure,
  maxInnerIterations: measure, forcing: measure, maxIterations: measure, timeLimitMs: measure, costTolerance: measure, gradientTolerance: measure,
  stepTolerance: measure,
  signal: abortSignal,
  onIteration: callback<NonNullable<SolveOptions["onIteration"]>>(),
} as const;

/** Reason to stop, by what a callback returns. A promise of one would come too late. @internal */
export const stopOf = (onIteration: NonNullable<SolveOptions["onIteration"]>) => (iteration: Iteration): string | undefined => {
  const returned: unknown = onIteration(iteration);
  if (hasMethods(returned, "then")) {
    // Nobody waits for it, so nobody is told what it fails of.
    void Promise.resolve(returned).catch(() => {});
    throw new LeastwiseError("invalid-option", "onIteration returned a promise, which nothing waits for: it must be synchronous, and return \"stop\" or nothing");
  }
  return returned === "stop" ? "onIteration returned \"stop\"" : undefined;
};

/** Options as the engine takes them, checked, and what the façade keeps of them. @internal */
export interface CheckedSolve { readonly native: NativeOptions; readonly signal: AbortSignal | undefined; readonly onIteration: SolveOptions["onIteration"] }

/** @internal */
export function nativeOptions(options: SolveOptions, tableOf: (variables: unknown, what: string) => number): CheckedSolve {
  const { signal, onIteration, eliminate, ...native } = checked("solve options", options, SOLVE);
  const tables = eliminate === undefined ? undefined : listOf("eliminate", eliminate, "must be a list of variables").map((variables, k) => tableOf(variables, `eliminate[${k}]`));
  return { native: (tables ? { ...native, eliminate: tables } : native) as NativeOptions, signal, onIteration };
}

/** Where the options of a solver's calls belong. */
const MADE_WITH = "a solver's options are given when it is made, to problem.solver(options)";
const ADVANCE = { iterations: whole(0), budgetMs: measure } as const;

/** @internal */
export class SolverOf implements Solver {
  readonly #handle: number;
  /** The problem's handle, which stays known when the problem is gone. */
  readonly #owner: number;
  #disposed = false;
  /** Why a part could not be loaded, for the next call of `advance` to tell. */
  #failed: LeastwiseError | undefined;

  constructor(private readonly tasks: Tasks, private readonly problem: () => number, private readonly options: CheckedSolve, private readonly traceMs: () => number) {
    this.#owner = problem();
    // Its parts load from now on; what goes wrong is told to the call that needs them.
    const loading = tasks.solving(this.#owner, options.native);
    loading?.catch(() => undefined);
    this.#handle = tasks.call((native) => (loading ? native.laterSolver(this.#owner, options.native) : native.solver(this.#owner, options.native)));
    tasks.owners.adopt(this, "solvers", this.#handle, this.#owner);
  }

  #alive(): number {
    this.problem();
    if (this.#disposed) throw new LeastwiseError("disposed", "this solver was disposed: it can't be used any more");
    return this.#handle;
  }

  async solve(): Promise<Report> {
    takesNoMore("solver.solve()", 0, arguments, MADE_WITH);
    const { signal, onIteration, native: { timeLimitMs: limitMs } } = this.options;
    return this.#report(await this.#begin((native) => native.solve(this.#alive(), "solve"), { onIteration: onIteration && stopOf(onIteration), signal, limitMs }));
  }

  async step(): Promise<Iteration> {
    takesNoMore("solver.step()", 0, arguments, MADE_WITH);
    const { signal, native: { timeLimitMs: limitMs } } = this.options;
    let last: Iteration | undefined;
    const { report } = await this.#begin((native) => native.solve(this.#alive(), "step"), { onIteration: (iteration) => { last = iteration; return undefined; }, signal, limitMs });
    if (!last) throw new LeastwiseError("no-step", `no step was made: ${report?.reason ?? "maxIterations or timeLimitMs is 0"}`);
    this.options.onIteration && stopOf(this.options.onIteration)(last);
    return last;
  }

  advance(options: { iterations?: number; budgetMs?: number } = {}): LiveSteps | undefined {
    takesNoMore("solver.advance(options)", 1, arguments);
    const { iterations = 1, budgetMs = 8 } = checked("advance(options): options", options, ADVANCE, { prefix: "advance(options): " });
    const handle = this.#alive();
    if (this.#failed) {
      const failed = this.#failed;
      this.#failed = undefined;
      throw failed;
    }
    const loading = this.tasks.solving(this.#owner, this.options.native);
    if (loading) {
      loading.catch((thrown: LeastwiseError) => { this.#failed = thrown; });
      return undefined;
    }
    const steps = this.tasks.call((native) => native.advance(handle, iterations, budgetMs));
    return steps ? { accepted: steps[0]!, rejected: steps[1]!, unfinished: steps[2]! } : undefined;
  }

  reset(): void {
    takesNoMore("solver.reset()", 0, arguments);
    const handle = this.#alive();
    this.tasks.call((native) => native.resetSolver(handle));
  }

  async report(): Promise<Report> {
    takesNoMore("solver.report()", 0, arguments);
    return this.#report(await this.#begin((native) => native.report(this.#alive())));
  }

  async save(): Promise<Uint8Array> {
    takesNoMore("solver.save()", 0, arguments);
    const { bytes } = await this.tasks.begin(this.#owner, [...NEEDS.rare, ...this.#parts()], (native) => native.saveSolver(this.#alive()));
    if (!bytes) throw new LeastwiseError("internal", "the engine gave no checkpoint; this is a bug of Leastwise, please report it");
    return bytes;
  }

  restore(state: Uint8Array): void {
    takesNoMore("solver.restore(state)", 1, arguments);
    const bytes = bytesOf("restore(state): state", state);
    if (!bytes) throw new LeastwiseError("invalid-option", `restore(state): a Uint8Array, not ${describe(state)}`);
    const handle = this.#alive();
    this.tasks.parts.mustHave([...NEEDS.rare, ...this.#parts()]);
    this.tasks.call((native) => native.restoreSolver(handle, bytes));
  }

  /** Parts of the engine that this solver's work may come to. */
  #parts(): readonly Part[] { return this.tasks.partsOfSolve(this.#owner, this.options.native); }

  /** Runs a task of this solver when its parts are there. */
  #begin(begin: (native: NativeEngine) => number, watch: Watch = {}): ReturnType<Tasks["begin"]> {
    this.#alive();
    return this.tasks.begin(this.#owner, this.#parts(), begin, watch);
  }

  #report(done: { report?: ConstructorParameters<typeof SolveReport>[0] }): Report {
    if (!done.report) throw new LeastwiseError("internal", "the engine gave no report; this is a bug of Leastwise, please report it");
    return new SolveReport(done.report, this.traceMs());
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.tasks.owners.dispose(this, "solvers", this.#handle, this.#owner);
  }

  [Symbol.dispose](): void { this.dispose(); }
}
