// What the build puts beside the compiled façade: the glue that wasm-bindgen writes, held to the engine's interface.
import type { NativeModule } from "../native.js";

/** Compiles and starts the module, once; what it is called with afterwards is ignored. */
declare const start: (options: { module_or_path: unknown }) => Promise<unknown>;
export default start;
export declare const lastPanic: NativeModule["lastPanic"];
export declare const openCpu: NativeModule["openCpu"];
export declare const openWebGpu: NativeModule["openWebGpu"];
