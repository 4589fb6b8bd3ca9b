/** Problems: variables, constants and terms. */
import { isArrayLike, numbersOf, type F64, type Indices, type Mask, type Rows } from "./arrays.js";
import { COVARIANCE, MarginalsOf, SPACE, type CovarianceOptions, type Marginals, type CovarianceSpace } from "./covariance.js";
import type { Columns, Row } from "./data.js";
import { isA, LeastwiseError, reading } from "./errors.js";
import { describe, type Output } from "./expression.js";
import { shownValue } from "./instruction.js";
import { GRADUATED, GraduatedReportOf, packSuspects, type GraduatedOptions, type GraduatedReport } from "./graduated.js";
import { BACKWARD, GradientsOf, packCotangents, type BackwardOptions, type Cotangent, type Gradients } from "./gradients.js";
import { checked, given, takesNoMore, whole, type Checked } from "./options.js";
import type { NativeEngine } from "./native.js";
import { remember } from "./owners.js";
import type { TermKind } from "./packed.js";
import { NEEDS } from "./parts.js";
import { SolveReport, type Report } from "./report.js";
import type { Args, Slots } from "./slots.js";
import type { Scalar } from "./scalar.js";
import { MULTI_START, solveFrom, type MultiStartOptions, type MultiStartReport } from "./starts.js";
import { nativeOptions, SolverOf, stopOf, type CheckedSolve, type SolveOptions, type Solver } from "./solver.js";
import { form as formOfShape, type Element, type Shape } from "./shape.js";
import { TableOf, type Constants, type Variables } from "./table.js";
import type { Tasks } from "./tasks.js";
import { trace } from "./residual.js";
import { ConstraintOf, TermOf, type Constraint, type ConstraintOptions, type EnergyOptions, type Term, type TermOptions } from "./term.js";
import { addTerm } from "./wire.js";
import { lend, type Loan } from "./tensor/lending.js";
import { Words } from "./words.js";

/**
 * Result of a residual function: scalars, vectors, matrices and quaternions, whose scalars are the rows of r.
 *
 * @example
 * const spring = (a: Vec3, b: Vec3): Residual => [a.sub(b), a.norm()];  // rows one below the other
 */
export type Residual = Output | readonly Output[];

/** The share of a covariance that is done when there is an inverse. */
const FACTORISED = 0.8;

function checkName(of: string, name: unknown): void {
  if (typeof name !== "string") throw new LeastwiseError("invalid-option", `the name of ${of} must be a string, not ${describe(name)}`);
  if (name === "") throw new LeastwiseError("invalid-option", `the name of ${of} must not be empty: errors and reports use it`);
}

/**
 * A problem: minimise Σ ½ w ρ(‖r‖²) + Σ w E over the variables, for residuals r, where ρ(s) = s unless a term has a loss, and energies E.
 *
 * @example
 * const problem: Problem = lw.problem();
 * const scale = problem.variables("scale", { shape: 1, values: [1] });
 * problem.residuals("fit", { of: [scale], data: { t: Float64Array.of(1, 2), seen: Float64Array.of(2.1, 3.9) } },
 *   ([s], { t, seen }) => s.mul(t).sub(seen));
 * console.log(String(await problem.solve()));
 */
export interface Problem extends Disposable {
  /**
   * Unknowns: instances of a {@link Shape}, which begin at `values` (flat: instance by instance, a record's fields one after
   * the other).
   */
  variables<const S extends Shape>(name: string, options: { shape: S; values: ArrayLike<number> | Rows; count?: number }): Variables<Element<S>>;
  /** Values that residuals look up by index and that never move. */
  constants<const S extends Shape>(name: string, options: { shape: S; values: ArrayLike<number> | Rows }): Constants<Element<S>>;
  /** Adds `Σᵢ ½ wᵢ ρ(‖r(…)‖²)`. The function is traced once, on expressions, and differentiated; it must not keep state. */
  residuals<const O extends Slots, const D extends Columns = {}>(name: string, options: TermOptions<O, D>, residual: (of: Args<O>, data: Row<D, O>) => Residual): Term<D>;
  /**
   * Adds `Σᵢ wᵢ E(…)` for an energy E, one scalar that is minimised as it is; it may be negative, and is undefined (√−1, ln of 0)
   * where the variables may not go: no step leads there. Traced and differentiated once, as residuals are. Where a residual has
   * JᵀJ in a step's linear system, an energy has its Hessian, of every instance the positive semidefinite matrix nearest to it
   * (projected Newton: Teran, Sifakis, Irving & Fedkiw 2005), so all methods and linear solvers take both. What is a sum of squares
   * is better given as a residual: ½‖r‖² is known to be one, and its differences are exact to more digits.
   */
  energy<const O extends Slots, const D extends Columns = {}>(name: string, options: EnergyOptions<O, D>, energy: (of: Args<O>, data: Row<D, O>) => Scalar): Term<D>;
  /**
   * Asks for c(…) = 0, c(…) ≤ 0 or c(…) ≥ 0 in every row and instance. {@link solve} meets constraints by the augmented Lagrangian: it
   * minimises Σ ½ μw ‖kc + λ/(μwk)‖² besides (of inequalities the part of it that is positive; k scales steep rows) and improves the
   * multipliers λ, and where needed the penalty μ, until `feasibilityTolerance` is met (Nocedal & Wright 2006, framework 17.3);
   * `report.feasibility` says how well, and `"infeasible"` that it can't be. Steps take the exact Hessian of curved constraints. {@link Solver.step} and {@link Solver.advance} leave λ and μ as they are.
   * A limit on single unknowns is better a {@link Variables.bound}.
   */
  constrain<const O extends Slots, const D extends Columns = {}>(name: string, options: ConstraintOptions<O, D>, constraint: (of: Args<O>, data: Row<D, O>) => Residual): Constraint<D>;
  /**
   * Solves to termination. A solve that does not converge is a report, never an error. The variables hold the best accepted iterate;
   * after `method: "adam"`, which does not look at the cost, the last one, whose cost may be above the first.
   */
  solve(options?: SolveOptions): Promise<Report>;
  /** A solver to step by hand or to advance every frame. */
  solver(options?: SolveOptions): Solver;
  /**
   * Solves from several starts, given or drawn, each as if it were the only one, and leaves the variables where the one of the
   * lowest cost ended (the first of equals), to the bit. The same starts, or the same seed, give the same result.
   */
  multiStart(options: MultiStartOptions): Promise<MultiStartReport>;
  /**
   * Solves where most residuals may be those of outliers, without a good start: by graduated non-convexity (Yang, Antonante, Tzoumas &
   * Carlone 2020), as GTSAM's `GncOptimizer` does. Terms among `suspects` get weights between 0 and 1, found in turn with the
   * values through costs that begin convex and end as the robust one; docs/OUTLIERS.md has the formulas. Every round's solve
   * has all constraints: nothing but the suspects' weights is graduated. How far the last one met them, `report.feasibility` says.
   *
   * Costs of the suspects' instances are read back once a round. {@link SolveOptions.onIteration} is told of the steps of all solves.
   */
  solveGraduated(options: GraduatedOptions): Promise<GraduatedReport>;
  /**
   * For every instance of a variable (all, or those in `which`) the block of σ²(JᵀWJ)⁻¹ that belongs to it, row by row, at
   * the present values: as many rows as it has degrees of freedom. Everything is computed in f64 on the CPU. What is fixed, or
   * held by a limit, gets zeros. With constraints it is the covariance on what they leave, σ² Z (ZᵀJᵀWJZ)⁻¹Zᵀ with a basis Z of the null
   * space of their Jacobian; inequalities count where their multipliers are above 0. To ask for more than this, make {@link marginals} once.
   *
   * @throws `rank-deficient` where residuals leave something free, naming it, unless `deficient` says otherwise; `invalid-option` where σ² is to be estimated and no residuals are left over for that
   */
  covariance(of: Variables<any>, which?: Indices | Mask, options?: CovarianceOptions & CovarianceSpace): Promise<F64>;
  /** The covariance of all variables at the present values: blocks, standard errors and correlations on request. */
  marginals(options?: CovarianceOptions): Promise<Marginals>;
  /**
   * Differentiates through the solve: of a function L of the solution x*, for which ∂L/∂x* is given, dL/dθ for everything that x*
   * depends on — data columns, weights, constants, and where variables are held — at the present values, by the implicit function
   * theorem: −zᵀ ∂∇C/∂θ with ∇²C z = ∂L/∂x*, and with constraints that of the conditions of optimality, of x* and λ. One linear system,
   * in f64 on the CPU, with the exact Hessian, however the values were found. `stationary` says whether they were: solve with small tolerances before.
   *
   * ```ts
   * const gradients = await problem.backward([[x, cotangent]]);
   * gradients.of(term).target;                              // dL/dtarget, as many values as the column has
   * ```
   * @throws `rank-deficient` where the cost leaves something free that L depends on, naming it; `invalid-option` where a term sums over rows (`sumOver`)
   */
  backward(of: readonly Cotangent[], options?: BackwardOptions): Promise<Gradients>;
  /** Destroys its buffers. */
  dispose(): void;
}

const CONSTANTS = { shape: given(), values: given() } as const;
const VARIABLES = { ...CONSTANTS, count: whole(0) } as const;

/** @internal */
export class ProblemOf implements Problem {
  readonly #handle: number;
  readonly #terms = new Set<string>();
  readonly #tables = new Set<string>();
  #traceMs = 0;
  /** True once it was given a constraint: what is asked of it may need more parts of the engine. */
  #isConstrained = false;
  #disposed = false;

  constructor(private readonly tasks: Tasks, private readonly onDispose: (problem: ProblemOf) => void) {
    this.#handle = tasks.call((native) => native.problem());
    tasks.owners.adopt(this, "problems", this.#handle);
  }

  #forget = (term: string): void => { this.#terms.delete(term); };

  /** @internal */
  get aliveHandle(): number {
    if (this.#disposed) throw new LeastwiseError("disposed", "this problem was disposed: it can't be used any more");
    return this.#handle;
  }

  #alive = (): number => {
    this.tasks.mustBeFree(this.aliveHandle);
    return this.#handle;
  };

  variables<const S extends Shape>(name: string, options: { shape: S; values: ArrayLike<number> | Rows; count?: number }): Variables<Element<S>> {
    return this.#table<Element<S>, false>(name, options, false);
  }

  constants<const S extends Shape>(name: string, options: { shape: S; values: ArrayLike<number> | Rows }): Constants<Element<S>> {
    return this.#table<Element<S>, true>(name, options, true);
  }

  #table<V, C extends boolean>(name: string, options: { shape: Shape; values: ArrayLike<number> | Rows; count?: number }, constant: C): TableOf<V, C> {
    const problem = this.#alive();
    checkName("a variable or constant", name);
    if (this.#tables.has(name)) throw new LeastwiseError("invalid-option", `"${name}": the problem already has a variable or constant of this name, and errors tell them apart by it`);
    // Taken at once: reading the options may run functions of the caller's.
    this.#tables.add(name);
    try {
      return this.#made<V, C>(problem, name, options, constant);
    } catch (error) {
      this.#tables.delete(name);
      throw error;
    }
  }

  #made<V, C extends boolean>(problem: number, name: string, options: unknown, constant: C): TableOf<V, C> {
    const { shape, values: all, count } = checked(`"${name}": options`, options, constant ? CONSTANTS : VARIABLES, { prefix: `"${name}": ` }) as Checked<typeof VARIABLES>;
    const form = formOfShape(`"${name}"`, shape);
    const { width } = form;
    const values = numbersOf(`"${name}": values`, all, { code: "shape", width });
    if (count !== undefined && count * width !== values.length) {
      throw new LeastwiseError("data-length", `"${name}": values has ${values.length} values, but ${count * width} are needed (${count} instances of ${width})`);
    }
    const handle = this.tasks.call((native) => native.table(problem, name, Uint32Array.from(form.words), values, !constant));
    return new TableOf<V, C>(this, this.tasks, this.#alive, handle, name, form, values.length / width, constant);
  }

  residuals<const O extends Slots, const D extends Columns = {}>(name: string, options: TermOptions<O, D>, residual: (of: Args<O>, data: Row<D, O>) => Residual): Term<D> {
    return this.#term(name, options, residual as never, "residual");
  }

  energy<const O extends Slots, const D extends Columns = {}>(name: string, options: EnergyOptions<O, D>, energy: (of: Args<O>, data: Row<D, O>) => Scalar): Term<D> {
    return this.#term(name, options, energy as never, "energy");
  }

  constrain<const O extends Slots, const D extends Columns = {}>(name: string, options: ConstraintOptions<O, D>, constraint: (of: Args<O>, data: Row<D, O>) => Residual): Constraint<D> {
    checkName("a term", name);
    const to = reading(`term "${name}": \`to\``, () => (options as { to?: unknown } | null | undefined)?.to, { term: name });
    if (to !== "=0" && to !== "<=0" && to !== ">=0") {
      throw new LeastwiseError("invalid-option", `term "${name}": \`to\` says what a constraint is compared with: "=0", "<=0" or ">=0", not ${shownValue(to)}`, { term: name });
    }
    this.#isConstrained = true;
    return this.#term(name, options, constraint as never, to) as Constraint<D>;
  }

  #term<D>(name: string, options: unknown, run: never, kind: TermKind): Term<D> {
    const started = performance.now();
    const problem = this.#alive();
    checkName("a term", name);
    // Reports map names of terms to costs, and an object of JavaScript's can't have this key.
    if (name === "__proto__") throw new LeastwiseError("invalid-option", "a term can't be called \"__proto__\"", { term: name });
    if (this.#terms.has(name)) throw new LeastwiseError("invalid-option", `term "${name}": the problem already has a term of this name, and reports tell terms apart by it`, { term: name });
    const words = Words.take();
    // Taken at once, since the trace runs the caller's functions.
    this.#terms.add(name);
    try {
      const term = trace(words, name, options as TermOptions<Slots, Columns>, run, this, kind, this.tasks.largest);
      const handle = this.tasks.call((native) => addTerm(native, problem, name, words));
      this.#traceMs += performance.now() - started;
      const tensors = [...term.columns, ...term.entries].map(({ plain }) => plain.tensor), columns = tensors.length;
      const loans = [...tensors, term.lentWeight].flatMap((tensor, k): Loan[] => (tensor ? [[k < columns ? [1, handle, k] : [2, handle], tensor]] : []));
      if (loans.length) this.#lend(problem, handle, loans);
      const Made = kind === "residual" || kind === "energy" ? TermOf : ConstraintOf;
      return new Made<D>(term, this, this.tasks, this.#alive, handle, this.#forget);
    } catch (error) {
      this.#terms.delete(name);
      throw error;
    } finally {
      Words.release(words);
    }
  }

  /** Gives a new term its tensors, or is without it. */
  #lend(problem: number, handle: number, loans: readonly Loan[]): void {
    try {
      lend(this.tasks, problem, loans);
    } catch (error) {
      this.tasks.release((native) => native.freeTerm(problem, handle));
      throw error;
    }
  }

  async solve(options: SolveOptions = {}): Promise<Report> {
    takesNoMore("problem.solve(options)", 1, arguments);
    const known = this.#checked(options);
    const loading = this.tasks.solving(this.#alive(), known.native);
    if (loading) await this.tasks.hold(this.#handle, loading);
    const laidOut = this.#layOut(known);
    const solver = this.#solver(laidOut ? await laidOut : known);
    try {
      return await solver.solve();
    } finally {
      solver.dispose();
    }
  }

  /**
   * Lays a large problem out in time slices, a small one at once: then there is nothing to wait for. Resolves to what is left of the options;
   * aborted or out of time it rejects, and goes on with the next call.
   */
  #layOut(options: CheckedSolve): Promise<CheckedSolve> | undefined {
    const task = this.tasks.call((native) => native.layOut(this.#alive()));
    return typeof task === "number" ? this.#laidOut(task, options) : undefined;
  }

  async #laidOut(task: number, options: CheckedSolve): Promise<CheckedSolve> {
    const { signal, native } = options, { timeLimitMs } = native, began = performance.now(), ends = new AbortController();
    const abort = () => ends.abort(signal?.reason);
    const late = () => ends.abort(new LeastwiseError("stopped", `timeLimitMs = ${timeLimitMs} ms were over before the problem was laid out: no step was made, and the next solve goes on from there`));
    const timer = timeLimitMs ? setTimeout(late, timeLimitMs) : undefined;
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      await this.tasks.run(task, { signal: ends.signal, onAbort: "reject" });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    return timeLimitMs ? { ...options, native: { ...native, timeLimitMs: Math.max(1, timeLimitMs - (performance.now() - began)) } } : options;
  }

  solver(options: SolveOptions = {}): Solver {
    takesNoMore("problem.solver(options)", 1, arguments);
    return this.#solver(this.#checked(options));
  }

  #checked(options: SolveOptions): CheckedSolve { return nativeOptions(options, (variables, what) => this.#own(variables, what).handle); }

  #solver(options: CheckedSolve): Solver { return new SolverOf(this.tasks, this.#alive, options, () => this.#traceMs); }

  async multiStart(options: MultiStartOptions): Promise<MultiStartReport> {
    takesNoMore("problem.multiStart(options)", 1, arguments);
    const { starts, onStart, ...solve } = checked("multiStart(options): options", options, MULTI_START);
    const known = this.#checked(solve as SolveOptions);
    const loading = this.tasks.solving(this.#alive(), known.native);
    if (loading) await this.tasks.hold(this.#handle, loading);
    const laidOut = this.#layOut(known);
    const solver = this.#solver(laidOut ? await laidOut : known);
    try {
      return await solveFrom(solver, { starts, onStart, signal: solve.signal }, this.#own);
    } finally {
      solver.dispose();
    }
  }

  async solveGraduated(options: GraduatedOptions): Promise<GraduatedReport> {
    takesNoMore("problem.solveGraduated(options)", 1, arguments);
    const { suspects, cost = "tls", muStep, maxRounds, roundTolerance, ...solve } = checked("solveGraduated(options): options", options, GRADUATED);
    const { terms, thresholds, known } = packSuspects(suspects, this);
    const { native: given, signal, onIteration } = this.#checked(solve as SolveOptions);
    const begin = (native: NativeEngine) => native.graduated(this.#alive(), terms, thresholds, known, cost, muStep, maxRounds, roundTolerance, given);
    const { graduated } = await this.tasks.begin(this.#alive(), NEEDS.graduated, begin, { onIteration: onIteration && stopOf(onIteration), signal, limitMs: given.timeLimitMs });
    if (!graduated) throw new LeastwiseError("internal", "the engine gave no graduated solve; this is a bug of Leastwise, please report it");
    return new GraduatedReportOf(graduated, new SolveReport(graduated.report, this.#traceMs), terms);
  }

  /** One of the problem's tables. */
  #own = (variables: unknown, what: string): TableOf<unknown, boolean> => {
    if (!isA(variables, TableOf<unknown, boolean>)) throw new LeastwiseError("invalid-option", `${what} must be variables of this problem, not ${describe(variables)}`);
    if (variables.problem !== this) throw new LeastwiseError("foreign-variable", `${what} is "${variables.name}" of another problem`);
    return variables;
  };

  async covariance(of: Variables<any>, which?: Indices | Mask, options: CovarianceOptions & CovarianceSpace = {}): Promise<F64> {
    takesNoMore("problem.covariance(of, which, options)", 3, arguments);
    const { space = "tangent", onProgress, ...known } = checked("covariance options", options, { ...COVARIANCE, ...SPACE });
    // What is asked for wrongly is refused before anything is computed.
    if (which !== undefined && !isArrayLike(which)) throw new LeastwiseError("shape", `problem.covariance(of, which, options): which is an array of instances or a mask, not ${describe(which)}: options are third`);
    const instances = this.#own(of, "covariance(of): of").instances("covariance", which);
    const part = (from: number, to: number) => (onProgress ? { onProgress: (done: number, total: number) => onProgress(from + (to - from) * done / total, 1) } : {});
    const marginals = await this.#marginals({ ...known, ...part(0, FACTORISED) });
    try {
      return await marginals.covariance(of, instances, { space, ...(known.signal && { signal: known.signal }), ...part(FACTORISED, 1) });
    } finally {
      marginals.dispose();
    }
  }

  async marginals(options: CovarianceOptions = {}): Promise<Marginals> {
    takesNoMore("problem.marginals(options)", 1, arguments);
    return this.#marginals(checked("covariance options", options, COVARIANCE));
  }

  async #marginals({ variance, deficient, rankTolerance, signal, onProgress }: Checked<typeof COVARIANCE>): Promise<Marginals> {
    const known = variance === "estimated" ? undefined : variance;
    const begin = (native: NativeEngine) => native.covariance(this.#alive(), known, deficient === "pseudo-inverse", rankTolerance);
    const { covariance } = await this.tasks.begin(this.#alive(), this.#isConstrained ? NEEDS.rare : NEEDS.covariance, begin, { signal, onProgress, onAbort: "reject" });
    if (!covariance) throw new LeastwiseError("internal", "the engine gave no covariance; this is a bug of Leastwise, please report it");
    return new MarginalsOf(this.tasks, this.#alive, this.#own, covariance);
  }

  async backward(of: readonly Cotangent[], options: BackwardOptions = {}): Promise<Gradients> {
    takesNoMore("problem.backward(of, options)", 2, arguments);
    const { space = "values", deficient, rankTolerance, stationaryTolerance, signal, onProgress } = checked("backward(of, options): options", options, BACKWARD);
    const { tables, values } = packCotangents(of, this.#own);
    const begin = (native: NativeEngine) => native.backward(this.#alive(), tables, values, space === "tangent", deficient === "least-norm", rankTolerance, stationaryTolerance);
    const { gradients } = await this.tasks.begin(this.#alive(), NEEDS.rare, begin, { signal, onProgress, onAbort: "reject" });
    if (!gradients) throw new LeastwiseError("internal", "the engine gave no gradients; this is a bug of Leastwise, please report it");
    return new GradientsOf(gradients, this, this.#own);
  }

  /** True if it belongs to this engine. @internal */
  isOn(tasks: Tasks): boolean { return this.tasks === tasks && !this.#disposed; }

  /** Somebody outside has its buffer, so that it is freed by `dispose()` alone. @internal */
  keep(): void { remember(this); }

  /** What the engine knows of a term's kernels, for benchmarks and tests. @internal */
  get handle(): number { return this.#alive(); }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.tasks.owners.dispose(this, "problems", this.#handle);
    this.onDispose(this);
  }

  [Symbol.dispose](): void { this.dispose(); }
}
