/** `leastwise/threads` in Node, Bun and Deno: the same, and the modules are read from the disk. */
import { beside, wasmBeside } from "./node-files.js";
import { initThreadsFrom, preloadThreadsFrom, type ThreadedEngine, type ThreadsOptions, type ThreadsPreloadOptions } from "./threaded.js";

export * from "./index.js";
export type * from "./threaded.js";

const threaded = () => wasmBeside("threaded");

export const init = (options: ThreadsOptions = {}): Promise<ThreadedEngine> => initThreadsFrom(options, beside, threaded);
export const preload = (options: ThreadsPreloadOptions = {}): Promise<void> => preloadThreadsFrom(options, beside, threaded);
