/** A compiled set as a problem of the engine: each kernel is a term (or several), its leaves are index and data columns. */
import { column } from "../data.js";
import type { Engine } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import type { Scalar } from "../expression.js";
import type { Problem } from "../problem.js";
import type { Report } from "../report.js";
import type { SolveOptions } from "../solver.js";
import type { Variables } from "../table.js";
import type { Term } from "../term.js";
import type { CompiledSet } from "./compiled.js";
import type { Kernel } from "./kernel.js";
import { traced } from "./traced.js";
import { read, write } from "./value.js";

/** Kind of the terms, which says what is minimised: Σ½r², or Σf. @internal */
export type TermKind = "residuals" | "energy";

/** Instances of a kernel from `first` to `last`, as a term. */
interface Batch { readonly kernel: Kernel; readonly first: number; readonly last: number; readonly term: Term<{ constants?: never }> }

/** Problem that a set is solved as; it is made anew when residuals are added. @internal */
export class Batches {
  private readonly problem: Problem;
  private readonly unknowns: Variables<Scalar>;
  private readonly batches: Batch[] = [];
  readonly count: number;
  /** Residuals without parameters, which the engine is not given. */
  private readonly fixed: Kernel[] = [];

  constructor(engine: Engine, private readonly set: CompiledSet, readonly kind: TermKind, batchSize: number) {
    this.count = set.numResiduals;
    this.problem = engine.problem();
    try {
      this.unknowns = this.problem.variables("parameters", { shape: 1, values: read(set.params) }) as Variables<Scalar>;
      set.kernels.forEach((kernel, k) => {
        if (kernel.slots.length === 0) this.fixed.push(kernel);
        else for (let first = 0; first < kernel.count; first += batchSize) this.batches.push(this.batch(kernel, `kernel ${k} from ${first}`, first, Math.min(kernel.count, first + batchSize)));
      });
    } catch (thrown) {
      this.problem.dispose();
      throw thrown;
    }
  }

  private batch(kernel: Kernel, name: string, first: number, last: number): Batch {
    const { structure, slots } = kernel, constants = constantSlots(kernel);
    const of = slots.map((slot) => this.unknowns.at(Uint32Array.from({ length: last - first }, (_, i) => kernel.leaf(first + i, slot))));
    const values = this.constants(kernel, first, last);
    const data: object = constants.length === 0 ? {} : { constants: constants.length === 1 ? values : column(values, constants.length) };
    const build = (parameters: readonly Scalar[], given: { constants?: Scalar & { at(k: number): Scalar } }) => {
      const inputs: Scalar[] = [];
      slots.forEach((slot, k) => { inputs[slot] = parameters[k]!; });
      constants.forEach((slot, k) => { inputs[slot] = constants.length === 1 ? given.constants! : given.constants!.at(k); });
      return traced(structure, inputs);
    };
    const term = this.problem[this.kind](name, { of, data } as never, build as never) as unknown as Batch["term"];
    return { kernel, first, last, term };
  }

  /** Present data of the leaves that are no parameters, instance by instance. */
  private constants(kernel: Kernel, first: number, last: number): Float64Array {
    const slots = constantSlots(kernel), values = new Float64Array((last - first) * slots.length);
    for (let i = first, at = 0; i < last; i++) for (const slot of slots) values[at++] = this.set.dataOf(kernel.leaf(i, slot));
    return values;
  }

  /** Writes the present data of all leaves. */
  private refresh(): void {
    this.unknowns.write(read(this.set.params));
    for (const { kernel, first, last, term } of this.batches) {
      if (constantSlots(kernel).length > 0) (term as unknown as Term<{ constants: Float64Array }>).set({ constants: this.constants(kernel, first, last) } as never);
    }
  }

  /** Solves, and takes over what was found. */
  async solve(options: SolveOptions): Promise<Report> {
    this.refresh();
    if (this.batches.length === 0) throw new LeastwiseError("empty-term", "nothing to solve: no residual of the set depends on its parameters");
    const report = await this.problem.solve(options);
    write(this.set.params, await this.unknowns.read({ as: "f64" }) as Float64Array);
    return report;
  }

  /** All functions, and for each `receive(row, parameter, derivative)`. */
  async evaluate(receive: (row: number, parameter: number, derivative: number) => void): Promise<Float64Array> {
    this.refresh();
    const residuals = this.set.residualsOf(this.fixed);
    for (const { kernel, first, last, term } of this.batches) {
      const { residuals: values, jacobian } = await term.evaluate(), { length } = kernel.slots;
      for (let i = 0; i < last - first; i++) {
        const row = kernel.residual(first + i), value = values[i]!;
        if (!Number.isFinite(value)) throw new LeastwiseError("non-finite", `residual ${row} is not defined or not finite at the present data`, { instance: row });
        residuals[row] = value;
        for (let k = 0; k < length; k++) receive(row, kernel.leaf(first + i, kernel.slots[k]!), jacobian[i * length + k]!);
      }
    }
    return residuals;
  }

  /** Σ over the residuals that the engine is not given of ½r², or f. */
  fixedCost(): number {
    const residuals = this.set.residualsOf(this.fixed), isEnergy = this.kind === "energy";
    return residuals.reduce((sum, value) => sum + (isEnergy ? value : 0.5 * value * value), 0);
  }

  dispose(): void { this.problem.dispose(); }
}

const constantSlots = (kernel: Kernel): number[] => Array.from(kernel.structure.leaves.keys()).filter((slot) => !kernel.structure.isParameter[slot]);
