/** The package's files in Node, Bun and Deno: read, not fetched, and found although a bundler has moved the program. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { cwd } from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { wordsOf } from "./errors.js";
import { failed } from "./load-errors.js";

declare const __filename: string | undefined;

/** Bundles in CommonJS have no address, but a path. */
const here = (): string => (import.meta.url ? fileURLToPath(import.meta.url) : typeof __filename === "string" ? __filename : join(cwd(), "index.js"));

/** Bytes of a module: beside this file, or where the package is installed as seen from here. Throws `load`. @internal */
export async function wasmBeside(name: "leastwise" | "threaded"): Promise<Uint8Array<ArrayBuffer>> {
  const beside = join(dirname(here()), "wasm", `${name}_bg.wasm`);
  try {
    return await readFile(beside);
  } catch (thrown) {
    const bytes = await wasmInstalled(name);
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
