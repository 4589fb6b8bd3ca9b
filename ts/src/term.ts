/** Terms: one residual function, traced once, over many instances. */
import { isFloats, numbersOf, type Floats, type F64, type IndexTable, type Rows } from "./arrays.js";
import { ColumnData, EntryData, plain, type PlainColumn, type Update } from "./data.js";
import { LeastwiseError, reading } from "./errors.js";
import { packedLoss, type Loss } from "./loss.js";
import { checked, entriesOf, flag, meant, measure, oneOf, takesNoMore } from "./options.js";
import { NEEDS } from "./parts.js";
import { plainWeight, type NamedColumn } from "./residual.js";
import { formOf } from "./shape.js";
import type { Tasks } from "./tasks.js";
import { isTensor } from "./tensor/apply.js";
import { borrow, type Loan } from "./tensor/lending.js";
import type { AnyTensor } from "./tensor/tensor.js";
import type { TermCrossing } from "./wire.js";

/**
 * A term of a problem: its data, weight and the parameters of its loss can change at any time, being enabled between solves and
 * live steps; nothing is compiled for it. An instance of weight 0 is evaluated like any other, so its residual has to be finite.
 *
 * @example
 * const term: Term<{ seen: Float64Array }> = problem.residuals("fit", { of: [scale], data: { seen: Float64Array.of(1, 2) } },
 *   ([s], { seen }) => s.sub(seen));
 * term.set({ seen: Float64Array.of(1, 3) });
 */
export interface Term<D> extends Disposable {
  readonly name: string;
  /** Number of instances. */
  readonly count: number;
  /** True if the term takes part in the cost. @defaultValue true */
  enabled: boolean;
  /**
   * Replaces data columns (with the same lengths), the weight, or the parameters of the loss, which must be of the kind
   * that the term was made with: all that is given, or nothing if any of it is refused.
   *
   * A tensor's elements never leave the device: it is evaluated, and copied there into the term's data; calls on the problem wait for that
   * (steps of {@link Solver.advance} pause). Its shape is that of the column, [count], [count, width] or, if it is shared, [width]. Elements
   * are not looked at: weights below 0 are the caller's affair.
   *
   * @throws `shape` and `dtype` for a tensor that does not fit; `foreign-tensor` for one of another engine
   */
  set(changes: { [K in keyof D]?: Update<D[K]> } & { weight?: number | Floats | AnyTensor; loss?: Loss }): void;
  /** Its cost ½ Σ w ρ(‖r‖²) at the accepted values; of an energy, Σ w E. */
  cost(): Promise<number>;
  /** The `count` instances that cost most, the worst first. */
  worst(count: number): Promise<{ instance: number; cost: number }[]>;
  /**
   * r and J of every instance at the accepted values, as the device computes them: to look at, or for a method of your
   * own; of a ragged term whose rows of r differ in number, shorter ones end with 0. Columns of J are the scalars (on a {@link Manifold}, the degrees of freedom) of the term's variables, slot by slot (of ragged slots, entry by entry; of slots
   * of `each`, none: J is the whole derivative with respect to the row's own). Of an energy r is the one scalar E, and J its gradient.
   */
  evaluate(): Promise<Evaluation>;
  /** With the Hessian of every instance's ½ w ρ(‖r‖²) (of an energy's w E), too. r and J are those of the residual itself, without its loss. */
  evaluate(options: { hessian: HessianForm }): Promise<Evaluation & HessianEvaluation>;
  evaluate(options: { hessian?: HessianForm | undefined }): Promise<Evaluation & Partial<HessianEvaluation>>;
  /**
   * Compares J with differences of r in f64, at the accepted values, and gives the worst entry. Widths are chosen for every entry: relative to the
   * value, and as narrow as the residual's features (Richardson's extrapolation). A loss has no part in either.
   */
  checkGradients(): Promise<GradientCheck>;
  /** Frees its buffers and takes it out of the problem. */
  dispose(): void;
}

/**
 * r and J of all instances of a term.
 *
 * @example
 * const { residuals, jacobian, rows, columns }: Evaluation = await term.evaluate();
 */
export interface Evaluation {
  /** Rows of an instance's r, and columns of its J. */
  readonly rows: number;
  readonly columns: number;
  /** `count × rows`. Not finite where the residual is not defined. */
  readonly residuals: F64;
  /** `count × rows × columns`. */
  readonly jacobian: F64;
}

/**
 * The entry of J that is furthest from what differences of r give.
 *
 * @example
 * const check: GradientCheck = await term.checkGradients();
 * if (check.error > 1e-6) console.log(check.instance, check.derivative, check.difference);
 */
export interface GradientCheck {
  /** |derivative − difference| / max(1, |derivative|, |difference|). About 1e-9 in f64 and 1e-5 in f32 where all is well; large at a kink. */
  readonly error: number;
  readonly instance: number;
  readonly row: number;
  /** Which slot (of ragged ones, plain slots first, then entry by entry), and which of its scalars or degrees of freedom. */
  readonly slot: number;
  readonly component: number;
  readonly derivative: number;
  readonly difference: number;
  /** Entries that were not compared: the residual is not defined on both sides (acos at 1), or no differences agree with each other. */
  readonly skipped: number;
}

/**
 * A Hessian as it is (`"exact"`), or the positive semidefinite matrix nearest to it (`"psd"`), whose negative eigenvalues
 * are 0: a method that steps along it never climbs.
 *
 * @example
 * const form: HessianForm = "psd";
 * await term.evaluate({ hessian: form });
 */
export type HessianForm = "exact" | "psd";

/**
 * Second derivatives of all instances of a term.
 *
 * @example
 * const { hessian }: HessianEvaluation = await term.evaluate({ hessian: "exact" });
 */
export interface HessianEvaluation {
  /** `count × columns × columns`: of ½ w ρ(‖r‖²), symmetric, with the columns of the Jacobian. */
  readonly hessian: F64;
}

/**
 * Definition of a term.
 *
 * @example
 * const options = { of: [x], weight: 5, loss: huber(1) } satisfies TermOptions<[Slot<Vec3>], {}>;
 * problem.residuals("near", options, ([p]) => p);
 */
export interface TermOptions<O, D> {
  /**
   * An index table, flat or in rows (`[[i, j], …]`), one for each instance; or a number of instances. Without it that number is, the first that there is: the rows of
   * ragged slots, the length of a slot's own index column, the instances of a bare slot's table, unless it has one only, the values of a
   * data column or the weights of one value an instance, 1.
   *
   * @defaultValue the first that there is of those below
   */
  over?: number | IndexTable | Rows;
  of: O;
  /** Data of the instances, by name. @defaultValue none */
  data?: D;
  /** w in ½ w ρ(‖r‖²), and in w E of an energy: one for all, or one an instance. Not negative. @defaultValue 1 */
  weight?: number | Floats | AnyTensor;
  /** ρ in ½ w ρ(‖r‖²), of an instance's whole residual. @defaultValue ‖r‖²: least squares */
  loss?: Loss | undefined;
  /**
   * Matrix of the residuals in a step's linear system:
   *
   * - `"gauss-newton"`: JᵀWJ, which is exact for linear residuals and good where they are small at the solution.
   * - `"full"`: the exact Hessian of ½ w ρ(‖r‖²), of every instance the positive semidefinite matrix nearest to it, as an energy has it
   *   (projected Newton). For residuals that stay large, such as stretched springs, and for time stepping. All methods, linear solvers and
   *   losses take it; residuals by {@link sumOver} and covariances do not.
   *
   * @defaultValue `"gauss-newton"`
   */
  curvature?: "gauss-newton" | "full" | undefined;
}

/**
 * Definition of an energy: that of a term, without a loss or a choice of curvature.
 *
 * @example
 * const options = { of: [x], weight: 0.5 } satisfies EnergyOptions<[Slot<Vec3>], {}>;
 */
export type EnergyOptions<O, D> = Omit<TermOptions<O, D>, "loss" | "curvature">;

/**
 * Definition of a constraint: that of a term, without a loss or a choice of curvature, with its relation to 0.
 *
 * @example
 * const options = { of: [x], to: "=0" } satisfies ConstraintOptions<[Slot<Vec3>], {}>;
 */
export type ConstraintOptions<O, D> = Omit<TermOptions<O, D>, "loss" | "curvature"> & {
  /** c = 0, c ≤ 0 or c ≥ 0, row by row. */
  to: "=0" | "<=0" | ">=0";
};

/**
 * A term that is a constraint. Its weight scales its penalty; 0 lifts it for an instance. Its cost is that of the penalty,
 * ½ μw ‖kc + λ/(μwk)‖², and r of {@link Term.evaluate} is kc + λ/(μwk), of inequalities the positive part (of −c for c ≥ 0). k is 1,
 * or less in rows that were steep where the last solve began.
 *
 * @example
 * const floor: Constraint<{}> = problem.constrain("floor", { of: [x], to: ">=0" }, ([p]) => p.y);
 * await problem.solve();
 * console.log(await floor.multipliers());
 */
export interface Constraint<D> extends Term<D> {
  set(changes: { [K in keyof D]?: Update<D[K]> } & { weight?: number | Floats | AnyTensor }): void;
  /**
   * λ as the last solve left it: `count × rows`, instance by instance. At the solution ∇f + Σ λ∇c = 0 for c = 0 and c ≤ 0, and
   * ∇f − Σ λ∇c = 0 for c ≥ 0, where f is the cost of all other terms; of inequalities λ ≥ 0, and 0 where they do not hold anything.
   */
  multipliers(): Promise<F64>;
}

const EVALUATE = { hessian: oneOf("exact", "psd") } as const;

/** @internal */
export class TermOf<D> implements Term<D> {
  #enabled = true;
  #disposed = false;

  readonly name: string;
  readonly count: number;
  private readonly columns: readonly NamedColumn[];
  /** How many entries its rows have in all. */
  private readonly entries: number;
  private readonly isWeighedEach: boolean;

  constructor(made: TermCrossing, readonly problem: object, protected readonly tasks: Tasks, private readonly problemHandle: () => number, readonly handle: number, private readonly forget: (name: string) => void) {
    this.name = made.name;
    this.count = made.layout.count;
    this.columns = made.entries.length ? [...made.columns, ...made.entries] : made.columns;
    this.entries = made.rows?.indices.length ?? 0;
    this.isWeighedEach = typeof made.weight === "object";
  }

  /** In the order in which the engine has them. */
  get columnNames(): readonly string[] { return this.columns.map((column) => column.name); }

  protected alive(): number {
    if (this.#disposed) throw new LeastwiseError("disposed", `term "${this.name}" was disposed: it can't be used any more`, { term: this.name });
    return this.problemHandle();
  }

  get enabled(): boolean { return this.#enabled; }
  set enabled(enabled: boolean) {
    flag(`term "${this.name}": enabled`, enabled, { term: this.name });
    this.tasks.call((native) => native.setEnabled(this.alive(), this.handle, enabled));
    this.#enabled = enabled;
  }

  /** Refuses arguments that a call does not take. */
  protected noMore(call: string, count: number, given: ArrayLike<unknown>): void {
    takesNoMore(`term "${this.name}": ${call}`, count, given, undefined, { term: this.name });
  }

  set(changes: { [K in keyof D]?: Update<D[K]> } & { weight?: number | Floats | AnyTensor; loss?: Loss }): void {
    this.noMore("set(changes)", 1, arguments);
    const problem = this.alive();
    // Everything is checked, and nothing of the caller's runs any more, before anything is written.
    const { columns, weight, loss, lent } = reading(`term "${this.name}": set(changes): changes`, () => this.#changes(changes), { term: this.name });
    const borrowed = lent.length ? borrow(this.tasks, problem, lent) : undefined;
    try {
      // First, because whether it is of the same kind only the engine knows.
      if (loss) this.tasks.call((native) => native.setLoss(problem, this.handle, Uint32Array.from(loss.words), Float64Array.from(loss.reals)));
    } catch (error) {
      borrowed?.drop();
      throw error;
    }
    borrowed?.give();
    for (const { number, values } of columns) this.tasks.call((native) => native.setColumn(problem, this.handle, number, values));
    if (weight !== undefined) this.tasks.call((native) => native.setWeight(problem, this.handle, weight));
  }

  /** Tensors among changes, of which all others are left out. */
  loans(changes: object): readonly Loan[] {
    this.alive();
    return reading(`term "${this.name}": set(changes): changes`, () => this.#changes(changes), { term: this.name }).lent;
  }

  #changes(changes: object): { lent: Loan[]; columns: { number: number; values: Floats }[]; weight: number | Floats | undefined; loss: ReturnType<typeof packedLoss> } {
    const { weight: givenWeight, loss: givenLoss, ...data } = Object.fromEntries(entriesOf(`term "${this.name}": set(changes): changes`, changes, { term: this.name }));
    const columns: { number: number; values: Floats }[] = [], lent: Loan[] = [];
    for (const [name, values] of Object.entries(data)) {
      if (values === undefined) continue;
      const number = this.columns.findIndex((column) => column.name === name);
      const column = this.columns[number];
      if (!column) throw new LeastwiseError("invalid-option", `term "${this.name}" has no data column "${name}"${meant(name, this.columnNames, "it has")}`, { term: this.name });
      const tensor = (values instanceof EntryData && column.plain.entries) || (values instanceof ColumnData && values.form.width === column.plain.form.width) ? values.values : values;
      if (isTensor(tensor)) {
        lent.push([[1, this.handle, number], tensor]);
        continue;
      }
      // A bare typed array is the flat content of whatever the column was made as.
      const what = `term "${this.name}": data column "${name}"`;
      const flat = values instanceof EntryData && column.plain.entries ? values.values : isFloats(values) && !column.plain.shared ? values : undefined;
      const next = flat ? { ...column.plain, values: numbersOf(what, flat, { term: this.name }) } : plain(values, this.name, name);
      if (next.shared !== column.plain.shared || next.form.width !== column.plain.form.width) {
        const was = column.plain.shared ? `${column.plain.form.width} shared by all instances` : `${column.plain.form.width} an instance`;
        throw new LeastwiseError("invalid-option", `${what} was made as ${was}; another layout would be another kernel: make a new term`, { term: this.name });
      }
      this.#check(`data column "${name}"`, next);
      columns.push({ number, values: next.values });
    }
    if (isTensor(givenWeight)) lent.push([[2, this.handle], givenWeight]);
    const weight = isTensor(givenWeight) ? undefined : plainWeight(this.name, givenWeight);
    if (weight !== undefined) this.#checkWeight(weight);
    return { lent, columns, weight, loss: packedLoss(this.name, givenLoss) };
  }

  /** The engine's own checks of a column, in its words. */
  #check(what: string, { form: { width }, shared, entries, values }: PlainColumn): void {
    const needed = shared ? width : entries ? this.entries : this.count * width;
    if (values.length !== needed) {
      const expected = shared ? `${width} (shared by all instances)` : entries ? `${needed} (one an entry)` : `${needed} (${this.count} instances of ${width})`;
      throw new LeastwiseError("data-length", `term "${this.name}": ${what} has ${values.length} values, but ${expected} are needed`, { term: this.name });
    }
    // NaN is not within the range either.
    const position = values.findIndex((value) => !(Math.abs(value) <= this.tasks.largest));
    if (position >= 0) {
      const value = String(values[position]).replace("Infinity", "inf").replace("e+", "e");
      const wrong = Number.isFinite(values[position]) ? `${what}: value ${position} is ${value}, and numbers of f32 end at 3.4e38: scale it, or use an engine in f64` : `${what} is not finite: value ${position} is ${value}`;
      throw new LeastwiseError("non-finite", `term "${this.name}": ${wrong}`, { term: this.name, instance: shared || entries ? undefined : Math.floor(position / width) });
    }
  }

  #checkWeight(weight: number | Floats): void {
    const isEach = typeof weight === "object";
    if (isEach && !this.isWeighedEach) {
      throw new LeastwiseError("invalid-option", `term "${this.name}": weight is one number for all instances: give an array when the term is made to have one for each`, { term: this.name });
    }
    const values = isEach ? weight : Float64Array.of(weight);
    const negative = values.findIndex((value) => value < 0);
    if (negative >= 0) throw new LeastwiseError("invalid-option", `term "${this.name}": weight must not be negative, but value ${negative} is`, { term: this.name });
    this.#check("weight", { form: formOf(1), shared: !isEach, values });
  }

  async #costs(): Promise<Float64Array> {
    return (await this.tasks.begin(this.alive(), NEEDS.costs, (native) => native.termCosts(this.alive(), this.handle))).values ?? new Float64Array();
  }

  async cost(): Promise<number> {
    this.noMore("cost()", 0, arguments);
    return (await this.#costs()).reduce((sum, cost) => sum + cost, 0);
  }

  async worst(count: number): Promise<{ instance: number; cost: number }[]> {
    this.noMore("worst(count)", 1, arguments);
    measure(`term "${this.name}".worst(count): count`, count, { term: this.name });
    const costs = Array.from(await this.#costs(), (cost, instance) => ({ instance, cost }));
    return costs.sort((a, b) => b.cost - a.cost || a.instance - b.instance).slice(0, count);
  }

  evaluate(): Promise<Evaluation>;
  evaluate(options: { hessian: HessianForm }): Promise<Evaluation & HessianEvaluation>;
  async evaluate(options: { hessian?: HessianForm | undefined } = {}): Promise<Evaluation & Partial<HessianEvaluation>> {
    this.noMore("evaluate(options)", 1, arguments);
    const { hessian: form } = checked(`term "${this.name}": evaluate(options): options`, options, EVALUATE, { term: this.name });
    const { residuals: rows, inputs: columns } = this.tasks.call((native) => native.describeTerm(this.alive(), this.handle));
    const values = (await this.tasks.begin(this.alive(), NEEDS.rare, (native) => native.evaluateTerm(this.alive(), this.handle, form))).values ?? new Float64Array();
    const hessian = values.length - (form === undefined ? 0 : this.count * columns * columns);
    const jacobian = hessian - this.count * rows * columns;
    const evaluation = { rows, columns, residuals: values.slice(0, jacobian), jacobian: values.slice(jacobian, hessian) };
    return form === undefined ? evaluation : { ...evaluation, hessian: values.slice(hessian) };
  }

  async checkGradients(): Promise<GradientCheck> {
    this.noMore("checkGradients()", 0, arguments);
    const { values } = await this.tasks.begin(this.alive(), NEEDS.rare, (native) => native.checkTerm(this.alive(), this.handle));
    const [error = 0, instance = 0, row = 0, slot = 0, component = 0, derivative = 0, difference = 0, skipped = 0] = values ?? [];
    return { error, instance, row, slot, component, derivative, difference, skipped };
  }

  dispose(): void {
    if (this.#disposed) return;
    this.tasks.release((native) => native.freeTerm(this.problemHandle(), this.handle));
    this.#disposed = true;
    this.forget(this.name);
  }

  [Symbol.dispose](): void { this.dispose(); }
}

/** @internal */
export class ConstraintOf<D> extends TermOf<D> implements Constraint<D> {
  async multipliers(): Promise<F64> {
    this.noMore("multipliers()", 0, arguments);
    return ((await this.tasks.begin(this.alive(), NEEDS.rare, (native) => native.multipliers(this.alive(), this.handle))).values ?? new Float64Array()) as F64;
  }
}
