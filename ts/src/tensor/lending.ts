/** Tensors as parts of problems: data columns, weights and values, which get their elements on the device. */
import { LeastwiseError } from "../errors.js";
import { NEEDS } from "../parts.js";
import type { Lent, Tasks } from "../tasks.js";
import { computedWith } from "./apply.js";
import { made } from "./composed.js";
import type { AnyTensor } from "./tensor.js";

/** Part of a problem (0 and a table, 1 and a term and a column, 2 and a term for its weight), and the tensor that it gets. @internal */
export type Loan = readonly [to: readonly number[], tensor: AnyTensor];

/** Copies of tensors as parts of a problem take them: all fit, and nothing was changed yet. @internal */
export interface Borrowed { give(): void; drop(): void }

/** @internal */
export const NO_WORDS = new Uint32Array(0), NO_VALUES = new Float64Array(0);

/** Gives a problem tensors, all or none, once they are evaluated; what it is asked meanwhile waits. @internal */
export const lend = (tasks: Tasks, problem: number, loans: readonly Loan[]): void => borrow(tasks, problem, loans).give();

/** The same in two steps: what does not fit is refused before anything is changed. @internal */
export function borrow(tasks: Tasks, problem: number, loans: readonly Loan[]): Borrowed {
  const what = "a tensor as part of a problem", first = loans[0]![1], { context } = first;
  const words = (to: readonly number[], { id }: AnyTensor) => Uint32Array.of(...to, id);
  const copies = context.outside(() => made(what, first, () => loans.map(([to, tensor]) => {
    tensor.mustLive(what);
    if (tensor.context.tasks !== tasks) throw new LeastwiseError("foreign-tensor", `${what} must be one of its engine: read() it, and give the values`);
    return new context.Tensor(context, context.call((native) => native.tensorMeet("borrow", problem, words(to, tensor), NO_VALUES))[0]!, computedWith(tensor));
  })));
  const drop = () => { for (const copy of copies) copy.dispose(); };
  const give = () => {
    const awaited = copies.map((copy, k) => words(loans[k]![0], copy));
    for (const each of awaited) tasks.call((native) => native.tensorMeet("await", problem, each, NO_VALUES));
    const coming = Promise.all(copies.map((copy) => context.evaluations.ask([copy], []))).then(() => {
      for (const each of awaited) tasks.release((native) => { native.tensorMeet("lend", problem, each, NO_VALUES); });
    }).finally(drop);
    let known = tasks.lent.get(problem);
    if (!(known instanceof LentTo)) tasks.lent.set(problem, known = new LentTo(tasks, problem));
    (known as LentTo).add(coming, awaited);
  };
  return { give, drop };
}

/** Tensors that a problem is being given, was given, or could not be given. */
class LentTo implements Lent {
  #left: Promise<unknown> | undefined;
  /** Recipients whose tensors could not be evaluated. They fail every call until they are given something else. */
  #failed: { readonly awaited: Uint32Array; readonly error: unknown }[] = [];

  constructor(private readonly tasks: Tasks, private readonly problem: number) {}

  add(coming: Promise<void>, awaited: readonly Uint32Array[]): void {
    const told = coming.catch((error: unknown) => { this.#failed.push(...awaited.map((each) => ({ awaited: each, error }))); });
    const left = this.#left = Promise.all([told, this.#left]).then(() => { if (this.#left === left) this.#left = undefined; });
  }

  get isOpen(): boolean { return this.#left !== undefined || this.#failure() !== undefined; }

  wait(onHost: boolean): Promise<unknown> | undefined {
    if (this.#left) return this.#left.then(() => this.wait(onHost));
    const failure = this.#failure();
    if (failure) return Promise.reject(failure.error);
    const pairs = onHost ? this.#call("lenders", NO_WORDS) : NO_WORDS;
    // Others may have come while these were read.
    return pairs.length ? this.#learn(pairs).then(() => this.wait(true)) : undefined;
  }

  /** Tells the host what it does not know, for what is computed there. */
  async #learn(pairs: Uint32Array): Promise<void> {
    const ids = pairs.filter((_, k) => k % 2 === 0);
    const { values } = await this.tasks.begin(undefined, NEEDS.tensors, (native) => native.tensorEvaluate(NO_WORDS, ids));
    this.#call("learn", pairs, values!);
  }

  #failure(): { readonly error: unknown } | undefined {
    this.#failed = this.#failed.filter(({ awaited }) => this.#call("awaits", awaited)[0]);
    return this.#failed[0];
  }

  #call(step: "lenders" | "learn" | "awaits", words: Uint32Array, values: Float64Array = NO_VALUES): Uint32Array {
    return this.tasks.call((native) => native.tensorMeet(step, this.problem, words, values));
  }
}
