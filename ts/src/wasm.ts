/** Loading the engine's module: once a process, however many engines there are. */
import type { NativeModule } from "./native.js";

// As in `arrays.ts`: Node's types alone do not have this one.
type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T : never;
/** Where the module may come from. */
export type WasmSource = URL | Response | ArrayBuffer | ArrayBufferView | WasmModule;

interface Glue extends NativeModule { default(input: { module_or_path: unknown }): Promise<unknown> }

let loading: Promise<NativeModule> | undefined;

/** The engine's module. `source` only matters the first time. @internal */
export function loadWasm(source: WasmSource | undefined): Promise<NativeModule> {
  loading ??= load(source).catch((thrown: unknown) => {
    // A failed download may be tried again.
    loading = undefined;
    throw thrown;
  });
  return loading;
}

async function load(source: WasmSource | undefined): Promise<NativeModule> {
  const glue = (await import("./wasm/leastwise.js")) as unknown as Glue;
  const url = new URL("./wasm/leastwise_bg.wasm", import.meta.url);
  await glue.default({ module_or_path: source ?? (url.protocol === "file:" ? await readFile(url) : url) });
  return glue;
}

/** A module that can be handed to workers. @internal */
export async function compiled(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof URL && source.protocol === "file:") return WebAssembly.compile(await readFile(source));
  const given = source instanceof URL ? await fetch(source) : source;
  if (!(given instanceof Response)) return WebAssembly.compile(given as BufferSource);
  if (!given.ok) throw new Error(`${given.url} answered ${given.status}`);
  return WebAssembly.compile(await given.arrayBuffer());
}

/** Node's `fetch` reads no files. */
async function readFile(url: URL): Promise<BufferSource> {
  const name = "node:fs/promises";
  const fs = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { readFile(path: URL): Promise<Uint8Array<ArrayBuffer>> };
  return fs.readFile(url);
}
