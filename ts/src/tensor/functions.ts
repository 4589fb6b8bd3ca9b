/** Functions of several tensors. */
import { isArrayLike } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, flag, given, real } from "../options.js";
import type { Scalar } from "../scalar.js";
import { apply, computedWith, mustBeBelow, mustBeTensor, withNumbers } from "./apply.js";
import { attended } from "./attending.js";
import { made } from "./composed.js";
import { CONVOLUTION, convolved, windowsOf } from "./convolutions.js";
import { mapped } from "./mapping.js";
import { axisOf, pairOf, shown } from "./shapes.js";
import { mustBeTensors, Tensor, type AnyTensor, type ComputedWith, type DType, type Kept, type RowNumbers } from "./tensor.js";

/**
 * One number for height and width, or one for each.
 *
 * @example
 * const padding: Pair = [1, 2];  // along the height and along the width
 */
export type Pair = number | readonly [number, number];

/**
 * Options of {@link attention}.
 *
 * @example
 * const options: AttentionOptions = { causal: true };
 * attention(queries, keys, values, options);
 */
export interface AttentionOptions<D extends DType = DType> {
  /** Factor of the scores. @defaultValue 1/√d */
  readonly scale?: number;
  /** True if query i sees keys 0 to i only. @defaultValue false */
  readonly causal?: boolean;
  /**
   * Keys that each query sees: not 0 where it does, of a shape that broadcasts to [.., n, m]. A query that sees none gets the mean of all values. With a mask the
   * matrix of scores is in memory. @defaultValue all
   */
  readonly mask?: Kept<D>;
  /**
   * Keys of each batch that count, the first so many: whole numbers from 0 to m, of the first axes of the batches ([batch] of [batch, heads]). Then, too, the
   * scores are in memory.
   *
   * @defaultValue all
   */
  readonly lengths?: RowNumbers<D>;
  /**
   * True for keys and values of fewer heads than queries: [.., heads, n, d] and [.., groups, m, d], where head i sees group ⌊i·groups/heads⌋ (Ainslie et al.
   * 2023). @defaultValue false
   */
  readonly grouped?: boolean;
}

/**
 * Options of {@link conv2d}.
 *
 * @example
 * const options: ConvolutionOptions = { step: 2, padding: [1, 0] };
 * conv2d(images, filters, options);
 */
export interface ConvolutionOptions {
  /** Distance between windows (stride). @defaultValue 1 */
  readonly step?: Pair;
  /** Zeros around the images; `"same"` for as many as give ⌈size/step⌉ places, of an odd number one more after them. @defaultValue 0 */
  readonly padding?: Pair | "same";
  /** Distance between a window's elements. @defaultValue 1 */
  readonly dilation?: Pair;
  /** Groups of channels, each with filters of its own: these are [results, channels / groups, height, width]. @defaultValue 1 */
  readonly groups?: number;
}

/**
 * Options of {@link maxPool2d}.
 *
 * @example
 * const options: PoolOptions = { size: 3, step: 2 };
 * maxPool2d(images, options);
 */
export interface PoolOptions {
  /** A window's height and width. */
  readonly size: Pair;
  /** Distance between windows (stride). @defaultValue their size */
  readonly step?: Pair;
  /** Padding around the images, smaller than every element. @defaultValue 0 */
  readonly padding?: Pair;
}

const ATTENTION = { scale: real(-Infinity), causal: flag, mask: given(), lengths: given(), grouped: flag } as const;
const POOL = { size: given<Pair>(), step: given<Pair>(), padding: given<Pair>() } as const;

/**
 * Concatenation of tensors along an axis, by default the first; their other sizes are equal.
 *
 * @throws `shape` for shapes that do not fit; `dtype` for kinds that differ; `foreign-tensor` for tensors of another engine
 * @example
 * const both = concat([images, images], 0);
 */
export function concat<D extends DType, T extends "int32" | "bool">(tensors: readonly Tensor<D, T>[], axis?: number): Tensor<D, T>;
export function concat<D extends DType>(tensors: readonly Kept<D>[], axis?: number): Tensor<D>;
export function concat<D extends DType>(tensors: readonly Kept<D>[], axis = 0): Tensor<D> {
  mustBeTensors("concat(tensors)", tensors);
  return apply("concat", tensors as readonly Kept<D>[], [axisOf("concat(tensors, axis)", axis, tensors[0].rank)]);
}

/**
 * Stack of tensors of one shape along a new axis, by default the first.
 *
 * @throws `invalid-option` for no tensors; `shape`, `dtype` and `foreign-tensor` for tensors that do not fit each other
 * @example
 * const batch = stack([weights, weights]);
 */
export function stack<D extends DType, T extends "int32" | "bool">(tensors: readonly Tensor<D, T>[], axis?: number): Tensor<D, T>;
export function stack<D extends DType>(tensors: readonly Kept<D>[], axis?: number): Tensor<D>;
export function stack<D extends DType>(tensors: readonly Kept<D>[], axis = 0): Tensor<D> {
  mustBeTensors("stack(tensors)", tensors);
  const { shape, rank } = tensors[0];
  const other = tensors.find((tensor) => shown(tensor.shape) !== shown(shape));
  if (other) throw new LeastwiseError("shape", `stack(tensors): ${shown(shape)} and ${shown(other.shape)} are no equal shapes`);
  const place = axisOf("stack(tensors, axis)", axis, rank + 1);
  const expanded = (tensors as readonly Kept<D>[]).map((tensor) => tensor.expandDims(place));
  try {
    return concat(expanded, place);
  } finally {
    for (const tensor of expanded) tensor.dispose();
  }
}

/**
 * `then` where the condition is not 0, else `otherwise`; shapes broadcast. The other branch has no part in the value, nor in gradients.
 *
 * @throws `shape` for shapes that do not fit; `dtype` for kinds that differ; `foreign-tensor` for tensors of another engine
 * @example
 * const positive = where(weights.greater(0), weights, 0);
 */
export function where<D extends DType, T extends "int32" | "bool">(condition: Kept<D>, then: Tensor<D, T>, otherwise: Tensor<D, NoInfer<T>> | number): Tensor<D, T>;
export function where<D extends DType>(condition: Kept<D>, then: Kept<NoInfer<D>> | number, otherwise: Kept<NoInfer<D>> | number): Tensor<D>;
export function where<D extends DType>(condition: Kept<D>, then: Kept<NoInfer<D>> | number, otherwise: Kept<NoInfer<D>> | number): Tensor<D> {
  mustBeTensor("where(condition, …)", "condition", condition);
  return apply("where", [condition, then, otherwise]);
}

/**
 * The mean over rows of −log softmax(logits)[label]: logits [.., classes], and a whole number for each row: in an array row by row, or in a tensor [..].
 *
 * @throws `index-out-of-range` for a label that is no class
 * @example
 * const loss = crossEntropy(logits, [3, 1, 4]);  // one number: the mean over the batch
 */
export function crossEntropy<D extends DType>(logits: Kept<D>, labels: RowNumbers<NoInfer<D>>): Tensor<D> {
  const what = "crossEntropy(logits, labels)";
  mustBeTensor(what, "logits", logits);
  if (!isArrayLike(labels)) mustBeTensor(what, "labels", labels);
  return withNumbers(what, labels, logits as Kept<D>, (given) => {
    mustBeBelow(what, given, logits.shape.at(-1) ?? 0, "classes");
    const rows = logits.shape.slice(0, -1);
    // An array has one axis, whatever the logits have.
    return isArrayLike(labels) && rows.length !== 1 ? made(what, logits, () => apply("crossEntropy", [logits as Kept<D>, given.reshape(rows) as Kept<D>])) : apply("crossEntropy", [logits as Kept<D>, given]);
  });
}

/**
 * Rows of a table [rows, …]: what `table.gather(rows)` gives.
 *
 * @throws `shape`, `index-out-of-range` for a row that the table lacks (negative ones of an array count from the end), `foreign-tensor` for rows of another engine
 * @example
 * const words = embedding(weights, [5, 0, 7]);
 */
export function embedding<D extends DType>(table: Kept<D>, rows: RowNumbers<NoInfer<D>>): Tensor<D> {
  mustBeTensor("embedding(table, rows)", "table", table);
  return (table as Kept<D>).gather(rows);
}

/**
 * softmax(scale · q kᵀ) v over the last two axes: queries [.., n, d], keys [.., m, d], values [.., m, e], whose axes before broadcast. Without a mask and
 * lengths the matrix of scores is never in memory (Dao et al. 2022) for d and e up to 256.
 *
 * @throws `shape` for shapes that do not fit; `dtype` for kinds that differ; `foreign-tensor` for tensors of another engine
 * @example
 * const seen = attention(queries, keys, values, { causal: true });
 */
export function attention<D extends DType>(queries: Kept<D>, keys: Kept<NoInfer<D>>, values: Kept<NoInfer<D>>, options: AttentionOptions<NoInfer<D>> = {}): Tensor<D> {
  const what = "attention(queries, keys, values)";
  mustBeTensors(what, [queries, keys, values]);
  const { scale = 1 / Math.sqrt(queries.shape.at(-1) || 1), causal = false, grouped = false, mask, lengths } = checked(`${what}: options`, options, ATTENTION, { prefix: `${what}: ` });
  return attended(what, queries as Kept<D>, keys as Kept<D>, values as Kept<D>, { scale, causal, grouped, mask, lengths });
}

/**
 * Cross-correlation of images [batch, channels, height, width] with filters [results, channels, height, width], which networks call a convolution.
 *
 * @throws `shape` for shapes that do not fit; `dtype` for kinds that differ; `foreign-tensor` for tensors of another engine
 * @example
 * const features = conv2d(images, filters, { padding: 1 });
 */
export function conv2d<D extends DType>(images: Kept<D>, filters: Kept<NoInfer<D>>, options: ConvolutionOptions = {}): Tensor<D> {
  const what = "conv2d(images, filters)";
  const windows = windowsOf(what, checked(`${what}: options`, options, CONVOLUTION) as ConvolutionOptions);
  mustBeTensors(what, [images, filters]);
  return convolved(what, images as Kept<D>, filters as Kept<D>, windows);
}

/**
 * The largest element of each window of images [batch, channels, height, width]. Equal ones share the gradient.
 *
 * @throws `shape` for shapes that do not fit; `dtype` for kinds that differ; `foreign-tensor` for tensors of another engine
 * @example
 * const smaller = maxPool2d(images, { size: 2 });
 */
export function maxPool2d<D extends DType>(images: Kept<D>, options: PoolOptions): Tensor<D> {
  const what = "maxPool2d(images)";
  const { size, step, padding } = checked(`${what}: options`, options, POOL);
  mustBeTensor(what, "images", images);
  const window = pairOf(what, "size", size, NaN);
  return apply("maxPool2d", [images as Kept<D>], [...window, ...pairOf(what, "step", step, window), ...pairOf(what, "padding", padding, 0)]);
}

/**
 * A function of one element of each tensor, for all elements: `map((a, b) => select(a.gt(b), sin(a), b.square()), x, y)`. It is traced once, as residuals are,
 * and may use all of their scalar functions; it becomes one kernel with what is around it, and its gradient is exact. Shapes broadcast.
 *
 * @throws `no-residual` where it returns anything but a scalar
 * @example
 * const soft = map((v) => sqrt(v.square().add(1)), weights);
 */
export function map<const T extends readonly [AnyTensor, ...AnyTensor[]]>(work: (...elements: { readonly [K in keyof T]: Scalar }) => Scalar, ...tensors: T): Tensor<ComputedWith<T[0]>> {
  if (typeof work !== "function") throw new LeastwiseError("invalid-option", `map(work, …tensors): work must be a function of scalars, not ${describe(work)}`);
  mustBeTensors("map(work, …tensors)", tensors);
  return mapped(work as (...elements: readonly Scalar[]) => Scalar, tensors);
}

/**
 * ∂loss/∂x for each x of `of`, as tensors like any other: of one number, by all that it was computed of. Call it before the loss or what it depends on is
 * evaluated: how something was computed is forgotten then, unless it is among `of`.
 *
 * @throws `shape` where the loss is more than one number, does not depend on an x, or depends on what was computed before
 * @example
 * const [slope] = grad(weights.square().sum(), [weights]);
 */
export function grad<D extends DType, const T extends readonly Kept<D>[]>(loss: Kept<D>, of: T): { readonly [K in keyof T]: Tensor<D> } {
  const what = "grad(loss, of)";
  mustBeTensor(what, "the loss", loss);
  mustBeTensors(what, of);
  mustBeTensors(what, [loss, ...of]);
  const { context } = loss, dtype = computedWith(loss) as D;
  const made = context.call((native) => native.tensorGradient(loss.id, Uint32Array.from(of, (tensor) => tensor.id)));
  return made.map((each) => new Tensor(context, each, dtype)) as unknown as { readonly [K in keyof T]: Tensor<D> };
}
