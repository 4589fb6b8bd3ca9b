/** Covariances: how well what was solved for is known. */
import { isList, listOf, type F64, type Indices, type Mask } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { describe } from "./expression.js";
import { checked, flag, measure, oneOf, REPORTING, type Kind, type Reporting } from "./options.js";
import type { NativeCovariance, NativeNullSpacePart } from "./native.js";
import type { TableOf, Variables } from "./table.js";
import type { Tasks } from "./tasks.js";

/**
 * How a covariance σ²(JᵀWJ)⁻¹ is made; with constraints it is that on the null space of their Jacobian, σ² Z (ZᵀJᵀWJZ)⁻¹Zᵀ. Where its `signal` is aborted, the call rejects with the reason of that; `onProgress` gets the share
 * that is done, as `(done, total)`.
 *
 * @example
 * const options: CovarianceOptions = { variance: 0.01 };  // the noise is known
 * const marginals = await problem.marginals(options);
 */
export interface CovarianceOptions extends Reporting {
  /**
   * σ², the variance of a residual of weight 1:
   *
   * - `"estimated"`: σ̂² = Σ w ρ(‖r‖²) / (m − n + e + d), with m rows of residuals, n unknowns, e independent rows of constraints and
   *   d directions that no residual sees. So do SciPy's `curve_fit` and NIST.
   * - a number: what is known of the noise. 1 where weights are inverse variances, as in Ceres and GTSAM.
   *
   * @defaultValue `"estimated"`
   */
  variance?: "estimated" | number;
  /**
   * Treatment of the null space: directions that leave every residual unchanged, such as moving everything together:
   *
   * - `"error"`: `rank-deficient`, naming what moves.
   * - `"pseudo-inverse"`: (JᵀWJ)⁺, whose variances are those across such directions. {@link Marginals.unseen} names them.
   *
   * @defaultValue `"error"`
   */
  deficient?: "error" | "pseudo-inverse";
  /**
   * Rank threshold: singular values of √W J, with columns scaled to length 1, count as 0 up to this part of the largest.
   * With many unknowns they are known to 1e-7 or so: JᵀWJ has their squares. @defaultValue 1e-10
   */
  rankTolerance?: number;
}

/**
 * Coordinates of covariances, and reporting: see {@link CovarianceOptions}.
 *
 * @example
 * const space: CovarianceSpace = { space: "values" };
 * const blocks = await (await problem.marginals()).covariance(pose, [0], space);
 */
export interface CovarianceSpace extends Reporting {
  /**
   * - `"tangent"`: steps δ of x ⊕ δ, as many as an instance has degrees of freedom; what is not on a manifold
   *   has as many as scalars.
   * - `"values"`: the scalars that are stored, PΣPᵀ with P = ∂(x ⊕ δ)/∂δ. On a manifold such a block is singular.
   *
   * @defaultValue `"tangent"`
   */
  space?: "tangent" | "values";
}

/**
 * Part of one table of variables in the null space of J: which of its instances can move without changing any residual, to first order,
 * and how many of these movements are translations, rotations and a scaling of all instances together.
 *
 * @example
 * const { unseen } = await problem.marginals({ deficient: "pseudo-inverse" });
 * console.log(unseen.map((which: NullSpacePart) => String(which)));
 */
export type NullSpacePart = NativeNullSpacePart;

/**
 * Instances of variables: all, or those of a list or a mask.
 *
 * @example
 * const parts: JointPart[] = [scale, [x, [0, 1]]];  // a whole table, and two instances of another
 * const joint = await (await problem.marginals()).joint(parts);
 */
export type JointPart = Variables<any> | readonly [of: Variables<any>, which?: Indices | Mask];

/**
 * The covariance of a problem's variables at the values that they had when it was made: what is asked of it costs no further
 * factorisation. It takes memory on the host until it is disposed, or its problem is.
 *
 * @example
 * const marginals: Marginals = await problem.marginals();
 * const [error] = await marginals.standardErrors(scale);
 * marginals.dispose();
 */
export interface Marginals extends Disposable {
  /** m: rows of residuals whose weight is not 0. */
  readonly residuals: number;
  /** n: degrees of freedom that are neither fixed nor held by a limit. */
  readonly unknowns: number;
  /** Degrees of freedom that are fixed, and those that are held by a limit. Both have a variance of 0. */
  readonly fixed: number;
  readonly atLimits: number;
  /** d: independent directions that no residual sees, and what they move. */
  readonly deficiency: number;
  readonly unseen: readonly NullSpacePart[];
  /**
   * Rows of constraints that hold with equality: all of equalities, and of inequalities those with a multiplier above rounding. Then those
   * of them that depend on others and agree with them, which change nothing; and the largest violation of all constraints, at the values
   * that the covariance is of.
   */
  readonly equalities: number;
  readonly redundant: number;
  readonly violation: number;
  /** ½ Σ w ρ(‖r‖²), in f64. */
  readonly cost: number;
  /** σ², and whether it was estimated. */
  readonly variance: number;
  readonly estimated: boolean;
  /** By the singular values of √W J (or, with `sumOver`, of JᵀWJ), or by a sparse factor of JᵀWJ. */
  readonly method: "dense" | "sparse";
  /** For every instance (all, or those in `which`) its block, row by row. */
  covariance(of: Variables<any>, which?: Indices | Mask, options?: CovarianceSpace): Promise<F64>;
  /** The roots of the blocks' diagonals. */
  standardErrors(of: Variables<any>, which?: Indices | Mask, options?: CovarianceSpace): Promise<F64>;
  /** The blocks, divided by their standard errors. What does not vary has 1 with itself and 0 with all else. */
  correlation(of: Variables<any>, which?: Indices | Mask, options?: CovarianceSpace): Promise<F64>;
  /** The blocks between an instance of `a` and one of `b`, pair by pair: rows are those of `a`. */
  crossCovariance(a: Variables<any>, whichA: Indices | Mask | undefined, b: Variables<any>, whichB?: Indices | Mask, options?: CovarianceSpace): Promise<F64>;
  /** One symmetric matrix of all these instances, in this order. */
  joint(of: readonly JointPart[], options?: CovarianceSpace & { correlation?: boolean }): Promise<F64>;
  dispose(): void;
}

/** Gives a variable's table, refusing what is none of the problem's. */
type TableOfProblem = (variables: unknown, what: string) => TableOf<unknown, boolean>;

/** σ²: known or estimated. */
const variance: Kind<number | "estimated"> = (name, value) => {
  if (value === "estimated" || typeof value === "number") return value;
  throw new LeastwiseError("invalid-option", `${name} must be a positive number or "estimated", not ${describe(value)}`);
};

/** @internal */
export const COVARIANCE = { variance, deficient: oneOf("error", "pseudo-inverse"), rankTolerance: measure, ...REPORTING } as const;
/** With respect to what blocks are. @internal */
export const SPACE = { space: oneOf("tangent", "values"), ...REPORTING } as const;
const JOINT = { ...SPACE, correlation: flag } as const;

/** @internal */
export class MarginalsOf implements Marginals {
  #disposed = false;

  constructor(private readonly tasks: Tasks, private readonly problem: () => number, private readonly tableOf: TableOfProblem, private readonly made: NativeCovariance) {
    tasks.owners.adopt(this, "covariances", made.handle);
  }

  get residuals(): number { return this.made.summary.residuals; }
  get unknowns(): number { return this.made.summary.unknowns; }
  get fixed(): number { return this.made.summary.fixed; }
  get atLimits(): number { return this.made.summary.atLimits; }
  get deficiency(): number { return this.made.summary.deficiency; }
  get unseen(): readonly NullSpacePart[] { return this.made.summary.unseen; }
  get equalities(): number { return this.made.summary.equalities; }
  get redundant(): number { return this.made.summary.redundant; }
  get violation(): number { return this.made.summary.violation; }
  get cost(): number { return this.made.summary.cost; }
  get variance(): number { return this.made.summary.variance; }
  get estimated(): boolean { return this.made.summary.estimated; }
  get method(): "dense" | "sparse" { return this.made.summary.method; }

  async covariance(of: Variables<any>, which?: Indices | Mask, options: CovarianceSpace = {}): Promise<F64> {
    return this.#blocks("covariance", this.#instances("covariance", of, which), undefined, options);
  }

  async standardErrors(of: Variables<any>, which?: Indices | Mask, options: CovarianceSpace = {}): Promise<F64> {
    return this.#blocks("errors", this.#instances("standardErrors", of, which), undefined, options);
  }

  async correlation(of: Variables<any>, which?: Indices | Mask, options: CovarianceSpace = {}): Promise<F64> {
    return this.#blocks("correlation", this.#instances("correlation", of, which), undefined, options);
  }

  async crossCovariance(a: Variables<any>, whichA: Indices | Mask | undefined, b: Variables<any>, whichB?: Indices | Mask, options: CovarianceSpace = {}): Promise<F64> {
    return this.#blocks("covariance", this.#instances("crossCovariance", a, whichA), this.#instances("crossCovariance", b, whichB), options);
  }

  async joint(of: readonly JointPart[], options: CovarianceSpace & { correlation?: boolean } = {}): Promise<F64> {
    const { correlation = false, ...space } = checked("joint(of, options): options", options, JOINT);
    const parts = listOf("joint(of): of", of, "must be a list of variables, or of [variables, which]").map((part) => {
      const [variables, which] = isList(part) ? listOf("joint(of): of", part, "") : [part];
      return this.#instances("joint", variables, which as Indices | Mask | undefined);
    });
    return this.#blocks(correlation ? "joint-correlation" : "joint", Uint32Array.from(parts.flatMap((part) => [...part])), undefined, space);
  }

  /** Table and instance, one after the other. */
  #instances(method: string, of: unknown, which: Indices | Mask | undefined): Uint32Array {
    const table = this.tableOf(of, `${method}(of): of`);
    const instances = table.instances(method, which);
    const words = new Uint32Array(2 * (instances?.length ?? table.count));
    for (let k = 0; 2 * k < words.length; k++) words.set([table.handle, instances ? instances[k]! : k], 2 * k);
    return words;
  }

  async #blocks(form: string, of: Uint32Array, others: Uint32Array | undefined, options: CovarianceSpace): Promise<F64> {
    const { space = "tangent", signal, onProgress } = checked(`${form}: options`, options, SPACE, { prefix: `${form}: ` });
    this.problem();
    if (this.#disposed) throw new LeastwiseError("disposed", "this covariance was disposed: it can't be used any more");
    const task = this.tasks.call((native) => native.covarianceBlocks(this.made.handle, of, others, form, space === "values"));
    const { values } = await this.tasks.run(task, { signal, onProgress, onAbort: "reject" });
    return values as F64;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.tasks.owners.dispose(this, "covariances", this.made.handle);
  }

  [Symbol.dispose](): void { this.dispose(); }
}
