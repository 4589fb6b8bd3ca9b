// As `leastwise.d.ts`, of the module with threads.
import type { ThreadedModule } from "../native.js";

declare const start: (options: { module_or_path: WebAssembly.Module; memory: WebAssembly.Memory }) => Promise<unknown>;
export default start;
export declare const lastPanic: ThreadedModule["lastPanic"];
export declare const openCpu: ThreadedModule["openCpu"];
export declare const resizePool: ThreadedModule["resizePool"];
