/** The package's files in Node, Bun and Deno: read, not fetched, and found although a bundler has moved the program. */
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { cwd } from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { wordsOf } from "./errors.js";
import { failed } from "./load-errors.js";
import type { Part } from "./parts.js";
import type { Places } from "./wasm.js";

declare const __filename: string | undefined;

/** Bundles in CommonJS have no address, but a path. */
const here = (): string => (import.meta.url ? fileURLToPath(import.meta.url) : typeof __filename === "string" ? __filename : join(cwd(), "index.js"));

/** The module, whole and in parts. @internal */
export const beside: Places = { whole: () => wasmBeside("leastwise"), part: (part) => wasmBeside("leastwise", part), read: readAtOnce };

/** Bytes of a part, where the caller can't wait. */
function readAtOnce(part: Part): Uint8Array<ArrayBuffer> {
  const beside = join(dirname(here()), "wasm", `leastwise_${part}.wasm`);
  const path = existsSync(beside) ? beside : createRequire(here()).resolve(`leastwise/leastwise-${part}.wasm`);
  return readFileSync(path);
}

/** Bytes of a module, or of a part of it: beside this file, or where the package is installed as seen from here. Throws `load`. @internal */
export async function wasmBeside(name: "leastwise" | "threaded", part?: Part | "core"): Promise<Uint8Array<ArrayBuffer>> {
  const beside = join(dirname(here()), "wasm", `${name}_${part ?? "bg"}.wasm`);
  try {
    return await readFile(beside);
  } catch (thrown) {
    const bytes = await wasmInstalled(part ? `${name}-${part}` : name);
    if (bytes) return bytes;
    const { href } = pathToFileURL(beside);
    throw failed(`${href} could not be read: ${wordsOf(thrown)}`, "absent", href, thrown);
  }
}

/** What a bundle left behind may be installed all the same. */
async function wasmInstalled(name: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await readFile(createRequire(here()).resolve(`leastwise/${name}.wasm`));
  } catch {
    return undefined;
  }
}
