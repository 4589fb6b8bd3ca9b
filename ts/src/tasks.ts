/** Running the engine's tasks: yielding on the CPU, waiting for the GPU. */
import type { Device, Floats } from "./arrays.js";
import { asError, isA, LeastwiseError, wordsOf } from "./errors.js";
import type { NativeEngine, NativeIteration, NativeOptions, Progress } from "./native.js";
import { Owners } from "./owners.js";
import type { Part, Parts } from "./parts.js";
import { Waits } from "./waits.js";

/** Milliseconds the CPU works between two yields to the event loop. */
const SLICE_MS = 8;

/** What is told while a task runs, and what may end it. @internal */
export interface Watch {
  /** Sees every iteration, and ends the task by giving a reason. */
  onIteration?: ((iteration: NativeIteration) => string | undefined) | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
  /** Milliseconds after which the task ends itself, if the GPU answers. */
  limitMs?: number | undefined;
  /** `"stop"` (the default): an aborted task resolves with what it has. `"reject"`: it rejects with the signal's reason. */
  onAbort?: "stop" | "reject";
}

/** Tensors that a problem has, or is being given. @internal */
export interface Lent {
  /** True while one is on its way, or failed. */
  readonly isOpen: boolean;
  /** What to wait for until all are there; with `onHost`, until the host knows them, too. It rejects as long as one failed. */
  wait(onHost: boolean): Promise<unknown> | undefined;
}

/** Engine with its errors made ours; `valuesAs` is the type of typed arrays that hold its values without loss. @internal */
export class Tasks {
  #dead: LeastwiseError | undefined;
  /** Is told of the error after which nothing works. */
  onDeath: ((error: LeastwiseError) => void) | undefined;
  /** Tasks that run, by problem: of those that began here. */
  readonly #running = new Map<number, number>();
  /** Tensors by the problem that has them. */
  readonly lent = new Map<number, Lent>();
  /** Solves by problem, of those through which gradients may go: `solution.ts` says what of them. */
  readonly solved = new Map<number, unknown>();
  /** Problems of which a call waits for parts. */
  readonly #held = new Set<number>();
  /** True within a call of `onIteration`. */
  #isTelling = false;
  readonly owners = new Owners((work) => this.release(work), (problem) => {
    this.lent.delete(problem);
    this.solved.delete(problem);
  });
  /** What it waits for of the GPU. */
  readonly waits = new Waits();

  /** `largest` is the largest number that problems may have. */
  private readonly panic: () => string | undefined;

  constructor(readonly native: NativeEngine, panic: () => string | undefined, readonly device: Device | undefined, readonly valuesAs: "f32" | "f64", readonly largest: number, readonly parts: Parts) {
    this.panic = () => parts.trapped ?? panic();
  }

  /** Begins a task, of a problem if it is one's, when the parts of the engine that it needs are there, which is at once but for the first time; and runs it to its end. */
  async begin(problem: number | undefined, parts: readonly Part[], begin: (native: NativeEngine) => number, watch: Watch = {}): Promise<Progress & { state: "done" }> {
    // What is asked for in `onIteration` is of that step: after a wait the next one would have begun.
    if (this.#isTelling) this.parts.mustHave(parts);
    const loading = this.#need(problem, parts);
    if (loading && this.#isTelling) {
      loading.catch(() => undefined);
      throw new LeastwiseError("busy", "this call waits for tensors that the problem was given, which it can't do within onIteration: make it after the solve");
    }
    if (problem === undefined) {
      if (loading) await loading;
      return this.run(this.call(begin), watch);
    }
    if (loading) await this.hold(problem, loading);
    const task = this.call(begin), others = this.#running.get(problem) ?? 0;
    this.#running.set(problem, others + 1);
    try {
      return await this.run(task, watch);
    } finally {
      const left = this.#running.get(problem)! - 1;
      if (left > 0) this.#running.set(problem, left);
      else this.#running.delete(problem);
    }
  }

  /** What to wait for before a task: parts, and tensors on their way into its problem. Parts of the CPU compute with what the host knows. */
  #need(problem: number | undefined, parts: readonly Part[]): Promise<void> | undefined {
    const loading = this.parts.need(parts), coming = this.lent.get(problem!)?.wait(parts.includes("cpu"));
    return coming ? Promise.all([loading, coming]).then(() => undefined) : loading;
  }

  /** Refuses a call that can't wait for tensors on their way into a problem. */
  mustHaveCome(problem: number, call: string): void {
    if (this.lent.get(problem)?.isOpen) throw new LeastwiseError("busy", `${call}: a tensor that the problem is given is still being computed, or failed: await read() of its variables first`);
  }

  /** Waits for parts that a call needs. The problem is as busy as it will be when the call runs. */
  async hold(problem: number, loading: Promise<void>): Promise<void> {
    // Nobody hears of it where this one is refused.
    loading.catch(() => undefined);
    this.mustBeFree(problem);
    if (this.#running.has(problem)) throw busy();
    this.#held.add(problem);
    try {
      await loading;
    } finally {
      this.#held.delete(problem);
    }
  }

  /** Refuses a call on a problem while another one waits for parts. */
  mustBeFree(problem: number): void {
    if (this.#held.has(problem)) throw busy();
  }

  /** Calls into the engine. */
  call<T>(work: (native: NativeEngine) => T): T {
    if (this.#dead) throw this.#dead;
    try {
      return work(this.native);
    } catch (thrown) {
      const error = asError(thrown, this.panic);
      // After a panic or a device loss nothing the engine says can be trusted.
      if (error.code === "engine-dead" || error.code === "device-lost") {
        this.kill(error);
        this.onDeath?.(error);
      }
      throw error;
    }
  }

  /** Calls into the engine to free something. Where its owner, the engine or the device is gone, so is it. */
  release(work: (native: NativeEngine) => void): void {
    if (this.#dead) return;
    try {
      this.call(work);
    } catch (thrown) {
      if (!(thrown instanceof LeastwiseError && (thrown.code === "disposed" || thrown.code === "device-lost"))) throw thrown;
    }
  }

  /** From now on every call fails with this error. */
  kill(error: LeastwiseError): void {
    if (this.#dead) return;
    this.#dead = error;
    this.waits.end(error);
  }

  /** True once the device is lost; the engine itself still works. */
  get isLost(): boolean { return this.#dead?.code === "device-lost"; }

  /** Asks an engine whose device is lost for what it knows; undefined where there is no such engine. */
  afterLoss<T>(work: (native: NativeEngine) => T): T | undefined {
    if (!this.isLost) return undefined;
    try {
      return work(this.native);
    } catch (thrown) {
      throw asError(thrown, this.panic);
    }
  }

  /** Ends the engine. One that failed is not called any more. */
  end(error: LeastwiseError): void {
    if (this.#dead?.code === "engine-dead") return;
    try {
      this.native.dispose();
    } catch (thrown) {
      // Of a device that is gone, nothing is left to be freed.
      if (!this.isLost && asError(thrown, this.panic).code !== "device-lost") throw thrown;
    } finally {
      this.#dead = error;
      this.waits.end(error);
    }
  }

  /** What to wait for before a solve of a problem with such options, so that all is there that it may come to; undefined if it is. */
  solving(problem: number, options: NativeOptions): Promise<void> | undefined {
    return this.#need(problem, this.partsOfSolve(problem, options));
  }

  partsOfSolve(problem: number, options: NativeOptions): readonly Part[] {
    return this.parts.forSolve(() => this.call((native) => native.reach(problem, options)));
  }

  /** Vectors that are taken in turn: while a part loads, their owner may write over them. */
  async beginWith<T extends Floats>(parts: readonly Part[], vectors: T, begin: (native: NativeEngine, vectors: T) => number, watch: Watch = {}): Promise<Progress & { state: "done" }> {
    const loading = this.parts.need(parts);
    if (!loading) return this.run(this.call((native) => begin(native, vectors)), watch);
    const kept = vectors.slice() as T;
    await loading;
    return this.run(this.call((native) => begin(native, kept)), watch);
  }

  /** Runs a task to its end. */
  async run(task: number, { onIteration, onProgress, signal, limitMs, onAbort = "stop" }: Watch = {}): Promise<Progress & { state: "done" }> {
    const stop = (reason: string) => { this.release((native) => native.stop(task, reason)); };
    // A task with nothing to show is ended, unless it is over already: what `resume` answers says which.
    const abort = () => {
      if (onAbort === "stop") stop(isA(signal?.reason, Error) ? `aborted: ${wordsOf(signal.reason)}` : "aborted by its signal");
      else this.release((native) => native.abort(task));
    };
    const began = performance.now();
    const why = () => {
      if (signal?.aborted) return "its signal was aborted";
      const isLate = limitMs !== undefined && performance.now() - began > limitMs && !this.native.awaitsKernels(task);
      return isLate ? `timeLimitMs = ${limitMs} ms are over` : undefined;
    };
    const mayEnd = signal !== undefined || limitMs !== undefined ? why : undefined;
    let total = 1, share = 0;
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      for (;;) {
        const progress = this.call((native) => native.resume(task, SLICE_MS, !onIteration));
        if (progress.state === "done") {
          // What can't be stopped halfway is complete.
          if (onAbort === "reject") onProgress?.(total, total);
          return progress;
        }
        if (progress.state === "waiting") await this.waits.until(progress.ready, mayEnd);
        if (progress.state === "yielded") await macrotask();
        if (progress.state === "progress") {
          total = progress.total;
          // A task of several parts may know too little of the later ones at first: what was told is never taken back.
          if (progress.done / total >= share) {
            share = progress.done / total;
            onProgress?.(progress.done, total);
          }
          await macrotask();
        }
        if (progress.state === "iteration") {
          if (onIteration) {
            this.#isTelling = true;
            let reason: string | undefined;
            try {
              reason = onIteration(progress.iteration);
            } finally {
              this.#isTelling = false;
            }
            if (reason !== undefined) stop(reason);
          }
        }
      }
    } catch (thrown) {
      // Whatever a callback threw, or the engine: nobody will resume it.
      this.release((native) => native.cancel(task));
      // Aborted before there was anything to show, or while the task was on its way.
      if (signal?.aborted && thrown instanceof LeastwiseError && thrown.code === (onAbort === "stop" ? "stopped" : "disposed")) throw signal.reason;
      throw thrown;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }
}

/** As the engine says it of a problem that it works on. */
const busy = () => new LeastwiseError("busy", "this problem is already being solved or read: wait for the running call, or stop it with its signal");

/** A turn of the event loop, so that a page can draw and answer: unlike `setTimeout`, without a minimum delay. */
function macrotask(): Promise<void> {
  const immediate = (globalThis as { setImmediate?: (work: () => void) => unknown }).setImmediate;
  if (immediate) return new Promise((resolve) => immediate(resolve));
  // Workers at Cloudflare whose compatibility date is before August 2025.
  if (typeof MessageChannel === "undefined") return new Promise((resolve) => { setTimeout(resolve); });
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(null);
  });
}
