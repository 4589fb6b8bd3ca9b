/** Many small fits whose data stay on the device. */
import { taken, type Values } from "./arrays.js";
import type { Engine } from "./engine.js";
import { LeastwiseError } from "./errors.js";
import { fitShared } from "./fit-shared.js";
import { Model, type FitOptions, type Fits, type Joint } from "./fit.js";
import { describe, shownValue } from "./instruction.js";
import { checked, oneOf, REPORTING, takesNoMore, type Reporting } from "./options.js";
import type { Tasks } from "./tasks.js";

/**
 * Options of {@link FitSet.run}.
 *
 * @example
 * await set.run({ from: "values", onProgress: (done, total) => console.log(`${done} of ${total}`) });
 */
export interface FitRunOptions extends Reporting {
  /** Values that fits begin at: `start` and `starts`, or the parameters that they have. @defaultValue `"start"` */
  readonly from?: "start" | "values";
}

/**
 * Fits whose data, parameters and standard errors stay on the device: see {@link fitSet}.
 *
 * @example
 * const set: FitSet<"mean"> = await fitSet(lw, { model: ([mean]) => mean, parameters: ["mean"], points: 3, data: [1, 2, 3, 4, 5, 6], start: { mean: 0 } });
 * await set.run();
 * console.log(await set.values("mean"));  // 2 and 5
 * set.dispose();
 */
export interface FitSet<Name extends string> {
  /** Fits. */
  readonly count: number;
  /**
   * Fits all. Nothing comes back but how many fits are not at their end, after each launch.
   *
   * @throws `busy` while another call is on its way; the signal's reason after an abort, after which there are no results until another run from the start
   */
  run(options?: FitRunOptions): Promise<void>;
  /**
   * Replaces the data, by as many.
   *
   * @throws `data-length` for another number of values; `busy`
   */
  write(data: ArrayLike<number>): Promise<void>;
  /**
   * Reads what fits came to.
   *
   * @throws `invalid-option` before the first run; `busy`
   */
  read(): Promise<Fits<Name>>;
  /**
   * Reads one parameter of all fits.
   *
   * @throws `invalid-option` before the first run, and for a name that is none; `busy`
   */
  values(name: Name): Promise<Values>;
  /** Frees the data and all results on the device. */
  dispose(): void;
  /** The same, at the end of a block with `using`. */
  [Symbol.dispose](): void;
}

const RUN = { from: oneOf("start", "values"), ...REPORTING } as const;

/** Sets at work at once: while the host looks at one, the device has another. */
const TOGETHER = 2;

class FitSetOf<Name extends string> implements FitSet<Name> {
  readonly count: number;
  readonly #tasks: Tasks;
  readonly #model: Model<Name>;
  readonly #parts: readonly (readonly [first: number, count: number])[];
  readonly #sets: readonly number[];
  #ran = false;
  /** The last result of shared parameters. */
  #joint: Joint | undefined;
  #busy = false;
  #disposed = false;

  constructor(tasks: Tasks, model: Model<Name>, parts: readonly (readonly [number, number])[], sets: readonly number[]) {
    [this.#tasks, this.#model, this.#parts, this.#sets, this.count] = [tasks, model, parts, sets, model.looked.count];
    for (const set of sets) tasks.owners.adopt(this, "fits", set);
  }

  async run(options: FitRunOptions = {}): Promise<void> {
    takesNoMore("set.run(options)", 1, arguments);
    const { from, signal, onProgress } = checked("set.run(options): options", options, RUN), keeps = from === "values";
    if (keeps) this.#mustHaveRun("run({ from: \"values\" })");
    if (this.#model.looked.shared) {
      await this.#alone(async () => {
        this.#ran = false;
        this.#joint = await fitShared(this.#model, this.#sets, keeps ? this.#joint : undefined, { signal, onProgress });
      });
      this.#ran = true;
      onProgress?.(this.count, this.count);
      return;
    }
    const done = this.#sets.map(() => 0);
    await this.#each((set, [, count], k) => {
      // Fits of a run that comes to no end have no results: some may not have begun.
      this.#ran = false;
      return this.#model.run(set, keeps, {
        signal, onProgress: onProgress && ((part, total) => {
          done[k] = (part / total) * count;
          onProgress(done.reduce((sum, each) => sum + each, 0), this.count);
        }),
      });
    });
    this.#ran = true;
  }

  async write(data: ArrayLike<number>): Promise<void> {
    takesNoMore("set.write(data)", 1, arguments);
    const { values } = taken("set.write(data): data", data), { points, offsets, total } = this.#model.looked;
    if (values.length !== total) throw new LeastwiseError("data-length", `set.write(data): data has ${values.length} values, but there are ${total} points`);
    const place = (fit: number) => (offsets ? offsets[fit]! : fit * points);
    await this.#each((set, [first, count]) => {
      const part = values.subarray(place(first), place(first + count)), own = part instanceof Float32Array || part instanceof Float64Array ? part : Float64Array.from(part);
      return this.#tasks.run(this.#tasks.call((engine) => engine.writeFits(set, own)));
    });
  }

  async read(): Promise<Fits<Name>> {
    takesNoMore("set.read()", 0, arguments);
    this.#mustHaveRun("read()");
    const began = performance.now(), { take, fits } = this.#model.collector(this.#joint);
    await this.#each(async (set, part) => { take(await this.#model.fields(set), part); });
    return fits(performance.now() - began);
  }

  async values(name: Name): Promise<Values> {
    takesNoMore("set.values(name)", 1, arguments);
    const { names } = this.#model.looked, k = names.indexOf(name);
    if (k < 0) throw new LeastwiseError("invalid-option", `set.values(name): ${shownValue(name)} is no parameter (they are ${names.join(", ")})`);
    this.#mustHaveRun("values(name)");
    const all = this.#model.made();
    await this.#each(async (set, [first]) => { all.set(await this.#model.fields(set, undefined, k, 1), first); });
    return all;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const set of this.#sets) this.#tasks.owners.dispose(this, "fits", set);
  }

  [Symbol.dispose](): void { this.dispose(); }

  #mustHaveRun(call: string): void {
    if (!this.#ran && !this.#busy && !this.#disposed) throw new LeastwiseError("invalid-option", `set.${call}: nothing was fitted to its end: await set.run() first`);
  }

  /** Something of each set, a few of them at once. */
  async #each(work: (set: number, part: readonly [number, number], k: number) => Promise<unknown>): Promise<void> {
    await this.#alone(() => together(this.#sets, (set, k) => work(set, this.#parts[k]!, k)));
  }

  /** Something that nothing else is beside. */
  async #alone(work: () => Promise<unknown>): Promise<void> {
    if (this.#disposed) throw new LeastwiseError("disposed", "these fits were disposed: they can't be used any more");
    if (this.#busy) throw new LeastwiseError("busy", "these fits are at work already: wait for the running call, or abort it");
    this.#busy = true;
    try {
      await work();
    } finally {
      this.#busy = false;
    }
  }
}

/** Works on all items in their order, a few at once. Where one fails, those that have begun come to their end first. */
async function together<T>(items: readonly T[], work: (item: T, k: number) => Promise<unknown>): Promise<void> {
  let next = 0, failed = false;
  const one = async () => {
    while (next < items.length && !failed) {
      const k = next++;
      try {
        await work(items[k]!, k);
      } catch (thrown) {
        failed = true;
        throw thrown;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: TOGETHER }, one));
  for (const each of ended) if (each.status === "rejected") throw each.reason;
}

/**
 * Uploads data of many fits, which stay on the device with all that fits come to: they are fitted by {@link FitSet.run}, again and again, and
 * read when they are asked for. Options are those of `lw.fit`; of these `signal` and `onProgress` are about the upload.
 *
 * @throws As `lw.fit` does; the signal's reason after an abort
 * @example
 * const means = await fitSet(lw, { model: ([mean]) => mean, parameters: ["mean"], points: 3, data: [1, 2, 3, 4, 5, 6], start: { mean: 0 } });
 * await means.run();
 * console.log(await means.values("mean"));  // 2 and 5
 * means.dispose();
 */
export async function fitSet<const Names extends readonly string[], Variable extends string = never>(lw: Engine, options: FitOptions<Names, Variable>): Promise<FitSet<Names[number]>> {
  takesNoMore("fitSet(lw, options)", 2, arguments);
  const { tasks } = (lw ?? {}) as { readonly tasks?: Tasks };
  if (typeof tasks?.call !== "function") throw new LeastwiseError("invalid-option", `fitSet(lw, options): lw must be an engine, not ${describe(lw)}`);
  const [model, { signal, onProgress }] = await Model.of<Names>(tasks, options), sets: number[] = [];
  try {
    const { sets: parts } = model;
    for (const part of parts) {
      const set = model.begin(part);
      sets.push(set);
      await tasks.run(tasks.call((engine) => engine.uploadFits(set)), { signal, onAbort: "reject" });
      onProgress?.(part[0] + part[1], model.looked.count);
    }
    model.forget();
    return new FitSetOf(tasks, model, parts, sets);
  } catch (thrown) {
    for (const set of sets) tasks.release((engine) => engine.freeFits(set));
    throw thrown;
  } finally {
    tasks.release((engine) => engine.freeFit(model.handle));
  }
}
