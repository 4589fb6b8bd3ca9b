/** Errors of loading the engine's module: what was wrong, and the line that mends it on this host. */
import { LeastwiseError } from "./errors.js";

/** What went wrong, as far as the remedy depends on it. @internal */
export type Trouble = "unlocated" | "absent" | "address" | "network" | "arrived" | "policy" | "changed" | "version" | "inline";

interface Globals { readonly process?: { readonly versions?: { readonly node?: string } }; readonly navigator?: { readonly userAgent?: string }; readonly Deno?: unknown; readonly Bun?: unknown }

const FILE = "node_modules/leastwise/dist/wasm/leastwise_bg.wasm";
const INLINE = "import { init } from \"leastwise/inline\", which has the module in its JavaScript";
const WORKERD = "import wasm from \"leastwise/leastwise.wasm\" and give it: init({ wasm })";

/** Cloudflare's runtime, which compiles modules when a worker is uploaded and never later. */
const isWorkerd = ({ navigator }: Globals) => navigator?.userAgent === "Cloudflare-Workers";
const hasFiles = ({ process, Deno, Bun }: Globals) => process?.versions?.node !== undefined || Deno !== undefined || Bun !== undefined;

/** The remedy on the host at hand. `from` is the address that was tried. @internal */
export function remedy(trouble: Trouble, from: string | undefined, host: Globals = globalThis as Globals): string {
  if (trouble === "version") return "give init({ wasm }) the file of the same package, dist/wasm/leastwise_bg.wasm";
  if (isWorkerd(host)) return WORKERD;
  switch (trouble) {
    case "unlocated": return `${INLINE}; or give init({ wasm }) the bytes of ${FILE}`;
    case "address":
      return from?.startsWith("/_next/") ? "with Next on a server set serverExternalPackages: [\"leastwise\"] in next.config, or give init({ wasm }) a whole URL or the bytes"
        : hasFiles(host) ? "give a path as a URL, init({ wasm: new URL(path, import.meta.url) }), or the bytes of the file"
        : "give init({ wasm }) a whole URL or the bytes";
    case "network": return "see whether the network is there, and whether the page's content security policy allows it (connect-src)";
    case "arrived": return "try again; a Response can be read once only";
    case "policy": return "add 'wasm-unsafe-eval' to the page's content security policy (script-src), or give init({ wasm }) a WebAssembly.Module that a worker with a policy of its own has compiled";
    case "changed": return "it may have been cut or changed on the way, or this host is too old for WebAssembly SIMD: serve the package's file as it is";
    case "inline": return "import { init } from \"leastwise\", and give init({ wasm }) the address or the bytes of the file";
    case "absent": return absent(from, host);
  }
}

function absent(from: string | undefined, host: Globals): string {
  if (from?.includes("/.vite/")) return "with Vite before version 8 set optimizeDeps: { exclude: [\"leastwise\"] } in vite.config";
  if (from?.startsWith("file:")) {
    return `a bundler left the file behind: ${INLINE}; or keep the package out of the bundle (esbuild: --external:leastwise; Next: serverExternalPackages: ["leastwise"]); or copy ${FILE} there`;
  }
  const given = "or give init({ wasm }) its address or its bytes";
  if (from === undefined || !/^https?:/.test(from)) return `give init({ wasm }) the bytes of ${FILE}`;
  if (hasFiles(host)) return `serve ${FILE} there, ${given}`;
  return `a bundler may have left the file behind (esbuild and Rollup do): copy ${FILE} there, ${given}; or ${INLINE}`;
}

/** The error `load`. @internal */
export function failed(what: string, trouble: Trouble, from?: string, cause?: unknown): LeastwiseError {
  return new LeastwiseError("load", `the engine's WebAssembly module could not be loaded: ${what}. What to do: ${remedy(trouble, from)}`, cause === undefined ? {} : { cause });
}
