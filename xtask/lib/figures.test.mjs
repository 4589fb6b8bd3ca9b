// What scripts write into docs/ is there as they write it: drawings of concepts, plots of results, the index of recipes.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SECTIONS } from "../docs/contents.mjs";
import { FIGURES } from "../docs/figures.mjs";
import { indexOfRecipes } from "../docs/index-of-recipes.mjs";
import { pagesOf } from "../docs/pages.mjs";
import { recorded } from "../docs/recorded.mjs";
import { root } from "./run.mjs";

const docs = (name) => readFileSync(join(root, "docs", name), "utf8");

for (const [name, draw] of Object.entries(FIGURES)) {
  test(`docs/${name} is what xtask/docs/figures.mjs draws`, () => assert.equal(docs(name), draw()));
}

test("docs/RECIPES.md is what xtask/docs/index-of-recipes.mjs writes", () => assert.equal(docs("RECIPES.md"), indexOfRecipes()));

test("docs/OPTIONS.md has every option of a solve, of covariances and of init()", () => {
  const page = docs("OPTIONS.md");
  const keysOf = (file, name) => {
    const body = readFileSync(join(root, "ts/src", file), "utf8").match(new RegExp(`export const ${name} = \\{([^]*?)\\n?\\} as const`))[1];
    return [...body.replace(/<[^>]*>/g, "").matchAll(/(?:^|[,{]\s*|\n\s*)(\w+)(?=[:,\n ])/g)].map(([, key]) => key);
  };
  const options = [["solver.ts", "SOLVE"], ["init.ts", "INIT"], ["covariance.ts", "COVARIANCE"]].flatMap(([file, name]) => keysOf(file, name));
  assert.ok(options.length > 25, options.join());
  assert.deepEqual(options.filter((key) => !page.includes(`\`${key}\``)), []);
});

test("every document is in the site's contents", () => {
  const listed = new Set(SECTIONS.flatMap(({ items }) => items.map(([place]) => `${place.split("#")[0]}.md`)));
  const elsewhere = ["ARCHITECTURE.md", "ERRORS.md", "README.md", "RECIPES.md"];
  const missing = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md") && !elsewhere.includes(name) && !listed.has(name));
  assert.deepEqual(missing, []);
});

test("machines beside which the benchmark page draws are those of benches/results", () => {
  const lines = recorded();
  assert.deepEqual([...new Set(lines.map(({ problem }) => problem))], ["springs", "arap", "clustering", "product"]);
  for (const { file, points } of lines) assert.ok(points.length > 0 && points.every(([size, ms]) => size > 0 && ms > 0), file);
});

test("links between pages of the site lead to pages", () => {
  const { pages } = pagesOf();
  const wrong = [...pages].flatMap(([path, text]) => [...text.replace(/^```[^]*?^```/gm, "").matchAll(/\]\((\.[^)#?\s]*\.md)/g)]
    .map(([, link]) => new URL(link, `file:///${path}`).pathname.slice(1)).filter((target) => !pages.has(decodeURI(target))).map((target) => `${path} → ${target}`));
  assert.deepEqual(wrong, []);
});
