/** Engines on several threads of the CPU: what `leastwise/threads` has besides what `leastwise` has. */
import { loadWorkerPool, ThreadsUnavailable } from "./worker-pool.js";
import type { Engine, Precision } from "./engine.js";
import { LeastwiseError } from "./errors.js";
import { INIT, initOn, plainHost, PRELOAD, type CpuHost, type InitOptions, type PreloadOptions } from "./init.js";
import { shownValue } from "./instruction.js";
import { checked, oneOf, type Checked, type Kind } from "./options.js";
import { wasmSource, type WasmSource } from "./source.js";
import { PARTS, WHOLE } from "./parts.js";
import type { DType } from "./tensor/tensor.js";
import { loadWasm, type Locate, type Places } from "./wasm.js";

/**
 * Whether threads are on, for programs:
 *
 * - `on`: as many as asked for
 * - `fewer`: some workers could not be started, or ended: `reason` says what was said of the last
 * - `one-asked`: `threads: 1`
 * - `one-core`: the host has one core
 * - `not-isolated`: the page is not cross-origin isolated
 * - `no-shared-memory`: the host has none, or gives none
 * - `no-worker`: no worker could be started, or all have ended
 * - `no-module`: the module with threads could not be loaded
 * - `not-cpu`: a GPU does the work
 *
 * @example
 * const missing: ThreadsCode = "not-isolated";  // the page lacks COOP and COEP headers
 */
export type ThreadsCode = "on" | "fewer" | "one-asked" | "one-core" | "not-isolated" | "no-shared-memory" | "no-worker" | "no-module" | "not-cpu";

/**
 * On how many threads an engine works, and why.
 *
 * @example
 * const { count, code, reason }: Threads = (await threadedInit()).threads;
 */
export interface Threads {
  /** Threads that work, the calling one among them. */
  readonly count: number;
  readonly code: ThreadsCode;
  /** For people, with what to do. */
  readonly reason: string;
}

/**
 * {@link InitOptions}, and how many threads.
 *
 * @example
 * const options: ThreadsOptions = { backend: "cpu", threads: 4 };
 * const lw = await threadedInit(options);
 */
export interface ThreadsOptions<P extends Precision = Precision> extends InitOptions<P> {
  /** Threads of an engine on the CPU, the calling one among them. @defaultValue as many as there are cores, at most 16 */
  threads?: number;
  /** Source of the module with threads, where it can't be found beside this one; as {@link InitOptions.wasm}. @defaultValue the file of the package */
  threadedWasm?: WasmSource;
}

/**
 * An engine that says how many threads it has.
 *
 * @example
 * const lw: ThreadedEngine = await threadedInit({ backend: "cpu" });
 * console.log(lw.threads.count);
 */
export interface ThreadedEngine<P extends DType = "f32"> extends Engine<P> {
  readonly threads: Threads;
}

const MOST = 64, MOST_UNLESS_TOLD = 16;

/** `init` of `leastwise/threads`, with the modules from there where none are given. @internal */
export async function initThreadsFrom(options: ThreadsOptions, places: Places, locateThreaded: Locate): Promise<ThreadedEngine> {
  const all = { ...checked("init(options): options", options, THREADED), places, locateThreaded };
  return initOn(all, () => threadedHost(all));
}

/**
 * Sources of the modules to load ahead, and for which backend.
 *
 * @example
 * const options: ThreadsPreloadOptions = { backend: "webgpu" };
 */
export interface ThreadsPreloadOptions extends Pick<ThreadsOptions, "wasm" | "threadedWasm">, Pick<PreloadOptions, "everything"> {
  /** `"cpu"` loads the module with threads, if this host has shared memory; `"webgpu"` the plain one. @defaultValue `"cpu"` */
  backend?: "cpu" | "webgpu";
}

/** `preload` of `leastwise/threads`, likewise. @internal */
export async function preloadThreadsFrom(options: ThreadsPreloadOptions, places: Places, locateThreaded: Locate): Promise<void> {
  const { backend, wasm, threadedWasm, everything } = checked("preload(options): options", options, { ...PRELOAD, threadedWasm: wasmSource, backend: oneOf("cpu", "webgpu") });
  if (backend !== "webgpu") {
    try {
      return void await loadWorkerPool(threadedWasm, locateThreaded);
    } catch (thrown) {
      // `init` has one thread there, of the plain module.
      if (!(thrown instanceof ThreadsUnavailable)) throw thrown;
    }
  }
  await loadWasm(wasm, places, everything ? PARTS : [backend === "webgpu" ? "webgpu" : "cpu"]);
}

const threads: Kind<number> = (_, value, place) => {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST) return value as number;
  throw new LeastwiseError("invalid-option", `threads: ${shownValue(value)} is no number of threads: it is a whole one from 1 to ${MOST}`, place);
};

const THREADED = { ...INIT, threads, threadedWasm: wasmSource } as const;

async function threadedHost(options: Checked<typeof THREADED> & { readonly places: Places; readonly locateThreaded: Locate }): Promise<CpuHost> {
  const without = async (code: ThreadsCode, reason: string): Promise<CpuHost> => ({ ...(await plainHost(options)), threads: () => ({ count: 1, code, reason }) });
  if (options.threads === 1) return without("one-asked", "one thread was asked for");
  const cores = (globalThis as { navigator?: { hardwareConcurrency?: number } }).navigator?.hardwareConcurrency ?? (await coresOfNode());
  const wanted = options.threads ?? Math.min(cores, MOST_UNLESS_TOLD);
  if (wanted < 2) return without("one-core", "this host has one core");
  try {
    const pool = await loadWorkerPool(options.threadedWasm, options.locateThreaded);
    await pool.join(wanted);
    if (pool.threads === 1) {
      pool.leave();
      return await without("no-worker", `no worker could be started: ${pool.trouble ?? "it ended"}`);
    }
    let left = false;
    const threads = (): Threads => {
      if (pool.failure !== undefined) return { count: 1, code: "no-worker", reason: `the module with threads has failed: ${pool.failure}` };
      const count = left ? 1 : Math.min(wanted, pool.threads);
      const interpreting = pool.uncompiled === undefined ? "" : `; workers interpret what they can't compile: ${pool.uncompiled}`;
      if (count === wanted) return { count, code: "on", reason: `${options.threads === undefined ? `this host has ${cores} cores` : `${wanted} threads were asked for`}${interpreting}` };
      if (count === 1) return { count, code: "no-worker", reason: left ? "the engine was disposed" : `all workers have ended: ${pool.trouble ?? "disposed"}` };
      return { count, code: "fewer", reason: `${wanted - count} of ${wanted - 1} workers did not start or have ended: ${pool.trouble ?? "disposed"}` };
    };
    const release = () => {
      if (!left) pool.leave();
      left = true;
    };
    const open: CpuHost["open"] = (precision, limits) => {
      const engine = pool.native.openCpu(precision, limits);
      engine.setThreads(wanted);
      return engine;
    };
    return { open, lastPanic: pool.native.lastPanic, parts: WHOLE, threads, release };
  } catch (thrown) {
    if (thrown instanceof ThreadsUnavailable) return without(thrown.code, thrown.message);
    throw thrown;
  }
}

/** Where there is no `navigator`: in Node 20. */
async function coresOfNode(): Promise<number> {
  const name = "node:os";
  try {
    const os = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { availableParallelism(): number };
    return os.availableParallelism();
  } catch {
    return 1;
  }
}
