/** Convolutions around the engine's own: of groups of channels, padded to a size, transposed. */
import { LeastwiseError } from "../errors.js";
import { shownValue } from "../instruction.js";
import { checked, given, whole } from "../options.js";
import { apply } from "./apply.js";
import { made } from "./composed.js";
import type { ConvolutionOptions, Pair } from "./functions.js";
import { pairOf, shown } from "./shapes.js";
import { mustBeTensors, type AnyTensor, type DType, type Kept, type Tensor } from "./tensor.js";

/**
 * Options of {@link convTranspose2d}.
 *
 * @example
 * const options: TransposedOptions = { step: 2, padding: 1, outputPadding: 1 };
 * convTranspose2d(images, filters, options);
 */
export interface TransposedOptions {
  /** Distance between places of the result that neighbours of the images come to (stride). @defaultValue 1 */
  readonly step?: Pair;
  /** Padding of the convolution that is transposed: what is cut off around the result. @defaultValue 0 */
  readonly padding?: Pair;
  /** Distance between a window's elements. @defaultValue 1 */
  readonly dilation?: Pair;
  /** Groups of channels, each with filters of its own. @defaultValue 1 */
  readonly groups?: number;
  /** Rows and columns more after the last, below `step`: several sizes have one size of result in a convolution with steps. @defaultValue 0 */
  readonly outputPadding?: Pair;
}

type Two = readonly [number, number];

/** Places of windows. @internal */
export interface Windows { readonly step: Two; readonly padding: Two | "same"; readonly dilation: Two; readonly groups: number }

/** @internal */
export const CONVOLUTION = { step: given<Pair>(), padding: given<Pair | "same">(), dilation: given<Pair>(), groups: given<number>() } as const;
const TRANSPOSED = { ...CONVOLUTION, outputPadding: CONVOLUTION.step } as const;

/** Options of windows, checked. @internal */
export function windowsOf(what: string, { step, padding, dilation, groups = 1 }: ConvolutionOptions): Windows {
  if (typeof padding === "string" && padding !== "same") throw new LeastwiseError("invalid-option", `${what}: padding is a whole number, or one along height and one along width, or "same", not ${shownValue(padding)}`);
  const windows = { step: pairOf(what, "step", step, 1), padding: padding === "same" ? padding : pairOf(what, "padding", padding, 0), dilation: pairOf(what, "dilation", dilation, 1), groups: whole()(`${what}: groups`, groups, {}) };
  for (const name of ["step", "dilation"] as const) if (windows[name].some((each) => each < 1)) throw new LeastwiseError("invalid-option", `${what}: ${name} must be 1 or more`);
  return windows;
}

/** A convolution of any options, which are checked. @internal */
export function convolved<D extends DType>(what: string, images: Kept<D>, filters: Kept<D>, { step, padding, dilation, groups }: Windows): Tensor<D> {
  if (groups > 1 || padding === "same") mustBeImages(what, images, filters);
  return made(what, images as AnyTensor, () => {
    const [x, around] = padding === "same" ? [padded(images, filters.shape.slice(2), step, dilation), [0, 0] as const] : [images, padding];
    if (groups === 1) return apply("conv2d", [x, filters], [...step, ...around, ...dilation]);
    const [, channels, height, width] = x.shape as readonly [number, number, number, number], [results, inner, ...window] = filters.shape as readonly [number, number, number, number];
    if (inner * groups !== channels || results % groups !== 0) throw new LeastwiseError("shape", `${what}: images ${shown(images.shape)} and filters ${shown(filters.shape)} are no ${groups} equal groups: filters are [results, channels / groups, height, width]`);
    if (inner > 1) {
      const parts = x.split(groups, 1), kernels = filters.split(groups, 0);
      return apply("concat", parts.map((part, k) => apply<D>("conv2d", [part as Kept<D>, kernels[k] as Kept<D>], [...step, ...around, ...dilation]) as Kept<D>), [1]);
    }
    // Of one channel each: a sum over windows, which are never in memory.
    const [top, left] = around;
    if (height + 2 * top < dilation[0] * (window[0]! - 1) + 1 || width + 2 * left < dilation[1] * (window[1]! - 1) + 1) throw new LeastwiseError("shape", `${what}: filters ${shown(filters.shape)} do not fit into images ${shown(images.shape)}`);
    const framed = top || left ? x.pad([[0, 0], [0, 0], [top, top], [left, left]]) : x;
    const windows = framed.window(2, window[0]!, { step: step[0], dilation: dilation[0] }).window(4, window[1]!, { step: step[1], dilation: dilation[1] });
    const [batch, , high, tall, wide, broad] = windows.shape as readonly [number, number, number, number, number, number], each = results / groups;
    const products = windows.reshape([batch, channels, 1, high, tall, wide, broad]).mul(filters.reshape([channels, each, 1, tall, 1, broad]) as Kept<D>);
    return products.sum([4, 6]).reshape([batch, results, high, wide]);
  });
}

function mustBeImages(what: string, images: AnyTensor, filters: AnyTensor): void {
  if (images.rank !== 4 || filters.rank !== 4) throw new LeastwiseError("shape", `${what}: images and filters have four axes each, not ${shown(images.shape)} and ${shown(filters.shape)}`);
}

/** Zeros around images, so that there are ⌈size/step⌉ windows along an axis; of an odd number one more is after them. */
function padded<D extends DType>(images: Kept<D>, window: readonly number[], step: Two, dilation: Two): Kept<D> {
  const widths = [0, 1].map((axis) => {
    const size = images.shape[axis + 2]!, places = Math.ceil(size / step[axis]!);
    const lacking = Math.max(0, (places - 1) * step[axis]! + dilation[axis]! * (window[axis]! - 1) + 1 - size), before = lacking >> 1;
    return [before, lacking - before] as const;
  });
  return images.pad([[0, 0], [0, 0], ...widths]) as Kept<D>;
}

/**
 * The transpose of {@link conv2d}, as a linear function of its images, for the same filters and options: what a gradient does, from results to images
 * (Zeiler et al. 2010). Images [batch, channels, height, width] and filters [channels, results / groups, h, w], as PyTorch's; the result is
 * [batch, results, (height − 1)·step − 2·padding + dilation·(h − 1) + outputPadding + 1, ..].
 *
 * @throws `shape` for shapes that do not fit; `invalid-option` for an outputPadding that is not below the step
 * @example
 * const larger = convTranspose2d(images, filters, { step: 2 });
 */
export function convTranspose2d<D extends DType>(images: Kept<D>, filters: Kept<NoInfer<D>>, options: TransposedOptions = {}): Tensor<D> {
  const what = "convTranspose2d(images, filters)", { outputPadding, ...others } = checked(`${what}: options`, options, TRANSPOSED, { prefix: `${what}: ` });
  const { step, padding, dilation, groups } = windowsOf(what, others as ConvolutionOptions), after = pairOf(what, "outputPadding", outputPadding, 0);
  if (padding === "same") throw new LeastwiseError("invalid-option", `${what}: padding is a whole number, or one along height and one along width, not "same"`);
  if (after.some((each, axis) => each >= Math.max(step[axis]!, dilation[axis]!))) throw new LeastwiseError("invalid-option", `${what}: outputPadding must be below the step or the dilation`);
  mustBeTensors(what, [images, filters]);
  mustBeImages(what, images as AnyTensor, filters as AnyTensor);
  const [batch, channels, ...size] = images.shape as readonly [number, number, number, number], [inner, each, ...window] = filters.shape as readonly [number, number, number, number];
  if (inner !== channels || channels % groups !== 0) throw new LeastwiseError("shape", `${what}: images ${shown(images.shape)} and filters ${shown(filters.shape)} must have as many channels, in ${groups} equal groups: filters are [channels, results / groups, height, width]`);
  const room = [0, 1].map((axis) => dilation[axis]! * (window[axis]! - 1) - padding[axis]!);
  if (size.some((length, axis) => (length - 1) * step[axis]! + 1 + 2 * room[axis]! - dilation[axis]! * (window[axis]! - 1) + after[axis]! < 1)) throw new LeastwiseError("shape", `${what}: padding ${shown(padding)} cuts off all of the result`);
  return made(what, images as AnyTensor, () => {
    const [high, wide] = size as [number, number], [down, across] = step;
    // Zeros between neighbours, and as many around them as a window reaches beyond.
    const spread = (images as Kept<D>).reshape([batch, channels, high, 1, wide, 1]).pad([[0, 0], [0, 0], [0, 0], [0, down - 1], [0, 0], [0, across - 1]]).reshape([batch, channels, high * down, wide * across]);
    const last = [(high - 1) * down + 1, (wide - 1) * across + 1] as const, part = spread.slice(":", ":", ...[0, 1].map((axis) => [Math.max(0, -room[axis]!), last[axis]! + Math.min(0, room[axis]! + after[axis]!)] as const));
    const around = part.pad([[0, 0], [0, 0], ...[0, 1].map((axis) => [Math.max(0, room[axis]!), Math.max(0, room[axis]! + after[axis]!)] as const)]);
    const turned = (filters as Kept<D>).flip([2, 3]).reshape([groups, channels / groups, each, ...window]).transpose(0, 2, 1, 3, 4).reshape([groups * each, channels / groups, ...window]);
    return convolved(what, around as Kept<D>, turned as Kept<D>, { step: [1, 1], padding: [0, 0], dilation, groups });
  });
}
