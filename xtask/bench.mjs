// `npm run bench`: benches/run.mjs in a project with the packed tarball. Arguments after `--` go to it. `-- ceres` compares natively.
import { dirname, join } from "node:path";
import { build } from "./build.mjs";
import { ceres } from "./ceres.mjs";
import { gpuEnvironment } from "./lib/gpu.mjs";
import { entry, passThrough } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { setup } from "./setup.mjs";

await entry(import.meta, async () => {
  await setup({ forTests: false });
  if (process.argv[2] === "ceres") return ceres(process.argv.slice(3));
  const project = { tarball: await build(), packages: ["ml-kmeans", "ml-levenberg-marquardt", "skmeans", "webgpu"] };
  const sources = await scratchProject("bench", { ...project, sources: "benches" });
  await scratchProject("bench", { ...project, sources: "pkg_tests/problems" });
  await scratchProject("bench", { ...project, sources: "pkg_tests/data" });
  await passThrough("bench", process.execPath, [join(sources, "run.mjs"), ...process.argv.slice(2)],
    { cwd: dirname(sources), env: gpuEnvironment() });
});
