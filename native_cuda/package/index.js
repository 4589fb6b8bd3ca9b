// Loads the addon. `leastwise` imports this; so can whoever wants to know what is there.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const host = `${process.platform}-${process.arch}`;
if (host !== "linux-x64") {
  throw new Error(`leastwise-cuda has an addon for Linux on x64 only, and this is ${host}; leastwise runs on WebGPU or on the CPU here`);
}

function load() {
  try {
    return createRequire(import.meta.url)("./leastwise-cuda.linux-x64.node");
  } catch (error) {
    const { glibcVersionRuntime } = process.report.getReport().header;
    const libc = glibcVersionRuntime ? `glibc ${glibcVersionRuntime}` : "no glibc";
    throw new Error(`leastwise-cuda's addon does not load here: ${error.message} (it needs glibc 2.34 or newer, and this machine has ${libc})`, { cause: error });
  }
}

const addon = load();
// Static kernels, compiled for each generation of GPUs. They save time at a first solve; NVRTC makes what is not among them.
const kernels = fileURLToPath(new URL("./kernels.bin", import.meta.url));
if (existsSync(kernels)) addon.useImages(kernels);

export const { openCpu, openCuda, probe, worldId } = addon;

/** The world that `leastwise-cuda run` has started this process in, for `init({ world })`; undefined in any other process. */
export function world() {
  const { LEASTWISE_RANK: rank, LEASTWISE_RANKS: size, LEASTWISE_WORLD: id } = process.env;
  return id === undefined ? undefined : { rank: Number(rank), size: Number(size), id: Uint8Array.from(Buffer.from(id, "hex")) };
}
