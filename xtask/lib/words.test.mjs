// The lint of wording, and the documents and recipes under it.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./run.mjs";
import { wrongWords } from "./words.mjs";

test("phrases are found in prose, with their line, and not in code", () => {
  assert.deepEqual(wrongWords("fine\n0 unless told, `1 unless told`\n```\nunless told\n```\n"), [[2, "unless told", "default: …"]]);
  assert.deepEqual(wrongWords("steps that were made in vain"), [[1, "in vain", "wasted"]]);
  assert.deepEqual(wrongWords("the predicted reduction"), []);
});

const markdown = (folder) => readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => join(folder, name));

test("documents and recipes use the field's words", () => {
  const files = ["README.md", "HACKING.md", ...markdown("docs"), ...markdown("docs/internals"), ...readdirSync(join(root, "examples/recipes")).map((name) => `examples/recipes/${name}`)];
  const wrong = files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const prose = file.endsWith(".mjs") ? text.split("\n").map((line) => line.match(/(?:^|\s)\/\/ (.*)$/)?.[1] ?? "").join("\n") : text;
    return wrongWords(prose).map(([line, phrase, instead]) => `${file}:${line}: "${phrase}": ${instead}`);
  });
  assert.deepEqual(wrong, []);
});
