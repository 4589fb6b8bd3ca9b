/** First-order optimizers over values, whose `grad` the caller fills by `backward()`. */
import { LeastwiseError } from "../errors.js";
import { checked, measure, real } from "../options.js";
import { valuesOf, type Value } from "./value.js";

/**
 * Options of {@link SGD}.
 *
 * @example
 * const options: SGDOptions = { learningRate: 0.05, momentum: 0.9 };
 */
export interface SGDOptions {
  /** @defaultValue 0.01 */
  learningRate?: number;
  /** Weight decay: its multiple of x is added to the gradient. @defaultValue 0 */
  weightDecay?: number;
  /** Bound on every component of an update, before the learning rate; 0 for none. @defaultValue 0 */
  gradientClip?: number;
  /** Share of the last update that is added to the next. @defaultValue 0 */
  momentum?: number;
}

/**
 * Options of {@link Adam} and {@link AdamW}.
 *
 * @example
 * const options: AdamOptions = { learningRate: 0.1 };
 */
export interface AdamOptions {
  /** @defaultValue 0.001 */
  learningRate?: number;
  /** Decay of the first moment. @defaultValue 0.9 */
  beta1?: number;
  /** Decay of the second moment. @defaultValue 0.999 */
  beta2?: number;
  /** Added to the root of the second moment. @defaultValue 1e-8 */
  epsilon?: number;
  /** Weight decay: of `Adam` its multiple of x is added to the gradient, of `AdamW` x shrinks by it. @defaultValue 0; `AdamW`: 0.01 */
  weightDecay?: number;
  /** Bound on every component of an update, before the learning rate; 0 for none. @defaultValue 0 */
  gradientClip?: number;
}

const DECAY = real(0, 1);
/** @internal */
export const SGD_OPTIONS = { learningRate: measure, weightDecay: measure, gradientClip: measure, momentum: DECAY } as const;
/** @internal */
export const ADAM_OPTIONS = { learningRate: measure, beta1: DECAY, beta2: DECAY, epsilon: measure, weightDecay: measure, gradientClip: measure } as const;

const bounded = (update: number, bound: number): number => (bound > 0 ? Math.max(-bound, Math.min(bound, update)) : update);

/**
 * Base of all optimizers: the values that require gradients, and how their gradients are cleared and clipped.
 *
 * @example
 * const fit = (optimizer: Optimizer, loss: () => Value) => {
 *   optimizer.zeroGrad();
 *   loss().backward();
 *   optimizer.step();
 * };
 */
export abstract class Optimizer {
  protected readonly trainables: readonly Value[];
  learningRate: number;

  constructor(trainables: readonly Value[], learningRate: number) {
    this.trainables = valuesOf("trainables", trainables).filter(({ requiresGrad }) => requiresGrad);
    this.learningRate = learningRate;
  }

  /** Changes the values by their gradients. */
  abstract step(): void;
  /** Forgets what steps have taught it of one value. */
  abstract resetStateFor(trainable: Value): void;

  /** Sets all gradients to 0. */
  zeroGrad(): void { for (const value of this.trainables) value.grad = 0; }

  /** Scales all gradients so that their norm is at most `maxNorm`. */
  clipGradients(maxNorm: number): void {
    if (!(maxNorm >= 0)) throw new LeastwiseError("invalid-option", `clipGradients(maxNorm): ${maxNorm} is no norm: it must be 0 or more`);
    const norm = Math.sqrt(this.trainables.reduce((sum, { grad }) => sum + grad * grad, 0));
    if (norm > maxNorm) for (const value of this.trainables) value.grad *= maxNorm / (norm + 1e-6);
  }
}

/**
 * Gradient descent, with momentum on request.
 *
 * @example
 * const w = V.W(1), optimizer = new SGD([w], { learningRate: 0.1 });
 * optimizer.zeroGrad();
 * V.square(w).backward();
 * optimizer.step();  // w.data is 0.8
 */
export class SGD extends Optimizer {
  private readonly options: Required<Omit<SGDOptions, "learningRate">>;
  private readonly velocities = new Map<Value, number>();

  constructor(trainables: readonly Value[], options: SGDOptions = {}) {
    const { learningRate = 1e-2, weightDecay = 0, gradientClip = 0, momentum = 0 } = checked("new SGD(trainables, options): options", options, SGD_OPTIONS);
    super(trainables, learningRate);
    this.options = { weightDecay, gradientClip, momentum };
  }

  step(): void {
    const { weightDecay, gradientClip, momentum } = this.options;
    for (const value of this.trainables) {
      const velocity = momentum * (this.velocities.get(value) ?? 0) + value.grad + weightDecay * value.data;
      if (momentum > 0) this.velocities.set(value, velocity);
      value.data -= this.learningRate * bounded(velocity, gradientClip);
    }
  }

  resetStateFor(trainable: Value): void { this.velocities.delete(trainable); }
}

/**
 * Adam (Kingma & Ba 2015), bias-corrected.
 *
 * @example
 * const w = V.W(1), optimizer = new Adam([w], { learningRate: 0.1 });
 * for (let step = 0; step < 100; step++) {
 *   optimizer.zeroGrad();
 *   V.square(w).backward();
 *   optimizer.step();
 * }
 */
export class Adam extends Optimizer {
  protected readonly options: Required<Omit<AdamOptions, "learningRate">>;
  private readonly moments = new Map<Value, [first: number, second: number]>();
  private steps = 0;

  constructor(trainables: readonly Value[], options: AdamOptions = {}) {
    const { learningRate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0, gradientClip = 0 } = checked("new Adam(trainables, options): options", options, ADAM_OPTIONS);
    super(trainables, learningRate);
    this.options = { beta1, beta2, epsilon, weightDecay, gradientClip };
  }

  step(): void {
    const { beta1, beta2, epsilon, gradientClip } = this.options;
    this.steps += 1;
    for (const value of this.trainables) {
      const gradient = this.decayed(value), [m, v] = this.moments.get(value) ?? [0, 0];
      const first = beta1 * m + (1 - beta1) * gradient, second = beta2 * v + (1 - beta2) * gradient * gradient;
      this.moments.set(value, [first, second]);
      const update = first / (1 - beta1 ** this.steps) / (Math.sqrt(second / (1 - beta2 ** this.steps)) + epsilon);
      value.data -= this.learningRate * bounded(update, gradientClip);
    }
  }

  /** A value's gradient, with the weight decay. */
  protected decayed(value: Value): number { return value.grad + this.options.weightDecay * value.data; }

  resetStateFor(trainable: Value): void { this.moments.delete(trainable); }
}

/**
 * Adam with decoupled weight decay (Loshchilov & Hutter 2019).
 *
 * @example
 * const optimizer = new AdamW([V.W(1)], { weightDecay: 0.1 });
 */
export class AdamW extends Adam {
  constructor(trainables: readonly Value[], options: AdamOptions = {}) {
    super(trainables, { ...checked("new AdamW(trainables, options): options", options, ADAM_OPTIONS), weightDecay: options.weightDecay ?? 0.01 });
  }

  protected override decayed(value: Value): number {
    value.data -= this.learningRate * this.options.weightDecay * value.data;
    return value.grad;
  }
}
