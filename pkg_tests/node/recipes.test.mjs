// Recipes: every file of examples/recipes runs as it stands, which asserts its result; and its picture can be drawn from what it exports.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { pageOf } from "../../examples/pictures/page.mjs";
import { draw } from "../../examples/pictures/index.mjs";

const folder = new URL("../../examples/recipes/", import.meta.url);
const names = readdirSync(folder).filter((file) => file.endsWith(".mjs")).map((file) => file.slice(0, -4)).sort();

test("there are recipes", () => assert.ok(names.length >= 25, `${names.length}`));

for (const name of names) {
  test(`recipe: ${name}`, async () => {
    const { title, prose, code } = pageOf(name, readFileSync(new URL(`${name}.mjs`, folder), "utf8"));
    assert.ok(prose.includes("\n- "), "the comment lists what to notice");
    assert.match(code, /^assert\.\w+\(/m, "the program asserts its result");
    const results = await import(new URL(`${name}.mjs`, folder));
    const picture = draw(name, results, title);
    assert.match(picture, /^<svg [^]*<\/svg>\n$/);
    assert.ok(picture.includes(`<title>${title}</title>`), "the picture has the recipe's title");
    assert.ok(picture.match(/<(path|circle|rect|text) /g).length > 20, "there is something in the picture");
  });
}
