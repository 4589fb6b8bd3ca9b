/** Modules: functions of a tensor with parameters that can be trained. */
import type { Engine } from "../engine.js";
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { mustBeCount, mustBeOneOf } from "../settings.js";
import { mustBeTensor } from "../tensor/apply.js";
import { conv2d, type ConvolutionOptions } from "../tensor/functions.js";
import { pairOf, shown } from "../tensor/shapes.js";
import type { DType, Tensor } from "../tensor/tensor.js";

/** A function with parameters. */
export interface Module<D extends DType = "f32"> extends Disposable {
  forward(x: Tensor<D>): Tensor<D>;
  /** What is trained, always in the same order. */
  parameters(): readonly Tensor<D>[];
  /** Takes other parameters of the same shapes, and disposes the ones that it had. */
  update(parameters: readonly Tensor<D>[]): void;
  /** Frees the parameters. */
  dispose(): void;
}

/** A module, or a function that has no parameters, such as `(x) => x.relu()`. */
export type Part<D extends DType = "f32"> = Module<D> | ((x: Tensor<D>) => Tensor<D>);

/** How parameters begin. */
export interface LayerOptions<D extends DType> {
  /** A whole number: the same seed gives the same parameters. */
  readonly seed: number;
  /** `"he"` (He et al. 2015), unless told: normal with deviation √(2/inputs), for relu. `"glorot"` (Glorot & Bengio 2010): uniform within √(6/(inputs + outputs)), for tanh and the last layer. */
  readonly start?: "he" | "glorot";
  /** Whether something is added to each output, 0 in the beginning; `true`, unless told. */
  readonly bias?: boolean;
  readonly dtype?: D;
}

export interface ConvOptions<D extends DType> extends LayerOptions<D>, ConvolutionOptions {}

/** What is between layers. */
export type Activation = "relu" | "gelu" | "silu" | "tanh" | "sigmoid" | "softplus";

export interface MlpOptions<D extends DType> {
  readonly seed: number;
  /** `"relu"`, unless told. */
  readonly activation?: Activation;
  readonly dtype?: D;
}

/** A module of your own: parameters, which it owns from now on, and what is done with them. */
export function layer<const T extends readonly [Tensor<DType>, ...Tensor<DType>[]]>(parameters: T, forward: (parameters: T, x: Tensor<T[0]["dtype"]>) => Tensor<T[0]["dtype"]>): Module<T[0]["dtype"]> {
  type D = T[0]["dtype"];
  let held: readonly Tensor<D>[] = [...parameters] as unknown as readonly Tensor<D>[];
  held.forEach((tensor, k) => mustBeTensor("layer(parameters, forward)", `parameter ${k}`, tensor));
  return {
    forward: (x) => forward(held as unknown as T, x),
    parameters: () => held,
    update(next) {
      mustFit(held, next);
      const old = held;
      held = [...next];
      for (const tensor of old) if (!held.includes(tensor)) tensor.dispose();
    },
    dispose() { for (const tensor of held) tensor.dispose(); },
    [Symbol.dispose]() { this.dispose(); },
  };
}

/** x W + b: [.., inputs] becomes [.., outputs]. Parameters: W [inputs, outputs], b [outputs]. */
export function linear<D extends DType = "f32">(lw: Engine, inputs: number, outputs: number, options: LayerOptions<D>): Module<NoInfer<D>> {
  mustBeCount("linear(lw, inputs, outputs): inputs", inputs);
  mustBeCount("linear(lw, inputs, outputs): outputs", outputs);
  const weight = started(lw, [inputs, outputs], inputs, outputs, options);
  if (options.bias === false) return layer([weight], ([w], x) => x.matmul(w));
  return layer([weight, lw.zeros([outputs], dtypeOf(options))], ([w, b], x) => x.matmul(w).add(b));
}

/** A convolution of images [batch, inputs, height, width], to [batch, outputs, ..]. Parameters: filters [outputs, inputs, h, w], what is added [outputs, 1, 1]. */
export function conv<D extends DType = "f32">(lw: Engine, inputs: number, outputs: number, size: number | readonly [number, number], options: ConvOptions<D>): Module<NoInfer<D>> {
  mustBeCount("conv(lw, inputs, outputs, size): inputs", inputs);
  mustBeCount("conv(lw, inputs, outputs, size): outputs", outputs);
  const [height, width] = pairOf("conv(lw, inputs, outputs, size)", "size", size, NaN);
  const { step = 1, padding = 0, dilation = 1 } = options;
  const filters = started(lw, [outputs, inputs, height, width], inputs * height * width, outputs * height * width, options);
  const windows = { step, padding, dilation };
  if (options.bias === false) return layer([filters], ([f], x) => conv2d(x, f, windows));
  return layer([filters, lw.zeros([outputs, 1, 1], dtypeOf(options))], ([f, b], x) => conv2d(x, f, windows).add(b));
}

/** Parts one after the other. */
export function sequential<D extends DType = "f32">(...parts: readonly Part<D>[]): Module<D> {
  const modules = parts.filter((part) => typeof part !== "function");
  const odd = parts.findIndex((part) => typeof part !== "function" && typeof (part as Partial<Module<D>> | undefined)?.forward !== "function");
  if (odd >= 0) throw new LeastwiseError("invalid-option", `sequential(…parts): part ${odd} must be a module or a function of a tensor, not ${describe(parts[odd])}`);
  const parameters = () => modules.flatMap((module) => module.parameters());
  return {
    forward: (x) => parts.reduce((value, part) => (typeof part === "function" ? part(value) : part.forward(value)), x),
    parameters,
    update(next) {
      mustFit(parameters(), next);
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

/** Linear layers of these sizes, inputs first, with an activation between them, and none after the last. */
export function mlp<D extends DType = "f32">(lw: Engine, sizes: readonly number[], options: MlpOptions<D>): Module<NoInfer<D>> {
  const { activation = "relu", seed } = options;
  mustBeOneOf("mlp(lw, sizes): activation", activation, ["relu", "gelu", "silu", "tanh", "sigmoid", "softplus"]);
  if (!Array.isArray(sizes) || sizes.length < 2) throw new LeastwiseError("invalid-option", "mlp(lw, sizes): sizes are those of inputs, of what is between, and of outputs: two at least");
  if (seed === undefined) throw new LeastwiseError("invalid-option", "mlp(lw, sizes, options): a seed is needed");
  mustBeCount("mlp(lw, sizes): seed", seed, { least: 0 });
  const saturates = activation === "tanh" || activation === "sigmoid";
  const parts: Part<D>[] = [];
  for (let k = 1; k < sizes.length; k++) {
    const isLast = k === sizes.length - 1;
    parts.push(linear(lw, sizes[k - 1]!, sizes[k]!, { ...dtypeOf(options), seed: (seed + k - 1) >>> 0, start: isLast || saturates ? "glorot" : "he" }));
    if (!isLast) parts.push((x) => x[activation]());
  }
  return sequential(...parts);
}

const dtypeOf = <D extends DType>({ dtype }: { readonly dtype?: D }): { readonly dtype?: D } => (dtype === undefined ? {} : { dtype });

function started<D extends DType>(lw: Engine, shape: readonly number[], inputs: number, outputs: number, options: LayerOptions<D>): Tensor<D> {
  const { seed, start = "he" } = options;
  mustBeOneOf("start", start, ["he", "glorot"]);
  if (start === "he") return lw.random<D>(shape, { ...dtypeOf(options), seed, distribution: "normal", deviation: Math.sqrt(2 / inputs) });
  const limit = Math.sqrt(6 / (inputs + outputs));
  return lw.random<D>(shape, { ...dtypeOf(options), seed, low: -limit, high: limit });
}

function mustFit<D extends DType>(held: readonly Tensor<D>[], next: readonly Tensor<D>[]): void {
  const other = held.findIndex((tensor, k) => !next[k] || shown(next[k].shape) !== shown(tensor.shape));
  if (next.length !== held.length || other >= 0) {
    throw new LeastwiseError("shape", `update(parameters): the module has ${held.length} parameters of shapes ${held.map((tensor) => shown(tensor.shape)).join(", ")}, not ${next.map((tensor) => shown(tensor.shape)).join(", ") || "none"}`);
  }
}
