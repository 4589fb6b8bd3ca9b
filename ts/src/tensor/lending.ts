/** Tensors as parts of problems: data columns, weights and values, which get their elements on the device. */
import { LeastwiseError } from "../errors.js";
import { NEEDS } from "../parts.js";
import type { Tasks } from "../tasks.js";
import { computedWith } from "./apply.js";
import { made } from "./composed.js";
import type { AnyTensor } from "./tensor.js";

/** Part of a problem (0 and a table, 1 and a term and a column, 2 and a term for its weight), and the tensor that it gets. @internal */
export type Loan = readonly [to: readonly number[], tensor: AnyTensor];

/** @internal */
export const NO_WORDS = new Uint32Array(0), NO_VALUES = new Float64Array(0);

/** Gives a problem tensors, all or none, once they are evaluated; what it is asked meanwhile waits. @internal */
export function lend(tasks: Tasks, problem: number, loans: readonly Loan[]): void {
  const what = "a tensor as part of a problem", first = loans[0]![1], { context } = first;
  const words = (to: readonly number[], { id }: AnyTensor) => Uint32Array.of(...to, id);
  const copies = context.outside(() => made(what, first, () => loans.map(([to, tensor]) => {
    tensor.mustLive(what);
    if (tensor.context.tasks !== tasks) throw new LeastwiseError("foreign-tensor", `${what} must be one of its engine: read() it, and give the values`);
    return new context.Tensor(context, context.call((native) => native.tensorMeet("borrow", problem, words(to, tensor), NO_VALUES))[0]!, computedWith(tensor.dtype));
  })));
  const coming = Promise.all(copies.map((copy) => context.evaluations.ask([copy], []))).then(() => copies.forEach((copy, k) => {
    tasks.release((native) => { native.tensorMeet("lend", problem, words(loans[k]![0], copy), NO_VALUES); });
  })).finally(() => { for (const copy of copies) copy.dispose(); });
  let left: Promise<unknown> | undefined = Promise.all([coming, tasks.lent.get(problem)?.(false)]), failed = false;
  left.then(() => { left = undefined; }, () => { failed = true; });
  tasks.lent.set(problem, (onHost) => {
    const now = left;
    // What failed, one call tells.
    if (failed) left = undefined;
    return onHost && (now || lenders(tasks, problem).length) ? Promise.resolve(now).then(() => learn(tasks, problem)) : now;
  });
}

/** What a problem has of tensors, and the host does not know. */
const lenders = (tasks: Tasks, problem: number) => tasks.call((native) => native.tensorMeet("lenders", problem, NO_WORDS, NO_VALUES));

/** Tells the host, for what is computed there. */
async function learn(tasks: Tasks, problem: number): Promise<void> {
  const all = lenders(tasks, problem);
  if (all.length === 0) return;
  const { values } = await tasks.begin(undefined, NEEDS.tensors, (native) => native.tensorEvaluate(NO_WORDS, all));
  tasks.call((native) => native.tensorMeet("learn", problem, NO_WORDS, values!));
}
