/** Messages between the page, which draws, and its worker, which trains. */
import type { TensorRouting, TensorStep } from "leastwise";
import type { Digits } from "../../../examples/digits/data.mjs";

/** `"auto"`: WebGPU and the CPU beside it, each kernel where a model of the machine says that it is done sooner. */
export type Choice = "webgpu" | "cpu" | "auto";
export type NetworkId = "perceptron" | "convolutional";

/** Where a network is trained. */
export interface Place {
  readonly backend: "webgpu" | "cpu" | "cuda";
  /** The GPU, where there is one. */
  readonly adapter: string;
  /** Why it is not the backend that was chosen. */
  readonly why: string;
  /** Steps until the end, and epochs. */
  readonly total: number;
  readonly epochs: number;
}

/** What steps of training give to the device. */
export interface Work {
  /** Milliseconds of a step, on average. */
  readonly stepMs: number | undefined;
  readonly submissions: number;
  readonly readbacks: number;
  readonly kernels: number;
  readonly fused: number;
  readonly routing: TensorRouting;
  readonly trace: readonly Pick<TensorStep, "what" | "place" | "reason">[];
  /** Bytes in use, and of buffers that are kept for the next step. */
  readonly used: number;
  readonly pooled: number;
}

/** What was found after an epoch. */
export interface Tested {
  readonly epoch: number;
  readonly step: number;
  readonly accuracy: number;
  /** What the network takes each of the test's digits for. */
  readonly names: Uint8Array;
}

/** Requests, each with what it is given and what comes back. */
export interface Requests {
  /** Unpacks the digits; gives those of the tests. */
  load: { given: { readonly lengths: readonly number[]; readonly packed: ArrayBuffer }; gives: Digits };
  /** A new network, in place of the last one, once the digits are there. `kept` is what the page's storage has for the package. */
  open: { given: { readonly choice: Choice; readonly network: NetworkId; readonly seed: number; readonly kept: readonly (readonly [key: string, text: string])[] }; gives: Place };
  /** Trains until it is done or stopped; gives true once it is done. */
  train: { given: undefined; gives: boolean };
  stop: { given: undefined; gives: undefined };
  /** Probabilities of the ten digits for an image. */
  ask: { given: Float32Array; gives: number[] };
}
export type RequestName = keyof Requests;

/** A request as it is sent. */
export interface Sent { readonly id: number; readonly name: RequestName; readonly given: unknown }

/** Replies and news. */
export type Reply =
  | { readonly kind: "done"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly message: string }
  /** Losses of steps since the last news of them. */
  | { readonly kind: "steps"; readonly losses: readonly number[]; readonly work: Work | undefined }
  | { readonly kind: "tested"; readonly tested: Tested }
  /** A text to be kept in the page's storage: workers have none. */
  | { readonly kind: "keep"; readonly key: string; readonly text: string }
  | { readonly kind: "lost"; readonly message: string };
