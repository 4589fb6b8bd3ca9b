// `npm run soak -- --backend cpu --minutes 10 --seed 1`: random sessions against a model, in a project with the packed tarball; pkg_tests/soak/driver.mjs has the options.
import { dirname, join } from "node:path";
import { buildAddon } from "./addon.mjs";
import { build } from "./build.mjs";
import { gpuEnvironment } from "./lib/gpu.mjs";
import { entry, passThrough } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { setup } from "./setup.mjs";

await entry(import.meta, async () => {
  const args = process.argv.slice(2);
  await setup({ forTests: false });
  const addon = args.includes("cuda") ? { addon: await buildAddon() } : {};
  const sources = await scratchProject(addon.addon ? "soak_addon" : "soak", { tarball: await build(), ...addon, packages: ["webgpu"], sources: "pkg_tests" });
  // Plans of failures come to where the command was given.
  await passThrough("soak", process.execPath, [join(sources, "soak/driver.mjs"), "--out", process.cwd(), ...args], { cwd: dirname(sources), env: gpuEnvironment() });
});
