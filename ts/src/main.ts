/**
 * Least squares on the GPU, from TypeScript.
 *
 * Begin with {@link init}; make a {@link Problem}; give it variables and residuals; solve.
 * @packageDocumentation
 */
import { beside } from "./beside.js";
import type { DTypeOf, Engine, Precision } from "./engine.js";
import { initFrom, preloadFrom, type InitOptions, type PreloadOptions } from "./init.js";

export * from "./index.js";

/**
 * Makes an engine.
 *
 * @throws `no-adapter` for a requested backend that isn't available; `load` if the module can't be loaded; `invalid-option` for other options
 * @example
 * const lw = await init();  // CUDA or WebGPU if available, else the CPU
 * console.log(lw.backend, lw.reason);
 */
export async function init<P extends Precision = "f32">(options: InitOptions<P> = {}): Promise<Engine<DTypeOf<P>>> {
  return initFrom(options, beside);
}

/**
 * Loads and compiles the engine's module ahead of {@link init}, which then finds it there: for pages that know early that they will solve.
 *
 * @throws `load` if the module can't be loaded (it may be tried again); `invalid-option` for other options
 * @example
 * await preload();  // while the page shows its first content
 * const lw = await init();  // loads nothing
 */
export async function preload(options: PreloadOptions = {}): Promise<void> {
  return preloadFrom(options, beside);
}
