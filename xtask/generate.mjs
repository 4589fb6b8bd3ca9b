// `npm run generate`: writes what comes from src/session/surface.idl. `-- --check` only says what is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { entry, root, StepError } from "./lib/run.mjs";
import { generated } from "./lib/surface/generated.mjs";

await entry(import.meta, () => {
  const stale = [...generated()].filter(([path, text]) => readFileSync(join(root, path), "utf8") !== text);
  if (stale.length && process.argv.includes("--check")) {
    throw new StepError(`Not what src/session/surface.idl says: ${stale.map(([path]) => path).join(", ")}.\n    npm run generate`);
  }
  for (const [path, text] of stale) writeFileSync(join(root, path), text);
  console.log(stale.length ? `Written: ${stale.map(([path]) => path).join(", ")}.` : "All as src/session/surface.idl says.");
});
