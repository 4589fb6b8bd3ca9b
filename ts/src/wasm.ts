/** Loading the engine's module: once a process, however many engines there are. */
import { wordsOf } from "./errors.js";
import { failed } from "./load-errors.js";
import type { NativeModule } from "./native.js";
import { compiled, type WasmSource } from "./source.js";
// Imported like any other file: a bundle that can't be split, as workers of Vite before version 8, has it too.
import * as glue from "./wasm/leastwise.js";

/** Source of a module where none is given: an entry of the package has one for its hosts. @internal */
export type Locate = () => WasmSource;

let loading: Promise<NativeModule> | undefined;

/** The engine's module. `source` only matters the first time. @internal */
export function loadWasm(source: WasmSource | undefined, locate: Locate): Promise<NativeModule> {
  loading ??= load(source, locate).catch((thrown: unknown) => {
    // A failed download may be tried again.
    loading = undefined;
    throw thrown;
  });
  return loading;
}

async function load(source: WasmSource | undefined, locate: Locate): Promise<NativeModule> {
  const module = await compiled(source ?? locate());
  mustBeOurs(module);
  try {
    await glue.default({ module_or_path: module });
  } catch (thrown) {
    throw otherVersion(wordsOf(thrown), thrown);
  }
  return glue;
}

/** Refuses a module of something else before the glue has it, which would keep it. */
function mustBeOurs(module: WebAssembly.Module): void {
  let names: Set<string>;
  try {
    names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  } catch (thrown) {
    throw otherVersion(wordsOf(thrown), thrown);
  }
  const missing = ["memory", "openCpu", "lastPanic", "__wbindgen_start"].find((name) => !names.has(name));
  if (missing !== undefined) throw otherVersion(`it exports no ${missing}`);
}

const otherVersion = (why: string, cause?: unknown) => failed(`it is no module of this version of Leastwise: ${why}`, "version", undefined, cause);
