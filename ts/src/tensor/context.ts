/** The tensors of one engine: making and freeing them, and the scopes that they are made in. */
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";
import type { NativeEngine } from "../native.js";
import type { Tasks } from "../tasks.js";
import { Evaluations } from "./evaluations.js";
import type { Operation } from "./operations.js";
import type { AnyTensor, Storage, Tensor } from "./tensor.js";

/** A tensor's id in the engine, and its shape. @internal */
export interface Made { readonly id: number; readonly shape: readonly number[]; readonly values: "int32" | "bool" | undefined }

const VALUES = [undefined, "int32", "bool"] as const;

/** The class of tensors, whose module imports this one's users. */
type TensorClass = typeof Tensor;

const NO_NUMBERS = new Float64Array(0);
const NOTHING = new Uint32Array(0);

/** @internal */
export class TensorContext {
  readonly evaluations: Evaluations;
  #scopes: Set<Disposable>[] = [];

  constructor(readonly tasks: Tasks, readonly backend: string, readonly Tensor: TensorClass) {
    this.evaluations = new Evaluations(this);
  }

  /** An operation's one result. */
  apply(name: Operation, inputs: readonly number[], numbers: readonly number[], dtype: Storage): Made {
    // The odd one may be undefined itself.
    const odd = numbers.findIndex((number) => typeof number !== "number");
    if (odd >= 0) throw new LeastwiseError("invalid-option", `${name}(): ${shownValue(numbers[odd])} is not a number`);
    const packed = this.tasks.call((native) =>
      native.tensorOp(name, inputs.length ? Uint32Array.from(inputs) : NOTHING, numbers.length ? Float64Array.from(numbers) : NO_NUMBERS, dtype === "f64"));
    return unpacked(packed)[0]!;
  }

  /** Any call that gives packed tensors. */
  call(work: (native: NativeEngine) => Uint32Array): readonly Made[] {
    return unpacked(this.tasks.call(work));
  }

  /** Refuses f64 where there is none. */
  mustHave(dtype: unknown, what: string): asserts dtype is Storage {
    if (!["f16", "f32", "f64", "int32", "bool"].includes(dtype as string)) throw new LeastwiseError("invalid-option", `${what}: dtype is "f16", "f32", "f64", "int32" or "bool", not ${shownValue(dtype)}`);
    if (dtype === "f64" && this.backend === "webgpu") {
      throw new LeastwiseError("dtype", `${what}: WebGPU computes in f32; f64 is for init({ backend: "cpu" }) and init({ backend: "cuda" })`);
    }
  }

  /** A handle begins. */
  adopt(tensor: AnyTensor): void {
    this.enter(tensor);
    this.tasks.owners.adopt(tensor, "tensors", tensor.id);
  }

  /** Something was made that the scope around it frees. */
  enter(made: Disposable): void {
    this.#scopes.at(-1)?.add(made);
  }

  /** A handle ends. Values that are still to be read are read. */
  drop(tensor: AnyTensor): void {
    this.exit(tensor);
    this.tasks.owners.leave(tensor, "tensors", tensor.id);
    if (!this.evaluations.defer(tensor)) this.release([tensor.id]);
  }

  /** No scope has to free it any more. */
  exit(made: Disposable): void {
    for (const scope of this.#scopes) scope.delete(made);
  }

  release(ids: readonly number[]): void {
    if (ids.length === 0) return;
    this.tasks.release((native) => native.tensorRelease(Uint32Array.from(ids)));
  }

  /** From here on what is made belongs to a scope. */
  open(): void {
    this.#scopes.push(new Set());
  }

  /** Makes something that no scope frees. */
  outside<T>(work: () => T): T {
    const scopes = this.#scopes;
    this.#scopes = [];
    try {
      return work();
    } finally {
      this.#scopes = scopes;
    }
  }

  /** Frees what the innermost scope made, but for what is kept, which the next one outside gets. */
  close(kept: ReadonlySet<unknown>): void {
    const made = this.#scopes.pop();
    if (!made) return;
    const outer = this.#scopes.at(-1);
    for (const each of made) {
      if (kept.has(each)) outer?.add(each);
      else each[Symbol.dispose]();
    }
  }
}

/** Tensors as the engine packs them: id, rank (with what values there are) and sizes of each. @internal */
export function unpacked(packed: ArrayLike<number>): readonly Made[] {
  const made: Made[] = [];
  for (let at = 0; at < packed.length;) {
    const rank = packed[at + 1]! & 0xffff;
    made.push({ id: packed[at]!, values: VALUES[packed[at + 1]! >>> 16], shape: Object.freeze(Array.from({ length: rank }, (_, axis) => packed[at + 2 + axis]!)) });
    at += 2 + rank;
  }
  return made;
}
