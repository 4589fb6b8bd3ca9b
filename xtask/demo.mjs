// `npm run demo`: from nothing to a deformed bunny, with the packed package, in Node.
import { dirname, join } from "node:path";
import { build } from "./build.mjs";
import { gpuEnvironment } from "./lib/gpu.mjs";
import { entry, passThrough, root } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { setup } from "./setup.mjs";

/** Installs the tarball into `target/demo` and solves there. */
export async function demo(tarball) {
  const sources = await scratchProject("demo", { tarball, packages: ["webgpu", "bunny", "pngjs"], sources: "xtask/demo" });
  await passThrough("demo", process.execPath, [join(sources, "solve.mjs"), join(root, "target/demo/bunny.png")],
    { cwd: dirname(sources), env: gpuEnvironment() });
}

await entry(import.meta, async () => {
  await setup({ forTests: false });
  await demo(await build());
});
