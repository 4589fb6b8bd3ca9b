/** Operations on tensors' ids: what every method and function of tensors ends in. */
import { isList, taken } from "../arrays.js";
import { isA, LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import type { Made, TensorContext } from "./context.js";
import { TensorHandle } from "./handle.js";
import type { Operation } from "./operations.js";
import { elementsOf, shown } from "./shapes.js";
import type { AnyTensor, DType, Kept, Storage, Tensor } from "./tensor.js";

/** An operation and its numbers. @internal */
export type Step = readonly [name: Operation, numbers: readonly number[]];

/** What may be an operand. @internal */
export type Operand<D extends DType> = Kept<D> | number;

/** The largest number of each kind: beyond that of f32 a number is infinite on a GPU. @internal */
export const LARGEST = { f16: 65504, f32: 3.4028234663852886e38, f64: Number.MAX_VALUE, int32: 3.4028234663852886e38, bool: 3.4028234663852886e38 } as const;

/** Precision of the engine's context that a tensor belongs to: ids of f64 have the highest bit. @internal */
export const computedWith = ({ id }: AnyTensor): DType => (id >= 2 ** 31 ? "f64" : "f32");

/** @internal */
export const isTensor = (value: unknown): value is AnyTensor => isA(value, TensorHandle);

/** Refuses what is no tensor that lives. @internal */
export function mustBeTensor(what: string, name: string, given: unknown): asserts given is AnyTensor {
  if (!isTensor(given)) throw new LeastwiseError("invalid-option", `${what}: ${name} must be a tensor, not ${describe(given)}${isList(given) || ArrayBuffer.isView(given) ? " (lw.tensor(values, shape) makes one)" : ""}`);
  given.mustLive(what);
}

/** Refuses tensors that can't be in one operation. @internal */
export function mustGoTogether(what: string, first: AnyTensor, others: readonly AnyTensor[]): void {
  for (const other of others) {
    if (other.context !== first.context) throw new LeastwiseError("foreign-tensor", `${what}: the tensors belong to two engines; read() one and give it to the other with lw.tensor`);
    if (computedWith(other) !== computedWith(first)) throw new LeastwiseError("dtype", `${what}: tensors are of ${first.dtype} and of ${other.dtype}, and nothing is converted in silence: make both with the same dtype`);
  }
}

/** Refuses numbers that a device can't have. @internal */
export function mustBeNumber(what: string, value: unknown, dtype: Storage): asserts value is number {
  if (typeof value !== "number") throw new LeastwiseError("invalid-option", `${what} must be a tensor or a number, not ${describe(value)}`);
  if (!(Math.abs(value) <= LARGEST[dtype])) {
    throw new LeastwiseError("non-finite", `${what} is ${value}: numbers must be finite${dtype === "f64" ? "" : `, and at most ${dtype === "f16" ? 65504 : "3.4e38"}`}`);
  }
}

/** A tensor by one operation, of tensors and numbers, of which one at least is a tensor. @internal */
export function apply<D extends DType, S extends Storage = D>(name: Operation, operands: readonly Operand<D>[], numbers: readonly number[] = []): Tensor<D, S> {
  const first = operands.find((operand) => isTensor(operand)) as Tensor<D> | undefined;
  if (!first) {
    const odd = operands.find((operand) => typeof operand !== "number");
    throw new LeastwiseError("invalid-option", odd === undefined ? `${name}() of numbers alone: use Math` : `${name}(): an operand must be a tensor or a number, not ${describe(odd)}`);
  }
  const { context } = first, dtype = computedWith(first) as D;
  for (const operand of operands) {
    if (isTensor(operand)) operand.mustLive(`${name}()`);
    else mustBeNumber(`${name}(): an operand`, operand, dtype);
  }
  mustGoTogether(`${name}()`, first, operands.filter((operand) => isTensor(operand)));
  const numbersAt: number[] = [];
  try {
    const ids = operands.map((operand) => {
      if (isTensor(operand)) return operand.id;
      const { id } = context.apply("constant", [], [operand], dtype);
      numbersAt.push(id);
      return id;
    });
    return new context.Tensor<D, S>(context, context.apply(name, ids, numbers, dtype), dtype as unknown as S);
  } finally {
    context.release(numbersAt);
  }
}

/** A tensor by several operations one after the other; what is between is let go. @internal */
export function through<D extends DType, S extends Storage = D>(what: string, tensor: Kept<D>, steps: readonly Step[]): Tensor<D, S> {
  tensor.mustLive(what);
  const { context } = tensor, dtype = computedWith(tensor) as D;
  // A handle of its own, where there is nothing to do.
  const all = steps.length ? steps : [["reshape", tensor.shape] as const];
  let made: Made = { id: tensor.id, shape: tensor.shape, values: undefined };
  for (const [number, [name, numbers]] of all.entries()) {
    const before = made.id, between = number > 0;
    try {
      made = context.apply(name, [before], numbers, dtype);
    } finally {
      if (between) context.release([before]);
    }
  }
  return new context.Tensor<D, S>(context, made, dtype as unknown as S);
}

/** Whole numbers as a tensor, for as long as `work` takes; of places along an axis of that `size`, negative ones count from its end. @internal */
export function withNumbers<D extends DType, T>(what: string, rows: Kept<D> | ArrayLike<number>, like: Kept<D>, work: (rows: Kept<D>) => T, size = 0): T {
  if (isTensor(rows)) return work(rows as Kept<D>);
  const given = wholeNumbers(like.context, what, rows, undefined, computedWith(like) as D, size);
  try {
    return work(given);
  } finally {
    given.dispose();
  }
}

/** A tensor of whole numbers, checked. @internal */
export function wholeNumbers<D extends DType>(context: TensorContext, what: string, given: unknown, shape: readonly number[] | undefined, dtype: D, size = 0): Tensor<D> {
  const { values } = taken(what, given, { must: "must be an array of whole numbers" });
  const sizes = shape ?? [values.length];
  if (elementsOf(sizes) !== values.length) throw new LeastwiseError("data-length", `${what}: there are ${values.length} values, but the shape ${shown(sizes)} has ${elementsOf(sizes)} elements`);
  const words = new Uint32Array(values.length);
  let largest = 0;
  for (let k = 0; k < words.length; k++) {
    const value = values[k]! + (values[k]! < 0 ? size : 0);
    // f32 knows no whole numbers apart beyond these.
    if (!(Number.isInteger(value) && value >= 0 && value <= 1 << 24)) {
      throw new LeastwiseError("index-out-of-range", `${what}: number ${k} is ${String(values[k])}, but labels and indices are whole numbers from ${size ? `−${size}` : 0} to 16777216`, { instance: k });
    }
    words[k] = value;
    largest = Math.max(largest, value);
  }
  const [made] = context.call((native) => native.tensorNumbers(words, Uint32Array.from(sizes), dtype === "f64"));
  return new context.Tensor(context, made!, dtype, words.length ? largest : undefined);
}

/** Refuses whole numbers that are known to be too large. @internal */
export function mustBeBelow(what: string, numbers: AnyTensor, end: number, of: string): void {
  if (numbers.largest !== undefined && numbers.largest >= end) throw new LeastwiseError("index-out-of-range", `${what}: there is a ${numbers.largest} among the numbers, but there are ${end} ${of} (0 to ${end - 1})`);
}
