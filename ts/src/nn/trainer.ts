/** Training: the loss of a batch, its gradients and a step of the optimizer, in one submission; over ranks, in one task of all. */
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { checked, flag, hasMethods } from "../options.js";
import { grad } from "../tensor/functions.js";
import { evaluatedByRanks, meansOverRanks, noneOverRanks } from "../tensor/over-ranks.js";
import { within } from "../tensor/scope.js";
import type { DType, Tensor } from "../tensor/tensor.js";
import { isModule, type Module } from "./modules.js";
import type { Optimizer, OptimizerState, Stepped } from "./optimizers.js";

/**
 * A batch whose parameter in the loss function has no type of its own: columns by name. One with a type is checked by it.
 *
 * @example
 * const batch: Batch = { images: new Float32Array(784), labels: [7] };
 */
export interface Batch { readonly [column: string]: any }

/**
 * Options of {@link trainer}.
 *
 * @example
 * const options: TrainerOptions = { ranks: true };
 * const training = trainer(model, (model, x: Tensor) => model.forward(x).square().mean(), adam(), options);
 */
export interface TrainerOptions {
  /**
   * True to train by all ranks of a `world`: each gives its own part of a batch to `step`, equally large ones, and the loss and its gradients are the means over
   * ranks. Models that start alike stay alike. An engine without a world trains by itself.
   *
   * @defaultValue false: each rank by itself
   */
  readonly ranks?: boolean;
}

const OPTIONS = { ranks: flag } as const;

/**
 * Trains a model, step by step.
 *
 * @example
 * const training: Trainer<Tensor> = trainer(model, (model, x: Tensor) => model.forward(x).square().mean(), adam());
 * console.log(await training.step(images), training.steps);
 */
export interface Trainer<B> extends Disposable {
  /** Steps made so far. */
  readonly steps: number;
  /**
   * One step; gives the loss before it. The model has its new parameters when the promise resolves, and what the loss function made is freed.
   *
   * @throws `busy` during another step; `non-finite` where the loss is: the model then stays as it was; with `ranks`, `invalid-option` where another rank failed
   * in its part, such as an optimizer that throws, has another model, or has made another number of steps, as after a step that failed on one rank alone once
   * gradients were exchanged: load the same parameters on every rank, and make new trainers
   */
  step(batch: B): Promise<number>;
  /** Frees what the optimizer remembers; the model stays. */
  dispose(): void;
}

/**
 * A trainer. `loss` gives one number of the model and a batch, which is whatever you pass to `step`; tensors that it makes, such as those of the batch, are freed
 * after the step: `trainer(model, (model, { x, y }: Batch) => crossEntropy(model.forward(lw.tensor(x, [64, 784])), y), adam())`.
 *
 * @throws `invalid-option` unless they are a module, a function and an optimizer
 * @example
 * const training = trainer(model, (model, { x, labels }: { x: Float32Array; labels: number[] }) =>
 *   crossEntropy(model.forward(lw.tensor(x, [labels.length, 64])), labels), adam());
 * console.log(await training.step({ x: new Float32Array(128), labels: [3, 1] }));
 */
export function trainer<D extends DType, M extends Module<D>, B = Batch>(model: M & Module<D>, loss: (model: M, batch: B) => Tensor<D>, optimizer: Optimizer, options: TrainerOptions = {}): Trainer<B> {
  const what = "trainer(model, loss, optimizer)";
  const { ranks = false } = checked(`${what}: options`, options, OPTIONS, { prefix: `${what}: ` });
  if (!isModule(model)) throw new LeastwiseError("invalid-option", `${what}: model must be a module, not ${describe(model)}`);
  if (typeof loss !== "function") throw new LeastwiseError("invalid-option", `${what}: loss must be a function of the model and a batch, not ${describe(loss)}`);
  if (!hasMethods(optimizer, "step")) throw new LeastwiseError("invalid-option", `${what}: optimizer must have a method step, as adam() has, not ${describe(optimizer)}`);
  let state: OptimizerState<D> | undefined;
  let running = false;
  // An optimizer's own count need not be one of steps.
  let turn = 0;
  const freeAll = (tensors: readonly Tensor<D>[]) => { for (const tensor of tensors) tensor.dispose(); };
  const moments = (of: OptimizerState<D> | undefined) => of?.moments.flat() ?? [];

  /** What is to be computed, and nothing else that was made. */
  function graph(batch: B): { value: Tensor<D>; gradients: readonly Tensor<D>[] } {
    const parameters = model.parameters();
    const { context } = parameters[0] as Tensor<DType>;
    let made: { value: Tensor<D>; gradients: readonly Tensor<D>[] } | undefined;
    context.open();
    try {
      const value = loss(model, batch);
      if (hasMethods(value, "then")) throw new LeastwiseError("invalid-option", "trainer(model, loss, optimizer): loss must be synchronous, but returned a promise");
      made = { value, gradients: grad(value, parameters) };
      return made;
    } finally {
      context.close(within(made));
    }
  }

  /** The same with means over all ranks of what each has of its own batch. */
  function graphOfRanks(batch: B): { value: Tensor<D>; gradients: readonly Tensor<D>[]; isOfRanks: boolean } {
    const own = graph(batch), all = [own.value, ...own.gradients];
    let means: readonly Tensor<D>[] | undefined;
    try {
      means = meansOverRanks(all, turn) as readonly Tensor<D>[] | undefined;
    } catch (error) {
      freeAll(all);
      throw error;
    }
    if (!means) return { ...own, isOfRanks: false };
    freeAll(all);
    const [value, ...gradients] = means;
    return { value: value!, gradients, isOfRanks: true };
  }

  function steppedBy(gradients: readonly Tensor<D>[]): Stepped<D> {
    const parameters = model.parameters();
    const { context } = parameters[0] as Tensor<DType>;
    let stepped: Stepped<D> | undefined;
    context.open();
    try {
      stepped = optimizer.step(parameters, gradients, state);
      return stepped;
    } finally {
      context.close(within(stepped));
    }
  }

  /** The optimizer's step, which is not computed yet either, and all tensors that it made. */
  function planned<G extends { readonly value: Tensor<D>; readonly gradients: readonly Tensor<D>[] }>(of: G): G & { readonly stepped: Stepped<D>; readonly made: readonly Tensor<D>[] } {
    try {
      const stepped = steppedBy(of.gradients);
      return { ...of, stepped, made: [...stepped.parameters, ...moments(stepped.state)] };
    } catch (error) {
      freeAll([of.value, ...of.gradients]);
      throw error;
    }
  }

  /** All of a step; a rank that has none tells the others, which wait for it. */
  async function plannedForRanks(batch: B): Promise<ReturnType<typeof planned<ReturnType<typeof graphOfRanks>>>> {
    try {
      return planned(graphOfRanks(batch));
    } catch (error) {
      await noneOverRanks((model.parameters()[0] as Tensor<DType>).context);
      throw error;
    }
  }

  return {
    get steps() { return state?.steps ?? 0; },
    async step(batch) {
      if (running) throw new LeastwiseError("busy", "step(batch): the last step is not done: await it first");
      if (model.parameters().length === 0) throw new LeastwiseError("invalid-option", "step(batch): the model has no parameters");
      running = true;
      try {
        const { value, gradients, stepped, made, isOfRanks } = ranks ? await plannedForRanks(batch) : planned({ ...graph(batch), isOfRanks: false });
        try {
          const found = isOfRanks ? await evaluatedByRanks(made, value) : (await (value as Tensor<DType>).context.evaluations.ask(made, [value]))[0]![0]!;
          if (!Number.isFinite(found)) throw new LeastwiseError("non-finite", `step(batch): the loss of step ${stepped.state.steps} is ${found}; the model stays as it was: is the learning rate too large, or something in the batch not finite?`);
          model.update(stepped.parameters);
          freeAll(moments(state));
          state = stepped.state;
          turn++;
          return found;
        } catch (error) {
          freeAll(made);
          throw error;
        } finally {
          // A gradient may be what an optimizer remembers.
          const kept = new Set(made);
          freeAll([value, ...gradients].filter((tensor) => !kept.has(tensor)));
        }
      } finally {
        running = false;
      }
    },
    dispose() {
      freeAll(moments(state));
      state = undefined;
    },
    [Symbol.dispose]() { this.dispose(); },
  };
}
