// The surface is declared once: what comes from the declaration is not stale, and what is by hand is there in both bindings.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./run.mjs";
import { nodeBindings, wasmBindings } from "./surface/bindings.mjs";
import { readDeclaration, snake } from "./surface/declaration.mjs";
import { generated, surface } from "./surface/generated.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");

test("generated files are what src/session/surface.idl says", () => {
  const files = generated();
  assert.equal(files.size, 6);
  for (const [path, text] of files) assert.equal(read(path), text, `${path} is stale: npm run generate`);
});

test("methods by hand are in both bindings", () => {
  const byHand = surface().filter((item) => item.byHand);
  assert.ok(byHand.length > 5);
  for (const path of ["src/js/engine.rs", "native_cuda/addon/src/engine.rs"]) {
    const found = [...read(path).matchAll(/^ {4}pub fn (\w+)/gm)].map(([, name]) => name).filter((name) => name !== "new");
    assert.deepEqual(found.sort(), byHand.map(({ name }) => snake(name)).sort(), path);
  }
});

test("both bindings have the same methods", () => {
  const items = surface();
  const names = (text) => [...text.matchAll(/^pub fn (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(names(wasmBindings(items)), names(nodeBindings(items)));
  assert.ok(names(wasmBindings(items)).length > 70);
});

test("a declaration that cannot be is refused, by line", () => {
  const refused = (text, message) => assert.throws(() => wasmBindings(readDeclaration(text, "it")), message);
  refused("method x(a: u32", /it:1: a parameter is expected/);
  refused("\n// a comment\nmethd x()", /it:3: an item is expected, not "methd x\(\)"/);
  refused("packed T { a: [u32 }", /it:1: \] is expected/);
  refused("record R { a number }", /it:1: a field is expected/);
  refused("method x(a: thing)", /x: there is no parameter of the type thing/);
  refused("method x() -> thing", /x: there is no result of the type thing/);
  refused("record R { a: number }\nmethod x(a: R)", /x: R is no structure of Rust's/);
});
