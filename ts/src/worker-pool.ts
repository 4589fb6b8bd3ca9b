/** The workers of `leastwise/threads`: starting them, counting them, sending them home. */
import type { ThreadedModule } from "./native.js";
import { compiled, type WasmSource } from "./source.js";
import type { Locate } from "./wasm.js";
import * as glue from "./wasm/threaded.js";

/** Milliseconds in which a worker must have started: longer than a slow line takes for its few lines. */
const PATIENCE_MS = 10_000;

/** Pages of memory to begin with, more than the module's own data; and the most, as much as a host gives. */
const FIRST_PAGES = 128;
const MOST_PAGES = [65_536, 32_768, 16_384, 8_192];

/** Why there are no threads, or fewer than asked for. @internal */
export class ThreadsUnavailable extends Error {
  constructor(readonly code: "no-shared-memory" | "not-isolated" | "no-module" | "no-worker", message: string) { super(message); }
}

/** A page's worker and Node's as one. */
interface WorkerHandle { post(message: unknown): void; end(): void; unref(): void }
interface WorkerEvents { message(data: { loaded?: true; ready?: true; failed?: string; uncompiled?: string }, from: WorkerHandle): void; ended(why: string): void }
interface NodeWorker { on(type: string, heard: (value: never) => void): void; postMessage(message: unknown): void; terminate(): unknown; unref(): void }

async function startWorker(ears: WorkerEvents): Promise<WorkerHandle> {
  if (typeof Worker === "function") {
    // As it stands here, bundlers see that the file is to be taken along.
    const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    const handle: WorkerHandle = { post: (message) => worker.postMessage(message), end: () => worker.terminate(), unref: () => {} };
    worker.addEventListener("message", ({ data }) => ears.message(data, handle));
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      ears.ended(event.message || "its script could not be loaded: a content policy (worker-src) may forbid it, or the script is not served with Cross-Origin-Embedder-Policy");
    });
    return handle;
  }
  const name = "node:worker_threads", here = import.meta.url;
  const { Worker: Thread } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { Worker: new (file: URL, options: object) => NodeWorker };
  const worker = new Thread(new URL("./worker.js", here), { execArgv: [] });
  const handle: WorkerHandle = { post: (message) => worker.postMessage(message), end: () => void worker.terminate(), unref: () => worker.unref() };
  worker.on("message", (data: Parameters<WorkerEvents["message"]>[0]) => ears.message(data, handle));
  worker.on("error", (error: Error) => ears.ended(error.message));
  worker.on("exit", (code: number) => ears.ended(`it exited with code ${code}`));
  return handle;
}

/** The module, its memory, and the workers that share it. @internal */
export class WorkerPool {
  #engines = 0;
  #live = new Set<WorkerHandle>();
  #number: number;
  #joining = Promise.resolve();
  /** What was said of the last worker that ended or never began, and of the last program that one could not compile. */
  #trouble: string | undefined;
  #uncompiled: string | undefined;
  readonly #maySleep = maySleep();

  constructor(readonly native: ThreadedModule, private readonly module: WebAssembly.Module, private readonly memory: WebAssembly.Memory) {
    this.#number = native.resizePool(this.#maySleep);
  }

  /** Threads that can work, the engine's own among them. */
  get threads(): number { return 1 + this.#live.size; }
  get trouble(): string | undefined { return this.#trouble; }
  get uncompiled(): string | undefined { return this.#uncompiled; }
  /** Why the module can do nothing any more, if that is so. */
  get failure(): string | undefined { return this.native.lastPanic(); }

  /** Has so many threads for one engine more, or fewer where workers can't be started. */
  join(threads: number): Promise<void> {
    this.#engines++;
    // In turn, so that engines that are made at the same time share workers too.
    this.#joining = this.#joining.then(async () => {
      const missing = Math.max(0, threads - this.threads);
      if (missing > 0) this.#trouble = undefined;
      await Promise.all(Array.from({ length: missing }, () => this.#hire().catch((why: unknown) => { this.#trouble = why instanceof Error ? why.message : String(why); })));
    });
    return this.#joining;
  }

  /** One engine less. Nobody works for none. */
  leave(): void {
    if (--this.#engines > 0) return;
    this.#number = this.native.resizePool(this.#maySleep);
    this.#live.clear();
  }

  async #hire(): Promise<void> {
    const number = this.#number;
    let hand: WorkerHandle | undefined, loaded = false;
    let began!: () => void, failed!: (why: Error) => void;
    const ready = new Promise<void>((resolve, reject) => { began = resolve; failed = reject; });
    const late = () => {
      // One that has the memory may hold a lock in it, so it is never ended from here: if it comes late, it works.
      if (!loaded) hand?.end();
      failed(new Error(`it did not start within ${PATIENCE_MS / 1000} s`));
    };
    // What it said while this thread was busy is heard first.
    const timer = setTimeout(() => setTimeout(late, 0), PATIENCE_MS);
    const ended = (why: string) => {
      failed(new Error(why));
      if (hand && this.#live.delete(hand)) this.#trouble = why;
    };
    try {
      hand = await startWorker({
        ended,
        // Deno's worker can speak before what started it goes on.
        message: (data, from) => {
          hand ??= from;
          if (data.failed !== undefined) ended(data.failed);
          if (data.uncompiled !== undefined) this.#uncompiled = data.uncompiled;
          if (data.ready) {
            if (number === this.#number) this.#live.add(hand);
            began();
          }
          if (!data.loaded) return;
          loaded = true;
          hand.post({ module: this.module, memory: this.memory, generation: number });
        },
      });
      await ready;
    } finally {
      clearTimeout(timer);
      // A program need not dispose its engines to end.
      hand?.unref();
    }
  }
}

/** Whether this thread may wait in shared memory: a page's own may not. */
function maySleep(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
    return true;
  } catch {
    return false;
  }
}

let loading: Promise<WorkerPool> | undefined;

/** The module with threads, once. `source` only matters the first time. Throws {@link ThreadsUnavailable} where it can't be had. @internal */
export async function loadWorkerPool(source: WasmSource | undefined, locate: Locate): Promise<WorkerPool> {
  loading ??= load(source, locate).catch((thrown: unknown) => {
    loading = undefined;
    throw thrown;
  });
  const pool = await loading;
  if (pool.failure !== undefined) throw new ThreadsUnavailable("no-module", `the module with threads has failed, and can't be loaded a second time: ${pool.failure}`);
  return pool;
}

async function load(source: WasmSource | undefined, locate: Locate): Promise<WorkerPool> {
  const memory = sharedMemory();
  try {
    const module = await compiled(source ?? locate(), "threadedWasm");
    await glue.default({ module_or_path: module, memory });
    return new WorkerPool(glue, module, memory);
  } catch (thrown) {
    throw new ThreadsUnavailable("no-module", `the module with threads could not be loaded: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}

function sharedMemory(): WebAssembly.Memory {
  if ((globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated === false) {
    throw new ThreadsUnavailable("not-isolated", "the page is not cross-origin isolated, so threads can't share memory: it must be served from https or localhost with the headers " +
      "\"Cross-Origin-Opener-Policy: same-origin\" and \"Cross-Origin-Embedder-Policy: require-corp\" (or \"credentialless\")");
  }
  if (typeof SharedArrayBuffer !== "function") throw new ThreadsUnavailable("no-shared-memory", "there is no SharedArrayBuffer here");
  let why: unknown;
  for (const maximum of MOST_PAGES) {
    try {
      return new WebAssembly.Memory({ initial: FIRST_PAGES, maximum, shared: true });
    } catch (thrown) {
      why = thrown;
    }
  }
  throw new ThreadsUnavailable("no-shared-memory", `no shared memory can be had: ${why instanceof Error ? why.message : String(why)}`);
}
