/** A network that is being trained, in the worker. */
import type { Engine } from "leastwise";
import type { Module } from "leastwise/nn";
import { PIXELS, type Digits } from "../../../examples/digits/data.mjs";
import type { Network } from "../../../examples/digits/networks.mjs";
import { named, share, train } from "../../../examples/digits/training.mjs";
import { turn } from "../shell/turn.js";
import type { Tested, Work } from "./protocol.js";

/** Milliseconds of steps between two moments in which messages are heard. */
const SLICE_MS = 12;
const NEW_TIME = 0.1;
const SIZE = 50;

/** A training that can be stopped and gone on with. */
export class Training {
  readonly #model: Module;
  /** Steps until the end. */
  readonly total: number;
  #made = 0;
  #stepMs: number | undefined;
  #submitted = { submissions: 0, readbacks: 0 };
  #running: Promise<boolean> | undefined;
  #stopping = false;
  readonly #steps: ReturnType<typeof train>;
  readonly #between: (() => Promise<void>)[] = [];

  constructor(readonly engine: Engine, network: Network, seed: number, training: Digits, private readonly testing: Digits) {
    this.#model = network.make(engine, seed);
    this.total = Math.floor(training.count / SIZE) * network.epochs;
    this.#steps = train(engine, this.#model, training, { ...network, seed, size: SIZE });
  }

  /** Trains until it is done or stopped, and tells of every step and test; gives true once it is done. */
  run(on: { step(loss: number): void; tested(tested: Tested): void }): Promise<boolean> {
    this.#running ??= this.#run(on).finally(() => { this.#running = undefined; });
    return this.#running;
  }

  stop(): void { this.#stopping = true; }

  /** Probabilities of the ten digits for an image: at once, or between two steps. */
  async ask(pixels: Float32Array): Promise<number[]> {
    const work = async () => {
      const found = this.engine.scope(() => ({ values: this.#model.forward(this.engine.tensor(pixels, [1, PIXELS])).softmax().read() }));
      return Array.from(await found.values);
    };
    if (!this.#running) return work();
    return new Promise((resolve, reject) => { this.#between.push(() => work().then(resolve, reject)); });
  }

  /** What the last step came to. After a test, the kernels are those of the test. */
  work(): Work {
    const { engine } = this, { kernels, fused } = engine.tensorStatistics(), { live, pooled } = engine.memory();
    const trace = engine.tensorTrace().map(({ what, place, reason }) => ({ what, place, reason }));
    return { ...this.#submitted, stepMs: this.#stepMs, kernels, fused, trace, routing: engine.tensorRouting(), used: live - pooled, pooled };
  }

  /** Stops, and frees the model and what the optimizer remembers. */
  async dispose(): Promise<void> {
    this.stop();
    await this.#running?.catch(() => {});
    await this.#steps.return();
    this.#model.dispose();
  }

  async #run(on: { step(loss: number): void; tested(tested: Tested): void }): Promise<boolean> {
    this.#stopping = false;
    let breath = performance.now();
    try {
      while (!this.#stopping && this.#made < this.total) {
        const started = performance.now(), before = this.engine.counters();
        const { value } = await this.#steps.next();
        if (!value) break;
        const after = this.engine.counters();
        this.#submitted = { submissions: after.submissions - before.submissions, readbacks: after.readbacks - before.readbacks };
        this.#made++;
        // The first steps make kernels.
        const ms = performance.now() - started;
        if (this.#made > 2) this.#stepMs = this.#stepMs === undefined ? ms : this.#stepMs + NEW_TIME * (ms - this.#stepMs);
        on.step(value.loss);
        if (value.epoch !== undefined) {
          const names = await named(this.engine, this.#model, this.testing);
          on.tested({ epoch: value.epoch, step: this.#made, accuracy: share(names, this.testing), names });
        }
        for (const work of this.#between.splice(0)) await work();
        if (performance.now() - breath < SLICE_MS) continue;
        await turn();
        breath = performance.now();
      }
    } finally {
      for (const work of this.#between.splice(0)) await work();
    }
    return this.#made === this.total;
  }
}
