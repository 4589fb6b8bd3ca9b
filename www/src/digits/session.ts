/** A network that is being trained: what it has come to, and the loop that trains it. */
import type { Engine } from "leastwise";
import type { Module } from "leastwise/nn";
import type { Digits } from "../../../examples/digits/data.mjs";
import type { Network } from "../../../examples/digits/networks.mjs";
import { named, share, train } from "../../../examples/digits/training.mjs";

/** Milliseconds of steps between two moments for the page to draw and to answer. */
const SLICE_MS = 12;
/** Of the mean of losses and of times that is shown: how much of it is new with every step. */
const NEW_LOSS = 0.05;
const NEW_TIME = 0.1;

/** What a step of training gave to the device. */
export interface Submitted { readonly submissions: number; readonly readbacks: number }

/** What was found after an epoch. */
export interface Tested {
  readonly epoch: number;
  readonly step: number;
  readonly accuracy: number;
  /** What the network takes each of the test's digits for. */
  readonly names: Uint8Array;
}

/** A training that can be stopped and gone on with. */
export class Session {
  readonly model: Module;
  /** Losses of all steps, and their mean, which forgets. */
  readonly curve: number[] = [];
  readonly smoothed: number[] = [];
  readonly tests: Tested[] = [];
  /** Steps until the end. */
  readonly total: number;
  /** Milliseconds that a step takes, on average. */
  stepMs: number | undefined;
  submitted: Submitted | undefined;
  running = false;
  #stopping = false;
  #mean = 0;
  readonly #steps: ReturnType<typeof train>;
  readonly #between: (() => Promise<void>)[] = [];

  constructor(readonly engine: Engine, network: Network, seed: number, readonly training: Digits, readonly testing: Digits, size = 50) {
    this.model = network.make(engine, seed);
    this.total = Math.floor(training.count / size) * network.epochs;
    this.#steps = train(engine, this.model, training, { ...network, seed, size });
  }

  get done(): boolean { return this.curve.length === this.total; }

  /** Trains until it is done or stopped; `onStep` and `onTest` are told. */
  async run(onStep: () => void, onTest: () => void): Promise<void> {
    this.running = true;
    this.#stopping = false;
    let breath = performance.now();
    try {
      while (!this.#stopping && !this.done) {
        const started = performance.now(), before = this.engine.counters();
        const { value } = await this.#steps.next();
        if (!value) return;
        const after = this.engine.counters();
        this.submitted = { submissions: after.submissions - before.submissions, readbacks: after.readbacks - before.readbacks };
        this.#note(value.loss, performance.now() - started);
        onStep();
        if (value.epoch !== undefined) {
          await this.#test(value.epoch);
          onTest();
        }
        for (const work of this.#between.splice(0)) await work();
        if (performance.now() - breath < SLICE_MS) continue;
        await turn();
        breath = performance.now();
      }
    } finally {
      this.running = false;
      for (const work of this.#between.splice(0)) await work();
    }
  }

  stop(): void { this.#stopping = true; }

  /** Does something with the model while it rests: now, or between two steps. */
  async ask<T>(work: () => Promise<T>): Promise<T> {
    if (!this.running) return work();
    return new Promise<T>((resolve, reject) => { this.#between.push(() => work().then(resolve, reject)); });
  }

  /** Frees the model and what the optimizer remembers. */
  async dispose(): Promise<void> {
    await this.#steps.return();
    this.model.dispose();
  }

  #note(loss: number, ms: number): void {
    this.curve.push(loss);
    // Weighted as if what came before the first step had no weight, as in Adam.
    this.#mean += NEW_LOSS * (loss - this.#mean);
    this.smoothed.push(this.#mean / (1 - (1 - NEW_LOSS) ** this.curve.length));
    // The first steps make kernels.
    if (this.curve.length > 2) this.stepMs = this.stepMs === undefined ? ms : this.stepMs + NEW_TIME * (ms - this.stepMs);
  }

  async #test(epoch: number): Promise<void> {
    const names = await named(this.engine, this.model, this.testing);
    this.tests.push({ epoch, step: this.curve.length, accuracy: share(names, this.testing), names });
  }
}

/** A turn of the event loop, in which a page draws and answers; unlike `setTimeout`'s, it comes at once. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(null);
  });
}
