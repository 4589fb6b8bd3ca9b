/** Reports: what a solve says of itself, in Ceres' words. */
import type { NativeCounters, NativeIteration, NativeReport } from "./native.js";

/** One step of a solve, accepted or not. */
export interface Iteration {
  readonly index: number;
  /** ½ Σ w ‖r‖² after the step if it was accepted, else before it. */
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

/** Why a solve ended. Only `"converged"` met a tolerance; the others are reports too, never errors. */
export type Termination = "converged" | "max-iterations" | "time-limit" | "stopped" | "no-progress" | "precision" | "singular";

/**
 * What the device did during a solve. Matrices that came back to be factorised on the CPU (`matrixReadbacks`,
 * `matrixBytesReadBack`) are not among the other readbacks.
 */
export interface Counters extends NativeCounters {}

/** The account of a whole solve. The best accepted values are in the variables, however it ended. */
export interface Report {
  readonly termination: Termination;
  readonly converged: boolean;
  /** The termination in a sentence, with its numbers. */
  readonly reason: string;
  /** ½ Σ w ‖r‖² at the start. */
  readonly initialCost: number;
  /** ½ Σ w ‖r‖² at the end. */
  readonly cost: number;
  readonly iterations: readonly Iteration[];
  readonly costByTerm: { readonly [name: string]: number };
  /** How many components were outside of their bounds before a step, and were moved to the nearest point inside. */
  readonly movedIntoBounds: number;
  /** Tracing, differentiating and structure of the terms; compiling kernels; solving. */
  readonly time: { readonly traceMs: number; readonly compileMs: number; readonly solveMs: number };
  readonly backend: string;
  readonly precision: string;
  readonly method: string;
  /** The linear solver, and why it is that one. */
  readonly linear: string;
  readonly linearReason: string;
  readonly counters: Counters;
  /** The table that people know from Ceres. */
  toString(): string;
  toJSON(): object;
}

/** @internal */
export class SolveReport implements Report {
  readonly termination: Termination;
  readonly converged: boolean;
  readonly reason: string;
  readonly initialCost: number;
  readonly cost: number;
  readonly iterations: readonly Iteration[];
  readonly costByTerm: { readonly [name: string]: number };
  readonly movedIntoBounds: number;
  readonly time: { readonly traceMs: number; readonly compileMs: number; readonly solveMs: number };
  readonly backend: string;
  readonly precision: string;
  readonly method: string;
  readonly linear: string;
  readonly linearReason: string;
  readonly counters: Counters;

  constructor(native: NativeReport, traceMs: number) {
    this.termination = native.termination as Termination;
    this.converged = native.converged;
    this.reason = native.reason;
    this.initialCost = native.initialCost;
    this.cost = native.cost;
    this.iterations = native.iterations;
    this.costByTerm = native.costByTerm;
    this.movedIntoBounds = native.movedIntoBounds;
    this.time = { traceMs, compileMs: native.compileMs, solveMs: native.solveMs };
    this.backend = native.backend;
    this.precision = native.precision;
    this.method = native.method;
    this.linear = native.linear;
    this.linearReason = native.linearReason;
    this.counters = native.counters;
  }

  toString(): string {
    const knob = this.method === "dogleg" ? "radius" : this.method === "gauss-newton" ? "length" : "damping";
    const head = row("iter", "cost", "cost change", "|gradient|", "|step|", knob, "gain", "inner", "ms");
    const rows = this.iterations.map((it: NativeIteration) =>
      row(`${it.index}${it.accepted ? " " : "*"}`, it.cost.toExponential(6), it.costChange.toExponential(2), it.gradientNorm.toExponential(2), it.stepNorm.toExponential(2), (it.radius ?? it.length ?? it.damping).toExponential(1), it.gainRatio.toFixed(3), String(it.innerIterations), it.ms.toFixed(1)));
    const rejected = this.iterations.some((it) => !it.accepted) ? ["   (* rejected)"] : [];
    const terms = Object.entries(this.costByTerm).map(([name, cost]) => `${name} ${cost.toExponential(6)}`).join(", ");
    const { traceMs, compileMs, solveMs } = this.time;
    const moved = this.movedIntoBounds > 0 ? [`Bounds: ${this.movedIntoBounds} components were outside and were moved to the nearest point inside`] : [];
    return [
      `Leastwise: ${this.method} + ${this.linear} (${this.linearReason}) on ${this.backend}, ${this.precision}`,
      head,
      ...rows,
      ...rejected,
      ...moved,
      `Cost: ${this.initialCost.toExponential(6)} → ${this.cost.toExponential(6)} (${terms})`,
      `Time: trace ${traceMs.toFixed(1)} ms, compile ${compileMs.toFixed(1)} ms, solve ${solveMs.toFixed(1)} ms`,
      `Termination: ${this.termination} (${this.reason})`,
    ].join("\n");
  }

  toJSON(): object {
    return { ...this };
  }
}

function row(...cells: string[]): string {
  const widths = [5, 14, 12, 11, 10, 9, 7, 6, 9];
  return cells.map((cell, k) => cell.padStart(widths[k] ?? 8)).join(" ");
}
