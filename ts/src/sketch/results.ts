/** Results of a sketch's solve. */
import type { Report } from "../report.js";

/**
 * A dependency among constraints: one that adds nothing, and those that say the same already.
 *
 * @example
 * const { redundant } = await sketch(lw).solve();
 * console.log(redundant.map(({ constraint, because }: Dependency) => `${constraint} follows from ${because}`));
 */
export interface Dependency {
  readonly constraint: string;
  readonly because: readonly string[];
}

/**
 * Degrees of freedom of a sketch, and constraints that depend on each other.
 *
 * Constraints are compared by the rows of their Jacobian at the solution that was found. Where that is singular, as for a triangle
 * of sides 1, 1 and 2 or a line that touches a circle at a point that `pointOnCircle` holds as well, rows depend on each other that
 * would not nearby: constraints are called redundant then, and freedom is counted, that are not.
 *
 * @example
 * const { degreesOfFreedom, redundant }: SketchDiagnosis = await sketch(lw).solve();
 */
export interface SketchDiagnosis {
  /** Unknowns minus independent constraints at the solution: 0 where nothing can move, 3 where all can only move as one. */
  readonly degreesOfFreedom: number;
  /** Constraints that hold and add nothing: all equations of each follow from earlier constraints, so it could be left out. */
  readonly redundant: readonly Dependency[];
  /** Constraints of several equations of which some, and not all, follow from earlier constraints: they can't be left out. */
  readonly partly: readonly Dependency[];
  /** Constraints that can't hold together with those that they depend on. Empty unless the solve ended by itself. */
  readonly conflicting: readonly Dependency[];
}

/**
 * Outcome of a sketch's solve, without a diagnosis.
 *
 * @example
 * const { solved, worst }: SketchPlacement = await sketch(lw).solve({ diagnose: false });
 */
export interface SketchPlacement {
  /** True if all constraints are met to `tolerance` times the sketch's size. */
  readonly solved: boolean;
  /** Largest residual, in the sketch's units: a distance, or for an angle about the least movement that closes it. */
  readonly residual: number;
  /** Name of the constraint with that residual; `undefined` if the sketch is solved. */
  readonly worst: string | undefined;
  /** Report of the last minimisation; `undefined` if there was nothing to solve. */
  readonly report: Report | undefined;
  readonly counts: SketchCounts;
}

/**
 * Work of a sketch's solve.
 *
 * @example
 * const { counts }: { counts: SketchCounts } = await sketch(lw).solve();
 * console.log(counts.steps, counts.eliminated);
 */
export interface SketchCounts {
  /** Problems that were built for the engine: 0 while only places, values and fixed points change. */
  readonly builds: number;
  /** Minimisations, by decreasing weight of the movement. */
  readonly minimisations: number;
  /** Levenberg–Marquardt steps of these. */
  readonly steps: number;
  /** Connected components that were diagnosed anew. */
  readonly components: number;
  /** Equations in them. */
  readonly eliminated: number;
  /** Multiply–adds of their elimination. */
  readonly operations: number;
}

/**
 * Result of a sketch's solve.
 *
 * @example
 * const { solved, degreesOfFreedom }: SketchResult = await sketch(lw).solve();
 */
export interface SketchResult extends SketchPlacement, SketchDiagnosis {}

/**
 * How a sketch is solved.
 *
 * @example
 * const options: SketchOptions = { tolerance: 1e-9, maxIterations: 100 };
 * await sketch(lw).solve(options);
 */
export interface SketchOptions {
  /** Greatest residual of a solved sketch, relative to the sketch's size. @defaultValue 1e-6 */
  tolerance?: number;
  /** Greatest number of steps of each minimisation. @defaultValue 500 */
  maxIterations?: number;
  /**
   * True to count degrees of freedom and compare constraints. What was found is kept for as long as only places move, so a drag
   * does not pay for it. @defaultValue true
   */
  diagnose?: boolean;
}
