/** Places of the engine's modules for hosts that fetch them: addresses beside this file, which bundlers recognise as they stand. */
import { wordsOf } from "./errors.js";
import { failed } from "./load-errors.js";
import type { LocatePart } from "./parts.js";
import type { Places } from "./wasm.js";

// Each is written out: bundlers look for this very form. Built when they are needed, since some hosts have no addresses for modules.
const ADDRESSES = {
  core: () => new URL("./wasm/leastwise_core.wasm", import.meta.url),
  webgpu: () => new URL("./wasm/leastwise_webgpu.wasm", import.meta.url),
  cpu: () => new URL("./wasm/leastwise_cpu.wasm", import.meta.url),
  direct: () => new URL("./wasm/leastwise_direct.wasm", import.meta.url),
  levels: () => new URL("./wasm/leastwise_levels.wasm", import.meta.url),
  descent: () => new URL("./wasm/leastwise_descent.wasm", import.meta.url),
  tensors: () => new URL("./wasm/leastwise_tensors.wasm", import.meta.url),
  vectors: () => new URL("./wasm/leastwise_vectors.wasm", import.meta.url),
  seldom: () => new URL("./wasm/leastwise_seldom.wasm", import.meta.url),
  rare: () => new URL("./wasm/leastwise_rare.wasm", import.meta.url),
  single: () => new URL("./wasm/leastwise_single.wasm", import.meta.url),
  doubles: () => new URL("./wasm/leastwise_doubles.wasm", import.meta.url),
  normals: () => new URL("./wasm/leastwise_normals.wasm", import.meta.url),
  reduced: () => new URL("./wasm/leastwise_reduced.wasm", import.meta.url),
  graph: () => new URL("./wasm/leastwise_graph.wasm", import.meta.url),
  fits: () => new URL("./wasm/leastwise_fits.wasm", import.meta.url),
} satisfies { readonly [part in Parameters<LocatePart>[0]]: () => URL };

/** Addresses of the module, whole and in parts. @internal */
export const beside: Places = {
  whole: () => located(() => new URL("./wasm/leastwise_bg.wasm", import.meta.url)),
  part: (part) => located(ADDRESSES[part]),
  read: (part) => fetchedAtOnce(located(ADDRESSES[part])),
};

interface Request { open(method: string, url: string, async: boolean): void; overrideMimeType(type: string): void; send(): void; readonly status: number; readonly responseText: string }

/** Bytes of a file, while the page waits. */
function fetchedAtOnce({ href }: URL): Uint8Array<ArrayBuffer> {
  const { XMLHttpRequest: Kind } = globalThis as { XMLHttpRequest?: new () => Request };
  if (!Kind) throw failed(`${href} can't be fetched at once on this host`, "network", href);
  const request = new Kind();
  try {
    request.open("GET", href, false);
    // A page gets no bytes at once, but text with one of them in each letter.
    request.overrideMimeType("text/plain; charset=x-user-defined");
    request.send();
  } catch (thrown) {
    throw failed(`${href} could not be fetched: ${wordsOf(thrown)}`, "network", href, thrown);
  }
  if (request.status !== 200) throw failed(`${href} answered ${request.status}`, "absent", href);
  return Uint8Array.from(request.responseText, (letter) => letter.charCodeAt(0) & 0xff);
}

/** Runs what builds an address. Throws `load` in hosts whose modules have none. @internal */
export function located(address: () => URL): URL {
  try {
    return address();
  } catch (thrown) {
    throw failed("this host has no addresses for files of modules (a CommonJS bundle, Cloudflare's workers)", "unlocated", undefined, thrown);
  }
}
