/** A kernel: one structure, and the tables of all residuals that have it. */
import { LeastwiseError } from "../errors.js";
import { backward, forward, LANES } from "./blocks.js";
import { LIST_RULES, nameOf, RULES } from "./rules.js";
import type { Step, Structure } from "./structure.js";

/** Rows of values and of derivatives, which kernels use in turn. */
let rows = new Float64Array(0), derivatives = new Float64Array(0);

/** Numbers of a block's rows: 32 MB. */
const MOST_NUMBERS = 2 ** 22;

/** Where derivatives go: added to a gradient, or to rows of a Jacobian, which begin at `starts`. @internal */
export type Derivatives = { readonly gradient: Float64Array } | { readonly starts: Int32Array; readonly values: Float64Array };

/** @internal */
export class Kernel {
  /** Leaf of slot s and instance i: `leaves[i * slots + s]`. */
  private leaves: Int32Array;
  /** Index of every instance's residual in the set. */
  private numbers: Int32Array;
  count = 0;
  /** The same by slots, for loops over instances: `table[s * count + i]`. Made when it is needed. */
  private table: Int32Array | undefined;
  /** Slots whose leaves are parameters, and the places of their derivatives. */
  readonly slots: readonly number[];
  private readonly places: readonly number[];
  /** Steps whose operands depend on parameters, the last first. */
  private readonly reversed: readonly Step[];

  constructor(readonly structure: Structure) {
    const { leaves, isParameter } = structure;
    this.leaves = new Int32Array(leaves.length);
    this.numbers = new Int32Array(1);
    this.slots = Array.from(leaves.keys()).filter((slot) => isParameter[slot]);
    this.places = this.slots.map((slot) => leaves[slot]!);
    this.reversed = structure.steps.filter(({ active }) => active.includes(true)).reverse();
  }

  /** Adds an instance. */
  add(leaves: readonly number[], residual: number): void {
    if (this.count === this.numbers.length) {
      this.leaves = grown(this.leaves);
      this.numbers = grown(this.numbers);
    }
    this.leaves.set(leaves, this.count * leaves.length);
    this.numbers[this.count++] = residual;
    this.table = undefined;
  }

  /** Instances of a block: fewer where a structure is so large that its rows would fill the memory. */
  private get stride(): number { return Math.max(1, Math.min(LANES, this.count, Math.floor(MOST_NUMBERS / this.structure.size))); }

  /** Index of an instance's residual in the set. */
  residual(instance: number): number { return this.numbers[instance]!; }

  /** Index of the leaf in a slot of an instance. */
  leaf(instance: number, slot: number): number { return this.leaves[instance * this.structure.leaves.length + slot]!; }

  /**
   * Computes all residuals from the values of leaves, and their derivatives by a reverse sweep over every block.
   *
   * @throws `non-finite` with the residual and the operation that is not defined or not finite there
   */
  run(values: Float64Array, residuals: Float64Array, into: Derivatives | undefined): void {
    const { steps, size, root, leaves } = this.structure, { reversed, numbers, count, stride } = this, table = (this.table ??= this.bySlots());
    if (rows.length < size * stride) [rows, derivatives] = [new Float64Array(size * stride), new Float64Array(size * stride)];
    for (let first = 0; first < count; first += stride) {
      const lanes = Math.min(stride, count - first);
      for (let slot = 0; slot < leaves.length; slot++) gather(values, table, slot * count + first, rows, leaves[slot]! * stride, lanes);
      for (let k = 0; k < steps.length; k++) if (!forward(steps[k]!, rows, lanes, stride)) throw this.undefinedAt(steps[k]!, first, lanes);
      for (let i = 0, at = root * stride; i < lanes; i++) residuals[numbers[first + i]!] = rows[at + i]!;
      if (!into) continue;
      derivatives.fill(0, 0, size * stride);
      derivatives.fill(1, root * stride, root * stride + lanes);
      for (let k = 0; k < reversed.length; k++) backward(reversed[k]!, rows, derivatives, lanes, stride);
      if ("gradient" in into) this.accumulate(table, first, into.gradient, lanes);
      else for (let k = 0; k < this.places.length; k++) put(derivatives, this.places[k]! * stride, numbers, first, into.starts, k, into.values, lanes);
    }
  }

  /** Adds to a gradient, instance by instance, as modules do. */
  private accumulate(table: Int32Array, first: number, gradient: Float64Array, lanes: number): void {
    const { slots, places, count, stride } = this;
    for (let i = 0; i < lanes; i++) {
      for (let k = 0; k < slots.length; k++) {
        const leaf = table[slots[k]! * count + first + i]!;
        gradient[leaf] = gradient[leaf]! + derivatives[places[k]! * stride + i]!;
      }
    }
  }

  /** The leaf of every slot that is the same for all instances, and −1 for the others. */
  uniform(): Int32Array {
    const { length } = this.structure.leaves, uniform = this.leaves.slice(0, length);
    for (let i = 1, at = length; i < this.count; i++) for (let slot = 0; slot < length; slot++) if (this.leaves[at++] !== uniform[slot]) uniform[slot] = -1;
    return uniform;
  }

  private bySlots(): Int32Array {
    const { leaves, count, structure: { leaves: { length } } } = this, table = new Int32Array(count * length);
    for (let i = 0, from = 0; i < count; i++) for (let slot = 0; slot < length; slot++) table[slot * count + i] = leaves[from++]!;
    return table;
  }

  /** The error of the first lane where an operation is not defined. */
  private undefinedAt({ op, operands, moves }: Step, first: number, lanes: number): LeastwiseError {
    const { stride } = this;
    for (let i = 0; i < lanes; i++) {
      const of = Array.from(operands, (operand) => rows[operand * stride + i]!), [a, b = a, c = a] = of as [number, number?, number?];
      const rule = RULES[op], value = rule ? rule.value(a, b, c) : LIST_RULES[op]!.value(of);
      const message = rule?.outside?.(a, b, moves) ?? (Number.isFinite(value) ? undefined : `${nameOf(op)} of ${of.join(", ")} is ${value}`);
      if (message !== undefined) return new LeastwiseError("non-finite", `residual ${this.numbers[first + i]!}: ${message}`, { instance: this.numbers[first + i]! });
    }
    return new LeastwiseError("internal", "a block had a number that was not finite, and its lanes have none; this is a bug of Leastwise, please report it");
  }
}

function gather(values: Float64Array, table: Int32Array, from: number, into: Float64Array, to: number, lanes: number): void {
  for (let i = 0; i < lanes; i++) into[to + i] = values[table[from + i]!]!;
}

/** Entry k of the rows. */
function put(derivatives: Float64Array, from: number, numbers: Int32Array, first: number, starts: Int32Array, k: number, values: Float64Array, lanes: number): void {
  for (let i = 0; i < lanes; i++) values[starts[numbers[first + i]!]! + k] = derivatives[from + i]!;
}

function grown(array: Int32Array): Int32Array {
  const twice = new Int32Array(2 * array.length);
  twice.set(array);
  return twice;
}
