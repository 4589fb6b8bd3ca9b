// What the build puts beside the compiled façade: the glue that wasm-bindgen writes, held to the engine's interface.
import type { NativeModule } from "../native.js";

/** Compiles and starts the module, once, and gives what it exports; what it is called with afterwards is ignored. */
declare const start: (options: { module_or_path: unknown }) => Promise<WebAssembly.Exports>;
export default start;
/** What the module calls to have a part of it loaded at once: its number to 1 where that is done. */
export declare const parts: { load?: (part: number) => number };
export declare const lastPanic: NativeModule["lastPanic"];
export declare const openCpu: NativeModule["openCpu"];
export declare const openWebGpu: NativeModule["openWebGpu"];
