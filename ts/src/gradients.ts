/** Differentiating through a solve: how a function of the solution depends on what the solution was made of. */
import { isList, listOf, numbersOf, type F64, type Rows } from "./arrays.js";
import { isA, LeastwiseError } from "./errors.js";
import { describe } from "./expression.js";
import type { NullSpacePart } from "./covariance.js";
import type { NativeGradients } from "./native.js";
import { measure, oneOf, REPORTING, type Reporting } from "./options.js";
import type { Constants, TableOf, Variables } from "./table.js";
import { TermOf, type Term } from "./term.js";
import { joined } from "./wire.js";

/**
 * ∂L/∂x of variables, for all of their instances: flat, as `x.read()` gives their values.
 *
 * @example
 * const cotangent: Cotangent = [scale, [1]];  // L = scale
 * const gradients = await problem.backward([cotangent]);
 */
export type Cotangent = readonly [of: Variables<any>, cotangent: ArrayLike<number> | Rows];

/**
 * How gradients are made. Where their `signal` is aborted, the call rejects with the reason of that; `onProgress` gets the share that is done,
 * as `(done, total)`: steps towards the stationary point begin anew.
 *
 * @example
 * const options: BackwardOptions = { deficient: "least-norm" };
 * await problem.backward([[scale, [1]]], options);
 */
export interface BackwardOptions extends Reporting {
  /**
   * Coordinates of the cotangents:
   *
   * - `"values"`: the scalars that are stored, as a formula for L over `x.read()` has it.
   * - `"tangent"`: steps δ of x ⊕ δ, as many as an instance has degrees of freedom.
   *
   * @defaultValue `"values"`
   */
  space?: "values" | "tangent";
  /**
   * Treatment of directions along which the cost is constant, such as moving everything together, if L changes along them:
   *
   * - `"error"`: `rank-deficient`, naming what moves. An L that doesn't change along them has a gradient all the same.
   * - `"least-norm"`: that part of the cotangent is left out, as if the solution never moved that way.
   *
   * @defaultValue `"error"`
   */
  deficient?: "error" | "least-norm";
  /**
   * Rank threshold: eigenvalues of the Hessian, scaled to a diagonal of ones, count as 0 up to this part of the largest.
   *
   * @defaultValue 1e-10; 1e-5 for values in f32
   */
  rankTolerance?: number;
  /** Greatest ‖H⁻¹g‖ / ‖x‖ (with constraints, of the step to where they are met as well) of values that count as {@link Gradients.stationary}. @defaultValue 1e-3 */
  stationaryTolerance?: number;
}

/**
 * The gradients with respect to what a term was given: its data columns as they were given, and its weight (one, or one an instance).
 *
 * @example
 * const { seen, weight }: TermGradients<{ seen: Float64Array }> = (await problem.backward([[scale, [1]]])).of(term);
 */
export type TermGradients<D> = { readonly [K in keyof D]: F64 } & { readonly weight: F64 };

/**
 * dL/dθ for everything that the solution depends on.
 *
 * @example
 * const gradients: Gradients = await problem.backward([[scale, [1]]]);
 * console.log(gradients.of(term).seen);  // ∂L/∂ of every observation
 */
export interface Gradients {
  /** Gradients of a term: for every data column, and the weight, as many values as it has. 0 if the term is disabled, and for weights of constraints. */
  of<D>(term: Term<D>): TermGradients<D>;
  /** Of constants: for every scalar. Of variables: for every degree of freedom the gradient with respect to where it is held, if it is fixed or at a limit; else 0. */
  of(table: Constants<any> | Variables<any>): F64;
  /**
   * True if the values are stationary within the tolerance; with constraints, if their multipliers have been found as well, and none
   * contradicts others. If not, the theorem does not apply: solve with smaller tolerances first.
   */
  readonly stationary: boolean;
  /** ‖H⁻¹g‖ / ‖x‖: how far the stationary point is, to first order; and max |gᵢ|, of what may move. Both at the present values. */
  readonly distance: number;
  readonly gradientNorm: number;
  /** Newton's steps, in f64, from the present values to the point whose gradients these are; the variables stay as they are. None where `distance` is more than 0.01. */
  readonly refinements: number;
  /** Independent directions along which the cost stays as it is, and what they move. */
  readonly deficiency: number;
  readonly unseen: readonly NullSpacePart[];
  /**
   * Rows of constraints that hold with equality: all of equalities, and of inequalities those with a multiplier above rounding. Then those
   * of them that depend on others and agree with them, whose own data have a gradient of 0; and the largest violation, at the point that
   * the gradients are of.
   */
  readonly equalities: number;
  readonly redundant: number;
  readonly violation: number;
  /** Degrees of freedom that are neither fixed nor held by a limit. */
  readonly unknowns: number;
  /** How the adjoint system was solved: by singular values, or by a sparse factor of the Hessian. */
  readonly method: "dense" | "sparse";
}

/** @internal */
export const BACKWARD = {
  space: oneOf("values", "tangent"), deficient: oneOf("error", "least-norm"), rankTolerance: measure, stationaryTolerance: measure, ...REPORTING,
} as const;

/** Tables with the lengths of their cotangents, and these one after the other. @internal */
export function packCotangents(of: readonly Cotangent[], own: (variables: unknown, what: string) => TableOf<unknown, boolean>): { tables: Uint32Array; values: Float64Array } {
  const parts = listOf("backward(of): of", of, "must be a list of [variables, cotangent]").map((pair, k) => {
    const given = isList(pair) ? listOf(`backward(of): of[${k}]`, pair, "") : [];
    if (given.length !== 2) throw new LeastwiseError("invalid-option", `backward(of): of[${k}] must be [variables, cotangent], not ${describe(pair)}`);
    const table = own(given[0], `backward(of): of[${k}][0]`);
    return { handle: table.handle, values: numbersOf(`backward(of): the cotangent of "${table.name}"`, given[1], { width: 0 }) };
  });
  const values = joined("backward(of): the cotangents", parts.map((part) => part.values));
  return { tables: Uint32Array.from(parts.flatMap((part) => [part.handle, part.values.length])), values };
}

/** @internal */
export class GradientsOf implements Gradients {
  readonly #terms = new Map<number, { columns: Float64Array[]; weight: Float64Array }>();
  readonly #tables = new Map<number, Float64Array>();

  constructor(private readonly made: NativeGradients, private readonly problem: object, private readonly own: (variables: unknown, what: string) => TableOf<unknown, boolean>) {
    let next = 0;
    const take = (length: number): Float64Array => made.values.slice(next, next += length);
    for (const { term, columns, weight } of made.terms) this.#terms.set(term, { columns: columns.map(take), weight: take(weight) });
    for (const { table, values } of made.tables) this.#tables.set(table, take(values));
  }

  get stationary(): boolean { return this.made.stationary; }
  get distance(): number { return this.made.distance; }
  get gradientNorm(): number { return this.made.gradientNorm; }
  get refinements(): number { return this.made.refinements; }
  get deficiency(): number { return this.made.deficiency; }
  get unseen(): readonly NullSpacePart[] { return this.made.unseen; }
  get equalities(): number { return this.made.equalities; }
  get redundant(): number { return this.made.redundant; }
  get violation(): number { return this.made.violation; }
  get unknowns(): number { return this.made.unknowns; }
  get method(): "dense" | "sparse" { return this.made.method; }

  of<D>(term: Term<D>): TermGradients<D>;
  of(table: Constants<any> | Variables<any>): F64;
  of(what: unknown): unknown {
    if (!isA(what, TermOf)) {
      const found = this.#tables.get(this.own(what, "gradients.of(…)").handle);
      if (!found) throw new LeastwiseError("invalid-option", "gradients.of(table): it was made after these gradients");
      return found;
    }
    const found = what.problem === this.problem ? this.#terms.get(what.handle) : undefined;
    if (!found) throw new LeastwiseError("foreign-variable", `gradients.of(term): "${what.name}" is no term of this problem, or was made after these gradients`, { term: what.name });
    const { columns, weight } = found;
    return { ...Object.fromEntries(what.columnNames.map((name, k) => [name, columns[k]])), weight };
  }
}
