/**
 * Networks, kept to what fits on a page each: modules, optimizers, and a trainer that makes one submission a step.
 * @packageDocumentation
 */
export { conv, layer, linear, mlp, sequential } from "./nn/modules.js";
export type { Activation, ConvOptions, LayerOptions, MlpOptions, Module, Part } from "./nn/modules.js";
export { adam, adamW, sgd } from "./nn/optimizers.js";
export type { AdamOptions, LearningRate, Optimizer, OptimizerState, SgdOptions, Stepped } from "./nn/optimizers.js";
export { loadModel, loadTensors, saveModel, saveTensors } from "./nn/saved.js";
export type { LoadedTensors, LoadModelOptions, SaveModelOptions, SaveOptions } from "./nn/saved.js";
export { trainer } from "./nn/trainer.js";
export type { Batch, Trainer, TrainerOptions } from "./nn/trainer.js";
