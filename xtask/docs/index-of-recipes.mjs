// docs/RECIPES.md: the recipes as a table, of their titles and first sentences. `node xtask/docs/index-of-recipes.mjs` writes it; a test compares.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pageOf } from "../../examples/pictures/page.mjs";
import { entry, root } from "../lib/run.mjs";
import { RECIPES } from "./contents.mjs";

export function indexOfRecipes() {
  const groups = RECIPES.map(({ text, items }) => {
    const rows = items.map((name) => {
      const { title, summary } = pageOf(name, readFileSync(join(root, `examples/recipes/${name}.mjs`), "utf8"));
      return `| [${title}](../examples/recipes/${name}.mjs) | ${summary.match(/^.*?[.!?](?= |$)/)[0].replace(/:$/, ".")} |`;
    });
    return `## ${text}\n\n| recipe | problem |\n|---|---|\n${rows.join("\n")}\n`;
  });
  return `# Recipes\n\nComplete programs. Each runs as it stands in Node, and checks its result; the tests run them all, and draw their\npictures.\n\n${groups.join("\n")}`;
}

await entry(import.meta, async () => writeFileSync(join(root, "docs/RECIPES.md"), indexOfRecipes()));
