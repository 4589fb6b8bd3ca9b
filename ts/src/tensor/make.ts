/** What an engine has for tensors: making them, evaluating them, and how that is done. */
import { isA64, isArrayLike, isInt32, isFloats, isList, taken, type Floats } from "../arrays.js";
import { LeastwiseError, reading } from "../errors.js";
import { describe } from "../instruction.js";
import type { NativeTensorStatistics, NativeTraced } from "../native.js";
import { checked, given, oneOf, real, whole } from "../options.js";
import { computedWith, mustBeNumber, mustBeTensor, wholeNumbers } from "./apply.js";
import type { TensorContext } from "./context.js";
import type { TensorModel } from "./model.js";
import { overRanks } from "./over-ranks.js";
import { normal, uniform } from "./random.js";
import type { TensorRouting, TensorSettings } from "./routing.js";
import { elementsOf, shown, sizesOf, type Sizes } from "./shapes.js";
import { PREVIEW } from "./text.js";
import { mustBeTensors, Tensor, type AnyTensor, type BoolTensor, type DType, type HalfTensor, type IntTensor, type Kept, type Storage } from "./tensor.js";

/**
 * Numbers in arrays in arrays, as deep as a tensor has axes; the innermost may be typed.
 *
 * @example
 * const rows: Nested = [[1, 2], [3, 4]];
 * const matrix = lw.tensor(rows);
 */
export type Nested = readonly (number | Nested | Floats)[];

/**
 * Element type of a new tensor.
 *
 * @example
 * const options: TensorOptions<"f64"> = { dtype: "f64" };
 * const exact = lw.ones([3], options);
 */
export interface TensorOptions<D extends Storage> {
  /** Precision of the elements; `"f64"` on the CPU and on CUDA alone. @defaultValue that of the engine: `"f64"` where `init` was asked for it, else `"f32"` */
  readonly dtype?: D;
}

/**
 * Elements are rounded to halves, and kept as such: two bytes each, on every device.
 *
 * @example
 * const options: HalfOptions = { dtype: "f16" };
 * const small = lw.zeros([1000, 64], options);  // two bytes an element
 */
export interface HalfOptions {
  readonly dtype: "f16";
}

/**
 * Elements are int32s.
 *
 * @example
 * const options: IntOptions = { dtype: "int32" };
 * const counts = lw.zeros([3], options);
 */
export interface IntOptions {
  readonly dtype: "int32";
}

/**
 * Elements are truths.
 *
 * @example
 * const options: BoolOptions = { dtype: "bool" };
 * const mask = lw.ones([3], options);
 */
export interface BoolOptions {
  readonly dtype: "bool";
}

/**
 * Booleans in arrays in arrays.
 *
 * @example
 * const rows: NestedBooleans = [[true, false], [false, true]];
 */
export type NestedBooleans = readonly (boolean | NestedBooleans)[];

/**
 * Seeded numbers: the same seed gives the same ones, everywhere.
 *
 * @example
 * const options: RandomOptions<"f32"> = { seed: 1, distribution: "normal", deviation: 0.1 };
 * const noise = lw.random([64, 64], options);
 */
export type RandomOptions<D extends Storage> = TensorOptions<D> & { /** A whole number below 2³². */ readonly seed: number } & (
  | {
    /** Evenly from `low` on, below `high`. @defaultValue `"uniform"` */
    readonly distribution?: "uniform";
    /** Least number. @defaultValue 0 */
    readonly low?: number;
    /** Bound that no number reaches. @defaultValue 1 */
    readonly high?: number;
    readonly mean?: never;
    readonly deviation?: never;
  }
  | {
    /** Normal distribution. */
    readonly distribution: "normal";
    /** Its mean. @defaultValue 0 */
    readonly mean?: number;
    /** Its standard deviation. @defaultValue 1 */
    readonly deviation?: number;
    readonly low?: never;
    readonly high?: never;
  }
);

/**
 * A step of the last evaluation: what ran where, and why there.
 *
 * @example
 * await weights.square().sum().read();
 * const steps: readonly TensorStep[] = lw.tensorTrace();
 */
export interface TensorStep extends NativeTraced {}

/**
 * Statistics of evaluations. `kernels`, `fused` (elementwise operations that ran within others) and `transfers` are those of the last one.
 * On the CPU `inPlace` elements were read where they lie in memory, and `copied` ones (masked, strided, repeated along an axis) had to be copied first.
 *
 * @example
 * const statistics: TensorStatistics = lw.tensorStatistics();
 */
export interface TensorStatistics extends NativeTensorStatistics {}

/**
 * An engine's part for tensors.
 *
 * @example
 * const ramp = (on: TensorEngine) => on.arange(10).mul(0.1);
 * console.log(await ramp(lw).read());
 */
export interface TensorEngine<P extends DType = "f32"> {
  /** Precision of tensors that are made without a `dtype`: `"f64"` where `init` was asked for it, else `"f32"`. */
  readonly dtype: DType;
  /**
   * A tensor of these values, which are copied: row by row in an array with a shape, or nested arrays, or one number. A `Float64Array` makes one of f64, unless
   * `dtype` says otherwise.
   *
   * @throws `dtype` for a `Float64Array` on WebGPU, unless `dtype` says that it is to be rounded
   */
  tensor<D extends DType = P>(values: Float32Array | Nested | number, shape?: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  tensor(values: Float64Array, shape?: Sizes): Tensor<"f64">;
  tensor<D extends DType>(values: Floats | Nested | number, shape: Sizes | undefined, options: { readonly dtype: D }): Tensor<D>;
  tensor(values: Floats | Nested | number, shape: Sizes | undefined, options: HalfOptions): HalfTensor;
  /** Of int32s, which an `Int32Array` makes as well; numbers must be whole, from −2³¹ to 2³¹ − 1. */
  tensor<D extends DType = P>(values: Int32Array, shape?: Sizes): IntTensor<NoInfer<D>>;
  tensor<D extends DType = P>(values: Int32Array | Floats | Nested | number, shape: Sizes | undefined, options: IntOptions): IntTensor<NoInfer<D>>;
  /** Of truths, which booleans make as well; of numbers, those that are not 0. */
  tensor<D extends DType = P>(values: NestedBooleans | boolean, shape?: Sizes): BoolTensor<NoInfer<D>>;
  tensor<D extends DType = P>(values: NestedBooleans | Uint8Array | Floats | Nested | number | boolean, shape: Sizes | undefined, options: BoolOptions): BoolTensor<NoInfer<D>>;
  /** A tensor of whole numbers, up to 2²⁴: labels, or rows to be gathered. */
  indices<D extends DType = P>(values: ArrayLike<number>, shape?: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  zeros<D extends DType = P>(shape: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  zeros(shape: Sizes, options: HalfOptions): HalfTensor;
  zeros<D extends DType = P>(shape: Sizes, options: IntOptions): IntTensor<NoInfer<D>>;
  zeros<D extends DType = P>(shape: Sizes, options: BoolOptions): BoolTensor<NoInfer<D>>;
  ones<D extends DType = P>(shape: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  ones(shape: Sizes, options: HalfOptions): HalfTensor;
  ones<D extends DType = P>(shape: Sizes, options: IntOptions): IntTensor<NoInfer<D>>;
  ones<D extends DType = P>(shape: Sizes, options: BoolOptions): BoolTensor<NoInfer<D>>;
  full<D extends DType = P>(shape: Sizes, value: number, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  full(shape: Sizes, value: number, options: HalfOptions): HalfTensor;
  full<D extends DType = P>(shape: Sizes, value: number, options: IntOptions): IntTensor<NoInfer<D>>;
  full<D extends DType = P>(shape: Sizes, value: boolean | number, options: BoolOptions): BoolTensor<NoInfer<D>>;
  /** 1 on the diagonal, 0 elsewhere. */
  eye<D extends DType = P>(rows: number, columns?: number, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  eye(rows: number, columns: number | undefined, options: HalfOptions): HalfTensor;
  eye<D extends DType = P>(rows: number, columns: number | undefined, options: IntOptions): IntTensor<NoInfer<D>>;
  eye<D extends DType = P>(rows: number, columns: number | undefined, options: BoolOptions): BoolTensor<NoInfer<D>>;
  /** 0, 1, …, count − 1; times `step`, plus `start`. */
  arange<D extends DType = P>(count: number, options?: TensorOptions<D> & { readonly start?: number; readonly step?: number }): Tensor<NoInfer<D>>;
  arange(count: number, options: HalfOptions & { readonly start?: number; readonly step?: number }): HalfTensor;
  arange<D extends DType = P>(count: number, options: IntOptions & { readonly start?: number; readonly step?: number }): IntTensor<NoInfer<D>>;
  random<D extends DType = P>(shape: Sizes, options: RandomOptions<D>): Tensor<NoInfer<D>>;
  random(shape: Sizes, options: RandomOptions<"f16"> & HalfOptions): HalfTensor;
  /** Computes tensors, all in one submission, and keeps their values on the device. */
  evaluate(...tensors: readonly AnyTensor[]): Promise<void>;
  /**
   * Sums of tensors over the ranks of a `world`, as new tensors, which are yours to dispose. All ranks make the call, with tensors of the same shapes and of the
   * engine's precision, and get the same bits: sums are added in the order of ranks. No gradient goes through. Without a world the sums are the tensors themselves,
   * detached: the same script runs.
   *
   * @throws `invalid-option` where ranks have other shapes, or another rank could not compute its tensors: all can go on; `dtype` for tensors that are not in floats
   * @example
   * const [total] = await lw.sumOverRanks([weights]);
   * console.log(await total.read());
   */
  sumOverRanks<const T extends readonly (Tensor | Tensor<"f64">)[]>(tensors: T): Promise<{ readonly [K in keyof T]: T[K] }>;
  /**
   * Means of tensors over the ranks of a `world`, such as gradients that each has of its own part of a batch; all else is as with {@link sumOverRanks}.
   *
   * @example
   * const cost = model.forward(images).square().mean();
   * const gradients = await lw.meanOverRanks(grad(cost, model.parameters()));
   */
  meanOverRanks<const T extends readonly (Tensor | Tensor<"f64">)[]>(tensors: T): Promise<{ readonly [K in keyof T]: T[K] }>;
  /** How tensors are evaluated from now on; what is left out stays as it is. */
  tensors(settings: TensorSettings): void;
  /** How operations are routed: what was said, the model and where it is from. */
  tensorRouting(): TensorRouting;
  /**
   * Measures anew what operations take on this machine, some tens of milliseconds on a GPU whose kernels are compiled, and keeps that for later runs. `"auto"` goes by it from now on, and
   * holds where nothing was said. Give the model back to {@link tensors} to have the same routes, and the same bits, anywhere.
   */
  measureTensors(): Promise<TensorModel>;
  /** Steps of the last evaluation. */
  tensorTrace(): readonly TensorStep[];
  tensorStatistics(): TensorStatistics;
}

const DTYPE = { dtype: given<Storage>() } as const;
const finite = real(-3.4e38, 3.4e38);
const ARANGE = { ...DTYPE, start: given<number>(), step: given<number>() } as const;
const RANDOM = { ...DTYPE, seed: whole(0), distribution: oneOf("uniform", "normal"), low: finite, high: finite, mean: finite, deviation: real(0, 3.4e38) } as const;

/** @internal */
export class TensorMaker {
  constructor(private readonly context: TensorContext, readonly dtype: DType) {}

  tensor(values: unknown, shape: Sizes | undefined, options: TensorOptions<Storage> = {}): AnyTensor {
    const what = "lw.tensor(values, shape)";
    const { dtype: asked } = checked(`${what}: options`, options, DTYPE), flat = typeof values === "number" || typeof values === "boolean" ? { numbers: [Number(values)], shape: [], areTruths: typeof values === "boolean" } : ArrayBuffer.isView(values) ? viewed(what, values) : reading(`${what}: values`, () => flattened(what, values));
    const dtype = asked ?? (isA64(values) ? "f64" : isInt32(values) ? "int32" : flat.areTruths ? "bool" : this.dtype);
    if (asked === undefined && dtype === "f64" && this.context.backend === "webgpu") throw new LeastwiseError("dtype", `${what}: values are a Float64Array, and WebGPU computes in f32: { dtype: "f32" } says that they are to be rounded`);
    this.context.mustHave(dtype, what);
    const sizes = shape === undefined ? flat.shape : sizesOf(what, shape);
    if (elementsOf(sizes) !== flat.numbers.length) {
      throw new LeastwiseError("data-length", `${what}: there are ${flat.numbers.length} values, but the shape ${shown(sizes)} has ${elementsOf(sizes)} elements`);
    }
    return dtype === "int32" ? this.#integers(what, flat.numbers, sizes) : this.#store(typed(flat.numbers, dtype, this.dtype), sizes, dtype);
  }

  /** int32s, of whole numbers. */
  #integers(what: string, values: ArrayLike<number>, sizes: Sizes): AnyTensor {
    const whole = Int32Array.from(values), odd = whole.findIndex((value, k) => value !== values[k]);
    if (odd >= 0) throw new LeastwiseError("invalid-option", `${what}: value ${odd} is ${String(values[odd])}, no int32: cast("int32") takes whole parts`);
    const [made] = this.context.call((native) => native.tensorIntegers(new Uint32Array(whole.buffer), Uint32Array.from(sizes), this.dtype === "f64"));
    const stored = new Tensor<DType, Storage>(this.context, made!, "int32");
    stored.preview = whole.slice(0, PREVIEW);
    return stored;
  }

  indices<D extends DType>(values: ArrayLike<number>, shape: Sizes | undefined, options: TensorOptions<D> = {}): Tensor<D> {
    const what = "lw.indices(values, shape)";
    const dtype = this.#dtypeOf(what, options) as D;
    if ((dtype as Storage) === "f16") throw new LeastwiseError("dtype", `${what}: of whole numbers halves have all up to 2048 only, so what counts is kept in f32`);
    if (!isArrayLike(values)) throw new LeastwiseError("invalid-option", `${what}: values must be an array of whole numbers, not ${describe(values)}`);
    return wholeNumbers(this.context, what, values, shape === undefined ? undefined : sizesOf(what, shape), dtype);
  }

  full(what: string, shape: Sizes, given: number | boolean, options: TensorOptions<Storage> = {}): AnyTensor {
    const dtype = this.#dtypeOf(what, options);
    const sizes = sizesOf(what, shape);
    const value = dtype === "bool" && typeof given === "boolean" ? Number(given) : (given as number);
    mustBeNumber(`${what}: the value`, value, dtype);
    if (dtype === "int32") return new Tensor<DType, Storage>(this.context, this.context.apply("integer", [], [value, ...sizes], this.dtype), dtype);
    // A tensor like any other, by which one may differentiate: constants alone vanish in what they are broadcast to.
    const { id } = this.context.apply("constant", [], [value, ...sizes], dtype === "bool" ? this.dtype : dtype);
    try {
      return new Tensor<DType, Storage>(this.context, this.context.apply(dtype === "f16" || dtype === "bool" ? dtype : "detach", [id], [], dtype), dtype);
    } finally {
      this.context.release([id]);
    }
  }

  arange(count: number, options: TensorOptions<Storage> & { start?: number; step?: number } = {}): AnyTensor {
    const what = "lw.arange(count)";
    const { dtype = this.dtype, start = 0, step = 1 } = checked(`${what}: options`, options, ARANGE, { prefix: `${what}: ` });
    this.context.mustHave(dtype, what);
    if (dtype === "bool") throw new LeastwiseError("dtype", `${what}: not of bool`);
    whole(0)(`${what}: count`, count, {});
    // Before anything is made, which nobody would free.
    mustBeNumber(`${what}: start`, start, dtype);
    mustBeNumber(`${what}: step`, step, dtype);
    const counted = new Tensor(this.context, this.context.apply("count", [], [count], dtype === "int32" ? this.dtype : dtype), dtype === "f64" ? "f64" : "f32");
    let last: AnyTensor = counted;
    const then = (next: AnyTensor): void => {
      last.dispose();
      last = next;
    };
    try {
      if (dtype === "int32") then(last.cast("int32"));
      if (start !== 0 || step !== 1) {
        then(last.mul(step));
        then(last.add(start));
      }
      if (dtype === "f16") then((last as Kept).cast("f16"));
      return last;
    } catch (error) {
      last.dispose();
      throw error;
    }
  }

  random(shape: Sizes, options: RandomOptions<Storage>): AnyTensor {
    const what = "lw.random(shape, options)";
    const all = checked(`${what}: options`, options, RANDOM, { prefix: `${what}: ` });
    const { seed, distribution = "uniform", low = 0, high = 1, mean = 0, deviation = 1, dtype = this.dtype } = all;
    this.context.mustHave(dtype, what);
    if (dtype === "int32" || dtype === "bool") throw new LeastwiseError("dtype", `${what}: not of ${dtype}`);
    if (seed === undefined) throw new LeastwiseError("invalid-option", `${what}: a seed is needed, a whole number: the same seed gives the same numbers`);
    const other = (distribution === "uniform" ? ["mean", "deviation"] : ["low", "high"]).find((name) => name in all);
    if (other !== undefined) throw new LeastwiseError("invalid-option", `${what}: "${other}" means nothing for the distribution "${distribution}"`);
    const sizes = sizesOf(what, shape);
    const values = this.#room(what, sizes, dtype);
    if (distribution === "uniform") uniform(values, dtype, seed, low, high);
    else normal(values, dtype, seed, mean, deviation);
    return this.#store(values, sizes, dtype);
  }

  async evaluate(tensors: readonly AnyTensor[]): Promise<void> {
    const what = "lw.evaluate(…tensors)";
    tensors.forEach((tensor, k) => {
      mustBeTensor(what, `tensor ${k}`, tensor);
      if (tensor.context !== this.context) throw new LeastwiseError("foreign-tensor", `${what}: tensor ${k} belongs to another engine`);
    });
    await Promise.all((["f32", "f64"] as const).map((dtype) => this.context.evaluations.ask(tensors.filter((tensor) => computedWith(tensor) === dtype), [])));
  }

  /** Sums of tensors over ranks, or means. */
  async overRanks(what: string, tensors: readonly AnyTensor[], mean: boolean): Promise<readonly AnyTensor[]> {
    mustBeTensors(what, tensors);
    if (tensors[0].context !== this.context) throw new LeastwiseError("foreign-tensor", `${what}: the tensors belong to another engine`);
    return overRanks(what, tensors, mean);
  }

  /** The kind of elements that options ask for. */
  #dtypeOf(what: string, options: TensorOptions<Storage>): Storage {
    const { dtype = this.dtype } = checked(`${what}: options`, options, DTYPE);
    this.context.mustHave(dtype, what);
    return dtype;
  }

  #room(what: string, sizes: Sizes, dtype: Storage): Floats {
    const elements = elementsOf(sizes);
    try {
      return (dtype === "int32" || dtype === "bool" ? this.dtype : dtype) === "f64" ? new Float64Array(elements) : new Float32Array(elements);
    } catch {
      throw new LeastwiseError("out-of-memory", `${what}: there is no room for ${elements} numbers`);
    }
  }

  #store(values: Floats, sizes: Sizes, dtype: Storage): AnyTensor {
    if (dtype === "int32" || dtype === "bool") {
      const real = this.#store(values, sizes, this.dtype), made = real.cast(dtype as "bool");
      real.dispose();
      return made;
    }
    const shape = Uint32Array.from(sizes);
    const [made] = this.context.call((native) => (dtype === "f16" ? native.tensorStoreHalves(values, shape) : native.tensorStore(values, shape, dtype === "f64")));
    const stored = new Tensor<DType, Storage>(this.context, made!, dtype);
    // Halves are rounded on the device.
    if (dtype !== "f16") stored.preview = values.slice(0, PREVIEW);
    return stored;
  }

  eye(rows: number, columns: number = rows, options: TensorOptions<Storage> = {}): AnyTensor {
    const what = "lw.eye(rows, columns)", dtype = this.#dtypeOf(what, options);
    for (const [name, count] of [["rows", rows], ["columns", columns]] as const) whole(0)(`${what}: ${name}`, count, {});
    const sizes = sizesOf(what, [rows, columns]), values = this.#room(what, sizes, dtype);
    for (let k = 0; k < Math.min(rows, columns); k++) values[k * columns + k] = 1;
    return this.#store(values, sizes, dtype);
  }
}

function typed(values: ArrayLike<number>, kept: Storage, real: DType): Floats {
  const dtype = kept === "bool" ? real : kept;
  // Before a small number is rounded to 0.
  if (kept === "bool") {
    const truths = dtype === "f64" ? new Float64Array(values.length) : new Float32Array(values.length);
    for (let k = 0; k < truths.length; k++) truths[k] = Number(values[k] !== 0);
    return truths;
  }
  // Rounding twice is not rounding: halves are made of all that was given.
  if (dtype === "f16") return isFloats(values) ? values : Float64Array.from(values);
  if (dtype === "f64") return values instanceof Float64Array ? values : Float64Array.from(values);
  return values instanceof Float32Array ? values : Float32Array.from(values);
}

/** A typed array as it is. */
function viewed(what: string, given: unknown): { numbers: ArrayLike<number>; shape: Sizes; areTruths: boolean } {
  const { values } = taken(`${what}: values`, given, { must: "must be a number, a typed array, or arrays of numbers" });
  return { numbers: values, shape: [values.length], areTruths: false };
}

const isRow = (value: unknown): value is ArrayLike<unknown> => isList(value) || isFloats(value);

/** Numbers of nested arrays, row by row, and their shape. */
function flattened(what: string, nested: unknown): { numbers: readonly number[]; shape: Sizes; areTruths: boolean } {
  if (!isList(nested)) throw new LeastwiseError("invalid-option", `${what}: values must be a number, a typed array, or arrays of numbers, not ${describe(nested)}`);
  const shape: number[] = [];
  for (let first: unknown = nested; isRow(first); first = first[0]) shape.push(first.length);
  const numbers: number[] = [];
  let areTruths = true;
  const visit = (part: unknown, axis: number): void => {
    if (axis === shape.length) {
      if (typeof part !== "boolean") areTruths = false;
      if (typeof part !== "number" && typeof part !== "boolean") throw new LeastwiseError("invalid-option", `${what}: value ${numbers.length} is ${describe(part)}, not a number`);
      numbers.push(Number(part));
      return;
    }
    if (!isRow(part) || part.length !== shape[axis]) {
      throw new LeastwiseError("shape", `${what}: rows differ: along axis ${axis} the first has ${shape[axis]} elements, and another is ${isRow(part) ? `of ${part.length}` : describe(part)}`);
    }
    for (let k = 0; k < part.length; k++) visit(part[k], axis + 1);
  };
  visit(nested, 0);
  return { numbers, shape, areTruths: areTruths && numbers.length > 0 };
}
