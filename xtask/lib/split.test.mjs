// The splitter, over a module of ten functions: what is absent traps and says so, and what is there computes as in the whole.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import binaryen from "binaryen";
import { ABSENT, SECTION } from "../split/emit.mjs";
import { ALONG } from "../split/parts.mjs";
import { split } from "../split/split.mjs";

const TEXT = `(module
  (type $number (func (param i32) (result i32)))
  (import "host" "note" (func $note (param i32)))
  (memory (export "memory") 1)
  (table $table 4 funcref)
  (global $calls (mut i32) (i32.const 0))
  (elem (i32.const 1) $core_twice $part_a_slot $part_b_slot)
  (data (i32.const 16) "\\07\\00\\00\\00")
  (func $core_twice (type $number) (i32.mul (local.get 0) (i32.const 2)))
  (func $count (global.set $calls (i32.add (global.get $calls) (i32.const 1))) (call $note (global.get $calls)))
  (func $helper_of_a (type $number) (call $count) (i32.add (local.get 0) (i32.load (i32.const 16))))
  (func $helper_of_both (type $number) (i32.sub (local.get 0) (i32.const 1)))
  (func $part_a_main (type $number) (call $part_b_main (call $helper_of_both (call $helper_of_a (call $core_twice (local.get 0))))))
  (func $part_b_main (type $number) (call $helper_of_both (i32.mul (local.get 0) (i32.const 10))))
  (func $part_a_slot (type $number) (call $helper_of_a (local.get 0)))
  (func $part_b_slot (type $number) (i32.const 5))
  (func (export "direct") (type $number) (call $part_a_main (local.get 0)))
  (func (export "indirect") (param i32 i32) (result i32) (call_indirect (type $number) (local.get 1) (local.get 0)))
  (export "ofB" (func $part_b_main))
)`;

const PARTS = ["a", "b"];
const claim = (name) => (name.startsWith("part_a") ? 1 : name.startsWith("part_b") ? 2 : undefined);

function made() {
  const module = binaryen.parseText(TEXT);
  module.setFeatures(binaryen.Features.All);
  binaryen.setDebugInfo(true);
  const bytes = module.emitBinary();
  module.dispose();
  return split(bytes, PARTS, claim);
}

const noted = [];
const start = (bytes, load = () => 0) => new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { note: (count) => noted.push(count) }, parts: { load } }).exports;
const join = (bytes, core) => new WebAssembly.Instance(new WebAssembly.Module(bytes), { "": core });
const trapsFor = (core, part, work) => {
  core[ABSENT].value = 0;
  assert.throws(work, WebAssembly.RuntimeError);
  assert.equal(core[ABSENT].value, part);
  core[ABSENT].value = 0;
};

test("what a part has traps until it is there, and computes from then on", () => {
  const { core: bytes, parts } = made();
  const core = start(bytes);
  assert.equal(core.indirect(1, 21), 42);
  trapsFor(core, 1, () => core.direct(1));
  trapsFor(core, 1, () => core.indirect(2, 1));
  trapsFor(core, 2, () => core.indirect(3, 1));
  trapsFor(core, 2, () => core.ofB(1));

  join(parts.a, core);
  assert.equal(core.indirect(2, 1), 8);
  // One part calls the other.
  trapsFor(core, 2, () => core.direct(1));
  join(parts.b, core);
  assert.equal(core.direct(1), 79);
  assert.equal(core.indirect(3, 1), 5);
  assert.equal(core.ofB(2), 19);
});

test("the whole computes the same, and its functions work in any order of the parts", () => {
  const { whole, core: bytes, parts } = made();
  const core = start(bytes);
  for (const name of ["b", "a"]) join(parts[name], core);
  const all = start(whole);
  for (const [name, ...args] of [["direct", 3], ["indirect", 1, 4], ["indirect", 2, 4], ["indirect", 3, 4], ["ofB", 6]]) assert.equal(core[name](...args), all[name](...args), name);
  assert.throws(() => all.indirect(0, 1), WebAssembly.RuntimeError);
});

test("what only a part calls is in it, and the host's functions and the state are one", () => {
  const { core: bytes, parts } = made();
  const imported = (part) => WebAssembly.Module.imports(new WebAssembly.Module(parts[part])).filter(({ kind }) => kind === "function").length;
  // a takes $core_twice, $helper_of_both and $count's import and global; $helper_of_a and $count are its own.
  assert.deepEqual([imported("a"), imported("b")], [3, 1]);
  const core = start(bytes);
  join(parts.a, core);
  noted.length = 0;
  core.indirect(2, 1);
  core.indirect(2, 1);
  assert.deepEqual(noted, [1, 2]);
});

test("modules of one split say so, and of another otherwise", () => {
  const { whole, core, parts } = made();
  const keyOf = (bytes) => WebAssembly.Module.customSections(new WebAssembly.Module(bytes), SECTION).map((key) => Buffer.from(key).toString());
  assert.match(keyOf(core)[0], /^[0-9a-f]{16}$/);
  for (const name of PARTS) assert.deepEqual(keyOf(parts[name]), keyOf(core));
  assert.deepEqual(keyOf(whole), []);
});

test("an absent part is loaded by the first call, however it comes", () => {
  for (const first of [["direct", 1], ["indirect", 3, 1], ["ofB", 2]]) {
    const { whole, core: bytes, parts } = made(), asked = [];
    let isThere = false;
    const core = start(bytes, (part) => {
      asked.push(part);
      if (isThere) join(parts.b, core);
      return isThere ? 1 : 0;
    });
    join(parts.a, core);
    trapsFor(core, 2, () => core[first[0]](...first.slice(1)));
    isThere = true;
    const all = start(whole);
    for (const [name, ...args] of [first, ["direct", 5], ["indirect", 3, 4], ["ofB", 6]]) assert.equal(core[name](...args), all[name](...args), name);
    assert.deepEqual(asked, [2, 2]);
  }
});

test("what the façade loads for a feature has all that is to be there along with its parts", () => {
  const text = readFileSync(new URL("../../ts/src/parts.ts", import.meta.url), "utf8");
  const lists = [...text.slice(text.indexOf("export const NEEDS")).split("satisfies")[0].matchAll(/(\w+): \[([^\]]+)\]/g)].map(([, feature, parts]) => [feature, parts.match(/\w+/g)]);
  assert.ok(lists.length >= 6);
  for (const [feature, parts] of lists) for (const part of parts) for (const along of ALONG[part] ?? []) assert.ok(parts.includes(along), `${feature} loads ${part} without ${along}`);
});
