// Error codes: docs/ERRORS.md has a section for each, and each example there throws the code of its section.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { LeastwiseError } from "leastwise";
import { programsOf } from "../types/documents.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { transpileModule } = createRequire(import.meta.url)("typescript-5.9");
const folder = mkdtempSync(join(fileURLToPath(new URL("./", import.meta.url)), "errors-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const lines = readFileSync(join(root, "docs/ERRORS.md"), "utf8").split("\n");
const documented = lines.flatMap((line) => line.match(/^## `([a-z-]+)`$/)?.[1] ?? []);
/** The section that a line is in. */
const sectionAt = (line) => lines.slice(0, line).findLast((each) => each.startsWith("## "))?.match(/`([a-z-]+)`/)?.[1];

test("every code has a section, and every section a code", () => {
  const declared = readFileSync(fileURLToPath(new URL("errors.d.ts", import.meta.resolve("leastwise"))), "utf8").matchAll(/^ \* - `([a-z-]+)`/gm);
  assert.deepEqual(documented, [...declared].map(([, code]) => code));
  for (const code of documented) assert.ok(new LeastwiseError(code, "").help.endsWith(`docs/ERRORS.md#${code}`));
});

const programs = programsOf(root).filter(({ document }) => document === "docs/ERRORS.md");
for (const { line, text } of programs.filter(({ line }) => sectionAt(line) !== undefined)) {
  const code = sectionAt(line);
  test(`the example of ${code} throws it`, async () => {
    const file = join(folder, `${code}.mjs`);
    writeFileSync(file, transpileModule(text, { compilerOptions: { target: "ES2022", module: "ESNext" } }).outputText);
    await assert.rejects(import(file), (error) => {
      assert.ok(error instanceof LeastwiseError, String(error?.stack ?? error));
      assert.equal(error.code, code, error.message);
      return true;
    });
  });
}

test("most codes have an example", () => assert.ok(programs.length >= 24, `${programs.length}`));
