/** Place of the module with threads, apart from the other, so that bundles of `leastwise` leave it out. */
import { located } from "./beside.js";

/** Address of the module with threads. @internal */
export const threadedBeside = (): URL => located(() => new URL("./wasm/threaded_bg.wasm", import.meta.url));
