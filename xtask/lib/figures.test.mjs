// What scripts write into docs/ is there as they write it: drawings of concepts, plots of results, the index of recipes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FIGURES } from "../docs/figures.mjs";
import { indexOfRecipes } from "../docs/index-of-recipes.mjs";
import { pagesOf } from "../docs/pages.mjs";
import { root } from "./run.mjs";

const docs = (name) => readFileSync(join(root, "docs", name), "utf8");

for (const [name, draw] of Object.entries(FIGURES)) {
  test(`docs/${name} is what xtask/docs/figures.mjs draws`, () => assert.equal(docs(name), draw()));
}

test("docs/RECIPES.md is what xtask/docs/index-of-recipes.mjs writes", () => assert.equal(docs("RECIPES.md"), indexOfRecipes()));

test("links between pages of the site lead to pages", () => {
  const { pages } = pagesOf();
  const wrong = [...pages].flatMap(([path, text]) => [...text.replace(/^```[^]*?^```/gm, "").matchAll(/\]\((\.[^)#?\s]*\.md)/g)]
    .map(([, link]) => new URL(link, `file:///${path}`).pathname.slice(1)).filter((target) => !pages.has(decodeURI(target))).map((target) => `${path} → ${target}`));
  assert.deepEqual(wrong, []);
});
