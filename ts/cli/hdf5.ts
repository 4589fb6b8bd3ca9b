/** Datasets of HDF5 files, by the package `h5wasm`, where it is installed. */
import type { Hdf5Dataset } from "leastwise/vectors";
import { UsageError } from "./arguments.js";

/** What is used of the package. */
interface H5 {
  readonly ready: Promise<{ activate_throwing_error_handler?(): unknown }>;
  readonly File: new (path: string, mode: "r") => H5File;
}
interface H5File { get(name: string): unknown; keys(): string[]; close(): unknown }

async function load(): Promise<H5> {
  // The name in a variable, since the package is not there to be compiled against.
  const name = "h5wasm/node";
  try {
    const found = await import(name) as H5;
    // Errors of the C library are thrown then, and not printed.
    (await found.ready).activate_throwing_error_handler?.();
    return found;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") throw new Error("HDF5 files are read by the package h5wasm, which is not installed: `npm install h5wasm` brings it", { cause: thrown });
    throw thrown;
  }
}

/** What ann-benchmarks calls the vectors that are searched. */
const USUAL = "train";

/** A dataset of a file, and what closes the file. */
export async function openDataset(path: string, name: string = USUAL): Promise<{ readonly dataset: Hdf5Dataset; readonly close: () => Promise<void> }> {
  const { File } = await load();
  let file: H5File;
  try {
    file = new File(path, "r");
  } catch (thrown) {
    throw new Error("it is no HDF5 file, or a damaged one", { cause: thrown });
  }
  const close = async () => void file.close();
  const found = file.get(name) as Partial<Hdf5Dataset> | null;
  if (typeof found?.slice !== "function") {
    const names = file.keys().map((key) => `"${key}"`).join(", ");
    await close();
    throw new UsageError(`${path}: it has no dataset "${name}"; it has ${names || "none"}: give --dataset`);
  }
  return { dataset: found as Hdf5Dataset, close };
}
