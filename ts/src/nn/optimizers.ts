/** Optimizers: from parameters and gradients to better parameters. Nothing is computed until the results are evaluated, all of them in one submission. */
import { listOf, numbersOf } from "../arrays.js";
import { LeastwiseError } from "../errors.js";
import { checked, given, real, whole, type Kind } from "../options.js";
import { mustBeTensor } from "../tensor/apply.js";
import { mustBeTensors, type DType, type Tensor } from "../tensor/tensor.js";
import { within } from "../tensor/scope.js";

/**
 * State of an optimizer: the number of steps, and the moments of each parameter.
 *
 * @example
 * const steps = (state: OptimizerState) => state.steps;
 */
export interface OptimizerState<D extends DType = "f32"> {
  readonly steps: number;
  readonly moments: readonly (readonly Tensor<D>[])[];
}

/**
 * New parameters, and what to remember; no gradient goes through them.
 *
 * @example
 * const parameters = model.parameters(), cost = model.forward(images).square().mean();
 * const { state }: Stepped = adam().step(parameters, grad(cost, parameters));
 */
export interface Stepped<D extends DType = "f32"> {
  readonly parameters: readonly Tensor<D>[];
  readonly state: OptimizerState<D>;
}

/**
 * Makes steps. It keeps nothing itself: one optimizer may train many models.
 *
 * @example
 * const optimizer: Optimizer = adam();
 */
export interface Optimizer {
  /** A step; without a state the first one. Old parameters and states are the caller's to dispose, once the new ones are evaluated. */
  step<D extends DType>(parameters: readonly Tensor<D>[], gradients: readonly Tensor<D>[], state?: OptimizerState<D>): Stepped<D>;
}

/**
 * η: a number, or a function of the step's number, from 1 on.
 *
 * @example
 * const warmUp: LearningRate = (step) => 1e-3 * Math.min(1, step / 100);
 * const optimizer = adam({ learningRate: warmUp });
 */
export type LearningRate = number | ((step: number) => number);

/**
 * Options of {@link sgd}.
 *
 * @example
 * const options: SgdOptions = { learningRate: 0.1 };
 * const optimizer = sgd(options);
 */
export interface SgdOptions {
  readonly learningRate: LearningRate;
  /** How much of the last step is made again: 0 to below 1. @defaultValue 0 */
  readonly momentum?: number;
}

/**
 * Options of {@link adam} and {@link adamW}.
 *
 * @example
 * const options: AdamOptions = { learningRate: 3e-4, decays: [0.9, 0.99] };
 * const optimizer = adam(options);
 */
export interface AdamOptions {
  /** η, the learning rate. @defaultValue 0.001 */
  readonly learningRate?: LearningRate;
  /** β₁ and β₂, the decay rates of the running means of gradients and of their squares, below 1. @defaultValue [0.9, 0.999] */
  readonly decays?: readonly [number, number];
  /** ε, added to the root of the mean square. @defaultValue 1e-8 */
  readonly epsilon?: number;
}

const learningRate: Kind<LearningRate> = (name, value, place) => (typeof value === "function" ? value as LearningRate : real(0)(name, value, place));
const decays: Kind<readonly [number, number]> = (name, value, place) => {
  const both = numbersOf(name, value, { ...place, must: "are two numbers from 0 on, below 1" });
  if (both.length !== 2) throw new LeastwiseError("invalid-option", `${name} are two numbers from 0 on, below 1, not ${both.length} of them`, place);
  for (const decay of both) if (!(decay >= 0 && decay < 1)) throw new LeastwiseError("invalid-option", `${name} are numbers from 0 on, below 1, not ${decay}`, place);
  return [both[0]!, both[1]!];
};
const SGD = { learningRate, momentum: real(0, 1) } as const;
const ADAM = { learningRate, decays, epsilon: real(0, Infinity, true) } as const;
const ADAMW = { ...ADAM, weightDecay: real(0) } as const;

const STATE = { steps: whole(0), moments: given() } as const;

/** A state that may come from anywhere. */
function checkedState<D extends DType>(what: string, state: OptimizerState<D> | undefined): OptimizerState<D> {
  if (state === undefined) return { steps: 0, moments: [] };
  const { steps = 0, moments = [] } = checked(`${what}: state`, state, STATE, { prefix: `${what}: ` });
  const must = "must have a list of tensors for each parameter";
  return {
    steps,
    moments: listOf(`${what}: moments`, moments, must).map((each, k) => listOf(`${what}: moments[${k}]`, each, must).map((tensor) => {
      mustBeTensor(what, `what moments[${k}] has`, tensor);
      return tensor as Tensor<D>;
    })),
  };
}

/**
 * v ← μ v + g, x ← x − η v: gradient descent with momentum (Polyak 1964, as in Sutskever et al. 2013 and PyTorch).
 *
 * @throws `invalid-option` for numbers out of range and for unknown options
 * @example
 * const optimizer = sgd({ learningRate: 0.1, momentum: 0.9 });
 */
export function sgd(options: SgdOptions): Optimizer {
  const { learningRate, momentum = 0 } = checked("sgd(options): options", options, SGD, { prefix: "sgd(options): " });
  if (learningRate === undefined) throw new LeastwiseError("invalid-option", "sgd(options): learningRate is needed");
  const rate = rateOf("sgd(options)", learningRate);
  return stepping((x, g, [v], t) => {
    const step = v ? v.mul(momentum).add(g).detach() : g;
    return { x: x.sub(step.mul(rate(t))), moments: momentum ? [step] : [] };
  });
}

/**
 * m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², x ← x − η m̂/(√v̂ + ε) with m̂ = m/(1 − β₁ᵗ), v̂ = v/(1 − β₂ᵗ) (Kingma & Ba 2015).
 *
 * @throws `invalid-option` for numbers out of range and for unknown options
 * @example
 * const training = trainer(model, (model, x: Tensor) => model.forward(x).square().mean(), adam({ learningRate: 1e-3 }));
 */
export function adam(options: AdamOptions = {}): Optimizer {
  return adaptive("adam(options)", options, 0);
}

/**
 * {@link adam}, with all parameters made smaller by the factor 1 − η·weightDecay before each step (Loshchilov & Hutter 2019); `weightDecay` is 0.01 by default.
 *
 * @throws `invalid-option` for numbers out of range and for unknown options
 * @example
 * const optimizer = adamW({ learningRate: 1e-3, weightDecay: 0.01 });
 */
export function adamW(options: AdamOptions & { readonly weightDecay?: number } = {}): Optimizer {
  const { weightDecay = 0.01, ...rest } = checked("adamW(options): options", options, ADAMW, { prefix: "adamW(options): " });
  return adaptive("adamW(options)", rest as AdamOptions, weightDecay);
}

function adaptive(what: string, options: AdamOptions, weightDecay: number): Optimizer {
  const { learningRate = 1e-3, decays: [first, second] = [0.9, 0.999], epsilon = 1e-8 } = checked(`${what}: options`, options, ADAM, { prefix: `${what}: ` });
  const rate = rateOf(what, learningRate);
  return stepping((x, g, [m, v], t) => {
    // In the beginning both means are 0, and the corrections make up for that.
    const mean = (m ? m.mul(first).add(g.mul(1 - first)) : g.mul(1 - first)).detach();
    const square = (v ? v.mul(second).add(g.square().mul(1 - second)) : g.square().mul(1 - second)).detach();
    const root = square.mul(1 / (1 - second ** t)).sqrt().add(epsilon);
    const held = weightDecay ? x.mul(1 - rate(t) * weightDecay) : x;
    return { x: held.sub(mean.mul(rate(t) / (1 - first ** t)).div(root)), moments: [mean, square] };
  });
}

/** A learning rate by the number of a step, checked. */
function rateOf(what: string, given: LearningRate): (step: number) => number {
  return (step) => {
    const rate = typeof given === "function" ? given(step) : given;
    return real(0)(`${what}: learningRate(${step})`, rate, {});
  };
}

/** An optimizer that treats each parameter alike: `t` is the number of the step, from 1 on. */
function stepping(one: <D extends DType>(x: Tensor<D>, g: Tensor<D>, moments: readonly Tensor<D>[], t: number) => { x: Tensor<D>; moments: readonly Tensor<D>[] }): Optimizer {
  return {
    step<D extends DType>(parameters: readonly Tensor<D>[], gradients: readonly Tensor<D>[], state?: OptimizerState<D>): Stepped<D> {
      const what = "step(parameters, gradients)";
      const all: readonly unknown[] = [parameters, gradients].flatMap((tensors: unknown) => (mustBeTensors(what, tensors), [...tensors]));
      mustBeTensors(what, all);
      if (parameters.length !== gradients.length) throw new LeastwiseError("shape", `${what}: there are ${parameters.length} parameters, but ${gradients.length} gradients`);
      const { context } = all[0];
      const before = checkedState(what, state), steps = before.steps + 1;
      let stepped: Stepped<D> | undefined;
      context.open();
      try {
        const each = (parameters as readonly Tensor<D>[]).map((x, k) => one(x, gradients[k]!, before.moments[k] ?? [], steps));
        stepped = { parameters: each.map(({ x }) => x.detach()), state: { steps, moments: each.map(({ moments }) => moments) } };
        return stepped;
      } finally {
        context.close(within(stepped));
      }
    },
  };
}
