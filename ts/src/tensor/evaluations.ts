/**
 * Evaluations of an engine's tensors, one after the other. What is asked for in one turn of the event loop, or while another
 * evaluation runs, is computed and read together: in one submission, with one readback.
 */
import type { Floats } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { NEEDS } from "../parts.js";
import { computedWith } from "./apply.js";
import type { TensorContext } from "./context.js";
import type { AnyTensor, DType, Storage } from "./tensor.js";
import { PREVIEW } from "./text.js";

/** Arrays that elements are read as. */
type Read = Floats | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;
const ARRAYS: { readonly [S in Storage]: { from(values: ArrayLike<number>): Read } } = { f16: Float32Array, f32: Float32Array, f64: Float64Array, int32: Int32Array, bool: Uint8Array };

/** Somebody's wish: tensors to be computed, some of which are read. */
interface Wish {
  readonly dtype: DType;
  readonly outputs: readonly AnyTensor[];
  readonly read: readonly AnyTensor[];
  readonly resolve: (values: readonly Read[]) => void;
  readonly reject: (error: unknown) => void;
}

/** @internal */
export class Evaluations {
  #open: Wish[] = [];
  #running = false;
  /** What nothing else may run beside. */
  readonly #alone: (() => Promise<void>)[] = [];
  /** What has to be done before the next evaluation; if that fails, so does the evaluation. */
  before: (() => Promise<void>) | undefined;
  /** Computes gradients through solves that an evaluation needs; there once there was a solution with gradients. */
  pull: ((ids: Uint32Array) => Promise<void>) | undefined;
  /** How many open wishes read a tensor; it is freed after these, where it was disposed meanwhile. */
  readonly #wanted = new Map<AnyTensor, number>();
  readonly #deferred = new Set<AnyTensor>();

  constructor(private readonly context: TensorContext) {}

  /** Computes tensors of one precision; gives the values of those that are read. */
  ask(outputs: readonly AnyTensor[], read: readonly AnyTensor[]): Promise<readonly Read[]> {
    const first = outputs[0] ?? read[0];
    if (!first) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      this.#want([...outputs, ...read]);
      this.#open.push({ dtype: computedWith(first), outputs, read, resolve, reject });
      this.#start();
    });
  }

  /** Does something while nothing is evaluated: after what is, and before what waits. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#alone.push(() => work().then(resolve, reject));
      this.#start();
    });
  }

  /** When everything that was asked for so far is done; what failed tells those who asked for it. */
  async idle(): Promise<void> {
    while (this.#running) await new Promise<void>((resolve) => { this.#idle.push(resolve); });
  }
  #idle: (() => void)[] = [];

  /** Whether a tensor that is being disposed is still to be evaluated, and goes after that. */
  defer(tensor: AnyTensor): boolean {
    if (!this.#wanted.has(tensor)) return false;
    this.#deferred.add(tensor);
    return true;
  }

  /** Holds tensors: those that are disposed meanwhile are freed when this is undone. */
  hold(tensors: readonly AnyTensor[]): () => void {
    this.#want(tensors);
    return () => this.#leave(tensors);
  }

  #want(tensors: readonly AnyTensor[]): void {
    for (const tensor of tensors) this.#wanted.set(tensor, (this.#wanted.get(tensor) ?? 0) + 1);
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => void this.#drain());
  }

  async #drain(): Promise<void> {
    while (this.#open.length || this.#alone.length) {
      for (const work of this.#alone.splice(0)) await work();
      const dtype = this.#open[0]?.dtype;
      if (!dtype) continue;
      const batch = this.#open.filter((wish) => wish.dtype === dtype);
      this.#open = this.#open.filter((wish) => wish.dtype !== dtype);
      try {
        if (this.before) await this.before();
        await this.#evaluate(batch);
      } catch (error) {
        // An error is for those whose tensors it is about.
        if (batch.length === 1 || !isOfTensors(error)) for (const wish of batch) wish.reject(error);
        else for (const wish of batch) await this.#evaluate([wish]).catch(wish.reject);
      } finally {
        for (const { outputs, read } of batch) this.#leave([...outputs, ...read]);
      }
    }
    this.#running = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #evaluate(batch: readonly Wish[]): Promise<void> {
    const { tasks } = this.context;
    const read = [...new Set(batch.flatMap((wish) => wish.read))];
    const outputs = [...new Set(batch.flatMap((wish) => wish.outputs))];
    const ids = (tensors: readonly AnyTensor[]) => Uint32Array.from(tensors, (tensor) => tensor.id);
    if (this.pull) await this.pull(ids([...outputs, ...read]));
    const { values = new Float64Array(0) } = await tasks.begin(undefined, NEEDS.tensors, (native) => native.tensorEvaluate(ids(outputs), ids(read)));
    const found = new Map<AnyTensor, Float64Array>();
    let first = 0;
    for (const tensor of read) {
      found.set(tensor, values.subarray(first, first + tensor.size));
      tensor.preview = values.slice(first, first + Math.min(tensor.size, PREVIEW));
      first += tensor.size;
    }
    for (const wish of batch) wish.resolve(wish.read.map((tensor) => ARRAYS[tensor.dtype].from(found.get(tensor)!)));
  }

  #leave(tensors: readonly AnyTensor[]): void {
    const freed: number[] = [];
    for (const tensor of tensors) {
      const left = this.#wanted.get(tensor)! - 1;
      if (left > 0) {
        this.#wanted.set(tensor, left);
        continue;
      }
      this.#wanted.delete(tensor);
      if (this.#deferred.delete(tensor)) freed.push(tensor.id);
    }
    this.context.release(freed);
  }
}

/** Whether an error may be about one of several wishes; a device that is lost is about all. */
function isOfTensors(error: unknown): boolean {
  return error instanceof LeastwiseError && !["device-lost", "disposed", "engine-dead", "internal"].includes(error.code);
}
