// The array API standard's names: each has a program with the right answer, or a reason why there is none, and what has a reason is not there.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as leastwise from "leastwise";
import { namesOf, operandsOf, ROWS, STANDARD } from "../array-api.mjs";
import { BACKENDS, open } from "./support.mjs";

const NAMES = Object.values(STANDARD).flatMap((section) => section.split(" "));

test("every name of the standard has a program or a reason, and nothing else has", () => {
  assert.equal(new Set(NAMES).size, NAMES.length);
  assert.deepEqual(Object.keys(ROWS).sort(), [...NAMES].sort());
});

for (const backend of BACKENDS) {
  test(`${backend}: every program gives what the standard says`, async (t) => {
    const lw = await open(t, { backend }), given = { ...leastwise, lw, ...operandsOf(lw) };
    await Promise.all(Object.entries(ROWS).filter(([, row]) => typeof row !== "string").map(async ([name, [program, expected]]) => {
      const made = program(given), tensors = Array.isArray(made) && made[0] instanceof given.x.constructor ? made : [made];
      if (!(tensors[0] instanceof given.x.constructor)) return assert.deepEqual(made, name === "device" ? lw.backend : expected, name);
      const values = (await Promise.all(tensors.map((tensor) => tensor.read()))).flatMap((part) => [...part]);
      assert.equal(values.length, expected.length, name);
      expected.forEach((value, k) => assert.ok(Math.abs(values[k] - value) <= 2e-6 * (1 + Math.abs(value)), `${name}: element ${k} is ${values[k]}, not ${value}`));
      return undefined;
    }));
  });
}

test("what has a reason is not there", async (t) => {
  const lw = await open(t, { backend: "cpu" }), tensor = lw.ones([1]);
  const found = Object.entries(ROWS).filter(([, row]) => typeof row === "string").flatMap(([name]) => namesOf(name)).filter((name) => name in leastwise || name in tensor || name in lw);
  assert.deepEqual(found, [], "it has a program, then: pkg_tests/array-api.mjs");
});
