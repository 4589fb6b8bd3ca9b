/** `leastwise` in Node, Bun and Deno: the same, and the module is read from the disk. */
import { initFrom, preloadFrom, type InitOptions, type PreloadOptions } from "./init.js";
import type { Engine } from "./engine.js";
import { wasmBeside } from "./node-files.js";

export * from "./index.js";

export const init = (options: InitOptions = {}): Promise<Engine> => initFrom(options, () => wasmBeside("leastwise"));
export const preload = (options: PreloadOptions = {}): Promise<void> => preloadFrom(options, () => wasmBeside("leastwise"));
