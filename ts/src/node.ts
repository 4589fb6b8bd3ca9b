/** `leastwise` in Node, Bun and Deno: the same, and the module is read from the disk. */
import { initFrom, preloadFrom, type InitOptions, type PreloadOptions } from "./init.js";
import type { Engine } from "./engine.js";
import { beside } from "./node-files.js";

export * from "./index.js";

export const init = (options: InitOptions = {}): Promise<Engine> => initFrom(options, beside);
export const preload = (options: PreloadOptions = {}): Promise<void> => preloadFrom(options, beside);
