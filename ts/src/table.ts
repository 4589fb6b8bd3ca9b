/** Tables: variables, which are solved for, and constants, which are only looked up. */
import { firstNonIndex, floats, isArrayLike, type Device, type DeviceView, type F32, type Floats, type IndexTable, type Indices } from "./arrays.js";
import { LeastwiseError } from "./errors.js";
import { describe, type Value } from "./expression.js";
import { EachOf, RowsOf, rowsOf, SlotOf, type Ragged, type Slot, type TableIdentity } from "./slots.js";
import type { Each } from "./sums.js";
import type { Tasks } from "./tasks.js";

/** What one instance is: its number of scalars. */
export type Shape = number;
/** What an instance of that shape is in a residual function: a scalar, a vector. */
export type Element<S> = S extends number ? Value<S> : never;

/**
 * Many instances of one variable or constant. As a slot it stands for "column k of `over`", k being its position among
 * the term's slots; without `over`, for instance i itself.
 */
export interface Table<V> extends Slot<V>, Disposable {
  readonly name: string;
  /** How many instances. */
  readonly count: number;
  /** A slot that takes another column of `over`, or an index column of its own (one instance for each of the term's). */
  at(column: number | IndexTable): Slot<V>;
  /**
   * A slot with a row of instances for each of the term's: "all neighbours of a vertex". The function gets an array as
   * long as the row; it runs once for every length that there is (at most 64).
   */
  rows(ragged: Ragged): Slot<readonly V[]>;
  /**
   * A slot with a row of instances of any length, none or millions, for {@link sumOver}: the function runs once, whatever
   * lengths there are.
   */
  each(ragged: Ragged): Slot<Each<V>>;
  /** Overwrites all instances, or those in `at`. */
  write(values: ArrayLike<number>, options?: { at?: Indices }): void;
  /** The accepted values, flat. */
  read(): Promise<F32>;
  read<A extends Floats>(out: A): Promise<A>;
  /** The GPU buffer that holds the accepted values, tightly packed; stable for the variable's life. Undefined on the CPU. */
  readonly buffer: DeviceView | undefined;
}

/** Gathered by index like variables, never moved. */
export interface Constants<V> extends Table<V> { readonly constant: true }
/** Solved for. */
export interface Variables<V> extends Table<V> { readonly constant: false }

/** @internal */
export class TableOf<V, C extends boolean> implements Slot<V>, TableIdentity {
  declare readonly slot: V;

  constructor(
    readonly problem: object,
    private readonly tasks: Tasks,
    private readonly problemHandle: () => number,
    readonly handle: number,
    readonly name: string,
    readonly width: number,
    readonly count: number,
    readonly constant: C,
  ) {}

  at(column: number | IndexTable): Slot<V> {
    if (typeof column === "number" && !(Number.isInteger(column) && column >= 0)) {
      throw new LeastwiseError("shape", `"${this.name}".at(${column}): a column of \`over\` is 0, 1, 2, …`);
    }
    if (typeof column !== "number" && !isArrayLike(column)) {
      throw new LeastwiseError("shape", `"${this.name}".at(…) takes a column of \`over\` (0, 1, 2, …) or an array of indices, one for each of the term's instances, not ${describe(column)}`);
    }
    return new SlotOf<V>(this, column);
  }

  rows(ragged: Ragged): Slot<readonly V[]> {
    return new RowsOf<V>(this, rowsOf(this.name, ragged));
  }

  each(ragged: Ragged): Slot<Each<V>> {
    return new EachOf<V>(this, rowsOf(this.name, ragged, "each"));
  }

  write(values: ArrayLike<number>, options: { at?: Indices } = {}): void {
    let at: Uint32Array | undefined;
    if (options.at) {
      const wrong = firstNonIndex(options.at);
      if (wrong >= 0) throw new LeastwiseError("index-out-of-range", `"${this.name}": at[${wrong}] is ${options.at[wrong]}, which is no index`);
      at = Uint32Array.from(options.at);
    }
    this.tasks.call((native) => native.writeTable(this.problemHandle(), this.handle, floats(values), at));
  }

  read(): Promise<F32>;
  read<A extends Floats>(out: A): Promise<A>;
  async read(out: Floats = new Float32Array(this.count * this.width)): Promise<Floats> {
    if (out.length !== this.count * this.width) {
      throw new LeastwiseError("data-length", `"${this.name}".read(out): out has ${out.length} values, but ${this.count * this.width} are needed (${this.count} instances of ${this.width})`);
    }
    const task = this.tasks.call((native) => native.readTable(this.problemHandle(), this.handle));
    const { values } = await this.tasks.run(task);
    if (values) out.set(values);
    return out;
  }

  get buffer(): DeviceView | undefined {
    const view = this.tasks.call((native) => native.viewTable(this.problemHandle(), this.handle, this.width));
    return view as DeviceView | undefined;
  }

  /** The `GPUDevice` of `buffer`. */
  get device(): Device | undefined { return this.tasks.device; }

  /** Its memory belongs to the problem and goes with it. */
  dispose(): void {}
  [Symbol.dispose](): void {}
}
