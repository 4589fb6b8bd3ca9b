/** `leastwise/threads` in Node, Bun and Deno: the same, and the modules are read from the disk. */
import { wasmBeside } from "./node-files.js";
import { initThreadsFrom, preloadThreadsFrom, type ThreadedEngine, type ThreadsOptions, type ThreadsPreloadOptions } from "./threaded.js";

export * from "./index.js";
export type * from "./threaded.js";

const plain = () => wasmBeside("leastwise"), threaded = () => wasmBeside("threaded");

export const init = (options: ThreadsOptions = {}): Promise<ThreadedEngine> => initThreadsFrom(options, plain, threaded);
export const preload = (options: ThreadsPreloadOptions = {}): Promise<void> => preloadThreadsFrom(options, plain, threaded);
