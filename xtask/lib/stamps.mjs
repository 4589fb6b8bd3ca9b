// What makes a second run quick: a stage is skipped when its inputs hash to what they did after its last success.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { root, step } from "./run.mjs";

/** Every file under the given paths (files or folders, relative to the repository), sorted; absent ones are left out. */
function filesUnder(paths) {
  const found = [];
  const visit = (path) => {
    if (!existsSync(path)) return;
    if (!statSync(path).isDirectory()) { found.push(path); return; }
    for (const name of readdirSync(path).sort()) if (name !== "node_modules") visit(join(path, name));
  };
  for (const path of paths) visit(join(root, path));
  return found;
}

/** A hash of names and contents, and of `extra`: whatever else decides the result. */
export function hashOf(paths, extra = "") {
  const hash = createHash("sha256").update(extra);
  for (const file of filesUnder(paths)) hash.update(`\0${relative(root, file)}\0`).update(readFileSync(file));
  return hash.digest("hex");
}

const stampOf = (name) => join(root, "target/stamps", name.replaceAll(/\W+/g, "-"));

/** Whether a stage's `outputs` exist and `key` is that of its last success. */
export const upToDate = (name, { key, outputs }) => existsSync(stampOf(name)) && readFileSync(stampOf(name), "utf8") === key && outputs.every((path) => existsSync(join(root, path)));

/** Announces and runs `work`, unless the stage is up to date. */
export async function stage(name, { key, outputs }, work) {
  await step(name, async () => {
    if (upToDate(name, { key, outputs })) return "up to date";
    const result = await work();
    mkdirSync(join(root, "target/stamps"), { recursive: true });
    writeFileSync(stampOf(name), key);
    return result;
  });
}
