/** A kernel: one structure, and the tables of all residuals that have it. */
import { LeastwiseError } from "../errors.js";
import { backward, forward, LANES } from "./blocks.js";
import { LIST_RULES, nameOf, RULES } from "./rules.js";
import type { Step, Structure } from "./structure.js";

/** Rows of values and of derivatives, which kernels use in turn. */
let rows = new Float64Array(0), derivatives = new Float64Array(0);

/** What becomes of a block's derivatives: `of(lane)` begins at `places[k] * LANES` in `derivatives`. @internal */
export type Receive = (first: number, lanes: number, derivatives: Float64Array) => void;

/** @internal */
export class Kernel {
  /** Leaf of slot s and instance i: `leaves[i * slots + s]`. */
  private leaves: Int32Array;
  /** Index of every instance's residual in the set. */
  private numbers: Int32Array;
  count = 0;
  /** Slots whose leaves are parameters, and the places of their derivatives. */
  readonly slots: readonly number[];
  readonly places: readonly number[];

  constructor(readonly structure: Structure) {
    const { leaves, isParameter } = structure;
    this.leaves = new Int32Array(leaves.length);
    this.numbers = new Int32Array(1);
    this.slots = Array.from(leaves.keys()).filter((slot) => isParameter[slot]);
    this.places = this.slots.map((slot) => leaves[slot]!);
  }

  /** Adds an instance. */
  add(leaves: readonly number[], residual: number): void {
    if (this.count === this.numbers.length) {
      this.leaves = grown(this.leaves);
      this.numbers = grown(this.numbers);
    }
    this.leaves.set(leaves, this.count * leaves.length);
    this.numbers[this.count++] = residual;
  }

  /** Index of an instance's residual in the set. */
  residual(instance: number): number { return this.numbers[instance]!; }

  /** Index of the leaf in a slot of an instance. */
  leaf(instance: number, slot: number): number { return this.leaves[instance * this.structure.leaves.length + slot]!; }

  /**
   * Computes all residuals from the values of leaves; with `receive` derivatives, too, by a reverse sweep over every block.
   *
   * @throws `non-finite` with the residual and the operation that is not defined or not finite there
   */
  run(values: Float64Array, residuals: Float64Array, receive: Receive | undefined): void {
    const { steps, size, root } = this.structure;
    if (rows.length < size * LANES) [rows, derivatives] = [new Float64Array(size * LANES), new Float64Array(size * LANES)];
    for (let first = 0; first < this.count; first += LANES) {
      const lanes = Math.min(LANES, this.count - first);
      this.gather(first, lanes, values);
      for (let k = 0; k < steps.length; k++) if (!forward(steps[k]!, rows, lanes)) throw this.undefinedAt(steps[k]!, first, lanes);
      for (let i = 0, at = root * LANES; i < lanes; i++) residuals[this.numbers[first + i]!] = rows[at + i]!;
      if (!receive) continue;
      derivatives.fill(0, 0, size * LANES);
      derivatives.fill(1, root * LANES, root * LANES + lanes);
      for (let k = steps.length - 1; k >= 0; k--) if (steps[k]!.active.includes(true)) backward(steps[k]!, rows, derivatives, lanes);
      receive(first, lanes, derivatives);
    }
  }

  private gather(first: number, lanes: number, values: Float64Array): void {
    const places = this.structure.leaves, { length } = places, { leaves } = this;
    for (let slot = 0; slot < length; slot++) {
      const at = places[slot]! * LANES;
      for (let i = 0, from = first * length + slot; i < lanes; i++, from += length) rows[at + i] = values[leaves[from]!]!;
    }
  }

  /** The error of the first lane where an operation is not defined. */
  private undefinedAt({ op, operands, active }: Step, first: number, lanes: number): LeastwiseError {
    for (let i = 0; i < lanes; i++) {
      const of = Array.from(operands, (operand) => rows[operand * LANES + i]!), [a, b = a, c = a] = of as [number, number?, number?];
      const rule = RULES[op], value = rule ? rule.value(a, b, c) : LIST_RULES[op]!.value(of);
      const message = rule?.outside?.(a, b, active[1] ?? false) ?? (Number.isFinite(value) ? undefined : `${nameOf(op)} of ${of.join(", ")} is ${value}`);
      if (message !== undefined) return new LeastwiseError("non-finite", `residual ${this.numbers[first + i]!}: ${message}`, { instance: this.numbers[first + i]! });
    }
    return new LeastwiseError("internal", "a block had a number that was not finite, and its lanes have none; this is a bug of Leastwise, please report it");
  }
}

function grown(array: Int32Array): Int32Array {
  const twice = new Int32Array(2 * array.length);
  twice.set(array);
  return twice;
}
