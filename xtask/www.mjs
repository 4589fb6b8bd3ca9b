// `npm run www`: the live pages, served by Vite from the packed tarball. Arguments after `--` go to Vite.
import { dirname, join } from "node:path";
import { build } from "./build.mjs";
import { pagePackages } from "./lib/pages.mjs";
import { entry, passThrough } from "./lib/run.mjs";
import { scratchProject } from "./lib/scratch.mjs";
import { setup } from "./setup.mjs";

await entry(import.meta, async () => {
  await setup({ forTests: false });
  const sources = await scratchProject("www", { tarball: await build(), packages: pagePackages, sources: "www" });
  const vite = join(dirname(sources), "node_modules/vite/bin/vite.js");
  await passThrough("vite", process.execPath, [vite, ...process.argv.slice(2)], { cwd: sources });
});
