/** Sources of the engine's module, and compiling one of them. */
import { isA, isOurs, LeastwiseError, reading, wordsOf } from "./errors.js";
import type { Host } from "./host.js";
import { describe } from "./instruction.js";
import { failed, type Trouble } from "./load-errors.js";
import type { Kind } from "./options.js";

declare const compiledWasm: unique symbol;

/**
 * A `WebAssembly.Module`. TypeScript's own type of it is empty, so that anything would be one; a type with nothing but an optional
 * member takes an empty type, and refuses numbers, functions, arrays, and objects with other members.
 *
 * @example
 * const module: CompiledWasm = await WebAssembly.compile(bytes);
 * const lw = await init({ wasm: module });
 */
export interface CompiledWasm { readonly [compiledWasm]?: never }

/** One source, which is there. */
type Present = string | Host<"URL"> | Host<"Request"> | Host<"Response"> | ArrayBuffer | ArrayBufferView | CompiledWasm;

/**
 * Source of a module: its address, a `Request` or `Response` of it, its bytes, a `WebAssembly.Module`, or a promise of one of these.
 *
 * @example
 * const wasm: WasmSource = fetch("/assets/leastwise_bg.wasm");
 * const lw = await init({ wasm });
 */
export type WasmSource = Present | PromiseLike<Present>;

const KINDS = "an address (a string or a URL), a Request, a Response, the bytes, a WebAssembly.Module, or a promise of one of these";

interface Named { readonly URL: URL; readonly Request: Request; readonly Response: Response; readonly ArrayBuffer: ArrayBuffer }

/** By its class, and by its name where the class is another realm's or the host has none. */
function isOf<N extends keyof Named>(value: unknown, name: N): value is Named[N] {
  const kind = (globalThis as { [name: string]: unknown })[name];
  return (typeof kind === "function" && isA(value, kind as new () => object)) || tagOf(value) === name;
}

function tagOf(value: unknown): string | undefined {
  try {
    return Object.prototype.toString.call(value).slice("[object ".length, -1);
  } catch {
    return undefined;
  }
}

/** No type guard: all that it left would be nothing, as the type of a module is empty. */
function isModule(value: unknown): boolean {
  const found: boolean = isA(value, WebAssembly.Module);
  return found || tagOf(value) === "WebAssembly.Module";
}

const isBytes = (value: unknown): value is ArrayBuffer | ArrayBufferView => ArrayBuffer.isView(value) || isOf(value, "ArrayBuffer");
const isPresent = (value: unknown) => typeof value === "string" || isOf(value, "URL") || isOf(value, "Request") || isOf(value, "Response") || isBytes(value) || isModule(value);

const refused = (name: string, value: unknown) => new LeastwiseError("invalid-option", `${name}: ${KINDS}, not ${describe(value)}`);

/** A source, checked when an engine is asked for, even where the module is there already. @internal */
export const wasmSource: Kind<WasmSource> = (name, value, place) => {
  if (isPresent(value)) return value as WasmSource;
  const promised = typeof value === "object" && value !== null && reading(name, () => typeof (value as { then?: unknown }).then === "function", place);
  if (!promised) throw refused(name, value);
  const source = Promise.resolve(value as PromiseLike<Present>);
  // Whoever awaits it later is told; until then a failure is not one that nobody handles.
  source.catch(() => undefined);
  return source;
};

/** A compiled module, which workers can be handed too. Throws `load` with the address, what came back, and what to do. @internal */
export async function compiled(source: WasmSource, name = "wasm"): Promise<WebAssembly.Module> {
  const from = await settled(source);
  if (isModule(from)) return from as WebAssembly.Module;
  if (typeof from === "string" || isOf(from, "URL")) return fetched(String(from));
  if (isOf(from, "Request")) return ofAnswer(from.url, from);
  if (isOf(from, "Response")) return ofResponse(from, from.url || "the response that was given");
  if (isBytes(from)) return ofBytes(reading(name, () => bytesOf(from)), "the bytes that were given", "the bytes that were given");
  throw refused(`${name}, a promise`, from);
}

async function settled(source: WasmSource): Promise<unknown> {
  try {
    return await source;
  } catch (thrown) {
    // An entry's own search for the file has said what to do.
    if (isOurs(thrown)) throw thrown;
    throw failed(`the promise that was given rejected: ${wordsOf(thrown)}`, "network", undefined, thrown);
  }
}

function bytesOf(source: ArrayBuffer | ArrayBufferView): Uint8Array<ArrayBuffer> {
  // Copied: it is compiled in the background.
  return ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength).slice() : new Uint8Array(source).slice();
}

async function fetched(text: string): Promise<WebAssembly.Module> {
  const url = parsed(text);
  if (!url) throw failed(`"${text}" is no address on this host`, "address", text);
  return url.protocol === "file:" ? ofBytes(await fileAt(url), text, text) : ofAnswer(url.href, url);
}

/** An address, relative to the page's where there is one. */
function parsed(text: string): URL | undefined {
  try {
    return new URL(text, (globalThis as { location?: { href: string } }).location?.href);
  } catch {
    return undefined;
  }
}

async function ofAnswer(href: string, request: URL | Request): Promise<WebAssembly.Module> {
  let response: Response;
  try {
    response = await fetch(request);
  } catch (thrown) {
    throw failed(`${href} could not be fetched: ${wordsOf(thrown)}`, "network", href, thrown);
  }
  return ofResponse(response, href);
}

async function ofResponse(response: Response, from: string): Promise<WebAssembly.Module> {
  const type = response.headers.get("content-type") ?? "no content type";
  if (!response.ok) throw failed(`${from} answered ${response.status}${response.statusText ? ` (${response.statusText})` : ""}, ${type}`, "absent", from);
  const answered = `${from}, answered as ${type},`;
  if (type.startsWith("application/wasm") && !response.bodyUsed && typeof WebAssembly.compileStreaming === "function") {
    // Compiled while it arrives, and kept by browsers.
    try {
      return await WebAssembly.compileStreaming(response);
    } catch (thrown) {
      throw notCompiled(answered, from, thrown);
    }
  }
  let bytes: ArrayBuffer;
  try {
    bytes = await response.arrayBuffer();
  } catch (thrown) {
    throw failed(`${from} did not arrive whole: ${wordsOf(thrown)}`, "arrived", from, thrown);
  }
  return ofBytes(new Uint8Array(bytes), answered, from);
}

/** Compiles bytes; `what` they are is for messages. @internal */
export async function ofBytes(bytes: Uint8Array<ArrayBuffer>, what: string, from?: string): Promise<WebAssembly.Module> {
  const start = bytes.subarray(0, 4);
  if (String.fromCharCode(...start) !== "\0asm") {
    const shown = bytes.length === 0 ? "is empty" : `begins with ${JSON.stringify(new TextDecoder("latin1").decode(bytes.subarray(0, 24)))}`;
    throw failed(`${what} is no WebAssembly: it ${shown}`, "absent", from);
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (thrown) {
    throw notCompiled(what, from, thrown);
  }
}

function notCompiled(what: string, from: string | undefined, thrown: unknown): LeastwiseError {
  const words = wordsOf(thrown);
  if (/unsafe-eval|content security policy|code generation disallowed/i.test(words)) return failed(`the host forbids to compile it: ${words}`, "policy", from, thrown);
  const [trouble, why]: [Trouble, string] = /magic/i.test(words) ? ["absent", "is no WebAssembly"] : ["changed", "can't be compiled"];
  return failed(`${what} ${why}: ${words}`, trouble, from, thrown);
}

/** Node's `fetch` reads no files. */
async function fileAt(url: URL): Promise<Uint8Array<ArrayBuffer>> {
  const name = "node:fs/promises";
  try {
    const fs = (await import(/* @vite-ignore */ /* webpackIgnore: true */ name)) as { readFile(path: URL): Promise<Uint8Array<ArrayBuffer>> };
    return await fs.readFile(url);
  } catch (thrown) {
    throw failed(`${url.href} could not be read: ${wordsOf(thrown)}`, "absent", url.href, thrown);
  }
}
