// Compiled, never run: sources of the engine's module.
import { init, preload, type WasmSource } from "leastwise";
import { init as initInline } from "leastwise/inline";
import { init as initThreads, preload as preloadThreads } from "leastwise/threads";

declare const response: Response, request: Request, bytes: Uint8Array, buffer: ArrayBuffer;
/** As TypeScript's DOM types and others have it. */
interface Module {}
declare const module: Module;

export async function everySource(): Promise<void> {
  const sources: WasmSource[] = ["/leastwise.wasm", new URL("file:///leastwise.wasm"), request, response, Promise.resolve(response), bytes, buffer, module, Promise.resolve(module), Promise.resolve(bytes)];
  for (const wasm of sources) await init({ wasm });
  await init({ wasm: fetch("/leastwise.wasm") });
  await preload({ wasm: fetch("/leastwise.wasm") });
  await preloadThreads({ backend: "cpu", threadedWasm: module });
  await initInline({ backend: "cpu" });
}

export async function nonsense(): Promise<void> {
  // @ts-expect-error a number is no source
  await init({ wasm: 3 });
  // @ts-expect-error nor is a truth value
  await init({ wasm: true });
  // @ts-expect-error nor a function that would give one
  await init({ wasm: () => bytes });
  // @ts-expect-error nor a list of bytes
  await init({ wasm: [0, 97, 115, 109] });
  // @ts-expect-error nor an object that has one
  await init({ wasm: { url: "/leastwise.wasm" } });
  // @ts-expect-error nor nothing
  await init({ wasm: null });
  // @ts-expect-error nor a promise of a number
  await init({ wasm: Promise.resolve(3) });
  // @ts-expect-error a number is no source
  await preload({ wasm: 3 });
  // @ts-expect-error a module is loaded for no particular precision
  await preload({ precision: "f32" });
  // @ts-expect-error a number is no source
  await initThreads({ threadedWasm: 3 });
  // @ts-expect-error CUDA has no module to load
  await preloadThreads({ backend: "cuda" });
}
