/** Training: the loss of a batch, its gradients and a step of the optimizer, in one submission. */
import { LeastwiseError } from "../errors.js";
import { describe } from "../instruction.js";
import { hasMethods } from "../options.js";
import { grad } from "../tensor/functions.js";
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
   * @throws `busy` during another step; `non-finite` where the loss is: the model then stays as it was
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
export function trainer<D extends DType, M extends Module<D>, B = Batch>(model: M & Module<D>, loss: (model: M, batch: B) => Tensor<D>, optimizer: Optimizer): Trainer<B> {
  const what = "trainer(model, loss, optimizer)";
  if (!isModule(model)) throw new LeastwiseError("invalid-option", `${what}: model must be a module, not ${describe(model)}`);
  if (typeof loss !== "function") throw new LeastwiseError("invalid-option", `${what}: loss must be a function of the model and a batch, not ${describe(loss)}`);
  if (!hasMethods(optimizer, "step")) throw new LeastwiseError("invalid-option", `${what}: optimizer must have a method step, as adam() has, not ${describe(optimizer)}`);
  let state: OptimizerState<D> | undefined;
  let running = false;
  const freeAll = (tensors: readonly Tensor<D>[]) => { for (const tensor of tensors) tensor.dispose(); };
  const moments = (of: OptimizerState<D> | undefined) => of?.moments.flat() ?? [];

  /** What is to be computed, and nothing else that was made. */
  function graph(batch: B): { value: Tensor<D>; stepped: Stepped<D> } {
    const parameters = model.parameters();
    const { context } = parameters[0] as Tensor<DType>;
    let made: { value: Tensor<D>; stepped: Stepped<D> } | undefined;
    context.open();
    try {
      const value = loss(model, batch);
      if (hasMethods(value, "then")) throw new LeastwiseError("invalid-option", "trainer(model, loss, optimizer): loss must be synchronous, but returned a promise");
      made = { value, stepped: optimizer.step(parameters, grad(value, parameters), state) };
      return made;
    } finally {
      context.close(within(made));
    }
  }

  return {
    get steps() { return state?.steps ?? 0; },
    async step(batch) {
      if (running) throw new LeastwiseError("busy", "step(batch): the last step is not done: await it first");
      if (model.parameters().length === 0) throw new LeastwiseError("invalid-option", "step(batch): the model has no parameters");
      running = true;
      try {
        const { value, stepped } = graph(batch);
        const made = [...stepped.parameters, ...moments(stepped.state)];
        try {
          const [read] = await (value as Tensor<DType>).context.evaluations.ask(made, [value]);
          const found = read![0]!;
          if (!Number.isFinite(found)) throw new LeastwiseError("non-finite", `step(batch): the loss of step ${stepped.state.steps} is ${found}; the model stays as it was: is the learning rate too large, or something in the batch not finite?`);
          model.update(stepped.parameters);
          freeAll(moments(state));
          state = stepped.state;
          return found;
        } catch (error) {
          freeAll(made);
          throw error;
        } finally {
          value.dispose();
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
