/** Along an axis: running sums and products, order, and elements by their numbers. */
import { isArrayLike } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { checked, flag, whole } from "../options.js";
import { apply, mustBeBelow, mustBeTensor, through, withNumbers } from "./apply.js";
import { made } from "./composed.js";
import { axisOf } from "./shapes.js";
import type { DType, IntTensor, Kept, RowNumbers, Storage, Tensor } from "./tensor.js";

/**
 * Options of `sort` and `argsort`.
 *
 * @example
 * const options: SortOptions = { descending: true };
 * weights.sort(-1, options);
 */
export interface SortOptions {
  /** True for the largest first. NaN is last either way. @defaultValue false */
  readonly descending?: boolean;
}

/**
 * The k largest elements along an axis, of `topk`.
 *
 * @example
 * const { values, indices }: TopK = weights.topk(3);
 */
export interface TopK<D extends DType = "f32", S extends Storage = D> {
  /** The elements, the largest first. */
  readonly values: Tensor<D, S>;
  /** Their places along the axis. */
  readonly indices: IntTensor<D>;
}

const ORDER = { descending: flag } as const;

/** Running sums or products; of all elements in a row where no axis is given. */
export function running<D extends DType>(name: "cumsum" | "cumprod", x: Kept<D>, axis?: number): Tensor<D> {
  if (axis === undefined) return through(`${name}()`, x, [["reshape", [x.size]], [name, [0]]]);
  return apply(name, [x], [axisOf(`${name}(axis)`, axis, x.rank)]);
}

/** Elements, or their places, in order. */
export function ordered<D extends DType>(name: "sort" | "argsort", x: Kept<D>, axis: number, options: SortOptions): Tensor<D> {
  const what = `${name}(axis)`, { descending = false } = checked(`${what}: options`, options, ORDER, { prefix: `${what}: ` });
  return apply(name, [x], [axisOf(what, axis, x.rank), descending ? 1 : 0]);
}

/** The largest, in descending order; of equal ones the first one first. */
export function topk<D extends DType>(x: Kept<D>, k: number, axis: number): TopK<D> {
  const what = "topk(k, axis)", place = axisOf(what, axis, x.rank), n = x.shape[place]!;
  whole(0)(`${what}: k`, k, {});
  if (k > n) throw new LeastwiseError("shape", `${what}: axis ${place} has ${n} elements, not ${k}`);
  const [values, indices] = made(what, x, () => {
    const indices = x.argsort(place, { descending: true }).slice(...x.shape.map((_, j) => (j === place ? ([0, k] as const) : (":" as const))));
    return [x.takeAlongAxis(indices as unknown as Kept<D>, place), indices] as const;
  });
  return { values, indices };
}

/** Elements by their numbers. */
export function takeAlongAxis<D extends DType>(x: Kept<D>, indices: RowNumbers<D>, axis: number): Tensor<D> {
  return byNumbers("takeAlongAxis(indices, axis)", x, indices, axis, (given, place) => apply("takeAlongAxis", [x, given], [place]));
}

/** Values in place of elements, or added to them, by numbers. */
export function put<D extends DType>(name: "putAlongAxis" | "scatterAdd", x: Kept<D>, indices: RowNumbers<D>, values: Kept<D> | number, axis: number): Tensor<D> {
  return byNumbers(`${name}(indices, values, axis)`, x, indices, axis, (given, place) => apply(name, [x, given, values], [place]));
}

function byNumbers<D extends DType>(what: string, x: Kept<D>, indices: RowNumbers<D>, axis: number, work: (given: Kept<D>, place: number) => Tensor<D>): Tensor<D> {
  x.mustLive(what);
  const place = axisOf(what, axis, x.rank);
  if (!isArrayLike(indices)) mustBeTensor(what, "indices", indices);
  return withNumbers(what, indices, x, (given) => {
    mustBeBelow(what, given, x.shape[place]!, `places along axis ${place}`);
    return work(given, place);
  }, x.shape[place]);
}
