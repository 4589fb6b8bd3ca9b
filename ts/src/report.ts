/** Reports: what a solve says of itself, in Ceres' words. */
import type { ErrorCode } from "./errors.js";
import type { NativeCounters, NativeFreedom, NativeIteration, NativeOffender, NativeReport } from "./native.js";
import type { Evaluator, Schedule } from "./tuning.js";

/**
 * One step of a solve, accepted or not.
 *
 * @example
 * await problem.solve({ onIteration: ({ index, cost }: Iteration) => console.log(index, cost) });
 */
export interface Iteration {
  readonly index: number;
  /** Σ ½ w ρ(‖r‖²) + Σ w E after the step if it was accepted, else before it. */
  readonly cost: number;
  /** Cost at the trial point minus the cost before it. */
  readonly costChange: number;
  /** max |gᵢ| before the step. */
  readonly gradientNorm: number;
  /** ‖s‖ */
  readonly stepNorm: number;
  /** λ that the linear system was solved with. */
  readonly damping: number;
  /** `"dogleg"`: the trust region's radius that the step was looked for in, in the norm √(sᵀDs). */
  readonly radius?: number;
  /** `"gauss-newton"`: the part of the whole step that was tried. */
  readonly length?: number;
  /** Achieved decrease over the one that the quadratic model predicted, between −10 and 10. */
  readonly gainRatio: number;
  /** Iterations of the linear solver. */
  readonly innerIterations: number;
  readonly accepted: boolean;
  readonly ms: number;
}

/**
 * Why a solve ended. Only `"converged"` met a tolerance; the others are reports too, never errors.
 *
 * @example
 * const good: Termination[] = ["converged", "precision"];
 * console.log(good.includes(report.termination));
 */
export type Termination = "converged" | "max-iterations" | "time-limit" | "stopped" | "no-progress" | "precision" | "singular" | "infeasible" | "unbounded";

/**
 * Work of the device during a solve. Matrices that came back to be factorised on the CPU (`matrixReadbacks`,
 * `matrixBytesReadBack`) are not among the other readbacks.
 *
 * @example
 * const before: Counters = lw.counters();
 */
export interface Counters extends NativeCounters {}

/**
 * An instance whose residual was not finite where a step led, the first of that step; and the step's number.
 *
 * @example
 * const offender: Offender | undefined = report.firstNonFinite;
 */
export interface Offender extends NativeOffender {}

/**
 * Unknowns that nothing holds: instances that no residual touches (`"untouched"`), or components along which all instances
 * of a variable can be moved together without any residual changing (`"translation"`). Damping keeps them where they are.
 * Other freedoms, such as turning everything, are not looked for here: `problem.marginals` finds them.
 *
 * @example
 * const describe = (freedom: Freedom) => JSON.stringify(freedom);
 * console.log(report.gauge.map(describe));
 */
export type Freedom = NativeFreedom;

/**
 * Continuation of a solve in f32 in mixed precision (docs/PRECISION.md), by its state:
 *
 * - `"not-needed"`: f32 is not what ended it, or it was not solved in f32
 * - `"done"`: it went on, and came to an end of its own
 * - `"refused"`: f32 is what ended it, and there is no more precision to be had for it
 * - `"failed"`: it was to go on, and that went wrong; what f32 came to stands
 * - `"ended"`: it was ended on the way, by a limit or from outside
 *
 * Of the last three, `code` says why:
 *
 * - refused: `"off"` (`precision: "f32"` was asked for), `"no-doubles"` (`lw.doubles` says why), `"constrained"`, `"tensors"` (data that a tensor has on the device), `"limits"` (its
 *   variables and constants would not fit in a buffer binding), `"max-iterations"`, `"time-limit"`, `"stopped"`
 * - failed: the code of the error
 * - ended: `"stopped"`, `"max-iterations"`, `"time-limit"`
 *
 * @example
 * const { state, reason }: Refinement = report.refinement;
 */
export interface Refinement {
  readonly state: "not-needed" | "done" | "refused" | "failed" | "ended";
  readonly code?: "off" | "no-doubles" | "constrained" | "tensors" | "max-iterations" | "time-limit" | ErrorCode;
  /** The same in a sentence. */
  readonly reason: string;
}

/**
 * How the products JᵀWJ·p of the instances of one structure are computed by `"pcg"`.
 *
 * @example
 * console.log(report.products.map(({ term, schedule }: ProductReport) => `${term}: ${schedule}`));
 */
export interface ProductReport {
  /** The first of the terms that share the kernel. */
  readonly term: string;
  readonly instances: number;
  readonly schedule: Schedule;
  /** Why it is this one. */
  readonly reason: string;
  /** Name of the product in tuning tables. */
  readonly key: string;
}

/**
 * Evaluator of a term's program on the CPU, where there is a choice.
 *
 * @example
 * const slow = report.evaluators.filter(({ evaluator }: EvaluatorReport) => evaluator === "interpreted");
 */
export interface EvaluatorReport {
  /** The first of the terms that share it, and what it computes: `"arap: linearize"`. */
  readonly program: string;
  readonly instances: number;
  readonly evaluator: Evaluator;
  /**
   * Whether the program's module was there at the end of the solve. The browser compiles it in the background (`"compiling"`), and until
   * it is `"ready"` the interpreter goes on, to the same bits. `"none"` of what is interpreted.
   */
  readonly module: "ready" | "compiling" | "none";
  /** Why it is this one; of what can't be compiled, why not. */
  readonly reason: string;
  /** Name of the program in tuning tables. */
  readonly key: string;
}

/**
 * How well a problem with constraints is solved.
 *
 * @example
 * const { feasibility } = await problem.solve();
 * const worst = (of: Feasibility) => of.constraints[0]?.term;
 * if (feasibility) console.log(feasibility.violation, worst(feasibility));
 */
export interface Feasibility {
  /** The largest |c| of equalities; of inequalities the largest |min(−c, λ/(μwk²))|, which is 0 where c or λ is 0 and the other as it must be. */
  readonly violation: number;
  /** The largest component of the Lagrangian's gradient, before the last step. */
  readonly optimality: number;
  /** Minimisations, one for each choice of multipliers. */
  readonly outerIterations: number;
  /** μ at the end. */
  readonly penalty: number;
  /** Each constraint's violation, where it is, and the largest |λ|. */
  readonly constraints: readonly { readonly term: string; readonly relation: "=0" | "<=0" | ">=0"; readonly violation: number; readonly instance: number; readonly row: number; readonly multiplier: number }[];
}

/**
 * The account of a whole solve. The variables hold the best accepted iterate, however it ended; after `method: "adam"`, which does
 * not look at the cost, the last one.
 *
 * @example
 * const report: Report = await problem.solve();
 * console.log(report.termination, report.cost, String(report));  // the last: a table of iterations
 */
export interface Report {
  readonly termination: Termination;
  readonly converged: boolean;
  /** The termination in a sentence, with its numbers. */
  readonly reason: string;
  /** Σ ½ w ρ(‖r‖²) + Σ w E at the start. */
  readonly initialCost: number;
  /** Σ ½ w ρ(‖r‖²) + Σ w E at the end. */
  readonly cost: number;
  readonly iterations: readonly Iteration[];
  readonly costByTerm: { readonly [name: string]: number };
  /** Violation of the constraints, if there are any. They have no part in the costs above, but for those of iterations. */
  readonly feasibility?: Feasibility;
  /** How many components were outside of their bounds before a step, and were moved to the nearest point inside. */
  readonly movedIntoBounds: number;
  /** Steps that were rejected because the residual was not finite where they led, and where it was the first time. */
  readonly nonFinite: number;
  readonly firstNonFinite?: Offender;
  /** Gauge freedom: unknowns without residuals, and motions that leave every residual unchanged. */
  readonly gauge: readonly Freedom[];
  readonly products: readonly ProductReport[];
  /** Evaluators of the terms' programs, if the engine is WebAssembly on the CPU; else empty. */
  readonly evaluators: readonly EvaluatorReport[];
  /** Tracing, differentiating and structure of the terms; compiling kernels; solving. */
  readonly time: { readonly traceMs: number; readonly compileMs: number; readonly solveMs: number };
  readonly backend: string;
  readonly precision: string;
  /** Continuation in mixed precision after f32 stopped the solve, or the reason against it. */
  readonly refinement: Refinement;
  readonly method: string;
  /** The linear solver, and why it is that one. */
  readonly linear: string;
  readonly linearReason: string;
  /** Preconditioner of conjugate gradients, and the reason for it; undefined if they did not solve. */
  readonly preconditioner?: string;
  readonly preconditionerReason?: string;
  /** How often a `"frozen-factor"` was made since the solver was. */
  readonly factorizations?: number;
  /** Work of the device during this call. */
  readonly counters: Counters;
  /** Dispatches of this call that found the linear system solved already: submissions run ahead of what they have found. */
  readonly idleDispatches: number;
  /** The table that people know from Ceres. */
  toString(): string;
  toJSON(): object;
}

/** Lines about products that a printed report has at most; `report.products` has all. */
const MOST_PRODUCTS = 8;

/** @internal */
export class SolveReport implements Report {
  readonly termination: Termination;
  readonly converged: boolean;
  readonly reason: string;
  readonly initialCost: number;
  readonly cost: number;
  readonly iterations: readonly Iteration[];
  readonly costByTerm: { readonly [name: string]: number };
  readonly feasibility?: Feasibility;
  readonly movedIntoBounds: number;
  readonly nonFinite: number;
  readonly firstNonFinite?: Offender;
  readonly gauge: readonly Freedom[];
  readonly products: readonly ProductReport[];
  readonly evaluators: readonly EvaluatorReport[];
  readonly time: { readonly traceMs: number; readonly compileMs: number; readonly solveMs: number };
  readonly backend: string;
  readonly precision: string;
  readonly refinement: Refinement;
  readonly method: string;
  readonly linear: string;
  readonly linearReason: string;
  readonly preconditioner?: string;
  readonly preconditionerReason?: string;
  readonly factorizations?: number;
  readonly counters: Counters;
  readonly idleDispatches: number;

  constructor(native: NativeReport, traceMs: number) {
    this.termination = native.termination as Termination;
    this.converged = native.converged;
    this.reason = native.reason;
    this.initialCost = native.initialCost;
    // Of no terms it is −0.
    this.cost = native.cost + 0;
    this.iterations = native.iterations;
    this.costByTerm = native.costByTerm;
    if (native.feasibility) this.feasibility = native.feasibility as Feasibility;
    this.movedIntoBounds = native.movedIntoBounds;
    this.nonFinite = native.nonFinite;
    if (native.firstNonFinite) this.firstNonFinite = native.firstNonFinite;
    this.gauge = native.gauge;
    this.products = native.products as readonly ProductReport[];
    this.evaluators = native.evaluators as readonly EvaluatorReport[];
    this.time = { traceMs, compileMs: native.compileMs, solveMs: native.solveMs };
    this.backend = native.backend;
    this.precision = native.precision;
    this.refinement = native.refinement as Refinement;
    this.method = native.method;
    this.linear = native.linear;
    this.linearReason = native.linearReason;
    if (native.preconditioner !== undefined) this.preconditioner = native.preconditioner;
    if (native.preconditionerReason !== undefined) this.preconditionerReason = native.preconditionerReason;
    if (native.factorizations !== undefined) this.factorizations = native.factorizations;
    this.counters = native.counters;
    this.idleDispatches = native.idleDispatches;
  }

  toString(): string {
    const knob = this.method === "dogleg" ? "radius" : this.method === "lm" || this.method === "newton" ? "damping" : "length";
    const head = row("iter", "cost", "cost change", "|gradient|", "|step|", knob, "gain", "inner", "ms");
    const rows = this.iterations.map((it: NativeIteration) =>
      row(`${it.index}${it.accepted ? " " : "*"}`, it.cost.toExponential(6), it.costChange.toExponential(2), it.gradientNorm.toExponential(2), it.stepNorm.toExponential(2), (it.radius ?? it.length ?? it.damping).toExponential(1), it.gainRatio.toFixed(3), String(it.innerIterations), it.ms.toFixed(1)));
    const rejected = this.iterations.some((it) => !it.accepted) ? ["   (* rejected)"] : [];
    const terms = Object.entries(this.costByTerm).map(([name, cost]) => `${name} ${cost.toExponential(6)}`).join(", ");
    const { traceMs, compileMs, solveMs } = this.time;
    const { dispatches, submissions, readbacks, bytesReadBack, bytesUploaded } = this.counters;
    const moved = this.movedIntoBounds > 0 ? [`Bounds: ${this.movedIntoBounds} components were outside and were moved to the nearest point inside`] : [];
    return [
      `Leastwise: ${this.method} + ${this.linear} (${this.linearReason}) on ${this.backend}, ${this.precision}`,
      head,
      ...rows,
      ...rejected,
      ...moved,
      ...this.#notes(),
      ...this.#constraints(),
      `Cost: ${this.initialCost.toExponential(6)} → ${this.cost.toExponential(6)} (${terms})`,
      `Device: ${dispatches} dispatches (${this.idleDispatches} idle), ${submissions} submissions, ${readbacks} readbacks of ${bytesReadBack} bytes, ${bytesUploaded} bytes uploaded`,
      `Time: trace ${traceMs.toFixed(1)} ms, compile ${compileMs.toFixed(1)} ms, solve ${solveMs.toFixed(1)} ms`,
      `Termination: ${this.termination} (${this.reason})`,
    ].join("\n");
  }

  #constraints(): string[] {
    const { feasibility } = this;
    if (!feasibility) return [];
    const { violation, optimality, outerIterations, penalty, constraints } = feasibility;
    const each = constraints.map(({ term, relation, violation, instance, multiplier }) => `  "${term}" ${relation}: ${violation.toExponential(2)} left at most (instance ${instance}), |λ| up to ${multiplier.toExponential(2)}`);
    return [`Constraints: ${violation.toExponential(2)} left at most, |gradient| ${optimality.toExponential(2)}, after ${outerIterations} minimisations, penalty ${penalty.toExponential(0)}`, ...each.slice(0, MOST_PRODUCTS)];
  }

  /** What is only there when there is something to say. */
  #notes(): string[] {
    const { nonFinite, firstNonFinite: first } = this;
    const where = first ? `, the first time in step ${first.iteration}: term "${first.term}", instance ${first.instance}` : "";
    const undefinedAt = nonFinite > 0 ? [`Not finite: ${nonFinite} steps led to where the residual is not, and were rejected${where}`] : [];
    const gauge = this.gauge.map((free) => (free.kind === "untouched"
      ? `Gauge: no residual touches ${free.instances} instances of "${free.variable}" (the first is ${free.first}); they stay where they are`
      : `Gauge: no residual changes when all of "${free.variable}" moves along ${free.components.map((k) => `component ${k}`).join(", ")}; damping holds it`));
    const preconditioner = this.preconditioner !== undefined ? [`Preconditioner: ${this.preconditioner} (${this.preconditionerReason}${this.factorizations !== undefined ? `; ${this.factorizations} factors were made` : ""})`] : [];
    const { state, code, reason } = this.refinement;
    const refinement = code !== undefined ? [`Mixed precision: ${state}, ${code} (${reason})`] : [];
    const products = this.products.map(({ term, schedule, reason }) => `Products: "${term}" ${schedule} (${reason})`);
    return [...undefinedAt, ...gauge, ...refinement, ...preconditioner, ...products.slice(0, MOST_PRODUCTS), ...this.#programs()];
  }

  /** How many programs each evaluator runs, and why some can't be compiled. */
  #programs(): string[] {
    if (this.evaluators.length === 0) return [];
    const reasons = new Map<string, number>();
    for (const { evaluator, module, reason } of this.evaluators) {
      const why = module === "compiling" ? "interpreted (being compiled)" : `${evaluator} (${reason})`;
      reasons.set(why, (reasons.get(why) ?? 0) + 1);
    }
    return [`Programs: ${[...reasons].map(([why, count]) => `${count} ${why}`).slice(0, MOST_PRODUCTS).join(", ")}`];
  }

  toJSON(): object {
    return { ...this };
  }
}

function row(...cells: string[]): string {
  const widths = [5, 14, 12, 11, 10, 9, 7, 6, 9];
  return cells.map((cell, k) => cell.padStart(widths[k] ?? 8)).join(" ");
}
