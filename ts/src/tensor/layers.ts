/** Functions of networks that are made of other operations, and gradients together with values. */
import { isArrayLike } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, given, real, whole } from "../options.js";
import { computedWith, mustBeBelow, mustBeTensor } from "./apply.js";
import { made } from "./composed.js";
import { grad, type PoolOptions } from "./functions.js";
import { uniform } from "./random.js";
import { pairOf, shown } from "./shapes.js";
import { mustBeTensors, Tensor, type DType, type Kept } from "./tensor.js";

/**
 * Options of {@link groupNorm} and {@link batchNorm}.
 *
 * @example
 * const options: NormalizationOptions = { scale: lw.ones([8]), epsilon: 1e-3 };
 * groupNorm(images, 4, options);
 */
export interface NormalizationOptions<D extends DType = "f32"> {
  /** Factor of every channel, [channels]. @defaultValue 1 */
  readonly scale?: Kept<D>;
  /** Summand of every channel, [channels]. @defaultValue 0 */
  readonly shift?: Kept<D>;
  /** Added to the variance. @defaultValue 1e-5 */
  readonly epsilon?: number;
}

/**
 * Options of {@link batchNorm}: without `mean` and `variance` those of the batch are taken.
 *
 * @example
 * const options: BatchNormOptions = { mean: lw.zeros([8]), variance: lw.ones([8]) };
 * batchNorm(images, options);
 */
export interface BatchNormOptions<D extends DType = "f32"> extends NormalizationOptions<D> {
  /** Mean of every channel, [channels], as it was in training. @defaultValue the batch's */
  readonly mean?: Kept<D>;
  /** Variance of every channel, [channels]. @defaultValue the batch's */
  readonly variance?: Kept<D>;
}

const NORMALIZATION = { scale: given(), shift: given(), epsilon: real(0) } as const;
const POOL = { size: given<PoolOptions["size"]>(), step: given<PoolOptions["step"]>(), padding: given<PoolOptions["padding"]>() } as const;

/** A tensor of one number a channel, as a factor of [batch, channels, …]. */
function channels<D extends DType>(what: string, name: string, of: unknown, x: Kept<D>): Tensor<D> {
  mustBeTensor(what, name, of);
  if (of.rank !== 1 || of.shape[0] !== x.shape[1]) throw new LeastwiseError("shape", `${what}: ${name} is ${shown(of.shape)}, but there are ${x.shape[1]} channels: it must be [${x.shape[1]}]`);
  return (of as Kept<D>).reshape([x.shape[1]!, ...x.shape.slice(2).map(() => 1)]);
}

function scaled<D extends DType>(what: string, x: Tensor<D>, { scale, shift }: { scale?: unknown; shift?: unknown }): Tensor<D> {
  const product = scale === undefined ? x : x.mul(channels(what, "scale", scale, x as Kept<D>));
  return shift === undefined ? product : product.add(channels(what, "shift", shift, x as Kept<D>));
}

function mustHaveChannels(what: string, x: unknown): asserts x is Kept<DType> {
  mustBeTensor(what, "x", x);
  if (x.rank < 2) throw new LeastwiseError("shape", `${what}: x is [batch, channels, …], not ${shown(x.shape)}`);
}

/**
 * (x − mean)/√(variance + ε) over the batch and all places of each channel: x [batch, channels, …] (Ioffe & Szegedy 2015). What is to be used after training,
 * means and variances, is given in `options`.
 *
 * @throws `shape` for shapes that do not fit
 * @example
 * const calm = batchNorm(images, { epsilon: 1e-3 });
 */
export function batchNorm<D extends DType>(x: Kept<D>, options: BatchNormOptions<NoInfer<D>> = {}): Tensor<D> {
  const what = "batchNorm(x)", { epsilon = 1e-5, mean, variance, ...others } = checked(`${what}: options`, options, { ...NORMALIZATION, mean: given(), variance: given() }, { prefix: `${what}: ` });
  mustHaveChannels(what, x);
  if ((mean === undefined) !== (variance === undefined)) throw new LeastwiseError("invalid-option", `${what}: mean and variance are given together, or neither`);
  return made(what, x, () => {
    const axes = x.shape.flatMap((_, k) => (k === 1 ? [] : [k])), centred = (x as Kept<D>).sub(mean === undefined ? (x as Kept<D>).mean(axes, { keepDims: true }) : channels(what, "mean", mean, x as Kept<D>));
    const spread = variance === undefined ? centred.square().mean(axes, { keepDims: true }) : channels(what, "variance", variance, x as Kept<D>);
    return scaled(what, centred.div(spread.add(epsilon).sqrt()), others);
  });
}

/**
 * (x − mean)/√(variance + ε) over the channels of each group, and all of their places: x [batch, channels, …] (Wu & He 2018). One group is a layer norm of the
 * whole, as many groups as channels an instance norm.
 *
 * @throws `shape` for channels that are no multiple of `groups`
 * @example
 * const calm = groupNorm(images, 4);
 */
export function groupNorm<D extends DType>(x: Kept<D>, groups: number, options: NormalizationOptions<NoInfer<D>> = {}): Tensor<D> {
  const what = "groupNorm(x, groups)", { epsilon = 1e-5, ...others } = checked(`${what}: options`, options, NORMALIZATION, { prefix: `${what}: ` });
  mustHaveChannels(what, x);
  whole(1)(`${what}: groups`, groups, {});
  const [batch, count] = x.shape as [number, number];
  if (count % groups !== 0) throw new LeastwiseError("shape", `${what}: ${count} channels are no ${groups} equal groups`);
  return made(what, x, () => {
    const parts = (x as Kept<D>).reshape([batch, groups, batch * count === 0 ? 0 : x.size / (batch * groups)]), centred = parts.sub(parts.mean(2, { keepDims: true }));
    return scaled(what, centred.div(centred.square().mean(2, { keepDims: true }).add(epsilon).sqrt()).reshape(x.shape), others);
  });
}

/**
 * The mean of each window of images [batch, channels, height, width]; padding counts as zeros.
 *
 * @throws `shape` for shapes that do not fit
 * @example
 * const smaller = avgPool2d(images, { size: 2 });
 */
export function avgPool2d<D extends DType>(images: Kept<D>, options: PoolOptions): Tensor<D> {
  const what = "avgPool2d(images)", { size, step, padding } = checked(`${what}: options`, options, POOL);
  mustBeTensor(what, "images", images);
  if (images.rank !== 4) throw new LeastwiseError("shape", `${what}: images are [batch, channels, height, width], not ${shown(images.shape)}`);
  const window = pairOf(what, "size", size, NaN), steps = pairOf(what, "step", step, window), [top, left] = pairOf(what, "padding", padding, 0);
  [...window, ...steps].forEach((each) => { if (each < 1) throw new LeastwiseError("invalid-option", `${what}: size and step must be 1 or more`); });
  return made(what, images, () => {
    const padded = top || left ? (images as Kept<D>).pad([[0, 0], [0, 0], [top, top], [left, left]]) : (images as Kept<D>);
    return padded.window(2, window[0], { step: steps[0] }).window(4, window[1], { step: steps[1] }).mean([3, 5]);
  });
}

/**
 * Elements that are 0 with probability `rate`, and divided by 1 − rate elsewhere, so that sums stay the same on average (Srivastava et al. 2014). The same seed
 * leaves out the same elements, everywhere; give another one at every step.
 *
 * @throws `invalid-option` for a rate that is not from 0 to below 1
 * @example
 * const thinned = dropout(weights, { rate: 0.5, seed: 1 });
 */
export function dropout<D extends DType>(x: Kept<D>, options: { /** Probability of 0. */ readonly rate: number; /** A whole number below 2³². */ readonly seed: number }): Tensor<D> {
  const what = "dropout(x, options)", { rate, seed } = checked(`${what}: options`, options, { rate: real(0, 1), seed: whole(0) }, { prefix: `${what}: ` });
  mustBeTensor(what, "x", x);
  if (rate === undefined || rate === 1) throw new LeastwiseError("invalid-option", `${what}: a rate is needed, from 0 to below 1`);
  if (seed === undefined) throw new LeastwiseError("invalid-option", `${what}: a seed is needed, a whole number: the same seed leaves out the same elements`);
  const { context } = x, dtype = computedWith(x) as D, factors = dtype === "f64" ? new Float64Array(x.size) : new Float32Array(x.size);
  uniform(factors, dtype, seed, 0, 1);
  for (let k = 0; k < factors.length; k++) factors[k] = factors[k]! < rate ? 0 : 1 / (1 - rate);
  return made(what, x, () => {
    const [stored] = context.call((native) => native.tensorStore(factors, Uint32Array.from(x.shape), dtype === "f64"));
    return (x as Kept<D>).mul(new Tensor<D>(context, stored!, dtype) as Kept<D>);
  });
}

/**
 * 1 at each label's place along a new last axis of `classes`, 0 elsewhere: labels [..] become [.., classes].
 *
 * @throws `index-out-of-range` for a label that is no class
 * @example
 * const targets = oneHot(lw.indices([2, 0, 1]), 3);
 */
export function oneHot<D extends DType>(labels: Kept<D>, classes: number): Tensor<D> {
  const what = "oneHot(labels, classes)";
  if (isArrayLike(labels)) throw new LeastwiseError("invalid-option", `${what}: labels must be a tensor, as lw.indices(labels) makes one`);
  mustBeTensor(what, "labels", labels);
  whole(1)(`${what}: classes`, classes, {});
  mustBeBelow(what, labels, classes, "classes");
  const { context } = labels, dtype = computedWith(labels) as D;
  return made(what, labels, () => new Tensor<D>(context, context.apply("count", [], [classes], dtype), dtype).equal((labels as Kept<D>).expandDims(-1) as Kept<D>).cast(dtype));
}

/**
 * A loss and its gradients: the value of `work(…of)`, and ∂value/∂x for each x of `of`.
 *
 * @throws `shape` where the value is more than one number, or does not depend on an x
 * @example
 * const { value, gradients: [slope] } = valueAndGrad((w) => w.square().sum(), [weights]);
 * const [loss, direction] = await Promise.all([value.item(), slope.read()]);
 */
export function valueAndGrad<D extends DType, const T extends readonly Kept<D>[]>(work: (...of: T) => Kept<D>, of: T): { readonly value: Kept<D>; readonly gradients: { readonly [K in keyof T]: Tensor<D> } } {
  const what = "valueAndGrad(work, of)";
  if (typeof work !== "function") throw new LeastwiseError("invalid-option", `${what}: work must be a function of tensors, not ${describe(work)}`);
  const tensors: unknown = of;
  mustBeTensors(what, tensors);
  const value = work(...of);
  mustBeTensor(what, "what work returns", value);
  return { value: value as Kept<D>, gradients: grad(value as Kept<D>, of) };
}
