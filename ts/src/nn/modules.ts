/** Modules: functions of a tensor with parameters that can be trained. */
import { isList, listOf, taken } from "../arrays.js";
import type { Engine } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, flag, given, hasMethods, oneOf, whole } from "../options.js";
import { mustBeTensor } from "../tensor/apply.js";
import { CONVOLUTION } from "../tensor/convolutions.js";
import { conv2d, type ConvolutionOptions } from "../tensor/functions.js";
import { pairOf, shown } from "../tensor/shapes.js";
import type { DType, Tensor } from "../tensor/tensor.js";

/**
 * A function with parameters.
 *
 * @example
 * const predict = (model: Module, x: Tensor) => model.forward(x).sigmoid();
 */
export interface Module<D extends DType = "f32"> extends Disposable {
  forward(x: Tensor<D>): Tensor<D>;
  /** Trained parameters, always in the same order. */
  parameters(): readonly Tensor<D>[];
  /** Takes other parameters of the same shapes, and disposes the ones that it had. */
  update(parameters: readonly Tensor<D>[]): void;
  /** Frees the parameters. */
  dispose(): void;
}

/**
 * A module, or a function that has no parameters, such as `(x) => x.relu()`.
 *
 * @example
 * const parts: Part[] = [linear(lw, 64, 10, { seed: 1 }), (x) => x.relu()];
 * const model = sequential(...parts);
 */
export type Part<D extends DType = "f32"> = Module<D> | ((x: Tensor<D>) => Tensor<D>);

/**
 * How parameters begin.
 *
 * @example
 * const options: LayerOptions<"f32"> = { seed: 1, bias: false };
 * const projection = linear(lw, 64, 8, options);
 */
export interface LayerOptions<D extends DType> {
  /** A whole number: the same seed gives the same parameters. */
  readonly seed: number;
  /**
   * Initial weights. `"he"` (He et al. 2015): normal with deviation √(2/inputs), for relu. `"glorot"` (Glorot & Bengio 2010): uniform within √(6/(inputs + outputs)), for tanh and the last layer.
   *
   * @defaultValue `"he"`
   */
  readonly start?: "he" | "glorot";
  /** True to add a bias to each output, 0 at the start. @defaultValue true */
  readonly bias?: boolean;
  /** Precision of parameters and results. @defaultValue that of the engine */
  readonly dtype?: D;
}

/**
 * Options of {@link conv}.
 *
 * @example
 * const options: ConvOptions<"f32"> = { seed: 1, step: 2, padding: 1 };
 * const features = conv(lw, 3, 16, 3, options);
 */
export interface ConvOptions<D extends DType> extends LayerOptions<D>, ConvolutionOptions {}

/**
 * Activation function between layers.
 *
 * @example
 * const activation: Activation = "silu";
 * const model = mlp(lw, [64, 128, 10], { seed: 1, activation });
 */
export type Activation = "relu" | "gelu" | "silu" | "tanh" | "sigmoid" | "softplus";

/**
 * Options of {@link mlp}.
 *
 * @example
 * const options: MlpOptions<"f32"> = { seed: 1, activation: "tanh" };
 * const model = mlp(lw, [2, 16, 1], options);
 */
export interface MlpOptions<D extends DType> {
  readonly seed: number;
  /** Activation between layers. @defaultValue "relu" */
  readonly activation?: Activation;
  /** Precision of parameters and results. @defaultValue that of the engine */
  readonly dtype?: D;
}

const SEEDED = { seed: whole(0), dtype: given() } as const;
const LAYER = { ...SEEDED, start: oneOf("he", "glorot"), bias: flag } as const;
const CONV = { ...LAYER, ...CONVOLUTION } as const;
const MLP = { ...SEEDED, activation: oneOf("relu", "gelu", "silu", "tanh", "sigmoid", "softplus") } as const;

/**
 * A module of your own: parameters, which it owns from now on, and what is done with them.
 *
 * @throws `invalid-option` unless they are an array of tensors and a function
 * @example
 * const bias = layer([lw.zeros([10])], ([b], x) => x.add(b));
 */
export function layer<const T extends readonly [Tensor<DType>, ...Tensor<DType>[]]>(parameters: T, forward: (parameters: T, x: Tensor<T[0]["dtype"]>) => Tensor<T[0]["dtype"]>): Module<T[0]["dtype"]> {
  type D = T[0]["dtype"];
  const what = "layer(parameters, forward)";
  let held = listOf(`${what}: parameters`, parameters, "must be an array of tensors") as readonly Tensor<D>[];
  held.forEach((tensor, k) => mustBeTensor(what, `parameter ${k}`, tensor));
  if (typeof forward !== "function") throw new LeastwiseError("invalid-option", `${what}: forward must be a function of the parameters and a tensor, not ${describe(forward)}`);
  return {
    forward: (x) => forward(held as unknown as T, x),
    parameters: () => held,
    update(given) {
      const next = mustFit(held, given);
      const old = held;
      held = next;
      for (const tensor of old) if (!held.includes(tensor)) tensor.dispose();
    },
    dispose() { for (const tensor of held) tensor.dispose(); },
    [Symbol.dispose]() { this.dispose(); },
  };
}

/**
 * x W + b: [.., inputs] becomes [.., outputs]. Parameters: W [inputs, outputs], b [outputs].
 *
 * @throws `invalid-option` for sizes that are not positive, and without a seed
 * @example
 * const logits = linear(lw, 64, 10, { seed: 1, start: "glorot" });
 */
export function linear<P extends DType = "f32", D extends DType = P>(lw: Engine<P>, inputs: number, outputs: number, options: LayerOptions<D>): Module<NoInfer<D>> {
  const what = "linear(lw, inputs, outputs)";
  mustBeEngine(what, lw);
  whole()(`${what}: inputs`, inputs, {});
  whole()(`${what}: outputs`, outputs, {});
  const all = checked(`${what}: options`, options, LAYER, { prefix: `${what}: ` }) as LayerOptions<D>;
  const weight = started(what, lw, [inputs, outputs], inputs, outputs, all);
  const product = (w: Tensor<D>, x: Tensor<D>): Tensor<D> => {
    mustBeTensor("forward(x) of linear", "x", x);
    return x.matmul(w);
  };
  if (all.bias === false) return layer([weight], ([w], x) => product(w, x));
  return layer([weight, lw.zeros([outputs], dtypeOf(all))], ([w, b], x) => product(w, x).add(b));
}

/**
 * A convolution of images [batch, inputs, height, width], to [batch, outputs, ..]. Parameters: filters
 * [outputs, inputs / groups, h, w], what is added [outputs, 1, 1].
 *
 * @throws `invalid-option` for sizes that are not positive, and without a seed
 * @example
 * const features = conv(lw, 3, 16, 5, { seed: 1, padding: 2 }).forward(images);
 */
export function conv<P extends DType = "f32", D extends DType = P>(lw: Engine<P>, inputs: number, outputs: number, size: number | readonly [number, number], options: ConvOptions<D>): Module<NoInfer<D>> {
  const what = "conv(lw, inputs, outputs, size)";
  mustBeEngine(what, lw);
  whole()(`${what}: inputs`, inputs, {});
  whole()(`${what}: outputs`, outputs, {});
  const [height, width] = pairOf(what, "size", size, NaN);
  const all = checked(`${what}: options`, options, CONV, { prefix: `${what}: ` }) as ConvOptions<D>;
  const { step = 1, padding = 0, dilation = 1, groups = 1 } = all;
  whole()(`${what}: groups`, groups, {});
  if (inputs % groups || outputs % groups) throw new LeastwiseError("invalid-option", `${what}: ${inputs} inputs and ${outputs} outputs are no ${groups} equal groups`);
  const each = inputs / groups;
  const filters = started(what, lw, [outputs, each, height, width], each * height * width, (outputs / groups) * height * width, all);
  const windows = { step, padding, dilation, groups };
  if (all.bias === false) return layer([filters], ([f], x) => conv2d(x, f, windows));
  return layer([filters, lw.zeros([outputs, 1, 1], dtypeOf(all))], ([f, b], x) => conv2d(x, f, windows).add(b));
}

/**
 * Parts one after the other.
 *
 * @throws `invalid-option` for parts that are neither modules nor functions
 * @example
 * const model = sequential(linear(lw, 64, 128, { seed: 1 }), (x) => x.relu(), linear(lw, 128, 10, { seed: 2 }));
 */
export function sequential<D extends DType = "f32">(...parts: readonly Part<D>[]): Module<D> {
  const modules = parts.filter((part) => typeof part !== "function");
  const odd = parts.findIndex((part) => typeof part !== "function" && !isModule(part));
  if (odd >= 0) throw new LeastwiseError("invalid-option", `sequential(…parts): part ${odd} must be a module or a function of a tensor, not ${describe(parts[odd])}`);
  const parameters = () => modules.flatMap((module) => module.parameters());
  return {
    forward: (x) => parts.reduce((value, part) => (typeof part === "function" ? part(value) : part.forward(value)), x),
    parameters,
    update(given) {
      const next = mustFit(parameters(), given);
      let first = 0;
      for (const module of modules) {
        const count = module.parameters().length;
        module.update(next.slice(first, first + count));
        first += count;
      }
    },
    dispose() { for (const module of modules) module.dispose(); },
    [Symbol.dispose]() { this.dispose(); },
  };
}

/**
 * Linear layers of these sizes, inputs first, with an activation between them, and none after the last.
 *
 * @throws `invalid-option` for sizes that are not positive, and without a seed
 * @example
 * const model = mlp(lw, [64, 128, 10], { seed: 1, activation: "gelu" });
 */
export function mlp<P extends DType = "f32", D extends DType = P>(lw: Engine<P>, sizes: readonly number[], options: MlpOptions<D>): Module<NoInfer<D>> {
  const what = "mlp(lw, sizes, { seed })";
  const { activation = "relu", seed, dtype } = checked(`${what}: options`, options === undefined ? {} : options, MLP, { prefix: `${what}: ` });
  mustBeEngine(what, lw);
  const widths = isList(sizes) ? Array.from(taken(`${what}: sizes`, sizes).values) : [];
  if (widths.length < 2) throw new LeastwiseError("invalid-option", "mlp(lw, sizes, { seed }): sizes are those of inputs, of what is between, and of outputs: two at least");
  if (seed === undefined) throw new LeastwiseError("invalid-option", "mlp(lw, sizes, { seed }): a seed is needed, a whole number by which weights are drawn");
  const saturates = activation === "tanh" || activation === "sigmoid";
  const parts: Part<D>[] = [];
  for (let k = 1; k < widths.length; k++) {
    const isLast = k === widths.length - 1;
    parts.push(linear(lw, widths[k - 1]!, widths[k]!, { ...dtypeOf({ dtype: dtype as D }), seed: (seed + k - 1) >>> 0, start: isLast || saturates ? "glorot" : "he" }));
    if (!isLast) parts.push((x) => (x[activation] as () => Tensor<D>).call(x));
  }
  return sequential(...parts);
}

const dtypeOf = <D extends DType>({ dtype }: { readonly dtype?: D | undefined }): { readonly dtype?: D } => (dtype === undefined ? {} : { dtype });

function started<D extends DType>(what: string, lw: Engine, shape: readonly number[], inputs: number, outputs: number, options: LayerOptions<D>): Tensor<D> {
  const { seed, start = "he" } = options;
  if (seed === undefined) throw new LeastwiseError("invalid-option", `${what}: a seed is needed, a whole number: the same seed gives the same parameters`);
  if (start === "he") return lw.random<D>(shape, { ...dtypeOf(options), seed, distribution: "normal", deviation: Math.sqrt(2 / inputs) });
  const limit = Math.sqrt(6 / (inputs + outputs));
  return lw.random<D>(shape, { ...dtypeOf(options), seed, low: -limit, high: limit });
}

/** True for whatever has a module's methods. @internal */
export const isModule = <D extends DType>(value: unknown): value is Module<D> => hasMethods(value, "forward", "parameters", "update", "dispose");

function mustBeEngine(what: string, lw: unknown): void {
  if (!hasMethods(lw, "random", "zeros")) throw new LeastwiseError("invalid-option", `${what}: lw must be an engine, as init() makes one, not ${describe(lw)}`);
}

/** New parameters of a module, checked. */
function mustFit<D extends DType>(held: readonly Tensor<D>[], given: unknown): readonly Tensor<D>[] {
  const next = listOf("update(parameters): parameters", given, "must be an array of tensors") as readonly Tensor<D>[];
  next.forEach((tensor, k) => mustBeTensor("update(parameters)", `parameter ${k}`, tensor));
  const other = held.findIndex((tensor, k) => !next[k] || shown(next[k].shape) !== shown(tensor.shape));
  if (next.length !== held.length || other >= 0) {
    throw new LeastwiseError("shape", `update(parameters): the module has ${held.length} parameters of shapes ${held.map((tensor) => shown(tensor.shape)).join(", ")}, not ${next.map((tensor) => shown(tensor.shape)).join(", ") || "none"}`);
  }
  return next;
}
