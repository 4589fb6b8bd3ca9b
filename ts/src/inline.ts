/**
 * `leastwise/inline`: all that `leastwise` is, with the engine's module in its JavaScript (gzip and base64), for hosts and bundles without
 * files. It is a third larger on disk and about the same on a line that compresses; everything else is equal.
 * @packageDocumentation
 */
import type { DTypeOf, Engine, Precision } from "./engine.js";
import { unpacked } from "./gunzip.js";
import { initFrom, preloadFrom, type InitOptions, type PreloadOptions } from "./init.js";
import { packed } from "./wasm/inline.js";

export * from "./index.js";

/**
 * Makes an engine, as `init` of `leastwise` does, with the module that is part of this file.
 *
 * @throws `no-adapter` for a requested backend that isn't available; `load` if the module can't be loaded; `invalid-option` for other options
 * @example
 * import { init } from "leastwise/inline";
 * const lw = await init({ backend: "cpu" });  // nothing is fetched
 */
export async function init<P extends Precision = "f32">(options: InitOptions<P> = {}): Promise<Engine<DTypeOf<P>>> {
  return initFrom(options, { whole: () => unpacked(packed) });
}

/**
 * Unpacks and compiles the module ahead of {@link init}.
 *
 * @throws `load` if the module can't be loaded; `invalid-option` for other options
 * @example
 * import { preload } from "leastwise/inline";
 * await preload();
 */
export async function preload(options: PreloadOptions = {}): Promise<void> {
  return preloadFrom(options, { whole: () => unpacked(packed) });
}
