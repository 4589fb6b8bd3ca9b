/** Terms: one residual function, traced once, over many instances. */
import { firstNonIndex, floats, isArrayLike, type Floats, type IndexTable } from "./arrays.js";
import { plain, type Columns, type PlainColumn, type Update } from "./data.js";
import { LeastwiseError, mustBeObject } from "./errors.js";
import { describe, outputs, wrap } from "./expression.js";
import { Opcode } from "./opcodes.js";
import { SlotOf, type Slots } from "./slots.js";
import { TableOf } from "./table.js";
import { Trace } from "./trace.js";
import type { NativeSlot, NativeTerm } from "./native.js";
import type { Tasks } from "./tasks.js";

/** Indices are 32 bits wide. */
const MOST_INSTANCES = 4294967295;
/** The largest finite f32. */
const F32_MAX = 3.4028234663852886e38;

/** A term of a problem: its data, weight and being enabled can change at any time without compiling anything. */
export interface Term<D> extends Disposable {
  readonly name: string;
  /** How many instances. */
  readonly count: number;
  /** Whether it takes part in the cost. */
  enabled: boolean;
  /** Replaces data columns (with the same lengths) or the weight: all that is given, or nothing if any of it is refused. */
  set(changes: { [K in keyof D]?: Update<D[K]> } & { weight?: number | Floats }): void;
  /** Its cost ½ Σ w ‖r‖² at the accepted values. */
  cost(): Promise<number>;
  /** The `count` instances that cost most, the worst first. */
  worst(count: number): Promise<{ instance: number; cost: number }[]>;
  /** Frees its buffers and takes it out of the problem. */
  dispose(): void;
}

/** What a term is made of. */
export interface TermOptions<O, D> {
  /** A flat index table (a row an instance), or a number of instances. */
  over?: number | IndexTable;
  of: O;
  data?: D;
  /** w in ½ w ‖r‖²: one for all, or one an instance. Not negative. */
  weight?: number | Floats;
}

/** What was traced: the engine's term, and what the columns are called. @internal */
export interface Traced { readonly native: NativeTerm; readonly columns: readonly { name: string; plain: PlainColumn }[] }

/** Looks at the slots, runs the function once, and gives what the engine needs. @internal */
export function trace(name: string, options: TermOptions<Slots, Columns>, residual: (of: never, data: never) => unknown, problem: object): Traced {
  const where = { term: name };
  if (typeof options !== "object" || options === null || typeof options.of !== "object" || options.of === null) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`of\` must list the variables and constants that the residual takes`, where);
  }
  if (typeof residual !== "function") {
    throw new LeastwiseError("no-residual", `term "${name}": the residual must be a function, not ${describe(residual)}`, where);
  }
  const keys = Array.isArray(options.of) ? undefined : Object.keys(options.of);
  const given: readonly unknown[] = keys ? keys.map((key) => (options.of as Record<string, unknown>)[key]) : (options.of as readonly unknown[]);
  const slots = given.map((slot, k) => {
    const found = slot instanceof TableOf ? new SlotOf(slot, undefined) : slot;
    if (!(found instanceof SlotOf)) {
      throw new LeastwiseError("shape", `term "${name}": slot ${keys?.[k] ?? k} is ${describe(slot)}, but must be a variable or constant, or its .at(…)`, { ...where, slot: k });
    }
    if (found.table.problem !== problem) {
      throw new LeastwiseError("foreign-variable", `term "${name}": slot ${keys?.[k] ?? k} is "${found.table.name}" of another problem`, { ...where, slot: k });
    }
    return found;
  });
  const { over } = options;
  if (over !== undefined && typeof over !== "number" && !isArrayLike(over)) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` must be a number of instances or an array of indices, not ${describe(over)}`, where);
  }
  const weight = plainWeight(name, options.weight);
  const layout = indexColumns(name, slots, over);

  if (options.data && "weight" in options.data) {
    throw new LeastwiseError("invalid-option", `term "${name}": a data column can't be called "weight", because term.set({ weight }) sets the term's weight`, where);
  }
  const columns = Object.entries(options.data ?? {}).map(([column, values]) => ({ name: column, plain: plain(values, name, column) }));
  const run = new Trace(name);
  const arguments_ = slots.map((slot, source) => wrap(run, run.write(Opcode.Input, [source]), slot.table.width));
  const data = Object.fromEntries(columns.map((column, k) => [column.name, wrap(run, run.write(Opcode.Input, [slots.length + k]), column.plain.width)]));
  const of = keys ? Object.fromEntries(keys.map((key, k) => [key, arguments_[k]])) : arguments_;
  const returned = run.run(() => residual(of as never, data as never));
  const results = outputs(returned, run);
  return {
    columns,
    native: {
      name,
      ...layout,
      columns: columns.map((column) => ({ name: column.name, ...column.plain })),
      weight,
      tape: run.close(),
      outputs: Uint32Array.from(results),
    },
  };
}

/** A weight as the engine takes it. */
function plainWeight(term: string, weight: unknown): number | Floats | undefined {
  if (weight === undefined || typeof weight === "number") return weight;
  if (isArrayLike(weight)) return floats(weight);
  throw new LeastwiseError("invalid-option", `term "${term}": weight must be a number, or an array with one for each instance, not ${describe(weight)}`, { term });
}

/** Every slot's index column; equal ones are one. */
function indexColumns(name: string, slots: readonly SlotOf<unknown>[], over: number | IndexTable | undefined): { count: number; indices: Uint32Array[]; slots: NativeSlot[] } {
  const table = typeof over === "object" ? over : undefined;
  // A bare slot at position k takes column k of a table; without one it is instance i itself.
  const columnOf = slots.map((slot, k) => slot.column ?? (table ? k : undefined));
  const lost = table ? -1 : columnOf.findIndex((column) => typeof column === "number");
  if (lost >= 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": slot ${lost} takes column ${columnOf[lost]} of \`over\`, but the term has no index table: give \`over\`, or an index column of the slot's own`, { term: name, slot: lost });
  }
  const widest = columnOf.reduce<number>((most, column) => (typeof column === "number" ? Math.max(most, column + 1) : most), 0);
  if (table && widest > 0 && table.length % widest !== 0) {
    throw new LeastwiseError("data-length", `term "${name}": \`over\` has ${table.length} indices, which is not a multiple of its ${widest} columns (the highest column that a slot takes is ${widest - 1})`, { term: name });
  }
  if (table && widest === 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` is given, but every slot has an index column of its own: leave it out`, { term: name });
  }
  const lengths = slots.map((_slot, k) => {
    const column = columnOf[k];
    return typeof column === "object" ? column.length : undefined;
  });
  const identity = slots.find((_slot, k) => columnOf[k] === undefined);
  const count = typeof over === "number" ? over
    : table ? table.length / widest
    : lengths.find((length) => length !== undefined) ?? identity?.table.count ?? 0;
  if (!Number.isInteger(count) || count < 0) {
    throw new LeastwiseError("invalid-option", `term "${name}": \`over\` is ${count}, but a number of instances is 0, 1, 2, …`, { term: name });
  }
  if (count > MOST_INSTANCES) {
    throw new LeastwiseError("limits", `term "${name}": ${count} instances are more than a term can have (${MOST_INSTANCES})`, { term: name });
  }
  // Before anything of that length is made.
  const short = typeof over === "number" ? slots.findIndex((slot, k) => columnOf[k] === undefined && slot.table.count < count) : -1;
  if (short >= 0) {
    const { name: called, count: instance } = slots[short]!.table;
    throw new LeastwiseError("index-out-of-range", `term "${name}": slot ${short} of instance ${instance} has index ${instance}, but "${called}" has ${instance} instances (0 to ${instance - 1})`, { term: name, slot: short, instance });
  }
  const uneven = typeof over === "number" ? -1 : slots.findIndex((slot, k) => columnOf[k] === undefined && slot.table.count !== count);
  if (uneven >= 0) {
    throw new LeastwiseError("data-length", `term "${name}": slot ${uneven} ("${slots[uneven]!.table.name}") has ${slots[uneven]!.table.count} instances, but the term has ${count}: slots without indices take instance i for instance i`, { term: name, slot: uneven });
  }
  const indices: Uint32Array[] = [];
  const known = new Map<unknown, number>();
  const add = (key: unknown, make: () => Uint32Array): number => {
    let number = known.get(key);
    if (number === undefined) {
      number = indices.push(make()) - 1;
      known.set(key, number);
    }
    return number;
  };
  const placed = slots.map((slot, k) => {
    const column = columnOf[k];
    const checked = (values: IndexTable, at: (i: number) => number): Uint32Array => {
      const taken = new Uint32Array(count);
      for (let i = 0; i < count; i++) {
        const value = values[at(i)]!;
        if (!(Number.isInteger(value) && value >= 0 && value < 4294967296)) {
          throw new LeastwiseError("index-out-of-range", `term "${name}": slot ${k} of instance ${i} has index ${value}, which is no index (0, 1, 2, …)`, { term: name, slot: k, instance: i });
        }
        taken[i] = value;
      }
      return taken;
    };
    if (typeof column === "object") {
      if (column.length !== count) {
        throw new LeastwiseError("data-length", `term "${name}": the index column of slot ${k} ("${slot.table.name}") has ${column.length} entries, but the term has ${count} instances`, { term: name, slot: k });
      }
      const wrong = firstNonIndex(column);
      return { table: slot.table.handle, column: add(column, () => (wrong < 0 ? Uint32Array.from(column) : checked(column, (i) => i))) };
    }
    if (column === undefined || !table) {
      return { table: slot.table.handle, column: add("identity", () => Uint32Array.from({ length: count }, (_, i) => i)) };
    }
    return { table: slot.table.handle, column: add(column, () => checked(table, (i) => i * widest + column)) };
  });
  return { count, indices, slots: placed };
}

/** @internal */
export class TermOf<D> implements Term<D> {
  #enabled = true;
  #disposed = false;

  constructor(readonly name: string, readonly count: number, private readonly tasks: Tasks, private readonly problemHandle: () => number, private readonly handle: number, private readonly columns: Traced["columns"], private readonly isWeighedEach: boolean, private readonly forget: () => void) {}

  #problem(): number {
    if (this.#disposed) throw new LeastwiseError("disposed", `term "${this.name}" was disposed: it can't be used any more`, { term: this.name });
    return this.problemHandle();
  }

  get enabled(): boolean { return this.#enabled; }
  set enabled(enabled: boolean) {
    this.tasks.call((native) => native.setEnabled(this.#problem(), this.handle, enabled));
    this.#enabled = enabled;
  }

  set(changes: { [K in keyof D]?: Update<D[K]> } & { weight?: number | Floats }): void {
    mustBeObject(changes, `term "${this.name}": set(changes): changes`, { term: this.name });
    const { weight: given, ...data } = changes as { weight?: number | Floats } & Record<string, unknown>;
    const problem = this.#problem();
    // Everything is checked before anything is written.
    const columns: { number: number; values: Floats }[] = [];
    for (const [name, values] of Object.entries(data)) {
      if (values === undefined) continue;
      const number = this.columns.findIndex((column) => column.name === name);
      const column = this.columns[number];
      if (!column) throw new LeastwiseError("invalid-option", `term "${this.name}" has no data column "${name}" (it has: ${this.columns.map((each) => each.name).join(", ") || "none"})`, { term: this.name });
      // A bare typed array is the flat content of whatever the column was made as.
      const isFlat = values instanceof Float32Array || values instanceof Float64Array;
      const next = isFlat && !column.plain.shared ? { ...column.plain, values } : plain(values, this.name, name);
      if (next.shared !== column.plain.shared || next.width !== column.plain.width) {
        const was = column.plain.shared ? `${column.plain.width} shared by all instances` : `${column.plain.width} an instance`;
        throw new LeastwiseError("invalid-option", `term "${this.name}": data column "${name}" was made as ${was}; another layout would be another kernel: make a new term`, { term: this.name });
      }
      this.#check(`data column "${name}"`, next);
      columns.push({ number, values: next.values });
    }
    const weight = plainWeight(this.name, given);
    if (weight !== undefined) this.#checkWeight(weight);
    for (const { number, values } of columns) this.tasks.call((native) => native.setColumn(problem, this.handle, number, values));
    if (weight !== undefined) this.tasks.call((native) => native.setWeight(problem, this.handle, weight));
  }

  /** The engine's own checks of a column, in its words. */
  #check(what: string, { width, shared, values }: PlainColumn): void {
    const needed = shared ? width : this.count * width;
    if (values.length !== needed) {
      const expected = shared ? `${width} (shared by all instances)` : `${needed} (${this.count} instances of ${width})`;
      throw new LeastwiseError("data-length", `term "${this.name}": ${what} has ${values.length} values, but ${expected} are needed`, { term: this.name });
    }
    // Beyond f32's range a value would be infinite on a GPU. NaN is not within it either.
    const position = values.findIndex((value) => !(Math.abs(value) <= F32_MAX));
    if (position >= 0) {
      const value = String(values[position]).replace("Infinity", "inf");
      throw new LeastwiseError("non-finite", `term "${this.name}": ${what} is not finite: value ${position} is ${value}`, { term: this.name, instance: shared ? undefined : Math.floor(position / width) });
    }
  }

  #checkWeight(weight: number | Floats): void {
    const isEach = typeof weight === "object";
    if (isEach && !this.isWeighedEach) {
      throw new LeastwiseError("invalid-option", `term "${this.name}": weight is one number for all instances: give an array when the term is made to have one for each`, { term: this.name });
    }
    const values = isEach ? weight : Float64Array.of(weight);
    const negative = values.findIndex((value) => value < 0);
    if (negative >= 0) throw new LeastwiseError("invalid-option", `term "${this.name}": weight must not be negative, but value ${negative} is`, { term: this.name });
    this.#check("weight", { width: 1, shared: !isEach, values });
  }

  async #costs(): Promise<Float64Array> {
    const task = this.tasks.call((native) => native.termCosts(this.#problem(), this.handle));
    return (await this.tasks.run(task)).values ?? new Float64Array();
  }

  async cost(): Promise<number> {
    return (await this.#costs()).reduce((sum, cost) => sum + cost, 0);
  }

  async worst(count: number): Promise<{ instance: number; cost: number }[]> {
    const costs = Array.from(await this.#costs(), (cost, instance) => ({ instance, cost }));
    return costs.sort((a, b) => b.cost - a.cost || a.instance - b.instance).slice(0, Math.max(0, count));
  }

  dispose(): void {
    if (this.#disposed) return;
    this.tasks.release((native) => native.freeTerm(this.problemHandle(), this.handle));
    this.#disposed = true;
    this.forget();
  }

  [Symbol.dispose](): void { this.dispose(); }
}
