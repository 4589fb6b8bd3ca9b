/** Loading the engine's module: once a process, however many engines there are. */
import { wordsOf } from "./errors.js";
import { failed } from "./load-errors.js";
import type { NativeModule } from "./native.js";
import { Parts, splitOf, WHOLE, type LocatePart, type Part, type ReadPart } from "./parts.js";
import { compiled, type WasmSource } from "./source.js";
// Imported like any other file: a bundle that can't be split, as workers of Vite before version 8, has it too.
import * as glue from "./wasm/leastwise.js";

/** Source of a module where none is given: an entry of the package has one for its hosts. @internal */
export type Locate = () => WasmSource;

/** Sources of the module where none is given: of the whole, and of its parts where an entry has them apart. @internal */
export interface Places { readonly whole: Locate; readonly part?: LocatePart; readonly read?: ReadPart }

/** The engine's module, and what of it loads later. @internal */
export interface Loaded { readonly native: NativeModule; readonly parts: Parts }

let loading: Promise<Loaded> | undefined;

/** The engine's module with these parts of it. `source` only matters the first time. @internal */
export async function loadWasm(source: WasmSource | undefined, places: Places, first: readonly Part[]): Promise<Loaded> {
  loading ??= load(source, places, first).catch((thrown: unknown) => {
    // A failed download may be tried again.
    loading = undefined;
    throw thrown;
  });
  const loaded = await loading;
  await loaded.parts.need(first);
  return loaded;
}

async function load(source: WasmSource | undefined, { whole, part, read }: Places, first: readonly Part[]): Promise<Loaded> {
  if (source === undefined && part) {
    const parts = new Parts(part, read);
    // At once with the module, not after it.
    first.forEach((each) => parts.begin(each));
    // Who has copied no parts has the whole.
    const core = await compiled(part("core")).catch(() => undefined);
    if (core) return started(core, parts);
  }
  return started(await compiled(source ?? whole()), WHOLE);
}

async function started(module: WebAssembly.Module, parts: Parts): Promise<Loaded> {
  mustBeOurs(module);
  const split = splitOf(module);
  if (split !== undefined && parts === WHOLE) throw otherVersion("it is the first of several parts: take the whole");
  try {
    glue.parts.load = (number) => parts.loadNow(number);
    const exports = await glue.default({ module_or_path: module });
    if (split !== undefined) parts.join(exports, split);
  } catch (thrown) {
    throw otherVersion(wordsOf(thrown), thrown);
  }
  return { native: glue, parts: split === undefined ? WHOLE : parts };
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
