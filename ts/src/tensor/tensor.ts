/**
 * Tensors: immutable arrays of any number of axes, on the engine's device. Operations note what is to be done, and it is done when values are asked for: chains
 * of elementwise operations in one kernel, and everything in one submission. Names and broadcasting are NumPy's.
 */
import { isArrayLike, isList, listOf as elementsOfList, taken, type DeviceView, type F32, type F64 } from "../arrays.js";
import { LeastwiseError, reading } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, given as any, real, takesNoMore, whole } from "../options.js";
import { isWholeExponent } from "../power.js";
import { apply, computedWith, mustBeBelow, mustBeNumber, mustBeTensor, mustGoTogether, through, withNumbers, type Step } from "./apply.js";
import * as along from "./along.js";
import type { SortOptions, TopK } from "./along.js";
import * as composed from "./composed.js";
import type { NormOptions, SpreadOptions } from "./composed.js";
import type { Made, TensorContext } from "./context.js";
import { TensorHandle } from "./handle.js";
import type { Operation } from "./operations.js";
import { axesOf, axisOf, elementsOf, rangeOf, REDUCE, shown, sizesOf, type Axes, type Range, type ReduceOptions, type Sizes } from "./shapes.js";
import { titleOf, valuesText } from "./text.js";

/**
 * How elements are computed with: f64 on the CPU and on CUDA.
 *
 * @example
 * const dtype: DType = weights.dtype;
 */
export type DType = "f32" | "f64";

/**
 * Kind of elements: as they are computed with, halves, which are computed with in f32, int32s, or truths.
 *
 * @example
 * const storage: Storage = "f16";  // how elements are kept, not how they are computed
 */
export type Storage = DType | "f16" | "int32" | "bool";

/**
 * The typed array that a tensor's elements are read as.
 *
 * @example
 * const values: ValuesOf<"f32"> = await weights.read();  // a Float32Array
 */
export type ValuesOf<D extends DType> = D extends "f64" ? F64 : F32;

/**
 * Rows to be gathered, or labels: a tensor, best one of `lw.indices`, or whole numbers.
 *
 * @example
 * const rows: RowNumbers = [2, 0, 1];
 * const picked = embedding(weights, rows);
 */
export type RowNumbers<D extends DType = "f32"> = Kept<D> | Uint32Array | Uint16Array | Uint8Array | Int32Array | readonly number[];

/**
 * The typed array that a tensor of these elements is read as: of booleans one of 0 and 1.
 *
 * @example
 * const counts: ReadAs<"f32", "int32"> = await lw.tensor(new Int32Array([1, 2])).read();
 */
export type ReadAs<D extends DType, S extends Storage> = S extends "int32" ? Int32Array<ArrayBuffer> : S extends "bool" ? Uint8Array<ArrayBuffer> : ValuesOf<D>;

/**
 * A tensor of int32s, in two's complement: sums, differences and products wrap.
 *
 * @example
 * const counts: IntTensor = lw.tensor(new Int32Array([3, -1]));
 */
export type IntTensor<D extends DType = "f32"> = Tensor<D, "int32">;

/**
 * A tensor of truths: what comparisons give. In arithmetic they count as 0 and 1.
 *
 * @example
 * const small: BoolTensor = weights.less(0.1);
 */
export type BoolTensor<D extends DType = "f32"> = Tensor<D, "bool">;

/** Kinds that are not real. */
type Whole = "int32" | "bool";

/** Any at all. */
export type AnyTensor = Kept<DType>;

/**
 * A tensor to be computed with in `D`, however it is kept.
 *
 * @example
 * const total = (t: Kept) => t.sum();  // of a tensor in floats or in halves
 */
export type Kept<D extends DType = "f32"> = Tensor<D, Storage>;

/** What a tensor is computed with. */
export type ComputedWith<T extends AnyTensor> = T extends Tensor<infer D, Storage> ? D : never;

/**
 * A tensor that is kept as halves: two bytes an element. Operations take it for one of f32, and their results are of f32.
 *
 * @example
 * const small: HalfTensor = weights.cast("f16");
 */
export type HalfTensor = Tensor<"f32", "f16">;

const WINDOW = { step: whole(), dilation: whole() } as const;
const NORM = { scale: any(), shift: any(), epsilon: real(0) } as const;

/**
 * Made by `lw.tensor` and its like, and by operations. `D` is what it is computed with, `S` what it is kept as.
 *
 * @example
 * const a: Tensor = lw.tensor([[1, 2], [3, 4]]);
 * console.log(await a.matmul(a).sum(0).read());  // computed here, in one submission
 */
export class Tensor<D extends DType = "f32", S extends Storage = D> extends TensorHandle implements Disposable {
  /** How many elements there are along each axis; `[]` for a single number. */
  readonly shape: Sizes;
  readonly dtype: S;
  /** @internal */ readonly context: TensorContext;
  /** @internal */ readonly id: number;
  /** The largest of whole numbers that were given. @internal */ readonly largest: number | undefined;
  /** The first of the elements, where the host was given or has read them. @internal */ preview: ArrayLike<number> | undefined = undefined;
  #disposed = false;

  /** @internal */
  constructor(context: TensorContext, { id, shape, values }: Made, dtype: S, largest?: number) {
    super();
    this.context = context;
    this.id = id;
    this.shape = shape;
    this.dtype = (values as S | undefined) ?? dtype;
    this.largest = largest;
    context.adopt(this as AnyTensor);
  }

  /** How many elements there are. */
  get size(): number { return elementsOf(this.shape); }
  /** How many axes there are. */
  get rank(): number { return this.shape.length; }

  // ── element by element, of tensors whose shapes broadcast: generated from `src/tensor/operations/elementwise.rs` (`npm run generate`) ──
  /** this + o */
  add(this: IntTensor<D>, o: IntTensor<D> | BoolTensor<D> | number): IntTensor<D>;
  add(o: Kept<D> | number): Tensor<D>;
  add(o: Kept<D> | number): Kept<D> { return apply("add", [this, o]); }
  /** this − o */
  sub(this: IntTensor<D>, o: IntTensor<D> | BoolTensor<D> | number): IntTensor<D>;
  sub(o: Kept<D> | number): Tensor<D>;
  sub(o: Kept<D> | number): Kept<D> { return apply("sub", [this, o]); }
  /** this · o, element by element */
  mul(this: IntTensor<D>, o: IntTensor<D> | BoolTensor<D> | number): IntTensor<D>;
  mul(o: Kept<D> | number): Tensor<D>;
  mul(o: Kept<D> | number): Kept<D> { return apply("mul", [this, o]); }
  /** this / o */
  div(o: Kept<D> | number): Tensor<D> { return apply("div", [this, o]); }
  /** The larger one; NaN where one is. Where both are equal, the gradient goes to the left one. */
  maximum(this: BoolTensor<D>, o: BoolTensor<D>): BoolTensor<D>;
  maximum(this: IntTensor<D>, o: IntTensor<D> | BoolTensor<D> | number): IntTensor<D>;
  maximum(o: Kept<D> | number): Tensor<D>;
  maximum(o: Kept<D> | number): Kept<D> { return apply("maximum", [this, o]); }
  /** The smaller one; NaN where one is. Where both are equal, the gradient goes to the left one. */
  minimum(this: BoolTensor<D>, o: BoolTensor<D>): BoolTensor<D>;
  minimum(this: IntTensor<D>, o: IntTensor<D> | BoolTensor<D> | number): IntTensor<D>;
  minimum(o: Kept<D> | number): Tensor<D>;
  minimum(o: Kept<D> | number): Kept<D> { return apply("minimum", [this, o]); }
  /** Where this < o. */
  less(o: Kept<D> | number): BoolTensor<D> { return apply("less", [this, o]); }
  /** Where this ≤ o. */
  lessEqual(o: Kept<D> | number): BoolTensor<D> { return apply("lessEqual", [this, o]); }
  /** Where both are equal. */
  equal(o: Kept<D> | number): BoolTensor<D> { return apply("equal", [this, o]); }
  neg(this: IntTensor<D>): IntTensor<D>;
  neg(): Tensor<D>;
  neg(): Kept<D> { return apply("neg", [this]); }
  /** |x|; its slope at 0 is 0. */
  abs(this: IntTensor<D>): IntTensor<D>;
  abs(): Tensor<D>;
  abs(): Kept<D> { return apply("abs", [this]); }
  /** −1, 0 or 1; NaN of NaN. Its slope is 0. */
  sign(this: IntTensor<D>): IntTensor<D>;
  sign(): Tensor<D>;
  sign(): Kept<D> { return apply("sign", [this]); }
  /** Where this is NaN. */
  isNaN(): BoolTensor<D> { return apply("isNaN", [this]); }
  floor(this: IntTensor<D>): IntTensor<D>;
  floor(): Tensor<D>;
  floor(): Kept<D> { return apply("floor", [this]); }
  ceil(this: IntTensor<D>): IntTensor<D>;
  ceil(): Tensor<D>;
  ceil(): Kept<D> { return apply("ceil", [this]); }
  /** To the nearest whole number; halves to the even one. */
  round(this: IntTensor<D>): IntTensor<D>;
  round(): Tensor<D>;
  round(): Kept<D> { return apply("round", [this]); }
  square(this: IntTensor<D>): IntTensor<D>;
  square(): Tensor<D>;
  square(): Kept<D> { return apply("square", [this]); }
  /** √x; its slope at 0 is 0. */
  sqrt(): Tensor<D> { return apply("sqrt", [this]); }
  /** 1/√x */
  rsqrt(): Tensor<D> { return apply("rsqrt", [this]); }
  cbrt(): Tensor<D> { return apply("cbrt", [this]); }
  exp(): Tensor<D> { return apply("exp", [this]); }
  exp2(): Tensor<D> { return apply("exp2", [this]); }
  /** exp(x) − 1, exact for small x */
  expm1(): Tensor<D> { return apply("expm1", [this]); }
  log(): Tensor<D> { return apply("log", [this]); }
  /** log(1 + x), exact for small x */
  log1p(): Tensor<D> { return apply("log1p", [this]); }
  sin(): Tensor<D> { return apply("sin", [this]); }
  cos(): Tensor<D> { return apply("cos", [this]); }
  tan(): Tensor<D> { return apply("tan", [this]); }
  tanh(): Tensor<D> { return apply("tanh", [this]); }
  /** 2/√π ∫₀ˣ exp(−t²) dt */
  erf(): Tensor<D> { return apply("erf", [this]); }
  /** max(x, 0); its slope at 0 is 0. */
  relu(this: IntTensor<D>): IntTensor<D>;
  relu(): Tensor<D>;
  relu(): Kept<D> { return apply("relu", [this]); }
  /** 1/(1 + exp(−x)) */
  sigmoid(): Tensor<D> { return apply("sigmoid", [this]); }
  /** x Φ(x), Φ the normal distribution's, in the form with tanh (Hendrycks & Gimpel 2016): ½x(1 + tanh(√(2/π)(x + 0.044715x³))). */
  gelu(): Tensor<D> { return apply("gelu", [this]); }
  /** x · sigmoid(x) */
  silu(): Tensor<D> { return apply("silu", [this]); }
  /** log(1 + exp(x)) */
  softplus(): Tensor<D> { return apply("softplus", [this]); }
  // ── element by element, by hand ──
  /**
   * this to the power of o. A whole number from −1024 to 1024 is a product of factors; otherwise, below 0, there is a power where o is whole,
   * and NaN elsewhere. The gradient by an exponent is NaN below 0.
   */
  pow(this: IntTensor<D>, o: IntTensor<D> | number): IntTensor<D>;
  pow(o: Kept<D> | number): Tensor<D>;
  pow(o: Kept<D> | number): Kept<D> { return isWholeExponent(o) ? apply("powInt", [this], [o]) : apply("pow", [this, o]); }
  /** Where this > o. */
  greater(o: Kept<D> | number): BoolTensor<D> { return apply("less", [o, this]); }
  /** Where this ≥ o. */
  greaterEqual(o: Kept<D> | number): BoolTensor<D> { return apply("lessEqual", [o, this]); }
  /** Where they differ; NaN differs from all. */
  notEqual(o: Kept<D> | number): BoolTensor<D> { return apply("notEqual", [this, o]); }
  /** min(max(x, low), high), of numbers or tensors, null for none; its slope at both bounds is 1. */
  clip(this: IntTensor<D>, low?: IntTensor<D> | number | null, high?: IntTensor<D> | number | null): IntTensor<D>;
  clip(low?: Kept<D> | number | null, high?: Kept<D> | number | null): Tensor<D>;
  clip(low?: Kept<D> | number | null, high?: Kept<D> | number | null): Kept<D> { return composed.clip(this as Kept<D>, low, high); }
  /** log₂ x */
  log2(): Tensor<D> { return composed.log2(this as Kept<D>); }
  /** The angle of (x, this) in (−π, π]; 0 with slopes 0 at the origin. */
  atan2(x: Kept<D> | number): Tensor<D> { return composed.atan2(this as Kept<D>, x); }
  /** this − o⌊this/o⌋, of o's sign; its slope in o is −⌊this/o⌋. Of integers exact, and 0 for o = 0. */
  mod(this: IntTensor<D>, o: IntTensor<D> | BoolTensor<D> | number): IntTensor<D>;
  mod(o: Kept<D> | number): Tensor<D>;
  mod(o: Kept<D> | number): Kept<D> { return composed.mod(this as Kept<D>, o); }
  /** x, and slope · x below 0; 1 is its slope at 0. Default: 0.01. */
  leakyRelu(slope?: number): Tensor<D> { return composed.leakyRelu(this as Kept<D>, slope); }

  /** ⌊this/o⌋. Of integers exact, and 0 for o = 0. */
  floorDivide(this: IntTensor<D>, o: IntTensor<D> | BoolTensor<D> | number): IntTensor<D>;
  floorDivide(o: Kept<D> | number): Tensor<D>;
  floorDivide(o: Kept<D> | number): Kept<D> { return apply("floorDivide", [this, o]); }

  // ── truths, and bits ──
  /** Where both are not 0. */
  logicalAnd(o: Kept<D> | number): BoolTensor<D> { return apply("logicalAnd", [this, o]); }
  /** Where one is not 0, or both. */
  logicalOr(o: Kept<D> | number): BoolTensor<D> { return apply("logicalOr", [this, o]); }
  /** Where one alone is not 0. */
  logicalXor(o: Kept<D> | number): BoolTensor<D> { return apply("logicalXor", [this, o]); }
  /** Where this is 0. */
  logicalNot(): BoolTensor<D> { return apply("logicalNot", [this]); }
  /** Bits of both; of booleans {@link logicalAnd}. */
  bitwiseAnd<T extends Whole>(this: Tensor<D, T>, o: Tensor<D, T> | number): Tensor<D, T> { return apply("bitwiseAnd", [this, o]); }
  /** Bits of either; of booleans {@link logicalOr}. */
  bitwiseOr<T extends Whole>(this: Tensor<D, T>, o: Tensor<D, T> | number): Tensor<D, T> { return apply("bitwiseOr", [this, o]); }
  /** Bits of one alone; of booleans {@link logicalXor}. */
  bitwiseXor<T extends Whole>(this: Tensor<D, T>, o: Tensor<D, T> | number): Tensor<D, T> { return apply("bitwiseXor", [this, o]); }
  /** Every bit the other one; of booleans {@link logicalNot}. */
  bitwiseNot<T extends Whole>(this: Tensor<D, T>): Tensor<D, T> { return apply("bitwiseNot", [this]); }
  /** this · 2ᵒ, wrapped; 0 unless 0 ≤ o < 32. */
  shiftLeft(this: IntTensor<D>, o: IntTensor<D> | number): IntTensor<D> { return apply("shiftLeft", [this, o]); }
  /** ⌊this/2ᵒ⌋: the sign fills what becomes free, all of it unless 0 ≤ o < 32. */
  shiftRight(this: IntTensor<D>, o: IntTensor<D> | number): IntTensor<D> { return apply("shiftRight", [this, o]); }

  // ── products, and the same elements elsewhere ──
  /** The product of matrices, which are the last two axes; those before broadcast. A vector is a row on the left and a column on the right. Of int32s it wraps. */
  matmul(this: IntTensor<D>, o: IntTensor<D> | BoolTensor<D>): IntTensor<D>;
  matmul(this: BoolTensor<D>, o: IntTensor<D>): IntTensor<D>;
  matmul(o: Kept<D>): Tensor<D>;
  matmul(o: Kept<D>): Kept<D> {
    mustBeTensor("matmul(o)", "o", o);
    return apply("matmul", [this, o]);
  }
  /** Axis k of the result is axis `order[k]`; without an order the last two change places. */
  transpose<T extends Whole>(this: Tensor<D, T>, ...order: readonly (number | Sizes)[]): Tensor<D, T>;
  transpose(...order: readonly number[]): Tensor<D>;
  transpose(order: Sizes): Tensor<D>;
  transpose(...order: readonly (number | Sizes)[]): Kept<D> { return apply("transpose", [this], axesOf("transpose(order)", listOf(order), this.rank)); }
  /** The last two axes change places. */
  get T(): Tensor<D, [S] extends [Whole] ? S : D> { return apply("transpose", [this]); }
  /** Another shape of as many elements, row by row; one size may be −1, which is what is left for it. */
  reshape<T extends Whole>(this: Tensor<D, T>, ...shape: readonly (number | Sizes)[]): Tensor<D, T>;
  reshape(...shape: readonly number[]): Tensor<D>;
  reshape(shape: Sizes): Tensor<D>;
  reshape(...shape: readonly (number | Sizes)[]): Kept<D> { return apply("reshape", [this], sizesOf("reshape(shape)", listOf(shape), { open: true })); }
  /** The same elements along axes of size 1, and along new axes before the first. */
  broadcastTo<T extends Whole>(this: Tensor<D, T>, ...shape: readonly (number | Sizes)[]): Tensor<D, T>;
  broadcastTo(...shape: readonly number[]): Tensor<D>;
  broadcastTo(shape: Sizes): Tensor<D>;
  broadcastTo(...shape: readonly (number | Sizes)[]): Kept<D> { return apply("broadcastTo", [this], sizesOf("broadcastTo(shape)", listOf(shape))); }
  /** A part, one range an axis, the first ones first: `t.slice([0, 5], ":", { step: -1 }, 3)` is NumPy's `t[0:5, :, ::-1, 3]`. */
  slice<T extends Whole>(this: Tensor<D, T>, ...ranges: readonly Range[]): Tensor<D, T>;
  slice(...ranges: readonly Range[]): Tensor<D>;
  slice(...ranges: readonly Range[]): Kept<D> {
    const what = "slice(…)";
    if (ranges.length > this.rank) throw new LeastwiseError("shape", `${what}: ${ranges.length} ranges, but the tensor ${shown(this.shape)} has ${this.rank} axes`);
    const steps: Step[] = [], gone = new Set<number>();
    ranges.forEach((given, axis) => {
      const range = rangeOf(what, given, axis, this.shape[axis]!);
      if (range === undefined) return;
      if ("place" in range) gone.add(axis);
      steps.push(["slice", "place" in range ? [axis, range.place, range.place + 1, 1] : [axis, ...range.range]]);
    });
    const sliced = through(what, this, steps);
    return gone.size ? sliced.#into("reshape", sliced.shape.filter((_, axis) => !gone.has(axis))) : sliced;
  }
  /** The other way round along one axis or several. */
  flip<T extends Whole>(this: Tensor<D, T>, axis: Axes): Tensor<D, T>;
  flip(axis: Axes): Tensor<D>;
  flip(axis: Axes): Kept<D> { return through("flip(axis)", this, (axesOf("flip(axis)", axis, this.rank) ?? []).map((each) => ["flip", [each]])); }
  /** `value` around what is there: how many elements before and after, a pair for each axis. */
  pad<T extends Whole>(this: Tensor<D, T>, widths: readonly (readonly [before: number, after: number])[], value?: number): Tensor<D, T>;
  pad(widths: readonly (readonly [before: number, after: number])[], value?: number): Tensor<D>;
  pad(widths: readonly (readonly [before: number, after: number])[], value = 0): Kept<D> {
    const what = "pad(widths)";
    const no = () => new LeastwiseError("shape", `${what}: widths must have a pair [before, after] for each of the ${this.rank} axes`);
    if (!isList(widths)) throw no();
    const pairs = elementsOfList(`${what}: widths`, widths, "").map((pair) => Array.from(isArrayLike(pair) ? taken(`${what}: widths`, pair).values : []));
    if (pairs.length !== this.rank || pairs.some((pair) => pair.length !== 2)) throw no();
    mustBeNumber(`${what}: the value`, value, this.dtype);
    return through(what, this, pairs.flatMap(([before = 0, after = 0], axis) => (before === 0 && after === 0 ? [] : [["pad", [axis, before, after, value]] as const])));
  }
  /** Windows along an axis: [.., n, ..] becomes [.., windows, size, ..], `step` apart, of elements `dilation` apart. */
  window(axis: number, size: number, options: { readonly step?: number; readonly dilation?: number } = {}): Tensor<D> {
    const { step = 1, dilation = 1 } = checked("window(axis, size, options): options", options, WINDOW, { prefix: "window(axis, size): " });
    whole(0)("window(axis, size): size", size, {});
    return apply("window", [this], [axisOf("window(axis)", axis, this.rank), size, step, dilation]);
  }
  /** With a new axis of size 1 at that place. */
  expandDims<T extends Whole>(this: Tensor<D, T>, axis: number): Tensor<D, T>;
  expandDims(axis: number): Tensor<D>;
  expandDims(axis: number): Kept<D> {
    const place = axisOf("expandDims(axis)", axis, this.rank + 1);
    return apply("reshape", [this], [...this.shape.slice(0, place), 1, ...this.shape.slice(place)]);
  }
  /** Without these axes, which must have size 1; without all such axes, where none is given. */
  squeeze<T extends Whole>(this: Tensor<D, T>, axis?: Axes): Tensor<D, T>;
  squeeze(axis?: Axes): Tensor<D>;
  squeeze(axis?: Axes): Kept<D> {
    const axes = axesOf("squeeze(axis)", axis, this.rank);
    const long = axes?.find((each) => this.shape[each] !== 1);
    if (long !== undefined) throw new LeastwiseError("shape", `squeeze(axis): axis ${long} of ${shown(this.shape)} has ${this.shape[long]} elements, not 1`);
    return apply("reshape", [this], this.shape.filter((size, k) => (axes ? !axes.includes(k) : size !== 1)));
  }
  /** Rows: element [i, …] of the result is this[rows[i], …]; negative ones count from the end. Computed numbers are cut to whole ones, and taken to the nearest row that there is; given ones must be right. */
  gather<T extends Whole>(this: Tensor<D, T>, rows: RowNumbers<D>): Tensor<D, T>;
  gather(rows: RowNumbers<D>): Tensor<D>;
  gather(rows: RowNumbers<D>): Kept<D> {
    const what = "gather(rows)";
    this.mustLive(what);
    if (!isArrayLike(rows)) mustBeTensor(what, "rows", rows);
    return withNumbers(what, rows, this as Kept<D>, (given) => {
      mustBeBelow(what, given, this.shape[0] ?? 0, "rows");
      return apply("gather", [this, given]);
    }, this.shape[0]);
  }

  /** Parts along an axis, by default the first: so many equal ones, or those that end at these places (negative ones from the end), and what is left. */
  split<T extends Whole>(this: Tensor<D, T>, parts: number | readonly number[], axis?: number): Tensor<D, T>[];
  split(parts: number | readonly number[], axis?: number): Tensor<D>[];
  split(parts: number | readonly number[], axis?: number): Kept<D>[] { return composed.split(this as Kept<D>, parts, axis); }
  /** The whole so many times along each axis; of fewer counts than axes those are of the last ones. */
  tile<T extends Whole>(this: Tensor<D, T>, times: number | Sizes): Tensor<D, T>;
  tile(times: number | Sizes): Tensor<D>;
  tile(times: number | Sizes): Kept<D> { return composed.tile(this as Kept<D>, times); }
  /** Every element so many times along an axis; without one, of all elements in a row. */
  repeat<T extends Whole>(this: Tensor<D, T>, times: number, axis?: number): Tensor<D, T>;
  repeat(times: number, axis?: number): Tensor<D>;
  repeat(times: number, axis?: number): Kept<D> { return composed.repeat(this as Kept<D>, times, axis); }

  // ── along an axis ──
  /** Σ of an element and all before it along an axis; without one, of all elements in a row. An int32, which wraps, of integers and booleans. */
  cumsum(this: IntTensor<D> | BoolTensor<D>, axis?: number): IntTensor<D>;
  cumsum(axis?: number): Tensor<D>;
  cumsum(axis?: number): Kept<D> { return along.running("cumsum", this as Kept<D>, axis); }
  /** Π of an element and all before it along an axis; without one, of all elements in a row. Gradients are exact at 0, too. An int32, which wraps, of integers and booleans. */
  cumprod(this: IntTensor<D> | BoolTensor<D>, axis?: number): IntTensor<D>;
  cumprod(axis?: number): Tensor<D>;
  cumprod(axis?: number): Kept<D> { return along.running("cumprod", this as Kept<D>, axis); }
  /** The elements in order along an axis, by default the last one; NaN is last. */
  sort<T extends Whole>(this: Tensor<D, T>, axis?: number, options?: SortOptions): Tensor<D, T>;
  sort(axis?: number, options?: SortOptions): Tensor<D>;
  sort(axis = -1, options: SortOptions = {}): Kept<D> { return along.ordered("sort", this as Kept<D>, axis, options); }
  /** The places of the elements in order along an axis, by default the last one: of equal elements the first one first, NaN last. It has no gradient. */
  argsort(axis = -1, options: SortOptions = {}): IntTensor<D> { return along.ordered("argsort", this as Kept<D>, axis, options) as unknown as IntTensor<D>; }
  /** The k largest elements along an axis, by default the last one, in descending order, and their places: of equal elements the first one first. */
  topk<T extends Whole>(this: Tensor<D, T>, k: number, axis?: number): TopK<D, T>;
  topk(k: number, axis?: number): TopK<D>;
  topk(k: number, axis = -1): TopK<D, Storage> { return along.topk(this as Kept<D>, k, axis); }
  /**
   * Elements along an axis by their numbers, of as many axes; other axes broadcast. Numbers below 0 count from the end. Computed ones are cut to whole numbers,
   * and taken to the nearest that there is; given ones must be right.
   */
  takeAlongAxis<T extends Whole>(this: Tensor<D, T>, indices: RowNumbers<D>, axis: number): Tensor<D, T>;
  takeAlongAxis(indices: RowNumbers<D>, axis: number): Tensor<D>;
  takeAlongAxis(indices: RowNumbers<D>, axis: number): Kept<D> { return along.takeAlongAxis(this as Kept<D>, indices, axis); }
  /** Values in place of elements along an axis, by their numbers: of equal numbers the last value. Numbers below 0 count from the end; computed ones beyond are left out. */
  putAlongAxis(this: BoolTensor<D>, indices: RowNumbers<D>, values: BoolTensor<D>, axis: number): BoolTensor<D>;
  putAlongAxis(this: BoolTensor<D>, indices: RowNumbers<D>, values: IntTensor<D>, axis: number): IntTensor<D>;
  putAlongAxis(this: IntTensor<D>, indices: RowNumbers<D>, values: IntTensor<D> | BoolTensor<D> | number, axis: number): IntTensor<D>;
  putAlongAxis(indices: RowNumbers<D>, values: Kept<D> | number, axis: number): Tensor<D>;
  putAlongAxis(indices: RowNumbers<D>, values: Kept<D> | number, axis: number): Kept<D> { return along.put("putAlongAxis", this as Kept<D>, indices, values, axis); }
  /** Values added to elements along an axis, by their numbers: of equal numbers all values, in their order. Numbers below 0 count from the end; computed ones beyond are left out. Int32s wrap. */
  scatterAdd(this: BoolTensor<D>, indices: RowNumbers<D>, values: IntTensor<D>, axis: number): IntTensor<D>;
  scatterAdd(this: IntTensor<D>, indices: RowNumbers<D>, values: IntTensor<D> | BoolTensor<D> | number, axis: number): IntTensor<D>;
  scatterAdd(indices: RowNumbers<D>, values: Kept<D> | number, axis: number): Tensor<D>;
  scatterAdd(indices: RowNumbers<D>, values: Kept<D> | number, axis: number): Kept<D> { return along.put("scatterAdd", this as Kept<D>, indices, values, axis); }

  // ── reductions ──
  /** Σ over all axes, or those given: an int32, which wraps, of integers and booleans. */
  sum(this: IntTensor<D> | BoolTensor<D>, axis?: Axes, options?: ReduceOptions): IntTensor<D>;
  sum(axis?: Axes, options?: ReduceOptions): Tensor<D>;
  sum(axis?: Axes, options?: ReduceOptions): Kept<D> { return this.#reduce("sum", axis, options); }
  /** The mean over all axes, or those given. */
  mean(axis?: Axes, options?: ReduceOptions): Tensor<D> { return this.#reduce("mean", axis, options); }
  /** The largest element; NaN where one is. Equal ones share the gradient. */
  max<T extends Whole>(this: Tensor<D, T>, axis?: Axes, options?: ReduceOptions): Tensor<D, T>;
  max(axis?: Axes, options?: ReduceOptions): Tensor<D>;
  max(axis?: Axes, options?: ReduceOptions): Kept<D> { return this.#reduce("max", axis, options); }
  /** The smallest element; NaN where one is. Equal ones share the gradient. */
  min<T extends Whole>(this: Tensor<D, T>, axis?: Axes, options?: ReduceOptions): Tensor<D, T>;
  min(axis?: Axes, options?: ReduceOptions): Tensor<D>;
  min(axis?: Axes, options?: ReduceOptions): Kept<D> { return this.#reduce("min", axis, options); }
  /** Index of the largest element along an axis (the first of equals, and of NaN); without an axis, its index among all. It has no gradient. */
  argmax(axis?: number, options: ReduceOptions = {}): IntTensor<D> { return this.#place("argmax", axis, options); }
  /** Index of the smallest element along an axis (the first of equals, and of NaN); without an axis, its index among all. It has no gradient. */
  argmin(axis?: number, options: ReduceOptions = {}): IntTensor<D> { return this.#place("argmin", axis, options); }
  #place(name: "argmax" | "argmin", axis: number | undefined, options: ReduceOptions): IntTensor<D> {
    const { keepDims = false } = checked(`${name}(axis): options`, options, REDUCE, { prefix: `${name}(axis): ` });
    if (axis === undefined) return through<D, "int32">(`${name}()`, this, [["reshape", [this.size]], [name, [0]], ...(keepDims ? [["reshape", this.shape.map(() => 1)] as const] : [])]);
    const place = axisOf(`${name}(axis)`, axis, this.rank);
    return through<D, "int32">(`${name}(axis)`, this, [[name, [place]], ...(keepDims ? [["reshape", this.shape.map((size, k) => (k === place ? 1 : size))] as const] : [])]);
  }
  /** True where any is not 0, over all axes or those given; of none false. */
  any(axis?: Axes, options?: ReduceOptions): BoolTensor<D> { return this.#reduce<"bool">("any", axis, options); }
  /** True where all are not 0, over all axes or those given; of none true. */
  all(axis?: Axes, options?: ReduceOptions): BoolTensor<D> { return this.#reduce<"bool">("all", axis, options); }
  /** The product over all axes, or those given; of none 1. Gradients are exact at 0, too. */
  prod(this: IntTensor<D> | BoolTensor<D>, axis?: Axes, options?: ReduceOptions): IntTensor<D>;
  prod(axis?: Axes, options?: ReduceOptions): Tensor<D>;
  prod(axis?: Axes, options?: ReduceOptions): Kept<D> { return composed.prod(this as Kept<D>, axis, options); }
  /** The variance over all axes, or those given: the mean of (x − mean)². */
  var(axis?: Axes, options?: SpreadOptions): Tensor<D> { return composed.variance(this as Kept<D>, axis, options); }
  /** The standard deviation: the root of {@link var}, with slope 0 where that is 0. */
  std(axis?: Axes, options?: SpreadOptions): Tensor<D> { return composed.made("std(axis)", this as AnyTensor, () => this.var(axis, options).sqrt()); }
  /** log Σ exp x over all axes, or those given; nothing overflows. */
  logsumexp(axis?: Axes, options?: ReduceOptions): Tensor<D> { return composed.logsumexp(this as Kept<D>, axis, options); }
  /** √Σx² over all axes, or those given, with slope 0 at 0; `order` has Σ|x| and the largest |x|. */
  norm(axis?: Axes, options?: NormOptions): Tensor<D> { return composed.norm(this as Kept<D>, axis, options); }
  /** exp(x)/Σ exp(x) along an axis, by default the last one; nothing overflows. */
  softmax(axis = -1): Tensor<D> { return apply("softmax", [this], [axisOf("softmax(axis)", axis, this.rank)]); }
  /** The logarithm of {@link softmax}. */
  logSoftmax(axis = -1): Tensor<D> { return apply("logSoftmax", [this], [axisOf("logSoftmax(axis)", axis, this.rank)]); }
  /** (x − mean)/√(variance + ε) along the last axis, times `scale`, plus `shift` (Ba, Kiros & Hinton 2016). Default: ε = 1e-5. */
  layerNorm(options: { readonly scale?: Kept<D>; readonly shift?: Kept<D>; readonly epsilon?: number } = {}): Tensor<D> {
    const { scale, shift, epsilon = 1e-5 } = checked("layerNorm(options): options", options, NORM, { prefix: "layerNorm(options): " }) as typeof options;
    if (this.rank === 0) throw new LeastwiseError("shape", "layerNorm(): a single number has no axis to be normalised along");
    const given = [scale, shift].filter((each) => each !== undefined);
    given.forEach((each, k) => mustBeTensor("layerNorm(…)", k === 0 && scale ? "scale" : "shift", each));
    return apply("layerNorm", [this, ...given], [epsilon, scale ? 1 : 0, shift ? 1 : 0]);
  }

  // ── how it is kept ──
  /**
   * Kept as halves: every element rounded to the nearest of them, of two to the even one, to ±∞ from 65520 on. Chains before it run in the kernel that rounds.
   * Gradients go through as if it were not there.
   */
  cast(this: Kept, to: "f16"): HalfTensor;
  /** Whole parts, at the ends −2³¹ and 2³¹ − 1 where they lie beyond, and 0 of NaN. */
  cast(to: "int32"): IntTensor<D>;
  /** False where an element is 0, else true (of NaN as well). */
  cast(to: "bool"): BoolTensor<D>;
  /** As it is computed with: of an int32 the nearest number, of a boolean 0 or 1. */
  cast(to: D): Tensor<D>;
  cast(to: Storage): Kept<DType> {
    const what = "cast(to)", dtype = computedWith(this);
    this.context.mustHave(to, what);
    if (to === "int32" || to === "bool") return through(what, this, [[to, []]]);
    if ((to === "f64") !== (dtype === "f64")) throw new LeastwiseError("dtype", `${what}: the tensor is of ${this.dtype}; f64 and ${to === "f64" ? this.dtype : to} are computed in apart, and nothing goes from one to the other on the device: read() it and make another with lw.tensor(values, shape, { dtype })`);
    if (to === "f64") return through(what, this, [["real", []]]);
    this.mustLive(what);
    return new Tensor<DType, Storage>(this.context, this.context.apply(to === "f16" ? to : "real", [this.id], [], to), to);
  }

  // ── values ──
  /** The same values, through which no gradient goes. */
  detach<T extends Whole>(this: Tensor<D, T>): Tensor<D, T>;
  detach(): Tensor<D>;
  detach(): Kept<D> { return apply("detach", [this]); }
  /** The elements, row by row. What is asked for in one turn of the event loop is computed and read together. */
  async read(): Promise<ReadAs<D, S>> {
    takesNoMore("read()", 0, arguments);
    this.mustLive("read()");
    const [values] = await this.context.evaluations.ask([], [this as AnyTensor]);
    return values as ReadAs<D, S>;
  }
  /** The one element; of booleans 0 or 1. */
  async item(): Promise<number> {
    takesNoMore("item()", 0, arguments);
    if (this.size !== 1) throw new LeastwiseError("shape", `item(): the tensor has ${this.size} elements ${shown(this.shape)}, not one: use read()`);
    return (await this.read())[0]!;
  }
  /** Place of the elements on the GPU, once they were computed (`await lw.evaluate(t)`); undefined before, on CUDA and on the CPU. Don't write there. */
  get buffer(): DeviceView | undefined {
    this.mustLive("buffer");
    return this.context.tasks.call((native) => native.tensorView(this.id)) as DeviceView | undefined;
  }

  /** Frees it. Tensors that were made of it stay. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.context.drop(this as AnyTensor);
  }
  [Symbol.dispose](): void { this.dispose(); }

  override toString(): string { return `${titleOf(this.shape, this.dtype)}${this.#disposed ? ", disposed" : ""}`; }
  /** What it is, without its values: these are on the device, and `read()` gives them. */
  toJSON(): { readonly type: "Tensor"; readonly shape: Sizes; readonly dtype: S } { return { type: "Tensor", shape: this.shape, dtype: this.dtype }; }
  /** Text for consoles, with the values that were given or read. @internal */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    const title = this.toString();
    if (this.#disposed) return title;
    return this.preview === undefined ? `${title}, values on the device: await read()` : `${title} ${valuesText(this.preview, this.shape, this.dtype)}`;
  }
  /** Throws where JavaScript wants a number: operators compute nothing here. @internal */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.toString();
    throw new LeastwiseError("untraceable", "a tensor was used as a JavaScript number (an operator such as + or <, Math.*): use methods, such as a.add(b), and read() for values");
  }

  /** @internal */
  mustLive(what: string): void {
    if (this.#disposed) throw new LeastwiseError("disposed", `${what}: the tensor ${shown(this.shape)} was disposed (by dispose(), or at the end of lw.scope: return what is to stay)`);
  }

  #reduce<T extends Storage = D>(name: Operation, axis: Axes | undefined, options: ReduceOptions = {}): Tensor<D, T> {
    const what = `${name}(axis)`;
    const { keepDims = false } = checked(`${what}: options`, options, REDUCE, { prefix: `${what}: ` });
    const axes = axesOf(what, axis, this.rank);
    // To the engine no axes are all of them.
    if (axes?.length === 0) {
      const kind = name === "any" || name === "all" ? "bool" : name === "sum" && this.dtype === "bool" ? "int32" : name === "mean" && (this.dtype === "int32" || this.dtype === "bool") ? "real" : undefined;
      return through(what, this, kind ? [[kind, []]] : []);
    }
    return apply(name, [this], [keepDims ? 1 : 0, ...(axes ?? [])]);
  }

  /** One more operation, after which this is not needed. */
  #into(name: Operation, numbers: readonly number[]): Tensor<D> {
    try {
      return apply(name, [this], numbers);
    } finally {
      this.dispose();
    }
  }
}

/** Sizes one after the other, or in one array. */
function listOf(given: readonly (number | Sizes)[]): unknown {
  return given.length === 1 && typeof given[0] !== "number" ? given[0] : given;
}

/** Refuses anything but tensors of one engine and precision, one at least. @internal */
export function mustBeTensors(what: string, tensors: unknown): asserts tensors is readonly [AnyTensor, ...AnyTensor[]] {
  reading(`${what}: the tensors`, () => {
    if (!isList(tensors) || tensors.length === 0) throw new LeastwiseError("invalid-option", `${what}: an array of tensors, one at least, not ${isList(tensors) ? "an empty one" : describe(tensors)}`);
    tensors.forEach((tensor, k) => mustBeTensor(what, `tensor ${k}`, tensor));
    mustGoTogether(what, tensors[0] as AnyTensor, tensors as AnyTensor[]);
  });
}
