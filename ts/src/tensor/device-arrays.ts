/**
 * The level below tensors: arrays that are written over, and operations with an explicit destination. For loops that must not make anything, and
 * for those who come from BLAS.
 */
import { numbersOf, type Floats } from "../arrays.js";
import type { Backend } from "../engine.js";
import { isA, LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, given } from "../options.js";
import { computedWith, mustGoTogether } from "./apply.js";
import type { TensorContext } from "./context.js";
import type { HalfOptions, TensorMaker, TensorOptions } from "./make.js";
import { elementsOf, REDUCE, shown, type ReduceOptions, type Sizes } from "./shapes.js";
import type { AnyTensor, DType, Kept, Storage, Tensor, ValuesOf } from "./tensor.js";

/**
 * An array on the engine's device, of a shape that stays, with contents that are written over.
 *
 * @example
 * const a: DeviceArray = lw.arrays.allocate([2, 3]);
 * lw.arrays.write(a, [1, 2, 3, 4, 5, 6]);
 */
export class DeviceArray<D extends DType = "f32", S extends Storage = D> implements Disposable {
  readonly shape: Sizes;
  readonly dtype: S;
  /** What its elements are computed with, however they are kept. */
  readonly precision: D;
  #tensor: Tensor<D, S> | undefined;

  /** @internal */
  constructor(tensor: Tensor<D, S>) {
    this.shape = tensor.shape;
    this.dtype = tensor.dtype;
    this.precision = computedWith(tensor) as D;
    this.#tensor = tensor;
  }

  /** Its contents. @internal */
  contents(what: string): Tensor<D, S> {
    if (!this.#tensor) throw new LeastwiseError("disposed", `${what}: the array ${shown(this.shape)} was deallocated`);
    return this.#tensor;
  }

  /** Other contents, of the same shape. @internal */
  replace(tensor: Tensor<D, S>): void {
    this.#tensor?.dispose();
    this.#tensor = tensor;
  }

  dispose(): void {
    this.#tensor?.dispose();
    this.#tensor = undefined;
  }
  [Symbol.dispose](): void { this.dispose(); }
}

/**
 * An array to be computed with in `D`, however it is kept.
 *
 * @example
 * const numbers = (array: KeptArray) => lw.arrays.read(array);  // of floats or of halves
 */
export type KeptArray<D extends DType = "f32"> = DeviceArray<D, Storage>;

type Any = KeptArray<DType>;

/**
 * Operations on arrays. Every one is enqueued at once, in the order of the calls, and checks shapes first; what an elementwise one writes over may be one of its
 * operands. Others refuse that (`aliased`), since in other libraries it destroys what is still being read.
 *
 * @example
 * const arrays: Arrays = lw.arrays;
 * const a = arrays.allocate([1000]), twice = arrays.allocate([1000]);
 * arrays.add(a, a, twice);  // into twice, without a new array
 */
export interface Arrays<P extends DType = "f32"> {
  /** The device's own name, what it is, and bytes of its buffers that live. */
  readonly device: { readonly name: string; readonly type: Backend; readonly memory: number };
  /** Zeros. */
  allocate<D extends DType = P>(shape: Sizes, options?: TensorOptions<D>): DeviceArray<NoInfer<D>>;
  allocate(shape: Sizes, options: HalfOptions): DeviceArray<"f32", "f16">;
  deallocate(array: Any): void;
  /** Copies to the device. */
  write(array: Any, values: Floats | readonly number[]): void;
  /** Copies from the device. */
  read<D extends DType>(array: KeptArray<D>): Promise<ValuesOf<D>>;
  /** Resolves when everything that was enqueued is done, and rejects where something of it failed. */
  synchronize(): Promise<void>;
  add<D extends DType>(a: KeptArray<D>, b: KeptArray<NoInfer<D>>, out: KeptArray<NoInfer<D>>): void;
  sub<D extends DType>(a: KeptArray<D>, b: KeptArray<NoInfer<D>>, out: KeptArray<NoInfer<D>>): void;
  mul<D extends DType>(a: KeptArray<D>, b: KeptArray<NoInfer<D>>, out: KeptArray<NoInfer<D>>): void;
  div<D extends DType>(a: KeptArray<D>, b: KeptArray<NoInfer<D>>, out: KeptArray<NoInfer<D>>): void;
  relu<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>): void;
  sigmoid<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>): void;
  tanh<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>): void;
  gelu<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>): void;
  matmul<D extends DType>(a: KeptArray<D>, b: KeptArray<NoInfer<D>>, out: KeptArray<NoInfer<D>>): void;
  transpose<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>): void;
  /** Softmax along an axis, by default the last one. */
  softmax<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>, axis?: number): void;
  sum<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>, options?: ReduceOptions & { readonly axis?: number | readonly number[] }): void;
  mean<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>, options?: ReduceOptions & { readonly axis?: number | readonly number[] }): void;
  max<D extends DType>(a: KeptArray<D>, out: KeptArray<NoInfer<D>>, options?: ReduceOptions & { readonly axis?: number | readonly number[] }): void;
}

type Over = ReduceOptions & { readonly axis?: number | readonly number[] };

const OVER = { ...REDUCE, axis: given<number | readonly number[]>() } as const;

/** @internal */
export class ArraysOf implements Arrays {
  #failed: unknown[] = [];

  constructor(private readonly context: TensorContext, private readonly maker: TensorMaker, private readonly about: () => Arrays["device"]) {}

  get device(): Arrays["device"] { return this.about(); }

  allocate<D extends DType = "f32">(shape: Sizes, options?: TensorOptions<D>): DeviceArray<NoInfer<D>>;
  allocate(shape: Sizes, options: HalfOptions): DeviceArray<"f32", "f16">;
  allocate(shape: Sizes, options?: TensorOptions<Storage>): Any {
    return this.context.outside(() => {
      const zeros = this.maker.full("allocate(shape)", shape, 0, options), { dtype } = zeros;
      if (dtype !== "int32" && dtype !== "bool") return new DeviceArray<DType, Storage>(zeros);
      zeros.dispose();
      throw new LeastwiseError("dtype", `allocate(shape): arrays are of reals, not of ${dtype}: lw.zeros(shape, { dtype: "${dtype}" }) makes a tensor`);
    });
  }

  deallocate(array: Any): void {
    mustBeArray("deallocate(array)", "array", array);
    array.dispose();
  }

  write(array: Any, values: Floats | readonly number[]): void {
    const what = "write(array, values)";
    mustBeArray(what, "array", array);
    array.contents(what);
    const numbers = numbersOf(`${what}: values`, values);
    if (numbers.length !== elementsOf(array.shape)) throw new LeastwiseError("data-length", `${what}: there are ${numbers.length} values, but the array ${shown(array.shape)} has ${elementsOf(array.shape)} elements`);
    array.replace(this.context.outside(() => this.maker.tensor(numbers, array.shape, { dtype: array.dtype })));
  }

  async read<D extends DType>(array: KeptArray<D>): Promise<ValuesOf<D>> {
    mustBeArray("read(array)", "array", array);
    return array.contents("read(array)").read() as Promise<ValuesOf<D>>;
  }

  async synchronize(): Promise<void> {
    await this.context.evaluations.idle();
    const [first] = this.#failed.splice(0);
    if (first !== undefined) throw first;
  }

  add(a: Any, b: Any, out: Any): void { this.#elementwise("add", [a, b], out, (x, y) => x.add(y!)); }
  sub(a: Any, b: Any, out: Any): void { this.#elementwise("sub", [a, b], out, (x, y) => x.sub(y!)); }
  mul(a: Any, b: Any, out: Any): void { this.#elementwise("mul", [a, b], out, (x, y) => x.mul(y!)); }
  div(a: Any, b: Any, out: Any): void { this.#elementwise("div", [a, b], out, (x, y) => x.div(y!)); }
  relu(a: Any, out: Any): void { this.#elementwise("relu", [a], out, (x) => x.relu()); }
  sigmoid(a: Any, out: Any): void { this.#elementwise("sigmoid", [a], out, (x) => x.sigmoid()); }
  tanh(a: Any, out: Any): void { this.#elementwise("tanh", [a], out, (x) => x.tanh()); }
  gelu(a: Any, out: Any): void { this.#elementwise("gelu", [a], out, (x) => x.gelu()); }
  matmul(a: Any, b: Any, out: Any): void { this.#apart("matmul", [a, b], out, (x, y) => x.matmul(y!)); }
  transpose(a: Any, out: Any): void { this.#apart("transpose", [a], out, (x) => x.transpose()); }
  softmax(a: Any, out: Any, axis = -1): void { this.#apart("softmax", [a], out, (x) => x.softmax(axis)); }
  sum(a: Any, out: Any, options: Over = {}): void { this.#reduced("sum", a, out, options); }
  mean(a: Any, out: Any, options: Over = {}): void { this.#reduced("mean", a, out, options); }
  max(a: Any, out: Any, options: Over = {}): void { this.#reduced("max", a, out, options); }

  #reduced(name: "sum" | "mean" | "max", a: Any, out: Any, options: Over): void {
    const { axis, ...reduce } = checked(`${name}(a, out, options): options`, options, OVER, { prefix: `${name}(a, out): ` });
    this.#apart(name, [a], out, (x) => (x as Kept<DType>)[name as "mean"](axis, reduce as ReduceOptions));
  }

  /** May write over an operand. */
  #elementwise(name: string, operands: readonly Any[], out: Any, work: (a: AnyTensor, b: AnyTensor | undefined) => AnyTensor): void {
    const what = `${name}(${operands.length > 1 ? "a, b" : "a"}, out)`;
    operands.forEach((operand, k) => mustBeArray(what, "ab"[k]!, operand));
    mustBeArray(what, "out", out);
    const contents = operands.map((operand) => operand.contents(what));
    mustGoTogether(what, out.contents(what), contents);
    const result = this.context.outside(() => {
      const made = work(contents[0]!, contents[1]);
      if (out.dtype !== "f16") return made;
      try {
        return (made as Kept).cast("f16");
      } finally {
        made.dispose();
      }
    });
    if (shown(result.shape) !== shown(out.shape)) {
      result.dispose();
      throw new LeastwiseError("shape", `${what}: the result is ${shown(result.shape)}, but out is ${shown(out.shape)}`);
    }
    // Computed at once, and so before what it is made of is written over.
    this.context.evaluations.ask([result], []).catch((error: unknown) => { this.#failed.push(error); });
    out.replace(result);
  }

  /** May not. */
  #apart(name: string, operands: readonly Any[], out: Any, work: (a: AnyTensor, b: AnyTensor | undefined) => AnyTensor): void {
    const alias = operands.findIndex((operand) => operand === out);
    if (alias >= 0) throw new LeastwiseError("aliased", `${name}(…, out): out is also the operand ${"ab"[alias]}, of which every element of the result needs several; give it an array of its own (elementwise operations may write over an operand)`);
    this.#elementwise(name, operands, out, work);
  }
}

function mustBeArray(what: string, name: string, given: unknown): asserts given is Any {
  if (!isA(given, DeviceArray)) throw new LeastwiseError("invalid-option", `${what}: ${name} must be an array of lw.arrays.allocate(shape), not ${describe(given)}`);
}
