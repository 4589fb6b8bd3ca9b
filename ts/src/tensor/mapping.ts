/** Functions of elements as operations of tensors: they are traced once, as residuals are. */
import { LeastwiseError } from "../errors.js";
import { describe, valueOf } from "../instruction.js";
import { Opcode } from "../opcodes.js";
import { Scalar } from "../scalar.js";
import { Trace } from "../trace.js";
import { Words } from "../words.js";
import { computedWith } from "./apply.js";
import type { AnyTensor, ComputedWith, Tensor } from "./tensor.js";

/** `work` of one element of each tensor, for all elements. @internal */
export function mapped<const T extends readonly [AnyTensor, ...AnyTensor[]]>(work: (...elements: readonly Scalar[]) => Scalar, tensors: T): Tensor<ComputedWith<T[0]>> {
  const words = Words.take();
  try {
    const trace = new Trace(undefined, words, "the function of map()", computedWith(tensors[0]) === "f64" ? Number.MAX_VALUE : undefined);
    const elements = tensors.map((_, k) => new Scalar(trace, trace.write1(Opcode.Input, k)));
    const returned: unknown = trace.run((of: readonly Scalar[]) => work(...of), elements, undefined);
    if (!(returned instanceof Scalar)) throw new LeastwiseError("no-residual", `map(work, …tensors): work must return one scalar, not ${describe(returned)}`);
    const output = valueOf(trace, returned);
    const { context } = tensors[0];
    const [made] = context.call((native) => native.tensorMap(words.all.slice(), Uint32Array.of(output), Uint32Array.from(tensors, (tensor) => tensor.id)));
    return new context.Tensor(context, made!, computedWith(tensors[0]) as ComputedWith<T[0]>);
  } finally {
    Words.release(words);
  }
}
