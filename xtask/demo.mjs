// `npm run demo [-- solve|film|palette|vertices]`: from nothing to a picture, with the packed package, in Node: a deformed bunny, the same being
// dragged, an image in few colours, or the bunny in a fraction of its bytes. What follows the name goes to the demo.
import { dirname, join } from "node:path";
import { build } from "./build.mjs";
import { gpuEnvironment } from "./lib/gpu.mjs";
import { entry, passThrough, root, StepError } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { setup } from "./setup.mjs";

const PICTURES = { solve: "bunny.png", film: "bunny-drag.png", palette: "palette.png", vertices: "vertices.png" };
export const DEMOS = Object.keys(PICTURES);

/** Installs the tarball into `target/demo` and runs there, in an environment that has what a process on the GPU needs. */
export async function demo(tarball, name = "solve", args = [], { say, env = gpuEnvironment() } = {}) {
  if (!DEMOS.includes(name)) throw new StepError(`There is no demo "${name}", only ${DEMOS.join(", ")}.`);
  const sources = await scratchProject("demo", { tarball, packages: ["webgpu", "bunny", "pngjs"], sources: "xtask/demo" });
  await passThrough(`demo ${name}`, process.execPath, [join(sources, `${name}.mjs`), join(root, "target/demo", PICTURES[name]), ...args],
    { cwd: dirname(sources), env, ...(say && { say }) });
}

await entry(import.meta, async () => {
  await setup({ forTests: false });
  const [name, ...args] = process.argv.slice(2);
  await demo(await build({ threads: false }), name, args);
});
