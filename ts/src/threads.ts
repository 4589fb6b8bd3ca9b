/**
 * `leastwise/threads`: all that `leastwise` is, and engines on the CPU that work on several threads, with the same bits.
 *
 * Threads share memory, which browsers allow to pages that are cross-origin isolated; where it is not allowed, there is one
 * thread, and {@link ThreadedEngine.threads} says why.
 * @packageDocumentation
 */
import { threadedBeside } from "./beside-threaded.js";
import { beside } from "./beside.js";
import type { DTypeOf, Precision } from "./engine.js";
import { initThreadsFrom, preloadThreadsFrom, type ThreadedEngine, type ThreadsOptions, type ThreadsPreloadOptions } from "./threaded.js";

export * from "./index.js";
export type * from "./threaded.js";

/**
 * Makes an engine, as `init` of `leastwise` does. If it is one on the CPU, it gets threads where it can; that it can't is no error.
 * Its workers end with {@link Engine.dispose}.
 *
 * @throws `no-adapter` for a requested backend that isn't available; `load` if a module can't be loaded; `invalid-option` for other options and for what is no number of threads
 * @example
 * import { init } from "leastwise/threads";
 * const lw = await init({ backend: "cpu", threads: 4 });
 * console.log(lw.threads.count, lw.threads.reason);
 */
export async function init<P extends Precision = "f32">(options: ThreadsOptions<P> = {}): Promise<ThreadedEngine<DTypeOf<P>>> {
  return initThreadsFrom(options, beside, threadedBeside);
}

/**
 * Loads and compiles the module ahead of {@link init}.
 *
 * @throws `load` if a module can't be loaded; `invalid-option` for other options
 * @example
 * import { preload } from "leastwise/threads";
 * await preload();
 */
export async function preload(options: ThreadsPreloadOptions = {}): Promise<void> {
  return preloadThreadsFrom(options, beside, threadedBeside);
}
