// Loads the addon. `leastwise` imports this; so can whoever wants to know what is there.
import { createRequire } from "node:module";

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

export const { openCpu, openCuda, probe } = load();
