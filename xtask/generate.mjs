// `npm run generate`: writes what comes from src/session/surface.idl and from declarations of the engine (HACKING.md lists them). `-- --check`
// only says what is stale of the former; tests say it of the latter.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LISTS } from "./lib/lists.mjs";
import { entry, passThrough, root, StepError } from "./lib/run.mjs";
import { generated } from "./lib/surface/generated.mjs";

await entry(import.meta, async () => {
  const stale = [...generated()].filter(([path, text]) => readFileSync(join(root, path), "utf8") !== text);
  if (process.argv.includes("--check")) {
    if (stale.length) throw new StepError(`Not what src/session/surface.idl says: ${stale.map(([path]) => path).join(", ")}.\n    npm run generate`);
    console.log("All as src/session/surface.idl says.");
    return;
  }
  for (const [path, text] of stale) writeFileSync(join(root, path), text);
  console.log(stale.length ? `Written: ${stale.map(([path]) => path).join(", ")}.` : "All as src/session/surface.idl says.");
  for (const [path, write] of LISTS) {
    const text = write();
    // Cargo goes by times: what is rewritten is compiled anew, with all that needs it.
    if (readFileSync(join(root, path), "utf8") !== text) writeFileSync(join(root, path), text);
  }
  await passThrough("cargo test", "cargo", ["test", "--workspace", "--features", "cuda", "--test", "suite", "declared::"], { env: { LEASTWISE_BLESS: "1" } });
});
