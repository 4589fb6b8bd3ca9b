/** Operations of tensors that are made of others: NumPy's names, with the gradients of what they are made of. */
import { isArrayLike, taken } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { atan2 as angle, log2 as logarithm, mod as remainder } from "../functions.js";
import { checked, flag, real as number, whole } from "../options.js";
import type { Num, Scalar } from "../scalar.js";
import { apply, isTensor, LARGEST, mustBeNumber, mustBeTensor, computedWith, through } from "./apply.js";
import { mapped } from "./mapping.js";
import { axesOf, axisOf, type Axes, type ReduceOptions, type Sizes } from "./shapes.js";
import type { AnyTensor, DType, Kept, Tensor } from "./tensor.js";

/**
 * Options of `var` and `std`.
 *
 * @example
 * const options: SpreadOptions = { correction: 1 };  // divided by n − 1
 * weights.var(0, options);
 */
export interface SpreadOptions extends ReduceOptions {
  /** What is taken from the count before it divides: 1 for an unbiased variance (NumPy's `ddof`). @defaultValue 0 */
  readonly correction?: number;
}

/**
 * Options of `norm`.
 *
 * @example
 * const options: NormOptions = { order: 1 };
 * weights.norm(0, options);
 */
export interface NormOptions extends ReduceOptions {
  /** 1: Σ|x|; 2: √Σx²; Infinity: the largest |x|. @defaultValue 2 */
  readonly order?: number;
}

/** @internal */
export const SPREAD = { keepDims: flag, correction: number(0) } as const;
const order = (name: string, value: unknown): number => {
  if (value !== 1 && value !== 2 && value !== Infinity) throw new LeastwiseError("invalid-option", `${name} must be 1, 2 or Infinity`);
  return value;
};
/** @internal */
export const NORMS = { keepDims: flag, order } as const;

/** What `work` makes; all that it made on the way is freed. @internal */
export function made<T extends AnyTensor | readonly AnyTensor[]>(what: string, of: AnyTensor, work: () => T): T {
  of.mustLive(what);
  const { context } = of;
  let kept: unknown;
  context.open();
  try {
    const result = work();
    kept = result;
    return result;
  } finally {
    context.close(new Set(Array.isArray(kept) ? kept : [kept]));
  }
}

/** min(max(x, low), high), of numbers or tensors; null for none. */
export function clip<D extends DType>(x: Kept<D>, low: Kept<D> | number | null = null, high: Kept<D> | number | null = null): Tensor<D> {
  return made("clip(low, high)", x, () => {
    const raised = low === null ? x : x.maximum(low), both = high === null ? raised : raised.minimum(high);
    return both === x ? through("clip()", x, []) : (both as Tensor<D>);
  });
}

/** True for elements that are integers or booleans. */
const isWhole = ({ dtype }: AnyTensor): boolean => dtype === "int32" || dtype === "bool";

/** A function of two elements, of which the second may be a number for all. */
function ofTwo<D extends DType>(what: string, a: Kept<D>, b: Kept<D> | number, work: (a: Scalar, b: Num) => Scalar): Tensor<D> {
  a.mustLive(what);
  if (typeof b !== "number") mustBeTensor(what, "the operand", b);
  else mustBeNumber(`${what}: the operand`, b, a.dtype);
  return (typeof b === "number" ? mapped((p) => work(p!, b), [a]) : mapped((p, q) => work(p!, q!), [a, b as Kept<D>])) as unknown as Tensor<D>;
}

/** log2 x */
export const log2 = <D extends DType>(x: Kept<D>): Tensor<D> => { x.mustLive("log2()"); return mapped((a) => logarithm(a!), [x]) as unknown as Tensor<D>; };
/** Angle of (x, y). */
export const atan2 = <D extends DType>(y: Kept<D>, x: Kept<D> | number): Tensor<D> => ofTwo("atan2(x)", y, x, angle);
/** x − o⌊x/o⌋ */
export const mod = <D extends DType>(x: Kept<D>, o: Kept<D> | number): Tensor<D> => (isWhole(x) && (!isTensor(o) || isWhole(o)) ? apply("mod", [x, o]) : ofTwo("mod(o)", x, o, remainder));

/** x, and slope · x below 0. */
export function leakyRelu<D extends DType>(x: Kept<D>, slope = 0.01): Tensor<D> {
  mustBeNumber("leakyRelu(slope): the slope", slope, x.dtype);
  return made("leakyRelu(slope)", x, () => apply("where", [x.less(0), x.mul(slope), x]));
}

/** Mean of squares about the mean. */
export function variance<D extends DType>(x: Kept<D>, axis?: Axes, options: SpreadOptions = {}): Tensor<D> {
  const what = "var(axis)", { keepDims = false, correction = 0 } = checked(`${what}: options`, options, SPREAD, { prefix: `${what}: ` });
  const count = (axesOf(what, axis, x.rank) ?? x.shape.map((_, k) => k)).reduce((product, k) => product * x.shape[k]!, 1);
  if (!(count > correction)) throw new LeastwiseError("shape", `${what}: of ${count} elements with a correction of ${correction} there is no variance`);
  return made(what, x, () => {
    const mean = x.sub(x.mean(axis, { keepDims: true })).square().mean(axis, { keepDims });
    return correction === 0 ? mean : mean.mul(count / (count - correction));
  });
}

/** Integers and booleans as reals. */
const real = <D extends DType>(x: Kept<D>): Kept<D> => (isWhole(x) ? (x.cast(computedWith(x) as D) as Kept<D>) : x);

/** log Σ exp x, without overflow. */
export function logsumexp<D extends DType>(given: Kept<D>, axis?: Axes, options: ReduceOptions = {}): Tensor<D> {
  const what = "logsumexp(axis)", { keepDims = false } = checked(`${what}: options`, options, { keepDims: flag }, { prefix: `${what}: ` });
  axesOf(what, axis, given.rank);
  return made(what, given, () => {
    const x = real(given), largest = x.max(axis, { keepDims: true }).detach();
    // Where it is infinite, infinity less infinity would be undefined.
    const finite = apply("where", [largest.abs().lessEqual(LARGEST[computedWith(x)]), largest, 0]).detach(), sums = x.sub(finite).exp().sum(axis, { keepDims });
    return sums.log().add(keepDims ? finite : finite.reshape(sums.shape));
  });
}

/** Length of vectors. */
export function norm<D extends DType>(given: Kept<D>, axis?: Axes, options: NormOptions = {}): Tensor<D> {
  const what = "norm(axis)", { keepDims = false, order = 2 } = checked(`${what}: options`, options, NORMS, { prefix: `${what}: ` });
  axesOf(what, axis, given.rank);
  return made(what, given, () => ((x) => order === 1 ? x.abs().sum(axis, { keepDims }) : order === 2 ? x.square().sum(axis, { keepDims }).sqrt() : x.abs().max(axis, { keepDims }))(real(given)) as Tensor<D>);
}

/** Product, in halves: gradients are exact where elements are 0, too. */
export function prod<D extends DType>(x: Kept<D>, axis?: Axes, options: ReduceOptions = {}): Tensor<D> {
  const what = "prod(axis)", { keepDims = false } = checked(`${what}: options`, options, { keepDims: flag }, { prefix: `${what}: ` });
  const axes = axesOf(what, axis, x.rank) ?? x.shape.map((_, k) => k);
  return made(what, x, () => {
    // Of booleans as of integers.
    let all = x.dtype === "bool" ? (x.cast("int32") as unknown as Tensor<D>) : through(what, x, []);
    for (const k of axes) {
      const part = (from: number, to: number): Tensor<D> => all.slice(...all.shape.map((_, j) => (j === k ? ([from, to] as const) : (":" as const))));
      // Of none it is 1.
      if (all.shape[k] === 0) all = all.sum(k, { keepDims: true }).add(1);
      for (let count = all.shape[k]!; count > 1; count = all.shape[k]!) {
        const half = count >> 1, products = part(0, half).mul(part(half, 2 * half));
        all = count % 2 ? apply("concat", [products, part(2 * half, count)], [k]) : products;
      }
    }
    return keepDims ? all : all.reshape(x.shape.filter((_, k) => !axes.includes(k)));
  });
}

/** Parts along an axis: so many equal ones, or those that end at these places. */
export function split<D extends DType>(x: Kept<D>, parts: number | readonly number[], axis = 0): Tensor<D>[] {
  const what = "split(parts, axis)", k = axisOf(what, axis, x.rank), size = x.shape[k]!;
  let ends: number[];
  if (isArrayLike(parts)) {
    ends = [...Array.from(taken(`${what}: parts`, parts).values, (end) => (end < 0 ? end + size : end)), size];
    ends.forEach((end, j) => { if (!(Number.isInteger(end) && end >= (ends[j - 1] ?? 0) && end <= size)) throw new LeastwiseError("shape", `${what}: place ${j} is ${end}, but places are whole numbers that grow, from 0 to ${size}`); });
  } else {
    whole(1)(`${what}: parts`, parts, {});
    if (size % parts !== 0) throw new LeastwiseError("shape", `${what}: axis ${k} has ${size} elements, which are no ${parts} equal parts: give the places where parts end`);
    ends = Array.from({ length: parts }, (_, j) => ((j + 1) * size) / parts);
  }
  return made(what, x, () => ends.map((end, j) => x.slice(...x.shape.map((_, axis) => (axis === k ? ([ends[j - 1] ?? 0, end] as const) : (":" as const))))));
}

/** The whole, so many times along each axis; missing axes come first. */
export function tile<D extends DType>(x: Kept<D>, times: number | Sizes): Tensor<D> {
  const what = "tile(times)", given = isArrayLike(times) ? Array.from(taken(`${what}: times`, times).values) : [times as number];
  given.forEach((count) => whole(0)(`${what}: times`, count, {}));
  const rank = Math.max(given.length, x.rank), padded = (list: Sizes) => [...new Array<number>(rank - list.length).fill(1), ...list], counts = padded(given), shape = padded(x.shape);
  return made(what, x, () => x.reshape(shape.flatMap((size) => [1, size])).broadcastTo(shape.flatMap((size, k) => [counts[k]!, size])).reshape(shape.map((size, k) => size * counts[k]!)));
}

/** Every element so many times, one after the other; of all elements in a row where no axis is given. */
export function repeat<D extends DType>(x: Kept<D>, times: number, axis?: number): Tensor<D> {
  const what = "repeat(times, axis)";
  whole(0)(`${what}: times`, times, {});
  const k = axis === undefined ? 0 : axisOf(what, axis, x.rank);
  return made(what, x, () => {
    const all = axis === undefined ? x.reshape([x.size]) : x, { shape } = all;
    const put = (size: number) => [...shape.slice(0, k + 1), size, ...shape.slice(k + 1)];
    return all.reshape(put(1)).broadcastTo(put(times)).reshape(shape.map((size, j) => (j === k ? size * times : size)));
  });
}
