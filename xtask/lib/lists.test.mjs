import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LISTS } from "./lists.mjs";
import { root } from "./run.mjs";

for (const [path, write] of LISTS) {
  test(`${path} lists what the files beside it declare`, () => {
    assert.equal(readFileSync(join(root, path), "utf8"), write(), "npm run generate writes it anew");
  });
}
