// The document of the array API standard's names.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { page } from "../array-api.mjs";

test("the document is that of the table", () => {
  assert.equal(readFileSync(new URL("../../docs/ARRAY-API.md", import.meta.url), "utf8"), page(), "npm run generate writes it anew");
});
