/** Tables: variables, which are solved for, and constants, which are only looked up. */
import { fill, indicesOf, isArrayLike, isMask, listOf, numbersOf, roomIn, type Device, type DeviceView, type F32, type F64, type Floats, type IndexTable, type Indices, type Mask, type Rows as RowsOfNumbers, type Values } from "./arrays.js";
import { isA, LeastwiseError } from "./errors.js";
import { describe } from "./expression.js";
import { checked, given, oneOf, takesNoMore } from "./options.js";
import type { Form } from "./shape.js";
import { EachOf, RowsOf, rowsOf, SlotOf, type Ragged, type Slot, type TableIdentity } from "./slots.js";
import type { Each } from "./sums.js";
import type { Tasks } from "./tasks.js";
import { isTensor } from "./tensor/apply.js";
import { lend } from "./tensor/lending.js";
import type { AnyTensor } from "./tensor/tensor.js";

/**
 * Instances of one variable or constant. As a slot it stands for column k of an index table `over`, k being its position among
 * the term's slots; without one, for instance i of the term's instance i. A table of one instance is shared by all instances of the
 * term; with an index table, if that has no column k.
 *
 * @example
 * const centre = async (table: Table<Vec3>) => (await table.read()).subarray(0, 3);
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
  rows(ragged: Ragged | readonly ArrayLike<number>[]): Slot<readonly V[]>;
  /**
   * A slot with a row of instances of any length, none or millions, for {@link sumOver}: the function runs once, whatever
   * lengths there are.
   */
  each(ragged: Ragged | readonly ArrayLike<number>[]): Slot<Each<V>>;
  /** Overwrites all instances, or those in `at`: all of their scalars, which must lie on the manifold if there is one. */
  write(values: ArrayLike<number> | RowsOfNumbers, options?: { at?: Indices }): void;
  /**
   * Overwrites all instances by a tensor's elements, [count, width], which never leave the device; with `dtype` other than the engine's
   * precision they do on the CPU alone. It is evaluated first, and calls on the problem wait for that.
   *
   * @throws `shape` and `dtype` for a tensor that does not fit; `foreign-tensor` for one of another engine; `invalid-option` on a {@link Manifold}
   */
  write(values: AnyTensor): void;
  /**
   * Overwrites all instances by those of a table of the same shape and count, or by a linear combination of such tables:
   * `[[2, x], [-1, last]]` is 2x − last. It is computed on the device and nothing is read back, so frames of a simulation hand on
   * their values. Calls take effect in their order, behind all steps that were begun: a copy that follows sees the new values. The table
   * may be one of its own sources. What is fixed is overwritten, too, as by {@link write}.
   *
   * ```ts
   * ahead.copyFrom([[2, x], [-1, last]]);                   // 2xₙ − xₙ₋₁
   * last.copyFrom(x);                                       // xₙ, for the next frame
   * solver.advance({ iterations: 2 });
   * ```
   * @throws `shape` for a table of another shape or count, or more than 16 of them, or a combination on a {@link Manifold} that is no copy; `foreign-variable` for a table of another problem; `busy` while a task of the problem runs
   */
  copyFrom(from: Table<V> | readonly (readonly [factor: number, table: Table<V>])[]): void;
  /**
   * Accepted values, flat: `count` × all scalars of an instance, as a `Float32Array` where the engine's precision is `"f32"`, else as a
   * `Float64Array`, which has all of their digits; or as asked; or in an array of the caller's, of exactly that length.
   */
  read(): Promise<Values>;
  read(options: { as: "f32" }): Promise<F32>;
  read(options: { as: "f64" }): Promise<F64>;
  read(options: { as?: "f32" | "f64" | undefined }): Promise<Values>;
  read<A extends Floats>(out: A): Promise<A>;
  /**
   * True once the device is lost. {@link read} then gives the last values that the host knows:
   *
   * - given, when the table was made
   * - written, by {@link write}
   * - read, by {@link read}: not what later steps made of them
   * - restored, from a checkpoint
   */
  readonly stale: boolean;
  /** The GPU buffer that holds the accepted values, tightly packed; stable for the variable's life. Undefined on the CPU. */
  readonly buffer: DeviceView | undefined;
}

/**
 * Gathered by index like variables, never moved.
 *
 * @example
 * const rest: Constants<Vec3> = problem.constants("rest", { shape: 3, values: [0, 0, 0] });
 */
export interface Constants<V> extends Table<V> { readonly constant: true }
/**
 * The limits that {@link Variables.bound} takes.
 *
 * @example
 * const limits: Bounds = { lower: 0, upper: [1, 2, Infinity] };
 * x.bound(limits);
 */
export interface Bounds {
  /**
   * The least values: one for all components, an array with one for each component of an instance, or one with one for each
   * component of each instance. `-Infinity` where there is none. Left out: as before.
   *
   * @defaultValue as before; `-Infinity` at first
   */
  lower?: number | Floats | readonly number[];
  /** The greatest values, likewise; `Infinity` where there is none. @defaultValue as before; `Infinity` at first */
  upper?: number | Floats | readonly number[];
}

/**
 * Solved for.
 *
 * @example
 * const x: Variables<Vec3> = problem.variables("x", { shape: 3, values: [0, 0, 0, 1, 0, 0] });
 * x.fix([0]);
 * console.log(await x.read());
 */
export interface Variables<V> extends Table<V> {
  readonly constant: false;
  /**
   * Fixes instances: those in `which` (a list, or a `Uint8Array` that is not 0 where an instance is meant), or all of them.
   * With `components`, only these of an instance's scalars (0, 1, …), a record's counted field after field; scalars that
   * move together on a {@link Manifold}, as the four of a quaternion, are fixed together. What is fixed keeps its value to the bit, whatever
   * else moves; {@link write} still sets it. May be called between steps, also those of a live solver: it
   * costs one upload, and nothing is compiled anew. Within `onIteration` of a solve the problem's first `fix`, and the first
   * `bound` of each table, are refused as `busy`, since they change the solver's structure; later ones are not.
   *
   * @throws `index-out-of-range` for an instance, `shape` for a component that is not there, or that is to be fixed without those that it moves with, `data-length` for a mask of another length
   */
  fix(which?: Indices | Mask, components?: readonly number[]): void;
  /** Lets instances (all, or those in `which`) move again, with all of their components. */
  free(which?: Indices | Mask): void;
  /**
   * Keeps every component between two limits, by a projection with an active set: a component at its limit stays there
   * while the cost's gradient pushes it outwards. Values that are outside of the limits when a solve (or a live step)
   * begins are moved to the nearest point inside, and the report says how many were; what is fixed is not moved. May be called
   * when {@link fix} may.
   *
   * @throws `bounds` for limits that are NaN or leave nothing between them, with the `instance`; `data-length` for an array of another length; `shape` where the {@link Shape} has a manifold
   */
  bound(limits: Bounds): void;
}

const WRITE = { at: given<Indices>() } as const;
const READ = { as: oneOf("f32", "f64") } as const;
const BOUNDS = { lower: given(), upper: given() } as const;

/** No instance: there are fewer. */
const NONE = 0xffffffff;

/** A problem, as its tables know it. @internal */
export interface Keeper {
  keep(): void;
  /** Handle for what a busy problem answers, too: a call that waits for a part of the engine is no hindrance. */
  readonly aliveHandle: number;
}

/** @internal */
export class TableOf<V, C extends boolean> implements Slot<V>, TableIdentity {
  declare readonly slot: V;

  constructor(
    readonly problem: Keeper,
    readonly tasks: Tasks,
    readonly problemHandle: () => number,
    readonly handle: number,
    readonly name: string,
    readonly form: Form,
    readonly count: number,
    readonly constant: C,
  ) {}

  /** Scalars of an instance. */
  get width(): number { return this.form.width; }

  at(column: number | IndexTable): Slot<V> {
    if (typeof column === "number" && !(Number.isInteger(column) && column >= 0)) {
      throw new LeastwiseError("shape", `"${this.name}".at(${column}): a column of \`over\` is 0, 1, 2, …`);
    }
    if (typeof column !== "number" && !isArrayLike(column)) {
      throw new LeastwiseError("shape", `"${this.name}".at(…) takes a column of \`over\` (0, 1, 2, …) or an array of indices, one for each of the term's instances, not ${describe(column)}`);
    }
    return new SlotOf<V>(this, column);
  }

  rows(ragged: Ragged | readonly ArrayLike<number>[]): Slot<readonly V[]> {
    return new RowsOf<V>(this, rowsOf(this.name, ragged));
  }

  each(ragged: Ragged | readonly ArrayLike<number>[]): Slot<Each<V>> {
    return new EachOf<V>(this, rowsOf(this.name, ragged, "each"));
  }

  write(values: ArrayLike<number> | RowsOfNumbers | AnyTensor, options: { at?: Indices } = {}): void {
    if (isTensor(values)) {
      this.#noMore("write(tensor)", 1, arguments);
      return lend(this.tasks, this.problemHandle(), [[[0, this.handle], values]]);
    }
    this.#noMore("write(values, options)", 2, arguments);
    const { at } = checked(`"${this.name}".write(values, options): options`, options, WRITE);
    const no = (k: number, value: number) => new LeastwiseError("index-out-of-range", `"${this.name}": at[${k}] is ${value}, which is no index`);
    // A copy: reading the values may run functions of the caller's.
    const instances = at === undefined ? undefined : indicesOf(`"${this.name}": at`, at, no, { must: "must be an array of instances" }).slice();
    const numbers = numbersOf(`"${this.name}": values`, values, { width: this.width });
    this.tasks.call((native) => native.writeTable(this.problemHandle(), this.handle, numbers, instances));
  }

  copyFrom(from: Table<V> | readonly (readonly [factor: number, table: Table<V>])[]): void {
    this.#noMore("copyFrom(from)", 1, arguments);
    const call = `"${this.name}".copyFrom(from)`;
    const pairs = isA(from, TableOf<V, boolean>) ? [[1, from]] : listOf(`${call}: from`, from, "must be a table, or a list of [factor, table]");
    const [factors, sources]: [number[], number[]] = [[], []];
    pairs.forEach((given, k) => {
      const what = `${call}: from[${k}]`;
      const [factor, table] = listOf(what, given, "must be [factor, table]");
      if (typeof factor !== "number" || !isA(table, TableOf<V, boolean>)) {
        throw new LeastwiseError("shape", `${what} must be a number and a table, not ${describe(factor)} and ${describe(table)}`);
      }
      if (table.problem !== this.problem) throw new LeastwiseError("foreign-variable", `${what} is "${table.name}" of another problem`);
      factors.push(factor);
      sources.push(table.handle);
    });
    this.tasks.call((native) => native.combineTables(this.problemHandle(), this.handle, Uint32Array.from(sources), Float64Array.from(factors)));
  }

  /** Refuses arguments that a call does not take. */
  #noMore(call: string, count: number, given: ArrayLike<unknown>): void { takesNoMore(`"${this.name}".${call}`, count, given); }

  fix(which?: Indices | Mask, components?: readonly number[]): void {
    this.#noMore("fix(which, components)", 2, arguments);
    const at = this.instances("fix", which)?.slice();
    const call = `"${this.name}".fix(which, components): components`;
    const parts = components === undefined ? undefined
      : indicesOf(call, components, (k, value) => new LeastwiseError("shape", `${call}[${k}] is ${value}, which is no component`), { code: "shape", must: "is an array of 0, 1, 2, …" });
    this.tasks.call((native) => native.fixTable(this.problemHandle(), this.handle, at, parts));
  }

  free(which?: Indices | Mask): void {
    this.#noMore("free(which)", 1, arguments);
    const at = this.instances("free", which);
    this.tasks.call((native) => native.unfixTable(this.problemHandle(), this.handle, at));
  }

  bound(limits: Bounds): void {
    this.#noMore("bound(limits)", 1, arguments);
    const both = checked(`"${this.name}".bound(limits): limits`, limits, BOUNDS);
    const [lower, upper] = (["lower", "upper"] as const).map((side) => {
      const limit: unknown = both[side];
      if (limit === undefined || typeof limit === "number") return limit === undefined ? undefined : Float64Array.of(limit);
      return Float64Array.from(numbersOf(`"${this.name}".bound({ ${side} })`, limit, { code: "shape", must: "is a number or an array of numbers", width: this.width }));
    });
    this.tasks.call((native) => native.boundTable(this.problemHandle(), this.handle, lower, upper));
  }

  /** The instances that a list or a mask names; all where there is none. @internal */
  instances(method: string, which: Indices | Mask | undefined): Uint32Array | undefined {
    if (which === undefined) return undefined;
    const call = `"${this.name}".${method}`;
    const named = indicesOf(`${call}(which)`, which, (k, value) => new LeastwiseError("index-out-of-range", `${call}(which): which[${k}] is ${value}, which is no index`), { code: "shape", must: "is an array of instances or a mask" });
    if (!isMask(which)) return named;
    if (named.length !== this.count) throw new LeastwiseError("data-length", `${call}(mask): the mask has ${named.length} values, but ${this.count} are needed (one an instance; a list of instances is any array but a Uint8Array)`);
    return named.map((is, instance) => (is === 0 ? NONE : instance)).filter((instance) => instance !== NONE);
  }

  read(): Promise<Values>;
  read(options: { as: "f32" }): Promise<F32>;
  read(options: { as: "f64" }): Promise<F64>;
  read(options: { as?: "f32" | "f64" | undefined }): Promise<Values>;
  read<A extends Floats>(out: A): Promise<A>;
  async read(given: Floats | { as?: "f32" | "f64" | undefined } = {}): Promise<Floats> {
    this.#noMore("read(out or options)", 1, arguments);
    const out = isArrayLike(given) ? given as Floats : this.#madeAs(given);
    const length = roomIn(`"${this.name}".read(out): out`, out);
    if (length !== this.count * this.width) {
      throw new LeastwiseError("data-length", `"${this.name}".read(out): out has ${length} values, but ${this.count * this.width} are needed (${this.count} instances of ${this.width})`);
    }
    fill(`"${this.name}".read(out): out`, out, await this.#accepted());
    return out;
  }

  /** The accepted values; once the device is lost, the last that the host knows. */
  async #accepted(): Promise<ArrayLike<number>> {
    try {
      // Within `onIteration` it is read before the solve goes on.
      const coming = this.tasks.lent.get(this.problemHandle())?.wait(false);
      if (coming) await coming;
      const task = this.tasks.call((native) => native.readTable(this.problemHandle(), this.handle));
      return (await this.tasks.run(task)).values ?? [];
    } catch (thrown) {
      const known = this.tasks.afterLoss((native) => native.knownTable(this.problemHandle(), this.handle));
      if (!known) throw thrown;
      return known;
    }
  }

  get stale(): boolean { return this.tasks.isLost; }

  /** An array for all values, of the type that is asked for, or of the engine's. */
  #madeAs(options: { as?: "f32" | "f64" | undefined }): Floats {
    const { as = this.tasks.valuesAs } = checked(`"${this.name}".read(options): options`, options, READ, { prefix: `"${this.name}".read(options): ` });
    return new (as === "f32" ? Float32Array : Float64Array)(this.count * this.width);
  }

  get buffer(): DeviceView | undefined {
    const view = this.tasks.call((native) => native.viewTable(this.problem.aliveHandle, this.handle, this.width));
    // Nobody can tell how long a renderer has the buffer.
    if (view) this.problem.keep();
    return view as DeviceView | undefined;
  }

  /** The `GPUDevice` of `buffer`. */
  get device(): Device | undefined { return this.tasks.device; }

  /** Its memory belongs to the problem and goes with it. */
  dispose(): void {}
  [Symbol.dispose](): void {}
}
