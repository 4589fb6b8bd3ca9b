/** Loading the engine's module: once a process, however many engines there are. */
import { isA, LeastwiseError, reading, wordsOf } from "./errors.js";
import { describe } from "./instruction.js";
import type { NativeModule } from "./native.js";

// As in `arrays.ts`: Node's types alone do not have this one.
type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T : never;
/** Where the module may come from: an address, what came from there, its bytes, or the module itself. */
export type WasmSource = string | URL | Response | ArrayBuffer | ArrayBufferView | WasmModule;

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
  const glue = await glueOf(() => import("./wasm/leastwise.js") as unknown as Promise<Glue>);
  // A host without addresses for modules needs none where the module is given.
  const module = await compiled(source === undefined ? standard(() => new URL("./wasm/leastwise_bg.wasm", import.meta.url)) : source);
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
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  const missing = ["memory", "openCpu", "lastPanic", "__wbindgen_start"].find((name) => !names.has(name));
  if (missing !== undefined) throw otherVersion(`it exports no ${missing}`);
}

const otherVersion = (why: string, cause?: unknown) =>
  failed(`it is no module of this version of Leastwise: ${why}`, "give init({ wasm }) the file of the same package, dist/wasm/leastwise_bg.wasm", cause);

/** The glue beside this file. @internal */
export async function glueOf<T>(imported: () => Promise<T>): Promise<T> {
  try {
    return await imported();
  } catch (thrown) {
    throw failed(`its glue could not be imported: ${wordsOf(thrown)}`, "serve all files of the package's dist/wasm beside the others", thrown);
  }
}

/** Where the module is beside this file. @internal */
export function standard(address: () => URL): URL {
  try {
    return address();
  } catch (thrown) {
    throw failed("this host has no addresses for files of modules (a CommonJS bundle, a worker of Cloudflare's)", "give init({ wasm }) the bytes of dist/wasm/leastwise_bg.wasm or a WebAssembly.Module of it", thrown);
  }
}

const BUNDLERS = "a bundler may have left the file behind: with Vite before version 8 in development set optimizeDeps: { exclude: [\"leastwise\"] }; " +
  "with esbuild and Rollup copy dist/wasm/leastwise_bg.wasm of the package there; or give init({ wasm }) its address or its bytes";

function failed(what: string, fix: string, cause?: unknown): LeastwiseError {
  return new LeastwiseError("load", `the engine's WebAssembly module could not be loaded: ${what}. What to do: ${fix}`, cause === undefined ? {} : { cause });
}

/** A compiled module, which workers can be handed too. Throws `load` with the address, what came back, and what to do. @internal */
export async function compiled(source: unknown): Promise<WebAssembly.Module> {
  // Its type has nothing, so that anything would be one.
  const isModule: boolean = isA(source, WebAssembly.Module);
  if (isModule) return source as WebAssembly.Module;
  if (typeof source === "string" || isA(source, URL)) return fetched(source);
  if (isA(source, Response)) return ofResponse(source, source.url || "the response that was given");
  if (ArrayBuffer.isView(source) || isA(source, ArrayBuffer)) return ofBytes(reading("wasm", () => bytesOf(source)), "the bytes that were given");
  throw new LeastwiseError("invalid-option", `wasm: an address (a string or a URL), a Response, the bytes, or a WebAssembly.Module, not ${describe(source)}`);
}

function bytesOf(source: ArrayBuffer | ArrayBufferView): Uint8Array<ArrayBuffer> {
  // Copied: it is compiled in the background.
  return ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice() : new Uint8Array(source).slice();
}

async function fetched(address: string | URL): Promise<WebAssembly.Module> {
  const text = String(address);
  const url = parsed(text);
  if (url?.protocol === "file:") return ofBytes(await fileAt(url), text);
  if (!url) throw failed(`"${text}" is no address on this host`, "with Next on a server set serverExternalPackages: [\"leastwise\"], or give init({ wasm }) a whole URL or the bytes");
  let response: Response;
  try {
    response = await fetch(url);
  } catch (thrown) {
    throw failed(`${url.href} could not be fetched: ${wordsOf(thrown)}`, "see whether the network is there, and whether the page's content security policy allows it (connect-src)", thrown);
  }
  return ofResponse(response, url.href);
}

/** An address, relative to the page's where there is one. */
function parsed(text: string): URL | undefined {
  try {
    return new URL(text, (globalThis as { location?: { href: string } }).location?.href);
  } catch {
    return undefined;
  }
}

async function ofResponse(response: Response, from: string): Promise<WebAssembly.Module> {
  const type = response.headers.get("content-type") ?? "no content type";
  if (!response.ok) throw failed(`${from} answered ${response.status}${response.statusText ? ` (${response.statusText})` : ""}, ${type}`, BUNDLERS);
  if (type.startsWith("application/wasm") && !response.bodyUsed) {
    // Compiled while it arrives, and kept by browsers.
    try {
      return await WebAssembly.compileStreaming(response);
    } catch (thrown) {
      throw notCompiled(`${from}, answered as ${type},`, thrown);
    }
  }
  let bytes: ArrayBuffer;
  try {
    bytes = await response.arrayBuffer();
  } catch (thrown) {
    throw failed(`${from} did not arrive whole: ${wordsOf(thrown)}`, "try again; a Response can be read once only", thrown);
  }
  return ofBytes(new Uint8Array(bytes), `${from}, answered as ${type},`);
}

async function ofBytes(bytes: Uint8Array<ArrayBuffer>, from: string): Promise<WebAssembly.Module> {
  const start = bytes.subarray(0, 4);
  if (String.fromCharCode(...start) !== "\0asm") {
    const shown = bytes.length === 0 ? "is empty" : `begins with ${JSON.stringify(new TextDecoder("latin1").decode(bytes.subarray(0, 24)))}`;
    throw failed(`${from} is no WebAssembly: it ${shown}`, BUNDLERS);
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (thrown) {
    throw notCompiled(from, thrown);
  }
}

function notCompiled(from: string, thrown: unknown): LeastwiseError {
  const words = wordsOf(thrown);
  if (/unsafe-eval|content security policy|code generation disallowed/i.test(words)) {
    return failed(`the host forbids to compile it: ${words}`, "add 'wasm-unsafe-eval' to the page's content security policy (script-src), or give init({ wasm }) a WebAssembly.Module that a worker with a policy of its own has compiled", thrown);
  }
  if (/magic/i.test(words)) return failed(`${from} is no WebAssembly: ${words}`, BUNDLERS, thrown);
  return failed(`${from} can't be compiled: ${words}`, "it may have been cut or changed on the way, or this host is too old for WebAssembly SIMD: serve the package's file as it is", thrown);
}

/** Node's `fetch` reads no files. */
async function fileAt(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  const name = "node:fs/promises";
  try {
    const fs = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { readFile(path: URL): Promise<Uint8Array<ArrayBuffer>> };
    return await fs.readFile(url);
  } catch (thrown) {
    throw failed(`${url.href} could not be read: ${wordsOf(thrown)}`, BUNDLERS, thrown);
  }
}
