// `LEASTWISE_DATA=… npm run test:data`: the package on real problems whose data the project does not carry.
import { dirname, join } from "node:path";
import { build } from "./build.mjs";
import { gpuEnvironment } from "./lib/gpu.mjs";
import { entry, passThrough } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { setup } from "./setup.mjs";

await entry(import.meta, async () => {
  await setup({ forTests: false });
  const project = await scratchProject("test_data", { tarball: await build(), packages: ["webgpu"], sources: "pkg_tests" });
  await passThrough("node --test pkg_tests/real", process.execPath, ["--test", "--test-reporter=spec", "--test-concurrency=1", ...["real", "embeddings"].map((name) => join(project, `real/${name}.test.mjs`))],
    { cwd: dirname(project), env: gpuEnvironment() });
});
