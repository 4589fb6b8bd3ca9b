// Draws the pictures of all recipes into a folder: `node draw.mjs FOLDER`, where the package is installed.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { draw } from "./index.mjs";
import { pageOf } from "./page.mjs";

const [folder] = process.argv.slice(2);
const recipes = new URL("../recipes/", import.meta.url);
for (const file of readdirSync(recipes).filter((name) => name.endsWith(".mjs")).sort()) {
  const name = file.slice(0, -4), address = new URL(file, recipes);
  const { title } = pageOf(name, readFileSync(address, "utf8"));
  writeFileSync(join(folder, `${name}.svg`), draw(name, await import(address), title));
  console.log(name);
}
