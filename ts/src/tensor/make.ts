/** What an engine has for tensors: making them, evaluating them, and how that is done. */
import { floats, isArrayLike, type Floats } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import type { NativeTensorStatistics, NativeTraced } from "../native.js";
import { mustBeBetween, mustBeCount, mustBeOneOf, mustHaveOnly } from "../settings.js";
import { computedWith, mustBeNumber, mustBeTensor, wholeNumbers } from "./apply.js";
import type { TensorContext } from "./context.js";
import type { TensorModel } from "./model.js";
import { normal, uniform } from "./random.js";
import type { TensorRouting, TensorSettings } from "./routing.js";
import { elementsOf, shown, sizesOf, type Sizes } from "./shapes.js";
import { Tensor, type AnyTensor, type DType, type HalfTensor, type Kept, type Storage } from "./tensor.js";

/** Numbers in arrays in arrays, as deep as a tensor has axes. */
export type Nested = readonly (number | Nested)[];

export interface TensorOptions<D extends Storage> {
  /** `"f32"`, unless told; `"f64"` on the CPU and on CUDA. */
  readonly dtype?: D;
}

/** Elements are rounded to halves, and kept as such: two bytes each, on every device. */
export interface HalfOptions {
  readonly dtype: "f16";
}

/** Seeded numbers: the same seed gives the same ones, everywhere. */
export type RandomOptions<D extends Storage> = TensorOptions<D> & { /** A whole number below 2³². */ readonly seed: number } & (
  | { /** Evenly from `low` (0) on, below `high` (1); the default. */ readonly distribution?: "uniform"; readonly low?: number; readonly high?: number; readonly mean?: never; readonly deviation?: never }
  | { /** Normal, of that mean (0) and standard deviation (1). */ readonly distribution: "normal"; readonly mean?: number; readonly deviation?: number; readonly low?: never; readonly high?: never }
);

/** A step of the last evaluation: what ran where, and why there. */
export interface TensorStep extends NativeTraced {}

/** What evaluations came to. `kernels`, `fused` (elementwise operations that ran within others) and `transfers` are those of the last one. */
export interface TensorStatistics extends NativeTensorStatistics {}

/** An engine's part for tensors. */
export interface TensorEngine {
  /** A tensor of these values, which are copied: row by row in an array with a shape, or nested arrays, or one number. */
  tensor<D extends DType = "f32">(values: Floats | Nested | number, shape?: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  tensor(values: Floats | Nested | number, shape: Sizes | undefined, options: HalfOptions): HalfTensor;
  /** A tensor of whole numbers, up to 2²⁴: labels, or rows to be gathered. */
  indices<D extends DType = "f32">(values: ArrayLike<number>, shape?: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  zeros<D extends DType = "f32">(shape: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  zeros(shape: Sizes, options: HalfOptions): HalfTensor;
  ones<D extends DType = "f32">(shape: Sizes, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  ones(shape: Sizes, options: HalfOptions): HalfTensor;
  full<D extends DType = "f32">(shape: Sizes, value: number, options?: TensorOptions<D>): Tensor<NoInfer<D>>;
  full(shape: Sizes, value: number, options: HalfOptions): HalfTensor;
  /** 0, 1, …, count − 1; times `step`, plus `start`. */
  arange<D extends DType = "f32">(count: number, options?: TensorOptions<D> & { readonly start?: number; readonly step?: number }): Tensor<NoInfer<D>>;
  arange(count: number, options: HalfOptions & { readonly start?: number; readonly step?: number }): HalfTensor;
  random<D extends DType = "f32">(shape: Sizes, options: RandomOptions<D>): Tensor<NoInfer<D>>;
  random(shape: Sizes, options: RandomOptions<"f16"> & HalfOptions): HalfTensor;
  /** Computes tensors, all in one submission, and keeps their values on the device. */
  evaluate(...tensors: readonly AnyTensor[]): Promise<void>;
  /** How tensors are evaluated from now on; what is left out stays as it is. */
  tensors(settings: TensorSettings): void;
  /** How operations are routed: what was said, the model and where it is from. */
  tensorRouting(): TensorRouting;
  /**
   * Measures anew what operations take on this machine, some tens of milliseconds on a GPU whose kernels are compiled, and keeps that for later runs. `"auto"` goes by it from now on, and
   * holds where nothing was said. Give the model back to {@link tensors} to have the same routes, and the same bits, anywhere.
   */
  measureTensors(): Promise<TensorModel>;
  /** What the last evaluation did, step by step. */
  tensorTrace(): readonly TensorStep[];
  tensorStatistics(): TensorStatistics;
}

/** @internal */
export class TensorMaker {
  constructor(private readonly context: TensorContext) {}

  tensor(values: unknown, shape: Sizes | undefined, { dtype = "f32" }: TensorOptions<Storage> = {}): AnyTensor {
    const what = "lw.tensor(values, shape)";
    this.context.mustHave(dtype, what);
    const flat = typeof values === "number" ? { numbers: [values], shape: [] } : ArrayBuffer.isView(values) && isArrayLike(values) ? { numbers: values, shape: [values.length] } : flattened(what, values);
    const sizes = shape === undefined ? flat.shape : sizesOf(what, shape);
    if (elementsOf(sizes) !== flat.numbers.length) {
      throw new LeastwiseError("data-length", `${what}: there are ${flat.numbers.length} values, but the shape ${shown(sizes)} has ${elementsOf(sizes)} elements`);
    }
    return this.#store(typed(flat.numbers, dtype), sizes, dtype);
  }

  indices<D extends DType>(values: ArrayLike<number>, shape: Sizes | undefined, { dtype = "f32" as D }: TensorOptions<D> = {}): Tensor<D> {
    const what = "lw.indices(values, shape)";
    this.context.mustHave(dtype, what);
    if ((dtype as Storage) === "f16") throw new LeastwiseError("dtype", `${what}: of whole numbers halves have all up to 2048 only, so what counts is kept in f32`);
    if (!isArrayLike(values)) throw new LeastwiseError("invalid-option", `${what}: values must be an array of whole numbers, not ${describe(values)}`);
    const sizes = shape === undefined ? [values.length] : sizesOf(what, shape);
    if (elementsOf(sizes) !== values.length) throw new LeastwiseError("data-length", `${what}: there are ${values.length} values, but the shape ${shown(sizes)} has ${elementsOf(sizes)} elements`);
    return wholeNumbers(this.context, what, values, sizes, dtype);
  }

  full(what: string, shape: Sizes, value: number, { dtype = "f32" }: TensorOptions<Storage> = {}): AnyTensor {
    this.context.mustHave(dtype, what);
    const sizes = sizesOf(what, shape);
    mustBeNumber(`${what}: the value`, value, dtype);
    // A tensor like any other, by which one may differentiate: constants alone vanish in what they are broadcast to.
    const { id } = this.context.apply("constant", [], [value, ...sizes], dtype);
    try {
      return new Tensor<DType, Storage>(this.context, this.context.apply(dtype === "f16" ? "f16" : "detach", [id], [], dtype), dtype);
    } finally {
      this.context.release([id]);
    }
  }

  arange(count: number, { dtype = "f32", start = 0, step = 1 }: TensorOptions<Storage> & { start?: number; step?: number } = {}): AnyTensor {
    const what = "lw.arange(count)";
    this.context.mustHave(dtype, what);
    mustBeCount(`${what}: count`, count, { least: 0 });
    const counted = new Tensor(this.context, this.context.apply("count", [], [count], dtype), computedWith(dtype));
    let last: AnyTensor = counted;
    const then = (next: AnyTensor): void => {
      last.dispose();
      last = next;
    };
    if (start !== 0 || step !== 1) {
      then(last.mul(step));
      then(last.add(start));
    }
    if (dtype === "f16") then((last as Kept).cast("f16"));
    return last;
  }

  random(shape: Sizes, options: RandomOptions<Storage>): AnyTensor {
    const what = "lw.random(shape, options)";
    mustHaveOnly(options, ["seed", "distribution", "low", "high", "mean", "deviation", "dtype"], what);
    const { seed, distribution = "uniform", low = 0, high = 1, mean = 0, deviation = 1, dtype = "f32" } = options as RandomOptions<Storage> & { low?: number; high?: number; mean?: number; deviation?: number };
    this.context.mustHave(dtype, what);
    if (seed === undefined) throw new LeastwiseError("invalid-option", `${what}: a seed is needed, a whole number: the same seed gives the same numbers`);
    mustBeCount(`${what}: seed`, seed, { least: 0 });
    mustBeOneOf(`${what}: distribution`, distribution, ["uniform", "normal"]);
    const other = (distribution === "uniform" ? ["mean", "deviation"] : ["low", "high"]).find((name) => name in options);
    if (other !== undefined) throw new LeastwiseError("invalid-option", `${what}: "${other}" means nothing for the distribution "${distribution}"`);
    for (const [name, value] of Object.entries({ low, high, mean })) mustBeBetween(`${what}: ${name}`, value, -3.4e38, 3.4e38);
    mustBeBetween(`${what}: deviation`, deviation, 0, 3.4e38);
    const sizes = sizesOf(what, shape);
    const values = dtype === "f64" ? new Float64Array(elementsOf(sizes)) : new Float32Array(elementsOf(sizes));
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
    await Promise.all((["f32", "f64"] as const).map((dtype) => this.context.evaluations.ask(tensors.filter((tensor) => computedWith(tensor.dtype) === dtype), [])));
  }

  #store(values: Floats, sizes: Sizes, dtype: Storage): AnyTensor {
    const shape = Uint32Array.from(sizes);
    const [made] = this.context.call((native) => (dtype === "f16" ? native.tensorStoreHalves(values, shape) : native.tensorStore(values, shape, dtype === "f64")));
    return new Tensor<DType, Storage>(this.context, made!, dtype);
  }
}

function typed(values: ArrayLike<number>, dtype: Storage): Floats {
  // Rounding twice is not rounding: halves are made of all that was given.
  if (dtype === "f16") return floats(values);
  if (dtype === "f64") return values instanceof Float64Array ? values : Float64Array.from(values);
  return values instanceof Float32Array ? values : Float32Array.from(values);
}

/** Numbers of nested arrays, row by row, and their shape. */
function flattened(what: string, nested: unknown): { numbers: readonly number[]; shape: Sizes } {
  if (!Array.isArray(nested)) throw new LeastwiseError("invalid-option", `${what}: values must be a number, a typed array, or arrays of numbers, not ${describe(nested)}`);
  const shape: number[] = [];
  for (let first: unknown = nested; Array.isArray(first); first = first[0]) shape.push(first.length);
  const numbers: number[] = [];
  const visit = (part: unknown, axis: number): void => {
    if (axis === shape.length) {
      if (typeof part !== "number") throw new LeastwiseError("invalid-option", `${what}: value ${numbers.length} is ${describe(part)}, not a number`);
      numbers.push(part);
      return;
    }
    if (!Array.isArray(part) || part.length !== shape[axis]) {
      throw new LeastwiseError("shape", `${what}: rows differ: along axis ${axis} the first has ${shape[axis]} elements, and another is ${Array.isArray(part) ? `of ${part.length}` : describe(part)}`);
    }
    for (const each of part) visit(each, axis + 1);
  };
  visit(nested, 0);
  return { numbers, shape };
}
